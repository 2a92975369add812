"""What stands in a column: what a model can learn from it, and what not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import polars as pl

from condrisk.app._dtypes import is_day, is_text
from condrisk.persistence import Column, Schema

# Boosted trees take no more categories than this, missing ones apart.
MAX_CATEGORIES = 250
# A text that differs in more than this share of the rows is a name of the row, not a category.
NAME_SHARE = 0.5
FEW_CATEGORIES = 30
# Which number is the day cannot be told.
_DATE_LIKE = r"^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"


def left_out(frame: pl.DataFrame, *, exclude: Sequence[str] = ()) -> dict[str, str]:
    """Return the columns that no model can learn from, each with the reason.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows to fit on.
    exclude : sequence of str
        Columns that are not for the model anyway.

    Returns
    -------
    dict of str to str
        Such as ``{"note": "it is empty"}``.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables import left_out
    >>> left_out(pl.DataFrame({"a": [1, 2], "b": [None, None], "c": [7, 7]}))
    {'b': 'it is empty', 'c': 'it has the same value in every row'}
    """
    reasons = {name: _unusable_reason(frame[name]) for name in frame.columns if name not in exclude}
    return {name: reason for name, reason in reasons.items() if reason}


def _unusable_reason(column: pl.Series) -> str | None:
    dtype = column.dtype
    if column.null_count() == len(column):
        return "it is empty"
    if not (dtype.is_numeric() or is_text(dtype) or is_day(dtype) or dtype == pl.Boolean):
        return f"it is of type {dtype}"
    known = column.drop_nulls()
    if dtype.is_float():
        known = known.drop_nans()
    distinct = known.n_unique()
    if distinct == 0:
        return "it is empty"
    if distinct == 1 and len(known) == len(column):
        return "it has the same value in every row"
    most = max(FEW_CATEGORIES, min(MAX_CATEGORIES, NAME_SHARE * len(known)))
    if is_text(dtype) and distinct > most:
        if known.cast(pl.String).str.contains(_DATE_LIKE).all():
            return "it is text that looks like dates, which must be written as 2026-11-15"
        return f"it is text with {distinct:,} distinct values"
    return None


def table_schema(frame: pl.DataFrame, *, exclude: Sequence[str] = ()) -> Schema:
    """Return the columns of a table that a model can learn from, as `condrisk fit` takes them.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows to fit on.
    exclude : sequence of str
        Columns that are not for the model, such as the target.

    Returns
    -------
    Schema
        In the container "codes", without the columns that `left_out` names.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables import table_schema
    >>> schema = table_schema(pl.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [7, 7]}))
    >>> [(column.name, column.kind) for column in schema.columns]
    [('a', 'number'), ('b', 'category')]
    """
    useless = left_out(frame, exclude=exclude)
    names = [name for name in frame.columns if name not in exclude and name not in useless]
    return Schema(tuple(table_column(frame[name]) for name in names), n_rows=frame.height)


def table_column(column: pl.Series) -> Column:
    """Return what stands in a column that a model can learn from."""
    dtype, name = column.dtype, column.name
    missing = column.null_count() / len(column)
    if is_text(dtype):
        known = column.cast(pl.String).drop_nulls()
        seen = tuple(known.unique().sort())
        return Column(name, "category", seen, missing=missing, typical=str(_commonest(known)))
    if dtype == pl.Boolean:
        typical = bool(_commonest(column.drop_nulls()))
        return Column(name, "boolean", missing=missing, typical=typical)
    if is_day(dtype):
        days = column.cast(pl.Date).to_physical().drop_nulls()
        day = date(1970, 1, 1) + timedelta(days=int(days.median()))  # type: ignore[arg-type]
        low, high = _range(days)
        return Column(name, "date", (), low, high, missing, typical=day.isoformat())
    numbers = column.cast(pl.Float64).fill_nan(None)
    low, high = _range(numbers)
    middle = float(numbers.median())  # type: ignore[arg-type]
    missing = numbers.null_count() / len(column)
    return Column(name, "number", (), low, high, missing, typical=middle)


def _range(values: pl.Series) -> tuple[float, float]:
    return float(values.min()), float(values.max())  # type: ignore[arg-type]


def _commonest(known: pl.Series) -> Any:
    return known.mode().sort()[0]
