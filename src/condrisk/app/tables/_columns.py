"""What stands in a column: what a model can learn from it, and what not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from condrisk.app._dtypes import is_day, is_text

# Boosted trees take no more categories than this, missing ones apart.
MAX_CATEGORIES = 250
# A text that differs in more than this share of the rows is a name of the row, not a category.
NAME_SHARE = 0.5
FEW_CATEGORIES = 30
# Numbers beyond this are not measurements, and their squares would soon overflow.
MAX_NUMBER = 1e30
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


def describe(column: pl.Series) -> dict[str, Any]:
    """Return the fields of the `Column` that stands for a column of data."""
    dtype = column.dtype
    found: dict[str, Any] = {"name": column.name, "missing": column.null_count() / len(column)}
    if is_text(dtype):
        seen = column.cast(pl.String).drop_nulls().unique().sort()
        return found | {"kind": "category", "categories": tuple(seen)}
    if dtype == pl.Boolean:
        return found | {"kind": "boolean"}
    if is_day(dtype):
        days = column.cast(pl.Date).to_physical()
        return found | {"kind": "date", "low": float(days.min()), "high": float(days.max())}  # type: ignore[arg-type]
    numbers = column.cast(pl.Float64).fill_nan(None)
    return found | {
        "kind": "number",
        "low": float(numbers.min()),  # type: ignore[arg-type]
        "high": float(numbers.max()),  # type: ignore[arg-type]
        "missing": numbers.null_count() / len(column),
    }
