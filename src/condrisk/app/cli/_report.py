"""`condrisk report`: one page that shows how risky a model's answers are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._numbers import count, percent
from condrisk.app._paths import check_inputs, check_output
from condrisk.app.cli._tables import (
    TABLE_HELP,
    DateFormats,
    Decimal,
    Query,
    Sheet,
    Source,
    parse_source,
    table_options,
)
from condrisk.app.cli._terminal import (
    Overwrite,
    Quiet,
    Trust,
    is_router_file,
    note,
    only_for,
    print_json,
    progress,
    say,
    show_verdict,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app._table_options import TableOptions
    from condrisk.app.report import Report


def report(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model file, as `condrisk fit` or save_model writes it.", metavar="MODEL"
        ),
    ],
    table: Annotated[
        Source | None,
        typer.Argument(
            help="Rows with the target, which the model was not fitted on. Without them the report "
            f"shows what the model file says of its own held-out rows. {TABLE_HELP}",
            metavar="TABLE",
            parser=parse_source,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write.", metavar="HTML")
    ] = Path("report.html"),
    cost: Annotated[
        float | None,
        typer.Option(
            help="The cost of deferring that the page starts with; by default the model's."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What stands at the top of the page.")] = None,
    rows: Annotated[
        int,
        typer.Option(min=0, help="How many of the riskiest rows to show in the page."),
    ] = 50,
    unit: Annotated[
        str | None,
        typer.Option(
            help="The unit of the target, such as g or EUR; without it as the column's name says, "
            "as in body_mass_g or price (EUR)."
        ),
    ] = None,
    sheet: Sheet = None,
    query: Query = None,
    decimal: Decimal = None,
    date_format: DateFormats = None,
    trust: Trust = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as one JSON object.")
    ] = False,
) -> None:
    """Write one HTML page about a model's risk: a cost to move, curves, segments, rows.

    The page needs no network and no server: open it in a browser, mail it, print it.

    Example: condrisk report model.skops holdout.csv -o report.html
    """
    with user_errors():
        options = table_options(sheet, query, decimal, date_format)
        _check(model, table, output, cost, options, overwrite=overwrite)
        if is_router_file(model):
            only_for("a router", cost=cost, unit=unit)
            figures = _report_router(model, table, output, title, trust, options)
            if as_json:
                print_json({"output": str(output), "figures": figures})
            else:
                say(f"Written to {output}")
            return
        with progress("reading the model") as update:
            made = _make(model, table, cost, title, rows, unit, trust, options, update)
            update("writing the page")
            _write(made, output)
    if as_json:
        print_json(_figures(made, output))
    else:
        _show(made, output)


def _report_router(
    path: Path,
    table: Path | None,
    output: Path,
    title: str | None,
    trust: list[str] | None,
    options: TableOptions,
) -> dict[str, Any] | None:
    """Write the page of a router, and return the figures that it shows."""
    from condrisk._files import write_whole
    from condrisk.app.models import open_router
    from condrisk.app.report import measure_router, render_router
    from condrisk.persistence import read_manifest

    manifest = read_manifest(path)
    if table is not None:
        from condrisk.app.tables import read_table

        with progress("reading the router") as update:
            router = open_router(path, trusted=trusted_names(trust))
            update("reading the table")
            frame = read_table(table, options=options, schema=router.schema, note=note)
            update("measuring")
            manifest["routing"]["figures"] = measure_router(router, frame)
    write_whole(output, render_router(manifest, title=title))
    return manifest["routing"]["figures"]


def _check(
    model: Path,
    table: Path | None,
    output: Path,
    cost: float | None,
    options: TableOptions,
    *,
    overwrite: bool,
) -> None:
    if cost is not None and not 0 <= cost < math.inf:
        raise ValueError(f"--cost must be a number of at least 0, got {cost}.")
    check_inputs(model, table, options=options)
    check_output(output, overwrite=overwrite)


def _make(
    path: Path,
    table: Path | None,
    cost: float | None,
    title: str | None,
    rows: int,
    unit: str | None,
    trust: list[str] | None,
    options: TableOptions,
    update: Callable[[str], None],
) -> Report:
    from condrisk.app.models import open_model
    from condrisk.app.report import build_report, report_from_manifest
    from condrisk.persistence import read_manifest

    if table is None:
        made = report_from_manifest(read_manifest(path))
        amounts = None if unit is None else replace(made.amounts, unit=unit)
        changes: dict[str, Any] = {"price": cost, "title": title, "amounts": amounts}
        return replace(made, **{name: v for name, v in changes.items() if v is not None})
    from condrisk.app.tables import read_table

    model = open_model(path, trusted=trusted_names(trust))
    update("reading the table")
    frame = read_table(table, options=options, schema=model.schema, note=note)
    return build_report(model, frame, price=cost, title=title, top=rows, unit=unit, progress=update)


def _write(made: Report, output: Path) -> None:
    from condrisk._files import write_whole
    from condrisk.app.report import render

    write_whole(output, render(made))


def _figures(made: Report, output: Path) -> dict[str, Any]:
    """Return what the page says at the cost that it starts with."""
    now = made.at(made.price)
    between = made.pays_between()
    return {
        "output": str(output),
        "rows": made.n_rows,
        "cost": made.price,
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
        "verdict": [sentence.text.replace("\u00a0", " ") for sentence in made.verdict],
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
    now, amounts = made.at(made.price), made.amounts
    below = made.all_below
    low = f"Below {amounts.cost(below)} defer everything; from" if below > 0 else "From"
    say(
        f"{count(made.n_rows)} rows at a cost of {amounts.cost(made.price)}: defers "
        f"{percent(now.rate)}, costs {amounts.text(now.loss)} a row (always deferring "
        f"{amounts.text(now.always)}, never {amounts.text(now.never)}).".replace("\u00a0", " ")
    )
    say(f"{low} {amounts.cost(made.highest)} defer nothing.".replace("\u00a0", " "))
    show_verdict(made.verdict)
    # A terminal needs no space that does not break.
    for line in (*made.cautions, *made.notes, f"Written to {output}"):
        say(line.replace("\u00a0", " "))
