"""`condrisk compare`: which of two models is better, on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._numbers import count
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
    note,
    print_json,
    progress,
    say,
    show_verdict,
    trusted_names,
    user_errors,
)

if TYPE_CHECKING:
    from condrisk.app._table_options import TableOptions
    from condrisk.app.report import Comparison


def compare(
    first: Annotated[Path, typer.Argument(help="A model file.", metavar="FIRST")],
    second: Annotated[
        Path, typer.Argument(help="Another, of the same target and loss.", metavar="SECOND")
    ],
    table: Annotated[
        Source,
        typer.Argument(
            help=f"Rows with the target, which neither model was fitted on. {TABLE_HELP}",
            metavar="TABLE",
            parser=parse_source,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write.", metavar="HTML")
    ] = Path("compare.html"),
    cost: Annotated[
        float | None,
        typer.Option(help="The cost of deferring to compare at; by default that of the models."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="The unit of the target; without it as the column's name says."),
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
    """Compare two models on the same rows: costs, ranking and calibration, in pairs.

    The page shows the deferral loss of both at all costs, the difference with its band, and the
    mean loss of accepted rows. It needs no network and no server.

    Example: condrisk compare old.skops new.skops holdout.csv -o compare.html
    """
    with user_errors():
        if cost is not None and not 0 <= cost < math.inf:
            raise ValueError(f"--cost must be a number of at least 0, got {cost}.")
        options = table_options(sheet, query, decimal, date_format)
        check_inputs(first, table, options=options)
        check_inputs(second)
        check_output(output, overwrite=overwrite)
        with progress("reading the models") as update:
            found = _compare((first, second), table, trust, options, update, cost=cost, unit=unit)
            update("writing the page")
            _write(found, output)
    if as_json:
        print_json({"output": str(output), **found.to_dict()})
    else:
        _show(found, output)


def _compare(
    paths: tuple[Path, Path],
    table: Path,
    trust: list[str] | None,
    options: TableOptions,
    update: Callable[[str], None],
    **choices: Any,
) -> Comparison:
    from condrisk.app.models import open_model
    from condrisk.app.report import compare_models
    from condrisk.app.tables import read_table
    from condrisk.persistence import Schema

    first, second = (open_model(path, trusted=trusted_names(trust)) for path in paths)
    update("reading the table")
    # The columns of both settle what the table leaves open; the first model's where they differ.
    columns = {c.name: c for c in (*second.schema.needed, *first.schema.needed)}
    schema = Schema(tuple(columns.values()))
    frame = read_table(table, options=options, schema=schema, note=note)
    names = (paths[0].name, paths[1].name) if paths[0].name != paths[1].name else None
    return compare_models(first, second, frame, names=names, progress=update, **choices)


def _write(found: Comparison, output: Path) -> None:
    from condrisk._files import write_whole
    from condrisk.app.report import render_comparison

    write_whole(output, render_comparison(found))


def _show(found: Comparison, output: Path) -> None:
    first, second = found.names
    say(f"{first} and {second} on {count(found.overall.n_rows)} rows", style="bold")
    show_verdict(found.sentences())
    for text in found.notes:
        say(text)
    say(f"Written to {output}")
