"""What the commands that run a study share: progress, warnings, errors, and tables at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Records = list[dict[str, Any]]
# How much is done of how much, if known, and what is being done.
Update = Callable[[float | None, float | None, str], None]
Warn = Callable[[str], None]
# The option of every study whose parts can be run elsewhere.
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Run on the workers of this Dask scheduler instead, as in tcp://10.0.0.1:8786; "
        "--n-jobs then means nothing.",
        metavar="ADDRESS",
    ),
]


def carry_out(
    folder: Path,
    *,
    run: Callable[[Update, Warn], Records],
    report: Callable[[Records, Path], list[Path]],
    tables: Callable[[Records], Iterable[Any]],
    last_words: Callable[[list[Path]], str],
) -> None:
    """Run a study, write its report, and show its tables.

    Errors that a user can mend end the command with exit code 2 and a sentence; being stopped
    ends it with 130, and what is finished stays.

    Parameters
    ----------
    folder : Path
        The folder of records.
    run : callable
        Runs the study, given what to call with progress and with warnings; returns its records.
    report : callable
        Writes the report of the records into a folder and returns the files.
    tables : callable
        Makes the tables of the records.
    last_words : callable
        What to say at the end about the files of the report.
    """
    from condrisk.paper import CorruptRecordError
    from condrisk.paper._render import to_terminal

    console, errors = Console(), Console(stderr=True)
    try:
        with _progress(console) as progress:
            bar = progress.add_task("starting", total=None)

            def update(done: float | None, total: float | None, what: str) -> None:
                progress.update(bar, completed=done, total=total, description=what)

            def warn(text: str) -> None:
                errors.print(f"[yellow]Note:[/] {escape(text)}", highlight=False)

            records = run(update, warn)
            progress.update(bar, description="writing the report")
            written = report(records, folder / "report")
    except (ValueError, OSError, ImportError, CorruptRecordError) as error:
        errors.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        errors.print(f"Stopped. What is finished is in {folder}; the same command goes on.")
        raise typer.Exit(130) from None
    for table in tables(records):
        console.print(to_terminal(table))
        console.print()
    console.print(f"{len(records)} records in {folder / 'records.jsonl'}", highlight=False)
    console.print(last_words(written), highlight=False, markup=False)


def _progress(console: Console) -> Progress:
    """Return the bar that long commands show, which is gone when they have ended."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
