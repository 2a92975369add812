"""`condrisk reproduce theory`: the paper's bounds, simulated, and what is false of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from condrisk.cli._reproduce import make_progress


def theory(
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions: does everything run?")
    ] = False,
    n_jobs: Annotated[
        int | None, typer.Option(min=1, help="Settings at a time. Default: one for each core.")
    ] = None,
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
    from condrisk.reproduce import CorruptRecordError
    from condrisk.reproduce._render import to_terminal
    from condrisk.reproduce.theory import TheoryConfig, run_theory
    from condrisk.reproduce.theory._report import write_report
    from condrisk.reproduce.theory._tables import all_tables

    console, errors = Console(), Console(stderr=True)
    folder = output or Path("condrisk-theory-quick" if quick else "condrisk-theory")
    try:
        with make_progress(console) as progress:
            bar = progress.add_task("starting", total=None)
            records = run_theory(
                folder,
                config=TheoryConfig(quick=quick),
                n_jobs=n_jobs or os.cpu_count() or 1,
                progress=lambda done, total, what: progress.update(
                    bar, completed=done, total=total, description=what
                ),
                warn=lambda text: errors.print(f"[yellow]Note:[/] {escape(text)}", highlight=False),
            )
            progress.update(bar, description="writing pages")
            written = write_report(records, folder / "report")
    except (ValueError, OSError, ImportError, CorruptRecordError) as error:
        errors.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        errors.print(f"Stopped. What is finished is in {folder}; the same command goes on.")
        raise typer.Exit(130) from None
    for table in all_tables(records):
        console.print(to_terminal(table))
        console.print()
    console.print(f"{len(records)} records in {folder / 'records.jsonl'}", highlight=False)
    console.print(
        f"What it means in practice: {written[0]}; every simulation: {written[1]}; tables as .md, "
        f".tex and .png in {written[0].parent / 'tables'}.",
        highlight=False,
        markup=False,
    )
