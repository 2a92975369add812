"""Rows that come as JSON: each cell read as it is in a table, each bad row told why."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from condrisk.app.serve._json import decode_request, shown
from condrisk.app.serve._refusal import RefusedError, bad_rows
from condrisk.app.tables import cell_reader
from condrisk.persistence import Column

Row = tuple[Any, ...]
EXTRAS = ("explain", "parts", "probabilities")


class Asked(NamedTuple):
    """What a body asks.

    Attributes
    ----------
    rows : list of tuple
        A value for each column, as the good rows of a checked table hold it.
    unseen : dict of str to list of int
        By column, the rows with a category that was not seen when fitting.
    cost : object
        What stood there; None if nothing.
    extras : tuple of str
        What is to be said of each row beside the decision: "explain", "parts", "probabilities".
    """

    rows: list[Row]
    unseen: dict[str, list[int]]
    cost: Any
    extras: tuple[str, ...]


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
        self._on_unseen = on_unseen
        self._now = threading.local()  # long bodies are read in threads
        self._readers = [
            (column.name, cell_reader(column, on_unseen=partial(self._met, column.name)))
            for column in columns
        ]
        self._most_rows = most_rows

    def _met(self, name: str) -> None:
        """Remember that the row at hand has a category that was not seen."""
        self._on_unseen()
        self._now.names.append(name)

    def read(self, body: bytes) -> Asked:
        """Return what a body asks.

        Parameters
        ----------
        body : bytes
            JSON: ``{"rows": [{…}, …], "cost": 0.5}``.

        Returns
        -------
        Asked
            Rows, cost, and what else is to be said.

        Raises
        ------
        RefusedError
            With status 400 if it is no JSON, 422 if it has too many rows, is not of that form, or
            some rows do not fit; it then lists which and why.
        """
        try:
            request, pieces = decode_request(body)
            if type(request) is not dict or type(request.get("rows")) is not list:
                raise RefusedError(422, 'The body must be an object such as {"rows": [{…}]}.')
            if len(request) > 1:
                _check_keys(request)
            rows, unseen = self._values(pieces)
        except ValueError as error:
            raise RefusedError(400, f"The body is not JSON: {error}.") from None
        extras = tuple(name for name in EXTRAS if request.get(name) is True)
        return Asked(rows, unseen, request.get("cost"), extras)

    def read_rows(self, request: dict[str, Any]) -> list[Row]:
        """Return the rows of a request that has been decoded; see `read`."""
        rows = request.get("rows")
        if type(rows) is not list:
            raise RefusedError(422, 'The body must be an object such as {"rows": [{…}]}.')
        return self._values([rows])[0]

    def _values(self, pieces: Iterable[list[Any]]) -> tuple[list[Row], dict[str, list[int]]]:
        readers = self._readers
        values: list[Row] = []
        unseen: dict[str, list[int]] = {}
        names: list[str] = []
        self._now.names = names
        reasons: dict[int, str] = {}
        n_rows = 0
        for rows in pieces:
            if n_rows + len(rows) > self._most_rows:
                raise RefusedError(
                    422, f"There are more than {self._most_rows} rows; send fewer at a time."
                )
            for i, row in enumerate(rows, n_rows):
                try:
                    values.append(tuple([read(row[name]) for name, read in readers]))
                except (KeyError, TypeError, ValueError, IndexError):
                    reasons[i] = self._reason(row)
                if names:
                    for name in names:
                        unseen.setdefault(name, []).append(i)
                    names.clear()
            n_rows += len(rows)
        if reasons:
            raise bad_rows(reasons)
        return values, unseen

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
    unknown = sorted(request.keys() - {"rows", "cost", *EXTRAS})
    if unknown:
        raise RefusedError(422, f"The body has an unknown key {shown(unknown[0])}.")
    for name in EXTRAS:
        if not isinstance(request.get(name, False), bool):
            raise RefusedError(422, f"{name} must be true or false.")
    if "cost" in request and request["cost"] is None:
        raise RefusedError(422, "cost must be a number; leave it out for the model's own.")
