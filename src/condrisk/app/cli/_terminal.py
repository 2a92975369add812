"""What the commands share: progress, sentences, tables, and errors that a user can mend."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from rich.table import Table


class Task(StrEnum):
    """What kind of target it is."""

    regression = "regression"
    classification = "classification"


@contextmanager
def user_errors() -> Iterator[None]:
    """End with one sentence: code 2 where the input is wrong, 1 where the system is in the way."""
    try:
        yield
    except (ValueError, ImportError) as error:
        fail(error, code=2)
    except OSError as error:
        fail(error, code=1)


def fail(error: Exception, *, code: int) -> NoReturn:
    """Say in one sentence what is wrong, and end."""
    text = f"[bold red]Error:[/] {escape(plain(error))}"
    Console(stderr=True).print(text, highlight=False, soft_wrap=True)
    raise typer.Exit(code)


def check_output(path: Path) -> None:
    """Refuse a file that could not be written, before any work is done for it."""
    if path.is_dir():
        raise ValueError(f"--output {path} is a folder; it must be the name of a file.")
    if not path.parent.is_dir():
        raise ValueError(f"--output {path} is in a folder that does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"--output {path} is in a folder that cannot be written to.")


def plain(text: object) -> str:
    """Return text of a file without characters that a terminal would obey."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in str(text))


def say(text: object, *, stderr: bool = False, style: str | None = None) -> None:
    """Print a line in which nothing is markup: names of files and columns are the user's."""
    console = Console(stderr=stderr)
    console.print(plain(text), style=style, markup=False, highlight=False, soft_wrap=True)


def print_json(data: dict[str, Any]) -> None:
    """Print one object for machines."""
    typer.echo(json.dumps(data, allow_nan=False))


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being done, for as long as it takes."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda what: bar.update(task, description=plain(what))


# -- trust ----------------------------------------------------------------------------------------

Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        help="What else the model file may hold, if you trust its author: a package (lightgbm, "
        "xgboost, catboost, sklearn), or in full a class or function:name; may be given several "
        "times. `condrisk inspect` shows what a file needs.",
        metavar="NAME",
    ),
]


def trusted_names(trust: list[str] | None) -> tuple[str, ...]:
    """Return what the user trusts; modules of theirs are found where the command is called."""
    if trust:
        sys.path.insert(0, os.getcwd())
    return tuple(trust or ())


# -- the figures of a manifest --------------------------------------------------------------------


def show_figures(evaluation: dict[str, Any] | None) -> None:
    """Print what a model does on new rows, as far as its file says."""
    if evaluation is None:
        say("No figures: the model was saved without rows to measure it on.")
        return
    from rich.console import Console

    Console().print(figures_table(evaluation))
    say(figures_note(evaluation))


def figures_table(evaluation: dict[str, Any]) -> Table:
    """Return what a model does on new rows, beside always and never deferring."""
    from rich.table import Table

    priced = evaluation["deferral_loss"] is not None
    table = Table(title="Expected on new rows", title_justify="left")
    table.add_column("")
    for name in ("deferred", "cost per row" if priced else "", "loss of accepted rows"):
        if name:
            table.add_column(name, justify="right")
    rate, accepted = evaluation["deferral_rate"], evaluation["accepted_loss"]
    rows = [("never defer", "0 %", "never", figure(evaluation["never"]))]
    if rate is not None:
        rows.insert(0, ("always defer", "100 %", "always", ""))
        rows.insert(0, ("this model", _share(rate), "deferral_loss", "none is accepted"))
    for name, share, paid, other in rows:
        if name == "this model" and accepted is not None:
            other = figure(accepted)
        cells = [name, share, *([figure(evaluation[paid])] if priced else []), other]
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
    return (
        f"Measured on {evaluation['rows']:,} rows that this model was not fitted on. In brackets "
        f"{evaluation['confidence']:.0%} intervals, of losses by {evaluation['interval']}."
    )
