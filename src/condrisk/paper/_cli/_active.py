"""`condrisk reproduce active`: which rows to label next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from condrisk.paper._cli._study import Records, Scheduler, Update, Warn, carry_out


def active(
    quick: Annotated[
        bool, typer.Option("--quick", help="Few seeds and rounds: does everything run?")
    ] = False,
    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="A file with a row for each image of CIFAR-10. Default: that set is left out.",
            metavar="FILE.npy",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A set to run on; may be given several times. Default: all."),
    ] = None,
    n_jobs: Annotated[
        int | None, typer.Option(min=1, help="Seeds at a time. Default: one for each core.")
    ] = None,
    scheduler: Scheduler = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The folder of records and the page. Default: condrisk-active."
        ),
    ] = None,
) -> None:
    """Labels that pay: learning curves of ways to choose which rows to label next.

    It takes some minutes on two cores. Stopped at any moment, it goes on from there when it is
    called again.
    """
    from condrisk.paper.active import ActiveConfig, run_active
    from condrisk.paper.active._report import write_report
    from condrisk.paper.active._tables import all_tables

    folder = output or Path("condrisk-active-quick" if quick else "condrisk-active")

    def run(update: Update, warn: Warn) -> Records:
        return run_active(
            folder,
            config=ActiveConfig(quick=quick),
            embeddings=embeddings,
            sets=set_,
            n_jobs=n_jobs or os.cpu_count() or 1,
            scheduler=scheduler,
            progress=update,
            warn=warn,
        )

    def last_words(written: list[Path]) -> str:
        return (
            f"What it means: {written[0]}; tables as .md, "
            f".tex and .png in {written[0].parent / 'tables'}."
        )

    carry_out(folder, run=run, report=write_report, tables=all_tables, last_words=last_words)
