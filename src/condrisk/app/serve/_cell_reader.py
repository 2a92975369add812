"""Stands in for `condrisk.app.tables.cell_reader` until that is there; then this file goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from condrisk.app.tables import MAX_NUMBER, Column, Schema

_PLAIN = (type(None), bool, int, float, str)


def cell_reader(
    column: Column, *, on_unseen: Callable[[], Any] | None = None
) -> Callable[[Any], Any]:
    """Return what makes the value of a column of one JSON value, or says what would be right."""
    schema, known = Schema((column,)), frozenset(column.categories)
    quick = {
        "number": lambda v: type(v) is float and -MAX_NUMBER <= v <= MAX_NUMBER,
        "category": lambda v: type(v) is str and v in known,
        "boolean": lambda v: type(v) is bool,
    }.get(column.kind, lambda v: False)

    def read(value: Any) -> Any:
        if quick(value) or (value is None and not column.required):
            return value
        if type(value) not in _PLAIN:
            raise ValueError(f"a {column.kind}")
        checked = schema.check(pl.DataFrame({column.name: [value]}, strict=False))
        for reason in checked.bad.values():
            raise ValueError(reason.rpartition("it must be ")[2].rstrip("."))
        if checked.unseen and on_unseen is not None:
            on_unseen()
        return checked.good[column.name][0]

    return read
