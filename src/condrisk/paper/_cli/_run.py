"""What the commands share: progress, warnings, errors, and tables at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from condrisk.paper._report import Records, Report


def run_and_report(
    folder: Path,
    load: Callable[[], tuple[Callable[..., Records], Report]],
    *,
    shown_last: Sequence[str] = (),
) -> None:
    """Run a study, write its report, and show its tables.

    Errors that a user can mend end the command with exit code 2 and a sentence; being stopped
    ends it with 130, and what is finished stays.

    Parameters
    ----------
    folder : Path
        The folder of records.
    load : callable
        Imports the study. Returns what runs it, such as `run_rwr` with all arguments but the
        folder, `progress` and `warn`, and what is made of its records.
    shown_last : sequence of str
        Names of tables to show after the others.
    """
    from rich.console import Console
    from rich.markup import escape

    from condrisk.paper import CorruptRecordError
    from condrisk.paper._cli._terminal import to_terminal

    console, errors = Console(), Console(stderr=True)
    try:
        with _progress_bar(console) as progress:
            bar = progress.add_task("starting", total=None)

            def update(done: float | None, total: float | None, what: str) -> None:
                progress.update(bar, completed=done, total=total, description=what)

            def warn(text: str) -> None:
                errors.print(f"[yellow]Note:[/] {escape(text)}", highlight=False)

            run, report = load()
            records = run(folder, progress=update, warn=warn)
            progress.update(bar, description="writing the report")
            written = report.write(records, folder / "report")
    except (ValueError, OSError, ImportError, CorruptRecordError) as error:
        errors.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        errors.print(f"Stopped. What is finished is in {folder}; the same command goes on.")
        raise typer.Exit(130) from None
    for table in sorted(report.tables(records), key=lambda table: table.name in shown_last):
        console.print(to_terminal(table))
        console.print()
    console.print(f"{len(records)} records in {folder / 'records.jsonl'}", highlight=False)
    closing = report.closing.format(folder=folder / "report", n_files=len(written))
    console.print(closing, highlight=False, markup=False)


def _progress_bar(console: Console) -> Progress:
    """Return the bar that long commands show, which is gone when they have ended."""
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

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
