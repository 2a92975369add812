"""Rows of values as CSV in which nothing is open: numbers with points, dates in ISO 8601."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, time
from decimal import Decimal
from typing import Any, TextIO

import orjson

# A number that could be taken for thousands gets a digit that says nothing.
_EITHER = re.compile(r"-?[1-9][0-9]{0,2}\.[0-9]{3}")


class BrokenRow:
    """A row that could not be read, and why."""

    def __init__(self, text: str, reason: str) -> None:
        self.text, self.reason = text, reason


def write_rows(
    file: TextIO, names: Sequence[str], rows: Iterable[Sequence[Any] | BrokenRow]
) -> dict[int, str]:
    """Write rows under their names, and return those that are broken, by number from 1."""
    broken: dict[int, str] = {}
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    for number, row in enumerate(rows, start=1):
        if isinstance(row, BrokenRow):
            broken[number] = row.reason
            # With a cell too many it is no row of the table.
            writer.writerow([row.text, *[""] * len(names)])
        else:
            writer.writerow([cell_text(value) for value in row])
    return broken


def cell_text(value: Any) -> str | None:
    """Return a value as CSV has it.

    Examples
    --------
    >>> from condrisk.app.tables._rows import cell_text
    >>> [cell_text(x) for x in (1.5, 1.234, 7.0, True, None, "a", [1, 2])]
    ['1.5', '1.2340', '7.0', 'true', None, 'a', '[1,2]']
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | Decimal):
        if value != value:
            return None
        text = repr(float(value)) if isinstance(value, float) else str(value)
        return text + "0" if _EITHER.fullmatch(text) else text
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime):
        midnight = value.tzinfo is None and value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(sep="T")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return str(value)
