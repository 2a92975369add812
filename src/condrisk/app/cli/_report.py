"""`condrisk report`: one page that shows how risky a model's answers are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._numbers import count, number, percent
from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import (
    Trust,
    check_output,
    print_json,
    progress,
    say,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app.report import Report


def report(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model file, as `condrisk fit` or save_model writes it.", metavar="MODEL"
        ),
    ],
    table: Annotated[
        Path | None,
        typer.Argument(
            help="Rows with the target, which the model was not fitted on: CSV, Parquet or Arrow. "
            "Without them the report shows what the model file says of its own held-out rows.",
            metavar="TABLE",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write.", metavar="HTML")
    ] = Path("report.html"),
    price: Annotated[
        float | None,
        typer.Option(help="The price of asking that the page starts with; by default the model's."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What stands at the top of the page.")] = None,
    rows: Annotated[
        int,
        typer.Option(min=0, help="How many of the riskiest rows to show in the page."),
    ] = 50,
    trust: Trust = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as one JSON object.")
    ] = False,
) -> None:
    """Write one HTML page about a model's risk: a price to move, curves, segments, rows.

    The page needs no network and no server: open it in a browser, mail it, print it.

    Example: condrisk report model.skops holdout.csv -o report.html
    """
    with user_errors():
        _check(model, table, output, price)
        with progress("reading the model") as update:
            made = _make(model, table, price, title, rows, trust, update)
            update("writing the page")
            _write(made, output)
    if as_json:
        print_json(_figures(made, output))
    else:
        _show(made, output)


def _check(model: Path, table: Path | None, output: Path, price: float | None) -> None:
    if price is not None and not 0 <= price < math.inf:
        raise ValueError(f"--price is a price and must be a number of at least 0, got {price}.")
    check_output(output)
    check_inputs(model, table)


def _make(
    path: Path,
    table: Path | None,
    price: float | None,
    title: str | None,
    rows: int,
    trust: list[str] | None,
    update: Callable[[str], None],
) -> Report:
    from condrisk.app.models import open_model
    from condrisk.app.report import build_report, report_from_manifest
    from condrisk.persistence import read_manifest

    if table is None:
        made = report_from_manifest(read_manifest(path))
        changes: dict[str, Any] = {"price": price, "title": title}
        return replace(made, **{name: v for name, v in changes.items() if v is not None})
    from condrisk.app.tables import read_table

    model = open_model(path, trusted=trusted_names(trust))
    update("reading the table")
    frame = read_table(table)
    return build_report(model, frame, price=price, title=title, top=rows, progress=update)


def _write(made: Report, output: Path) -> None:
    from condrisk._files import write_whole
    from condrisk.app.report import render

    write_whole(output, render(made))


def _figures(made: Report, output: Path) -> dict[str, Any]:
    """Return what the page says at the price that it starts with."""
    now = made.at(made.price)
    between = made.pays_between()
    return {
        "output": str(output),
        "rows": made.n_rows,
        "price": made.price,
        "deferral_rate": now.rate,
        "deferral_loss": now.loss,
        "always": now.always,
        "never": now.never,
        "oracle": now.oracle,
        "accepted_loss": now.accepted_loss,
        "break_even": {
            "always_below": made.lowest,
            "never_from": made.highest,
            "equal_at": made.mean_loss,
            "pays_between": None if between is None else list(between),
        },
        "drivers": [{"column": d.column, "change": d.change} for d in made.drivers],
        "segments": [_segment(segment) for segment in made.segments],
        "notes": [*made.cautions, *made.notes],
    }


def _segment(segment: Any) -> dict[str, Any]:
    conditions = [
        {
            "column": test.column,
            "relation": test.relation,
            "value": test.value,
            "or_missing": test.or_missing,
        }
        for test in segment.tests
    ]
    names = ("rows", "share", "mean_risk", "mean_loss", "low", "high")
    return {"where": conditions} | {name: getattr(segment, name) for name in names}


def _show(made: Report, output: Path) -> None:
    now = made.at(made.price)
    cheap = f"below {number(made.lowest)}" if made.lowest > 0 else "only where it is free"
    lines = [
        f"{count(made.n_rows)} rows at a price of {number(made.price)}: asks about "
        f"{percent(now.rate)}, costs {number(now.loss)} a row (always asking {number(now.always)}, "
        f"never asking {number(now.never)}).",
        f"Asking always pays {cheap} and never from {number(made.highest)}.",
        *made.cautions,
        *made.notes,
        f"Written to {output}",
    ]
    # A terminal needs no space that does not break.
    for line in lines:
        say(line.replace("\u00a0", " "))
