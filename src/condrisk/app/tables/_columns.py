"""What stands in a column: what a model can learn from it, and what not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import polars as pl

from condrisk.app._dtypes import is_day, is_text
from condrisk.app.tables._layout import UNNAMED
from condrisk.app.tables._notation import Notation
from condrisk.persistence import Column, Schema

# Boosted trees take no more categories than this, missing ones apart.
MAX_CATEGORIES = 250
# A text that differs in more than this share of the rows is a name of the row, not a category.
NAME_SHARE = 0.5
FEW_CATEGORIES = 30
# Whole numbers that all differ are numbers of rows where they are consecutive, in this many rows.
FEWEST_NUMBERED = 20
_ID_NAME = re.compile(
    r"(?i:(?:.*[^a-z])?(?:id|ids|uid|uuid|guid|key|nr|no|number|index|idx|rownames?|row))|.*[a-z]I[dD]"
)


def left_out(
    frame: pl.DataFrame, *, exclude: Sequence[str] = (), only: Sequence[str] | None = None
) -> dict[str, str]:
    """Return the columns that no model can learn from, each with the reason.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows to fit on.
    exclude : sequence of str
        Columns that are not for the model anyway.
    only : sequence of str, optional
        The columns to use; these may be numbers that look like those of rows.

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
    names = [n for n in (frame.columns if only is None else only) if n not in exclude]
    useless = {name: reason for name in names if (reason := _unusable_reason(frame[name]))}
    ids = {name: reason for name in names if (reason := _id_reason(frame[name]))}
    if only is not None or len(useless | ids) == len(names):  # named, or the only ones there are
        return useless
    return {name: (ids | useless)[name] for name in names if name in ids | useless}


def _id_reason(column: pl.Series) -> str | None:
    """Return why whole numbers tell rows apart, and nothing about them."""
    if not column.dtype.is_integer() or not len(column):
        return None
    if column.name == UNNAMED:
        return "it has no name and whole numbers: an index"
    if column.null_count() or column.n_unique() < len(column):
        return None
    if _ID_NAME.fullmatch(column.name):
        return "it is a whole number that differs in every row, named like an id"
    low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
    if high - low + 1 == len(column) >= FEWEST_NUMBERED:
        return f"it numbers the rows, from {low} to {high}"
    return None


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
        return f"it is text with {distinct:,} distinct values"
    return None


def table_schema(
    frame: pl.DataFrame,
    *,
    exclude: Sequence[str] = (),
    only: Sequence[str] | None = None,
    notations: Mapping[str, Notation] | None = None,
) -> Schema:
    """Return the columns of a table that a model can learn from, as `condrisk fit` takes them.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows to fit on.
    exclude : sequence of str
        Columns that are not for the model, such as the target.
    only : sequence of str, optional
        The columns to use; all others are not for the model.
    notations : mapping of str to Notation, optional
        How cells were written, as `read_noted` gives it: later cells are read in the same way.

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
    useless = left_out(frame, exclude=exclude, only=only)
    names = [
        name
        for name in frame.columns
        if name not in exclude and name not in useless and (only is None or name in only)
    ]
    known = notations or {}
    columns = tuple(table_column(frame[name], known.get(name)) for name in names)
    return Schema(columns, n_rows=frame.height)


def table_column(column: pl.Series, notation: Notation | None = None) -> Column:
    """Return what stands in a column that a model can learn from, and how it was written."""
    found = _described(column)
    if notation is None or found.kind not in ("number", "date"):
        return found
    return replace(found, unit=notation.unit, written=notation.written)


def _described(column: pl.Series) -> Column:
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
    # A value that there is: between two of them is none that an encoder of codes has seen.
    middle = float(numbers.quantile(0.5, "lower"))  # type: ignore[arg-type]
    missing = numbers.null_count() / len(column)
    return Column(name, "number", (), low, high, missing, typical=middle)


def _range(values: pl.Series) -> tuple[float, float]:
    return float(values.min()), float(values.max())  # type: ignore[arg-type]


def _commonest(known: pl.Series) -> Any:
    return known.mode().sort()[0]
