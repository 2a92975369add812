"""What the commands about models show alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table


def fail(error: Exception) -> NoReturn:
    """Say in one sentence what is wrong with the user's input, and end."""
    Console(stderr=True).print(f"[bold red]Error:[/] {escape(plain(error))}", highlight=False)
    raise typer.Exit(2)


def plain(text: object) -> str:
    """Return text of a file without characters that a terminal would obey."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in str(text))


def print_json(data: dict[str, Any]) -> None:
    """Print one object for machines."""
    typer.echo(json.dumps(data, allow_nan=False))


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being done, for as long as it takes."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda what: bar.update(task, description=plain(what))


def figures_table(evaluation: dict[str, Any]) -> Table:
    """Return what a model does on new rows, beside always and never asking."""
    priced = evaluation["deferral_loss"] is not None
    table = Table(title="Expected on new rows", title_justify="left")
    table.add_column("")
    for name in ("asked", "paid per row" if priced else "", "loss if not asked"):
        if name:
            table.add_column(name, justify="right")
    rate, accepted = evaluation["deferral_rate"], evaluation["accepted_loss"]
    rows = [
        ("this model", _share(rate), "deferral_loss", "none is accepted"),
        ("always ask", "100 %", "always", ""),
        ("never ask", "0 %", "never", figure(evaluation["never"])),
    ]
    for name, asked, paid, other in rows:
        if name == "this model" and accepted is not None:
            other = figure(accepted)
        cells = [name, asked, *([figure(evaluation[paid])] if priced else []), other]
        table.add_row(*cells, style="bold" if name == "this model" else None)
    return table


def figure(found: dict[str, float]) -> str:
    """Return a figure with its interval, which does not deserve as many digits."""
    if found["low"] == found["high"]:
        return f"{found['value']:.3g}"
    return f"{found['value']:.3g} [{found['low']:.2g}, {found['high']:.2g}]"


def _share(found: dict[str, float]) -> str:
    low, high = 100 * found["low"], 100 * found["high"]
    return f"{100 * found['value']:.1f} % [{low:.0f}, {high:.0f}]"


def figures_note(evaluation: dict[str, Any]) -> str:
    """Return what the figures are, in words."""
    fitted = (
        "the model was then fitted on all rows"
        if evaluation.get("refitted")
        else "the model is that of the other rows"
    )
    return (
        f"Measured on {evaluation['rows']:,} rows that were held out; {fitted}. In brackets "
        f"{evaluation['confidence']:.0%} intervals, of losses by {evaluation['interval']}."
    )
