"""The cells of one column: given the type that a model needs, or named with what is wrong.

Cells of the obvious form are read all at once, and every other one by the reader of single cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from condrisk.app._dtypes import MAX_NUMBER, is_day, is_text
from condrisk.app._errors import TableError
from condrisk.app.tables._cell_reader import MISSING_WORDS, Reader, plain_reader
from condrisk.app.tables._moments import MOMENT_TYPE, moments_of, naive_utc
from condrisk.app.tables._notation import Notation, looks_plain, plain_text

if TYPE_CHECKING:
    from condrisk.persistence import Column

# In a message, a cell is cut to this many characters.
_SHOWN = 40


@dataclass(frozen=True)
class Cells:
    """A column in the type of its kind, with what is wrong, by row.

    Attributes
    ----------
    values : polars.Series
        Float64, String, Boolean, Date or Datetime; null where nothing stands, or what is wrong.
    bad : dict of int to str
        By position, a sentence about each cell that does not fit.
    unseen : int
        How many cells hold a category that was not seen when fitting.
    """

    values: pl.Series
    bad: dict[int, str] = field(default_factory=dict)
    unseen: int = 0


def canonical(given: pl.Series, column: Column) -> Cells:
    """Return the cells of a column as its kind needs them: what `cell_reader` says of each.

    Parameters
    ----------
    given : polars.Series
        Text, numbers, booleans, days or moments.
    column : Column
        What they must be.

    Returns
    -------
    Cells
        The values, and what is wrong with the others.

    Raises
    ------
    TableError
        Where the column is of a type that its kind never has.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables._cells import canonical
    >>> from condrisk.persistence import Column
    >>> cells = canonical(pl.Series("size", ["1.5", "large", "NA"]), Column("size", "number"))
    >>> cells.values.to_list(), cells.bad
    ([1.5, None, None], {1: "column 'size' holds 'large', but it must be a number."})
    """
    obvious, wanted = _OBVIOUS[column.kind]
    plain = _plain(given, column.kind)
    if plain is None:
        raise _wrong_type(given, wanted)
    values = obvious(plain, column)
    if plain.dtype == pl.String and not (notation := Notation.of(column)).is_plain:
        other = (values.is_null() & plain.is_not_null()) | ~looks_plain(plain, notation)
        if other.any():
            found = plain_text(plain.set(~other, None), notation)
            plain = found.zip_with(other, plain)
            values = obvious(found, column).zip_with(other, values)
    odd = values.is_null() & plain.is_not_null()
    cells = _decide(plain, odd, values, column) if odd.any() else Cells(values)
    if column.required and plain.null_count():
        right = _complaint(plain_reader(column, lambda: None))
        bad = {row: _sentence(given, row, right) for row in _rows(plain.is_null())}
        return Cells(cells.values, bad | cells.bad, cells.unseen)
    return cells


def _plain(given: pl.Series, kind: str) -> pl.Series | None:
    """Return a column as text, numbers, booleans, days or moments; None if its kind has no such."""
    dtype: Any = given.dtype
    if is_text(dtype) or dtype == pl.Null:
        return given if dtype == pl.String else given.cast(pl.String)
    if is_day(dtype):
        days = given if dtype == pl.Date else naive_utc(given)
        return None if kind in ("number", "boolean") else days
    if kind in ("date", "datetime") or not (dtype.is_numeric() or dtype == pl.Boolean):
        return None
    if dtype == pl.Float32 and kind in ("category", "text"):
        return given.fill_nan(None).cast(pl.String).cast(pl.Float64)  # as it would be written
    return (
        given.cast(pl.Float64).fill_nan(None) if dtype.is_float() or dtype.is_decimal() else given
    )


def _decide(given: pl.Series, odd: pl.Series, values: pl.Series, column: Column) -> Cells:
    """Let the reader of single cells decide about the odd ones, each distinct one once."""
    rows = _rows(odd)
    cells = given.gather(rows).to_list()
    unseen_now: list[None] = []
    read = plain_reader(column, lambda: unseen_now.append(None))
    known: dict[Any, Any] = {}
    wrong: dict[Any, str] = {}
    unseen: set[Any] = set()
    for cell in dict.fromkeys(cells):
        try:
            known[cell] = read(cell)
        except ValueError as error:
            known[cell], wrong[cell] = None, str(error)
        if unseen_now:
            unseen.add(cell)
            unseen_now.clear()
    found = pl.Series(given.name, [known[cell] for cell in cells], dtype=values.dtype, strict=False)
    bad = {
        row: _sentence(given, row, wrong[cell])
        for row, cell in zip(rows, cells, strict=True)
        if cell in wrong
    }
    if found.null_count() < len(found):
        values = values.clone().scatter(rows, found)
    return Cells(values, bad, sum(cell in unseen for cell in cells))


def _rows(where: pl.Series) -> list[int]:
    return where.arg_true().to_list()


# Each returns what is plain to see, and null for every cell that is not.


def _obvious_numbers(given: pl.Series, column: Column) -> pl.Series:
    values = given.cast(pl.Float64, strict=False)
    low, high = values.min(), values.max()  # both pass over NaN
    if low is not None and not (low >= -MAX_NUMBER and high <= MAX_NUMBER):  # type: ignore[operator]
        values = values.set(values.abs() > MAX_NUMBER, None)
    return values.fill_nan(None) if given.dtype == pl.String else values


def _obvious_categories(given: pl.Series, column: Column) -> pl.Series:
    text = given
    if given.dtype.is_float():
        whole = given.cast(pl.Int64, strict=False)
        text = whole.set((whole.cast(pl.Float64) != given).fill_null(True), None).cast(pl.String)
    elif given.dtype != pl.String:
        text = given.cast(pl.String)
    if is_day(given.dtype) or given.dtype == pl.Boolean:
        return text.clear(len(text))
    known = text.cast(pl.Enum(column.categories), strict=False)
    return text if known.null_count() == given.null_count() else known.cast(pl.String)


def _obvious_booleans(given: pl.Series, column: Column) -> pl.Series:
    if given.dtype == pl.Boolean:
        return given
    return pl.Series(given.name, [], pl.Boolean).clear(len(given))


def _obvious_days(given: pl.Series, column: Column) -> pl.Series:
    return _obvious_moments(given, column).cast(pl.Date)


def _obvious_moments(given: pl.Series, column: Column) -> pl.Series:
    return moments_of(given) if given.dtype == pl.String else given.cast(MOMENT_TYPE)


def _obvious_texts(given: pl.Series, column: Column) -> pl.Series:
    if given.dtype == pl.String or given.dtype.is_integer():
        return given.cast(pl.String)
    return pl.Series(given.name, [], pl.String).clear(len(given))


_OBVIOUS: dict[str, tuple[Callable[[pl.Series, Any], pl.Series], str]] = {
    "number": (_obvious_numbers, "numbers"),
    "category": (_obvious_categories, "categories"),
    "boolean": (_obvious_booleans, "true or false"),
    "date": (_obvious_days, "dates"),
    "datetime": (_obvious_moments, "dates and times"),
    "text": (_obvious_texts, "text"),
}


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
    short = text.str.len_bytes() <= max(map(len, MISSING_WORDS))
    if not short.any():
        return text
    empty = text.str.to_lowercase().is_in(list(MISSING_WORDS))
    return text.set(empty.fill_null(True), None)


# -- sentences ------------------------------------------------------------------------------------


def _complaint(read: Reader) -> str:
    """Return what a required cell that is empty should have been."""
    try:
        read(None)
    except ValueError as error:
        return str(error)
    raise AssertionError("the column is not required")  # pragma: no cover


def _sentence(given: pl.Series, row: int, right: str) -> str:
    value = given[row]
    if value is None or value == "":
        return f"column {given.name!r} is empty, but it must be {right}."
    text = repr(value)
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"column {given.name!r} holds {text}, but it must be {right}."


def _wrong_type(given: pl.Series, wanted: str) -> TableError:
    return TableError(
        f"column {given.name!r} must hold {wanted}, as when the model was fitted, "
        f"but it is of type {given.dtype}."
    )
