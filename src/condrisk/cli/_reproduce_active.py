"""`condrisk reproduce active`: which rows to label next."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from condrisk.cli._reproduce import make_progress


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
    from condrisk.reproduce import CorruptRecordError
    from condrisk.reproduce._render import to_terminal
    from condrisk.reproduce.active import ActiveConfig, run_active
    from condrisk.reproduce.active._report import write_report
    from condrisk.reproduce.active._tables import all_tables

    console, errors = Console(), Console(stderr=True)
    folder = output or Path("condrisk-active-quick" if quick else "condrisk-active")
    try:
        with make_progress(console) as progress:
            bar = progress.add_task("starting", total=None)
            records = run_active(
                folder,
                config=ActiveConfig(quick=quick),
                embeddings=embeddings,
                sets=set_,
                n_jobs=n_jobs or os.cpu_count() or 1,
                progress=lambda done, total, what: progress.update(
                    bar, completed=done, total=total, description=what
                ),
                warn=lambda text: errors.print(f"[yellow]Note:[/] {escape(text)}", highlight=False),
            )
            progress.update(bar, description="writing the page")
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
        f"What it means: {written[0]}; tables as .md, .tex and .png in "
        f"{written[0].parent / 'tables'}.",
        highlight=False,
        markup=False,
    )
