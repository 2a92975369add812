"""Rows that come as JSON: decoded, checked and encoded by hand, for most requests hold one row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, NoReturn

from condrisk.app.serve._refusal import RefusedError, bad_rows
from condrisk.app.tables import MAX_NUMBER
from condrisk.persistence import Column

JSON = "application/json"
Row = tuple[float, ...]
_NAN = float("nan")
_EPOCH = date(1970, 1, 1).toordinal()


class JsonReader:
    """From the bytes of a body to rows of numbers as the model takes them, or to a `RefusedError`.

    What it accepts is narrower than what `Schema.check` does with the text of a CSV file: JSON has
    numbers and booleans of its own. What it accepts, it takes for the same.

    Parameters
    ----------
    columns : sequence of Column
        What each row must have. A missing value is null; a missing key is an error, and keys of
        other names are ignored.
    keep : str, optional
        A column whose values are wanted as they are too.
    most_rows : int
        The most rows.
    on_unseen : callable
        Called for each category that was not seen when fitting.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        keep: str | None = None,
        most_rows: int,
        on_unseen: Callable[[], Any],
    ) -> None:
        self._converters = [(column.name, _converter(column, on_unseen)) for column in columns]
        self._keep = keep
        self._most_rows = most_rows

    def read(self, body: bytes) -> tuple[list[Row], list[Any] | None, Any]:
        """Return what a body asks.

        Parameters
        ----------
        body : bytes
            JSON: ``{"rows": [{…}, …], "cost": 0.5}``.

        Returns
        -------
        rows : list of tuple of float
            A number for each column, as `TableModel.encode` gives.
        kept : list or None
            The values of the column to keep.
        cost : object
            What stood there; None if nothing.

        Raises
        ------
        RefusedError
            With status 400 if it is no JSON, 422 if it has too many rows, is not of that form, or
            some rows do not fit; it then lists which and why.
        """
        request = _decode(body)
        if type(request) is not dict or type(request.get("rows")) is not list:
            raise RefusedError(422, 'The body must be an object such as {"rows": [{…}]}.')
        rows = request["rows"]
        if len(request) > 1:
            _check_keys(request)
        if len(rows) > self._most_rows:
            raise RefusedError(
                422, f"There are more than {self._most_rows} rows; send fewer at a time."
            )
        numbers = self._numbers(rows)
        kept = None if self._keep is None else [row[self._keep] for row in rows]
        return numbers, kept, request.get("cost")

    def _numbers(self, rows: list[Any]) -> list[Row]:
        converters = self._converters
        numbers: list[Row] = []
        reasons: dict[int, str] = {}
        for i, row in enumerate(rows):
            try:
                numbers.append(tuple([convert(row[name]) for name, convert in converters]))
            except (KeyError, TypeError, ValueError, IndexError, OverflowError):
                reasons[i] = self._reason(row)
        if reasons:
            raise bad_rows(reasons)
        return numbers

    def _reason(self, row: Any) -> str:
        """Say what is wrong with a row: slowly, now that something is."""
        if type(row) is not dict:
            return f"it is {_shown(row)}, but a row must be an object with the model's columns."
        for name, convert in self._converters:
            if name not in row:
                return f"column {_shown(name)} is not there; give null for a missing value."
            try:
                convert(row[name])
            except (ValueError, OverflowError) as error:
                right = (
                    "a number that fits into 64 bits" if isinstance(error, OverflowError) else error
                )
                return f"column {_shown(name)} holds {_shown(row[name])}, but it must be {right}."
        raise AssertionError("the row is fine")  # pragma: no cover


def _check_keys(request: dict[str, Any]) -> None:
    unknown = sorted(request.keys() - {"rows", "cost"})
    if unknown:
        raise RefusedError(422, f"The body has an unknown key {_shown(unknown[0])}.")
    if request["cost"] is None:
        raise RefusedError(422, "cost must be a number; leave it out for the model's own price.")


# -- values -----------------------------------------------------------------------------------


def _converter(column: Column, on_unseen: Callable[[], Any]) -> Callable[[Any], float]:
    """Return what makes a number of a value; its ValueError says what would be right."""
    if column.kind == "category":
        return _category(column, on_unseen)
    convert, right = {
        "number": (_number, f"a number between -{MAX_NUMBER:g} and {MAX_NUMBER:g}"),
        "boolean": (_boolean, "true or false"),
        "date": (_day, "a date such as 2026-11-15"),
    }[column.kind]
    if not column.required:
        right = f"{right}, or null"
    required = column.required

    def checked(value: Any) -> float:
        if value is None and not required:
            return _NAN
        number = convert(value)
        if number is None:
            raise ValueError(right)
        return number

    return checked


def _number(value: Any) -> float | None:
    if (type(value) is float or type(value) is int) and -MAX_NUMBER <= value <= MAX_NUMBER:
        return float(value)
    return None


def _boolean(value: Any) -> float | None:
    return float(value) if type(value) is bool else None


def _day(value: Any) -> float | None:
    # fromisoformat takes week dates and dates without hyphens too; the description does not.
    if type(value) is not str or len(value) != 10 or not value[4] == value[7] == "-":
        return None
    try:
        return float(date.fromisoformat(value).toordinal() - _EPOCH)
    except ValueError:
        return None


def _category(column: Column, on_unseen: Callable[[], Any]) -> Callable[[Any], float]:
    codes = {name: float(code) for code, name in enumerate(column.categories)}
    known = ", ".join(column.categories[:12])

    def checked(value: Any) -> float:
        if type(value) is str:
            code = codes.get(value)
            if code is not None:
                return code
            if not column.required:
                on_unseen()
                return _NAN
        elif value is None and not column.required:
            return _NAN
        raise ValueError(f"one of {known}" if column.required else "text, or null")

    return checked


def _shown(value: Any) -> str:
    """Return a value as it stood in the body, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"


# -- JSON -------------------------------------------------------------------------------------


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON; give null for a missing value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _decode(body: bytes) -> Any:
    try:
        return _DECODER.decode(body.decode())
    except RecursionError:
        raise RefusedError(400, "The body is nested too deeply.") from None
    except UnicodeDecodeError:
        raise RefusedError(400, "The body is not JSON: it is not UTF-8.") from None
    except ValueError as error:
        raise RefusedError(400, f"The body is not JSON: {error}.") from None
