"""From a cell to a value: the same for text of CSV, values of JSON and columns of Arrow."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk.app._dtypes import MAX_NUMBER
from condrisk.app.tables._moments import in_utc, moment_of

if TYPE_CHECKING:
    from condrisk.persistence import Column

Reader = Callable[[Any], Any]

# What people write where there is nothing; compared in lower case.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
_WORDS = dict.fromkeys(("true", "1", "yes", "t"), True) | dict.fromkeys(
    ("false", "0", "no", "f"), False
)
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)",
    re.IGNORECASE | re.ASCII,
)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_NUMBERS = (int, float, Decimal, np.number)


def cell_reader(column: Column, *, on_unseen: Callable[[], Any] | None = None) -> Reader:
    """Return the function that makes a value of a cell, whatever format the cell came in.

    Every kind takes values of its own type and text, without the spaces around it. What is not
    there is None, NaN, or one of the words "", "NA", "N/A", "NaN", "null", "none", "-" in any
    case, except in text.

    - number: numbers; text such as "1.5" or "2e3"; true and false are 1 and 0. Text as it was
      written when the model was fitted, such as "$1,009.03", "12%" or "1.234,5".
    - boolean: true and false, 1 and 0, as values or text; "yes", "no", "t", "f".
    - category: text that is a category; else numbers, booleans and days, or their text, that say
      the same as a category does: 3 and 3.0 are "3", but "007" is not "7". Any other is unseen.
    - date: days, and the day in UTC of moments, as values or as ISO 8601 writes them, or in the
      format of the rows that the model was fitted on.
    - datetime: the same with moments; a day is its midnight.
    - text: text as it is; numbers, booleans and days become their text.

    Parameters
    ----------
    column : Column
        What the cell must be.
    on_unseen : callable, optional
        Called for each category that was not seen when fitting, which is taken as missing.

    Returns
    -------
    callable
        From a cell to a float, str, bool, `datetime.date` or `datetime.datetime` (in UTC, without
        a zone), or to None where nothing stands. For a cell that does not fit it raises a
        ValueError, whose text is what would be right.

    Examples
    --------
    >>> from condrisk.app.tables import cell_reader
    >>> from condrisk.persistence import Column
    >>> read = cell_reader(Column("size", "number"))
    >>> read(1.5), read(" 1.5 "), read("n/a")
    (1.5, 1.5, None)
    >>> read("large")
    Traceback (most recent call last):
        ...
    ValueError: a number, or null
    """
    read = plain_reader(column, on_unseen or (lambda: None))
    ending = "" if column.required else ", or null"

    def read_or_say(value: Any) -> Any:
        try:
            return read(value)
        except ValueError as error:
            raise ValueError(f"{error}{ending}") from None

    # A service reads each cell of each request: most are of the type that they should be.
    known = frozenset(column.categories)

    def read_number(value: Any) -> Any:
        kind = type(value)
        if (kind is float or kind is int) and -MAX_NUMBER <= value <= MAX_NUMBER:
            return value if kind is float else float(value)
        return read_or_say(value)

    def read_boolean(value: Any) -> Any:
        return value if type(value) is bool else read_or_say(value)

    def read_category(value: Any) -> Any:
        return value if type(value) is str and value in known else read_or_say(value)

    quick = {"number": read_number, "boolean": read_boolean, "category": read_category}
    return quick.get(column.kind, read_or_say)


def plain_reader(column: Column, on_unseen: Callable[[], Any]) -> Reader:
    """Return `cell_reader` with errors that do not mention null."""
    if column.kind == "category":
        return _Categories(column, on_unseen)
    convert, right = _CONVERTERS[column.kind]
    if column.unit or column.written:
        convert = _noted(convert, column)
    if not column.required:
        return convert

    def required(value: Any) -> Any:
        found = convert(value)
        if found is None:
            raise ValueError(right)
        return found

    return required


def _noted(convert: Reader, column: Column) -> Reader:
    """Return a reader that takes the notation of the rows fitted on as well, such as $1,009.03."""
    import polars as pl

    from condrisk.app.tables._notation import Notation, looks_plain, plain_text

    notation = Notation.of(column)

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return convert(value)
        text = pl.Series([value])
        if looks_plain(text, notation)[0]:
            with suppress(ValueError):
                return convert(value)
        return convert(plain_text(text, notation)[0])

    return read


# -- single cells ---------------------------------------------------------------------------------


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text) is None:
            return _number_word(text.lower())
        value = text
    elif value is None:
        return None
    elif not isinstance(value, (*_NUMBERS, bool, np.bool_)):
        raise ValueError("a number")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number != number:
        return None
    if not -MAX_NUMBER <= number <= MAX_NUMBER:
        raise ValueError(f"a number between -{MAX_NUMBER:g} and {MAX_NUMBER:g}")
    return number


def _number_word(word: str) -> float | None:
    if word in MISSING_WORDS:
        return None
    if word in ("true", "false"):
        return float(word == "true")
    raise ValueError("a number")


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        if word in MISSING_WORDS:
            return None
        value = float(word) if _NUMBER.fullmatch(word) else -1.0
    if value is None or value != value:
        return None
    if isinstance(value, (bool, np.bool_, *_NUMBERS)) and value in (0, 1):
        return bool(value)
    raise ValueError("true or false")


def _date(value: Any) -> date | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    moment = _moment_or_none(value, "a date such as 2026-11-15")
    return None if moment is None else moment.date()


def _datetime(value: Any) -> datetime | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return _moment_or_none(value, "a date and time such as 2026-11-15T10:30:00Z")


def _moment_or_none(value: Any, right: str) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        try:
            return in_utc(value)
        except OverflowError:  # beyond the calendar
            raise ValueError(right) from None
    if not isinstance(value, str):
        raise ValueError(right)
    text = value.strip()
    moment = moment_of(text)
    if moment is None and text.lower() not in MISSING_WORDS:
        raise ValueError(right)
    return moment


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, _NUMBERS):
        return None if value != value else _number_text(value)
    if isinstance(value, date):
        return (in_utc(value) if isinstance(value, datetime) else value).isoformat()
    raise ValueError("text")


def _number_text(value: Any) -> str:
    """Return a number as categories are written: 3.0 is what a gap elsewhere makes of 3."""
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 2**63 else repr(number)


class _Categories:
    """The reader of a column with categories."""

    def __init__(self, column: Column, on_unseen: Callable[[], Any]) -> None:
        self._known = frozenset(column.categories)
        self._on_unseen, self._required = on_unseen, column.required
        self._right = f"one of {', '.join(column.categories[:12])}" if column.required else "text"
        self._truths = _unique(
            (word, name)
            for name in column.categories
            if (word := name.lower()) in ("true", "false")
        )
        self._numbers = _unique(
            (number, name)
            for name in column.categories
            if (number := _category_number(name)) is not None
        )

    def __call__(self, value: Any) -> str | None:
        if isinstance(value, str) and value in self._known:
            return value
        text = _text(value)
        found = None if text is None else self._same(text.strip())
        if found is not None:
            return found
        if text is None or text.strip().lower() in MISSING_WORDS:
            if self._required:
                raise ValueError(self._right)
            return None
        if self._required:
            raise ValueError(self._right)
        self._on_unseen()
        return None

    def _same(self, text: str) -> str | None:
        """Return the category that says what a text says."""
        if text in self._known:
            return text
        number = _category_number(text)
        if number is not None:
            return self._numbers.get(number)
        return self._truths.get(text.lower())


def _category_number(text: str) -> float | None:
    """Return the number that a category is, unless its zeros make it a code, such as 007."""
    if _NUMBER.fullmatch(text) is None or _LEADING_ZERO.match(text):
        return None
    return float(text)


def _unique(pairs: Any) -> dict[Any, str]:
    """Return the pairs whose first part occurs once."""
    found: dict[Any, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return {key: names[0] for key, names in found.items() if len(names) == 1}


# What reads a cell, and what a required cell that is empty should have been.
_CONVERTERS: dict[str, tuple[Reader, str]] = {
    "number": (_number, "a number"),
    "boolean": (_boolean, "true or false"),
    "date": (_date, "a date such as 2026-11-15"),
    "datetime": (_datetime, "a date and time such as 2026-11-15T10:30:00Z"),
    "text": (_text, "text"),
}
