"""Which rows leave what was seen of each column when the model was fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from condrisk.app.tables import Checked, clean_text
from condrisk.persistence import Column

Flags = NDArray[np.bool_]

# How far beyond the range seen a number may lie, as a share of that range. With none, up to 3.7 %
# of ordinary held-out rows are outside, with a tenth 0.6 % at most (`benchmarks.outside`).
MARGIN = 0.1


class Outside(NamedTuple):
    """Rows that leave what was seen, and in which columns.

    Attributes
    ----------
    columns : tuple of str
        The columns that were looked at.
    flags : ndarray of bool, shape (n_rows, n_columns)
        Where a cell is outside.
    """

    columns: tuple[str, ...]
    flags: Flags

    @property
    def any(self) -> Flags:
        """Whether any cell of a row is outside."""
        return np.asarray(self.flags.any(axis=1))

    def names(self) -> list[list[str]]:
        """Return the columns in which each row is outside."""
        found: list[list[str]] = [[] for _ in range(len(self.flags))]
        for row, k in np.argwhere(self.flags).tolist():
            found[row].append(self.columns[k])
        return found


class Seen:
    """What was seen of each column: ranges of numbers, categories, and whether any was missing.

    Dates and moments are not looked at: time goes on, and new rows are later than those seen.

    Parameters
    ----------
    columns : sequence of Column
        As a schema has them.
    margin : float
        How far beyond the range a number may lie, as a share of the range.
    """

    def __init__(self, columns: Sequence[Column], margin: float = MARGIN) -> None:
        kept = [column for column in columns if column.kind not in ("date", "datetime")]
        self.columns = tuple(column.name for column in kept)
        place = {name: k for k, name in enumerate(self.columns)}
        ranged = [
            c for c in kept if c.kind == "number" and c.low is not None and c.high is not None
        ]
        self._numbers = [c.name for c in ranged]
        self._at = np.array([place[c.name] for c in ranged], dtype=np.intp)
        ends = np.array([[c.low, c.high] for c in ranged], dtype=np.float64).reshape(-1, 2)
        reach = margin * (ends[:, 1] - ends[:, 0])
        self._low, self._high = ends[:, 0] - reach, ends[:, 1] + reach
        self._complete = np.array([c.missing == 0 for c in ranged], dtype=bool)
        self._others = [(place[c.name], c) for c in kept if c not in ranged]

    def outside(
        self, good: pl.DataFrame, unseen: Mapping[str, Sequence[int] | ArrayLike]
    ) -> Outside:
        """Tell which rows are outside.

        Parameters
        ----------
        good : polars.DataFrame
            Rows that passed `condrisk.app.tables.check_rows`.
        unseen : mapping of str to sequence of int
            For columns of categories, the positions of rows with one that was not seen; they are
            missing in `good`.
        """
        flags = np.zeros((good.height, len(self.columns)), dtype=bool)
        if self._numbers:
            values = good.select(self._numbers).to_numpy().astype(np.float64, copy=False)
            gap = np.isnan(values)
            beyond = (values < self._low) | (values > self._high)
            flags[:, self._at] = beyond | (gap & self._complete)
        for k, column in self._others:
            cells = good[column.name]
            if column.missing == 0 and cells.null_count():
                flags[:, k] = cells.is_null().to_numpy()
            if column.kind == "text" and column.categories:
                strange = ~cells.is_in(list(column.categories))
                flags[:, k] |= strange.fill_null(False).to_numpy()
        for name, rows in unseen.items():
            if name in self.columns:
                flags[np.asarray(rows, dtype=np.intp), self.columns.index(name)] = True
        return Outside(self.columns, flags)


def unseen_rows(given: pl.DataFrame, checked: Checked) -> dict[str, Any]:
    """Return, for columns of categories, which good rows hold one that was not seen."""
    found = {}
    for name in checked.unseen:
        cells = given[name].gather(checked.rows)
        there = cells if cells.dtype != pl.String else clean_text(cells)
        found[name] = np.flatnonzero(
            (checked.good[name].is_null() & there.is_not_null()).to_numpy()
        )
    return found
