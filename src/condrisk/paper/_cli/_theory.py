"""`condrisk reproduce theory`: the paper's bounds, simulated, and what is false of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from condrisk.paper._cli._study import Records, Scheduler, Update, Warn, carry_out


def theory(
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions: does everything run?")
    ] = False,
    n_jobs: Annotated[
        int | None, typer.Option(min=1, help="Settings at a time. Default: one for each core.")
    ] = None,
    scheduler: Scheduler = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The folder of records and pages. Default: condrisk-theory."
        ),
    ] = None,
) -> None:
    """Bounds, counterexamples and intervals: the paper's theory, simulated in known worlds.

    It takes two minutes on two cores. Stopped at any moment, it goes on from there when it is
    called again.
    """
    from condrisk.paper.theory.simulations import TheoryConfig, run_theory
    from condrisk.paper.theory.simulations._report import write_report
    from condrisk.paper.theory.simulations._tables import all_tables

    folder = output or Path("condrisk-theory-quick" if quick else "condrisk-theory")

    def run(update: Update, warn: Warn) -> Records:
        return run_theory(
            folder,
            config=TheoryConfig(quick=quick),
            n_jobs=n_jobs or os.cpu_count() or 1,
            scheduler=scheduler,
            progress=update,
            warn=warn,
        )

    def last_words(written: list[Path]) -> str:
        return (
            f"What it means in practice: {written[0]}; every simulation: {written[1]}; tables as "
            f".md, .tex and .png in {written[0].parent / 'tables'}."
        )

    carry_out(folder, run=run, report=write_report, tables=all_tables, last_words=last_words)
