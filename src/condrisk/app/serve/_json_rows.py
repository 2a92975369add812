"""Rows that come as JSON: each cell read as it is in a table, each bad row told why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from condrisk.app.serve._json import decode, shown
from condrisk.app.serve._refusal import RefusedError, bad_rows
from condrisk.app.tables import cell_reader
from condrisk.persistence import Column

Row = tuple[Any, ...]


class JsonReader:
    """From the bytes of a body to rows of values, or to a `RefusedError`.

    Parameters
    ----------
    columns : sequence of Column
        What each row must have. A missing value is null; a missing key is an error, and keys of
        other names are ignored.
    most_rows : int
        The most rows.
    on_unseen : callable
        Called for each category that was not seen when fitting.
    """

    def __init__(
        self, columns: Sequence[Column], *, most_rows: int, on_unseen: Callable[[], Any]
    ) -> None:
        self._readers = [
            (column.name, cell_reader(column, on_unseen=on_unseen)) for column in columns
        ]
        self._most_rows = most_rows

    def read(self, body: bytes) -> tuple[list[Row], Any]:
        """Return what a body asks.

        Parameters
        ----------
        body : bytes
            JSON: ``{"rows": [{…}, …], "cost": 0.5}``.

        Returns
        -------
        rows : list of tuple
            A value for each column, as the good rows of a checked table hold it.
        cost : object
            What stood there; None if nothing.

        Raises
        ------
        RefusedError
            With status 400 if it is no JSON, 422 if it has too many rows, is not of that form, or
            some rows do not fit; it then lists which and why.
        """
        try:
            request = decode(body)
        except ValueError as error:
            raise RefusedError(400, f"The body is not JSON: {error}.") from None
        if type(request) is not dict or type(request.get("rows")) is not list:
            raise RefusedError(422, 'The body must be an object such as {"rows": [{…}]}.')
        rows = request["rows"]
        if len(request) > 1:
            _check_keys(request)
        if len(rows) > self._most_rows:
            raise RefusedError(
                422, f"There are more than {self._most_rows} rows; send fewer at a time."
            )
        return self._values(rows), request.get("cost")

    def _values(self, rows: list[Any]) -> list[Row]:
        readers = self._readers
        values: list[Row] = []
        reasons: dict[int, str] = {}
        for i, row in enumerate(rows):
            try:
                values.append(tuple([read(row[name]) for name, read in readers]))
            except (KeyError, TypeError, ValueError, IndexError):
                reasons[i] = self._reason(row)
        if reasons:
            raise bad_rows(reasons)
        return values

    def _reason(self, row: Any) -> str:
        """Say what is wrong with a row: slowly, now that something is."""
        if type(row) is not dict:
            return f"it is {shown(row)}, but a row must be an object with the model's columns."
        for name, read in self._readers:
            if name not in row:
                return f"column {shown(name)} is not there; give null for a missing value."
            try:
                read(row[name])
            except ValueError as right:
                return f"column {shown(name)} holds {shown(row[name])}, but it must be {right}."
        raise AssertionError("the row is fine")  # pragma: no cover


def _check_keys(request: dict[str, Any]) -> None:
    unknown = sorted(request.keys() - {"rows", "cost"})
    if unknown:
        raise RefusedError(422, f"The body has an unknown key {shown(unknown[0])}.")
    if request["cost"] is None:
        raise RefusedError(422, "cost must be a number; leave it out for the model's own.")
