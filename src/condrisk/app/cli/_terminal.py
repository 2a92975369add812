"""What the commands share: progress, sentences, tables, and errors that a user can mend."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from condrisk.app._numbers import Amounts, percent, unit_of
from condrisk.app._verdict import Sentence, verdict

if TYPE_CHECKING:
    from rich.table import Table

# How commands end, besides with 0; `condrisk --help` and the documentation say the same.
FAILED, WRONG_INPUT, TOLD, STOPPED = 1, 2, 3, 130


class Task(StrEnum):
    """What kind of target it is."""

    regression = "regression"
    classification = "classification"


# -- errors ---------------------------------------------------------------------------------------


@contextmanager
def user_errors(kept: str = "Nothing was written.") -> Iterator[None]:
    """End with one sentence where the input is wrong, the system is in the way, or on Ctrl-C.

    `kept` is what there is then.
    """
    try:
        yield
    except (ValueError, ImportError) as error:
        fail(error, code=WRONG_INPUT)
    except OSError as error:
        fail(error, code=FAILED)
    except KeyboardInterrupt:
        text = f"Stopped. {escape(plain(kept))}"
        Console(stderr=True).print(text, highlight=False, soft_wrap=True)
        raise typer.Exit(STOPPED) from None


def fail(error: Exception, *, code: int) -> NoReturn:
    """Say in one sentence what is wrong, and end."""
    text = f"[bold red]Error:[/] {escape(plain(as_options(str(error))))}"
    Console(stderr=True).print(text, highlight=False, soft_wrap=True)
    raise typer.Exit(code)


# Arguments of functions that are options of commands, in messages that tell what to give.
_ARGUMENT = re.compile(
    r"\b(overwrite|prefix|engine|cost|cost_column|budget|risk_target|decimal|date_format|sheet|query|trust)="
    r"('[^']*'|\"[^\"]*\"|True|[0-9.]*[0-9])"
)


# A message that begins with an argument, such as "cost must be a number".
_FIRST = re.compile(
    r"^(budget|cap|confidence|cost|cost_column|cost_matrix|drop|holdout|loss|only|predictions"
    r"|predictor|risk_target|target|task|time) (?=must be|is a share|'[^']*' is not a column)"
)


def as_options(text: str) -> str:
    """Return a message with options in place of the arguments of functions.

    Examples
    --------
    >>> from condrisk.app.cli._terminal import as_options
    >>> as_options("replace it with overwrite=True, or say date_format='%d/%m/%Y'.")
    'replace it with --overwrite, or say --date-format %d/%m/%Y.'
    >>> as_options("cost_column 'fees' is not a column.")
    "--cost-column 'fees' is not a column."
    """

    def option(found: re.Match[str]) -> str:
        name = f"--{found[1].replace('_', '-')}"
        value = ast.literal_eval(found[2])
        return name if value is True else f"{name} {shlex.quote(str(value))}"

    return _FIRST.sub(lambda found: f"--{found[1].replace('_', '-')} ", _ARGUMENT.sub(option, text))


def exclusive(**options: Any) -> None:
    """Refuse more than one of several options: those that are not None, False or empty."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if _given(value)]
    if len(given) > 1:
        raise ValueError(f"{given[0]} and {given[1]} exclude each other: give one of them.")


def needs(option: str, **others: Any) -> None:
    """Refuse options that mean nothing without another one."""
    given = [f"--{name.replace('_', '-')}" for name, value in others.items() if _given(value)]
    if given:
        raise ValueError(f"{given[0]} means nothing without {option}.")


def _given(value: Any) -> bool:
    return value is not None and value is not False and value != []


def is_router_file(path: Any) -> bool:
    """Tell whether a model file holds a router, by its manifest alone."""
    from condrisk.persistence import read_manifest

    return read_manifest(path)["task"] == "routing"


def only_for(kind: str, **options: Any) -> None:
    """Refuse options that mean nothing for this kind of model file."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if _given(value)]
    if given:
        raise ValueError(f"{given[0]} means nothing for {kind}.")


Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output that is there already.")
]


# -- words ----------------------------------------------------------------------------------------

_quiet = False


def _set_quiet(wanted: bool) -> bool:
    global _quiet
    _quiet = wanted
    return wanted


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=_set_quiet, help="Print no notes and no results, only errors."
    ),
]


def plain(text: object) -> str:
    """Return text of a file without characters that a terminal would obey."""
    return "".join(mark if mark.isprintable() else "\ufffd" for mark in str(text))


def say(text: object, *, stderr: bool = False, style: str | None = None) -> None:
    """Print a line in which nothing is markup: names of files and columns are the user's."""
    if not _quiet:
        console = Console(stderr=stderr)
        console.print(plain(text), style=style, markup=False, highlight=False, soft_wrap=True)


def show(*things: Any, **options: Any) -> None:
    """Print tables, or text with markup."""
    if not _quiet:
        Console().print(*things, **options)


def note(text: object) -> None:
    """Tell on stderr what was decided for the user."""
    said = str(text)
    say(f"Note: {said}{'' if said.endswith('.') else '.'}", stderr=True, style="yellow")


def print_json(data: dict[str, Any]) -> None:
    """Print one object for machines."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False)
    # JSON escapes what terminals obey below a space, but not the commands of one byte above them.
    typer.echo(re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text))


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], None]]:
    """Show on stderr what is being done, for as long as it takes."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    console = Console(stderr=True)
    off = _quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=off) as bar:
        task = bar.add_task(first, total=None)
        yield lambda what: bar.update(task, description=plain(what))


def is_quiet() -> bool:
    """Tell whether only errors are to be printed."""
    return _quiet


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


def show_figures(manifest: dict[str, Any]) -> None:
    """Print what a model does on new rows, as far as its file says, and what that means."""
    evaluation = manifest["evaluation"]
    if evaluation is None:
        say("No figures: the model was saved without rows to measure it on.")
        return
    amounts = Amounts(manifest["loss"], unit_of(manifest["target"]))
    show(figures_table(evaluation, amounts))
    say(figures_note(evaluation))
    show_verdict(verdict_of(manifest))


def verdict_of(manifest: dict[str, Any]) -> list[Sentence]:
    """Return what the held-out rows of a model file say."""
    return verdict(manifest["evaluation"], Amounts(manifest["loss"], unit_of(manifest["target"])))


def show_verdict(sentences: Iterable[Sentence]) -> None:
    """Print what held-out rows say, a warning in another colour."""
    styles = {"good": "green", "caution": "yellow"}
    for kind, text in sentences:
        # A terminal needs no space that does not break.
        say(f"- {text}".replace("\u00a0", " "), style=styles.get(kind))


def figures_table(evaluation: dict[str, Any], amounts: Amounts) -> Table:
    """Return what a model does on new rows, beside always and never deferring."""
    from rich.table import Table

    priced = evaluation["deferral_loss"] is not None
    table = Table(title="Expected on new rows", title_justify="left")
    table.add_column("")
    for name in ("deferred", "cost per row" if priced else "", "loss of accepted rows"):
        if name:
            table.add_column(name, justify="right")
    rate, accepted = evaluation["deferral_rate"], evaluation["accepted_loss"]
    rows: list[tuple[str, list[str]]] = []
    if rate is not None:
        kept = "none is accepted" if accepted is None else figure(accepted, amounts)
        rows = [("this model", [_share(rate), "deferral_loss", kept])]
        rows.append(("always defer", ["100 %", "always", ""]))
    rows.append(("never defer", ["0 %", "never", figure(evaluation["never"], amounts)]))
    for _, cells in rows:
        cells[1:2] = [figure(evaluation[cells[1]], amounts)] if priced else []
    for name, cells in _fitted(rows):
        table.add_row(name, *cells, style="bold" if name == "this model" else None)
    return table


def _fitted(rows: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Put intervals into lines of their own where they do not fit beside their figures."""
    widths = [max(map(len, cells)) for cells in zip(*(cells for _, cells in rows), strict=True)]
    frame = len("this model") + 2 + 3 * (len(widths) + 2)
    if sum(widths) + frame <= Console().width:
        return rows
    return [(name, [cell.replace(" [", "\n[") for cell in cells]) for name, cells in rows]


def figure(found: dict[str, float], amounts: Amounts) -> str:
    """Return a figure with its interval."""
    value = amounts.text(found["value"])
    if found["low"] < found["high"]:
        value = f"{value} [{amounts.bare(found['low'])}, {amounts.bare(found['high'])}]"
    return value.replace("\u00a0", " ")


def _share(found: dict[str, float]) -> str:
    low, high = 100 * found["low"], 100 * found["high"]
    return f"{percent(found['value'])} [{low:.0f}, {high:.0f}]".replace("\u00a0", " ")


def figures_note(evaluation: dict[str, Any]) -> str:
    """Return what the figures are, in words."""
    return (
        f"Measured on {evaluation['rows']:,} rows that this model was not fitted on. In brackets: "
        f"{100 * evaluation['confidence']:.4g} % intervals, those of losses by "
        f"{evaluation['interval']}."
    )
