"""What the service says about the columns of a model: what was seen, and what a cell may be."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from condrisk.app._dtypes import MAX_NUMBER
from condrisk.app._numbers import exact
from condrisk.persistence import Column

# What `condrisk.app.tables.cell_reader` takes for numbers, truths and nothing, in text. A word may
# be in capitals too; JSON Schema has no way to say that.
_NUMBER = r"[+-]?([0-9]{1,25}\.?|[0-9]{0,15}\.[0-9]{1,15})([eE][+-]?[0-4])?|true|false"
_TRUTH = "[tTfF01]|true|false|yes|no"
_NOTHING = "|-|na|n/a|nan|null|none"


def day(days: float) -> str:
    """Return a number of days since 1970-01-01 as a date.

    Parameters
    ----------
    days : float
        The days.

    Returns
    -------
    str
        Such as 2024-12-31.
    """
    return moment(days)[:10]


def moment(days: float) -> str:
    """Return a number of days since 1970-01-01 as a date and time.

    Parameters
    ----------
    days : float
        The days, and parts of one.

    Returns
    -------
    str
        Such as 2024-12-31T12:00:00.
    """
    return (datetime(1970, 1, 1) + timedelta(days=days)).isoformat(timespec="seconds")


def seen_values(column: Column) -> str:
    """Say what was seen in a column when the model was fitted.

    Parameters
    ----------
    column : Column
        The column.

    Returns
    -------
    str
        A sentence or two; empty if there is nothing to say.
    """
    if column.kind == "category":
        known = ", ".join(column.categories[:50])
        more = len(column.categories) - 50
        others = "" if column.required else " Anything else counts as missing."
        return f"One of: {known}{f' and {more} more' if more > 0 else ''}.{others}"
    if column.low is None or column.high is None:
        return ""
    show = {"date": day, "datetime": moment}.get(column.kind, exact)
    return f"Seen from {show(column.low)} to {show(column.high)}."


# -- for OpenAPI ----------------------------------------------------------------------------------


def cell_schema(column: Column) -> dict[str, Any]:
    """Return what a cell may be.

    Parameters
    ----------
    column : Column
        Its column.

    Returns
    -------
    dict
        JSON Schema: the type of the column, and what means the same in a table of text.
    """
    allowed = _ALLOWED[column.kind](column)
    seen = seen_values(column)
    return allowed | ({"description": seen} if seen else {})


def _number(column: Column) -> dict[str, Any]:
    number = {"type": "number", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER}
    return _any_of(column, number, {"type": "boolean"}, text=_NUMBER)


def _boolean(column: Column) -> dict[str, Any]:
    return _any_of(column, {"type": "boolean"}, {"enum": [0, 1]}, text=_TRUTH)


def _date(column: Column) -> dict[str, Any]:
    return _any_of(column, {"type": "string", "format": "date"})


def _moment(column: Column) -> dict[str, Any]:
    # Years have four digits, and an offset must not lead out of them.
    pattern = r"^[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
    pattern += r"(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?Z?)?$"
    date = {"type": "string", "format": "date"}
    return _any_of(column, {"type": "string", "pattern": pattern}, date)


def _scalar(column: Column) -> dict[str, Any]:
    kinds = ["string", "number", "boolean"]
    return {"type": kinds if column.required else [*kinds, "null"]}


def _category(column: Column) -> dict[str, Any]:
    return {"enum": list(column.categories)} if column.required else _scalar(column)


def _any_of(column: Column, *allowed: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    """Add the ways to write a value, or nothing, as text."""
    words = [] if text is None else [text]
    if not column.required:
        words.append(_NOTHING)
        allowed = (*allowed, {"type": "null"})
    if words:
        pattern = rf"^\s*({'|'.join(words)})\s*$"
        allowed = (*allowed, {"type": "string", "pattern": pattern})
    return {"anyOf": list(allowed)}


_ALLOWED = {
    "number": _number,
    "boolean": _boolean,
    "category": _category,
    "date": _date,
    "datetime": _moment,
    "text": _scalar,
}
