"""Options of every command that reads a table, and how options with an = are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from condrisk.app._paths import is_url
from condrisk.app._table_options import TableOptions

# What a table may be, for the help of an argument.
TABLE_HELP = (
    "CSV, TSV, Excel, JSON lines, Parquet or Arrow, also as .gz or .zst; - for standard input; or "
    "the URL of a database, with --query."
)
_PANEL = "Reading the table"


# What `parse_source` returns. Not a `Path`, which older typers would make of a database's URL.
Source = Any


def parse_source(text: Any) -> str | Path:
    """Return where a table is: the URL of a database as text, anything else as a path."""
    return text if is_url(text) else Path(text)


Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet", help="Of a workbook: the sheet, by name or number.", rich_help_panel=_PANEL
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        help="The rows to read from a database, as in: sqlite:///sales.db --query 'SELECT * FROM "
        "sales'.",
        metavar="SQL",
        rich_help_panel=_PANEL,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        help="The decimal sign, . or , where numbers do not show it: 1.234 may be a thousand.",
        metavar="SIGN",
        rich_help_panel=_PANEL,
    ),
]
DateFormats = Annotated[
    list[str] | None,
    typer.Option(
        "--date-format",
        help="How dates are written where they do not show it, as %d/%m/%Y: 03/04/2026 may be in "
        "March. May be given several times.",
        metavar="FORMAT",
        rich_help_panel=_PANEL,
    ),
]


def table_options(
    sheet: str | None, query: str | None, decimal: str | None, date_formats: list[str] | None
) -> TableOptions:
    """Return what the user says of a table."""
    return TableOptions(sheet, query, decimal, tuple(date_formats or ()))


def pairs(given: list[str], option: str, what: str) -> dict[str, str]:
    """Return what was given as NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise ValueError(f"{option} must be MODEL={what}, got {text!r}.")
        if name in found:
            raise ValueError(f"{option} names the model {name!r} twice.")
        found[name] = value
    return found
