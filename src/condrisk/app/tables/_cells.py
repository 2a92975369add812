"""The cells of one column: given the type that a model needs, or named with what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from condrisk.app._dtypes import is_day, is_text
from condrisk.app._errors import SchemaError
from condrisk.app.tables._columns import MAX_NUMBER

if TYPE_CHECKING:
    from condrisk.persistence import Column

# What people write where there is nothing; compared in lower case.
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none", "-")
TRUE_WORDS, FALSE_WORDS = ("true", "1", "yes", "t"), ("false", "0", "no", "f")
# In a message, a cell is cut to this many characters.
_SHOWN = 40


@dataclass(frozen=True)
class Cells:
    """A column in the type of its kind, with what is wrong, by row."""

    values: pl.Series
    bad: dict[int, str] = field(default_factory=dict)
    unseen: int = 0


def canonical(given: pl.Series, column: Column) -> Cells:
    """Return the cells of a column as its kind needs them."""
    cells = _MAKERS[column.kind](given, column)
    if column.required:
        return _require(cells, given, column)
    return cells


def _numbers(given: pl.Series, column: Column) -> Cells:
    dtype = given.dtype
    if is_text(dtype):
        values, bad = _numbers_of_text(given)
    elif dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        values, bad = given.cast(pl.Float64), {}
    else:
        raise _wrong_type(given, "numbers")
    low, high = values.min(), values.max()  # both pass over NaN
    if low is not None and (low < -MAX_NUMBER or high > MAX_NUMBER):  # type: ignore[operator]
        far = (values.abs() > MAX_NUMBER) & values.is_not_nan()
        bad |= _bad_rows(far, given, f"a number between -{MAX_NUMBER:g} and {MAX_NUMBER:g}")
    return Cells(values, bad)


def _numbers_of_text(given: pl.Series) -> tuple[pl.Series, dict[int, str]]:
    values = given.cast(pl.String).cast(pl.Float64, strict=False)
    if values.null_count() == given.null_count():
        return values, {}
    text = clean_text(given)  # slower, and seldom needed
    values = text.cast(pl.Float64, strict=False)
    return values, _bad_rows(text.is_not_null() & values.is_null(), given, "a number")


def _categories(given: pl.Series, column: Column) -> Cells:
    dtype = given.dtype
    if is_text(dtype):
        values = given if dtype == pl.String else given.cast(pl.String)
        if set(column.categories) == {"true", "false"}:
            values = values.str.to_lowercase()
    elif dtype == pl.Boolean:
        words = ("True", "False") if "True" in column.categories else ("true", "false")
        values = given.replace_strict({True: words[0], False: words[1]}, return_dtype=pl.String)
    elif dtype.is_float():  # 3.0 is what becomes of the category 3 where one is missing
        whole = given.cast(pl.Int64, strict=False)
        as_text = whole.cast(pl.String)
        values = as_text.zip_with(whole.cast(dtype) == given, given.cast(pl.String))
    elif dtype.is_integer() or dtype == pl.Null:
        values = given.cast(pl.String)
    else:
        raise _wrong_type(given, "categories")
    allowed = pl.Enum(column.categories)
    known = values.cast(allowed, strict=False)
    if known.null_count() > values.null_count():
        text = values.str.strip_chars()
        known = known.zip_with(known.is_not_null(), text.cast(allowed, strict=False))
        unseen = known.is_null() & ~missing_words(text)
        return Cells(known.cast(pl.String), unseen=int(unseen.sum()))
    return Cells(values)


def _booleans(given: pl.Series, column: Column) -> Cells:
    dtype = given.dtype
    if dtype in (pl.Boolean, pl.Null):
        return Cells(given.cast(pl.Boolean))
    if dtype.is_numeric():
        text = given.cast(pl.Float64).fill_nan(None).cast(pl.String).str.strip_suffix(".0")
    elif is_text(dtype):
        text = clean_text(given).str.to_lowercase()
    else:
        raise _wrong_type(given, "true or false")
    words = dict.fromkeys(TRUE_WORDS, True) | dict.fromkeys(FALSE_WORDS, False)
    values = text.replace_strict(words, default=None, return_dtype=pl.Boolean)
    return Cells(values, _bad_rows(text.is_not_null() & values.is_null(), given, "true or false"))


def _dates(given: pl.Series, column: Column) -> Cells:
    dtype = given.dtype
    if is_day(dtype) or dtype == pl.Null:
        return Cells(given.cast(pl.Date))
    if not is_text(dtype):
        raise _wrong_type(given, "dates")
    text = clean_text(given)
    values = as_days(text)
    bad = text.is_not_null() & values.is_null()
    return Cells(values, _bad_rows(bad, given, "a date such as 2026-11-15"))


def as_days(text: pl.Series) -> pl.Series:
    """Return dates, and moments of which the day is kept, as ISO 8601 writes them; else null."""
    shape = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
    fitting = text.set(~text.str.contains(shape).fill_null(False), None)
    return fitting.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


_MAKERS: dict[str, Callable[[pl.Series, Any], Cells]] = {
    "number": _numbers,
    "category": _categories,
    "boolean": _booleans,
    "date": _dates,
}


def missing_words(text: pl.Series) -> pl.Series:
    """Tell which cells of a column of stripped text stand for nothing."""
    return text.str.to_lowercase().is_in(MISSING_WORDS).fill_null(True)


def clean_text(values: pl.Series) -> pl.Series:
    """Return text without spaces around it, null where it stands for nothing, such as "n/a".

    Parameters
    ----------
    values : polars.Series
        Text, or what can be cast to it.

    Returns
    -------
    polars.Series
        Text.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables import clean_text
    >>> clean_text(pl.Series([" a ", "N/A", None])).to_list()
    ['a', None, None]
    """
    text = values.cast(pl.String).str.strip_chars()
    return text.set(missing_words(text), None)


def _require(cells: Cells, given: pl.Series, column: Column) -> Cells:
    """Make a row bad that has nothing in the column, or nothing known."""
    empty = cells.values.is_null()
    if cells.values.dtype.is_float():
        empty |= cells.values.is_nan().fill_null(True)
    if not empty.any():
        return cells
    right = f"one of {', '.join(column.categories[:12])}" if column.categories else column.kind
    return Cells(cells.values, _bad_rows(empty, given, right) | cells.bad)


def _bad_rows(where: pl.Series, given: pl.Series, right: str) -> dict[int, str]:
    rows = where.fill_null(False).arg_true()
    shown = given.gather(rows).to_list()
    return {
        row: _sentence(given.name, value, right)
        for row, value in zip(rows.to_list(), shown, strict=True)
    }


def _sentence(name: str, value: Any, right: str) -> str:
    if value is None or value == "":
        return f"column {name!r} is empty, but it must be {right}."
    text = repr(value)
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"column {name!r} holds {text}, but it must be {right}."


def _wrong_type(given: pl.Series, wanted: str) -> SchemaError:
    return SchemaError(
        f"column {given.name!r} must hold {wanted}, as when the model was fitted, "
        f"but it is of type {given.dtype}."
    )
