"""Which columns raise the risk of a row most, against the average row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.persistence import Column

Floats = NDArray[np.float64]

# A row is asked about at most so many times, once for each column.
MOST_COLUMNS = 20
# The columns are chosen by so many rows at most.
MOST_ROWS = 200


class Explanation(NamedTuple):
    """How much of each row's risk goes away when a column is that of the average row.

    Attributes
    ----------
    columns : tuple of str
        The columns that were looked at.
    change : ndarray of shape (n_rows, n_columns)
        The risk of the row less its risk with the average value in this column, all else as it
        is: positive where the row's own value raises the risk.
    """

    columns: tuple[str, ...]
    change: Floats

    def most(self, row: int, n: int = 3) -> list[tuple[str, float]]:
        """Return the columns that raise the risk of a row most, and by how much."""
        order = np.argsort(-self.change[row], kind="stable")[:n]
        return [
            (self.columns[k], float(self.change[row, k])) for k in order if self.change[row, k] > 0
        ]


def average_row(columns: Sequence[Column]) -> dict[str, pl.Expr]:
    """Return the average row: the median of numbers and dates, else the commonest value."""
    return {column.name: pl.lit(column.typical) for column in columns}


def explain(
    good: pl.DataFrame,
    risk: Floats,
    risk_of: Callable[[pl.DataFrame], Floats],
    columns: Sequence[Column],
) -> Explanation:
    """Put the average value into one column after the other, and see what the risk becomes."""
    average = average_row(columns)
    change = [
        risk - risk_of(good.with_columns(_typical(good[name], value).alias(name)))
        for name, value in average.items()
    ]
    return Explanation(
        tuple(average), np.column_stack(change) if change else np.empty((len(risk), 0))
    )


def _typical(cells: pl.Series, value: pl.Expr) -> pl.Expr:
    if cells.dtype.is_temporal():
        return value.str.to_datetime(time_unit="us", strict=False).cast(cells.dtype)
    return value.cast(cells.dtype)


def important_columns(
    good: pl.DataFrame,
    risk: Floats,
    risk_of: Callable[[pl.DataFrame], Floats],
    columns: Sequence[Column],
) -> tuple[Column, ...]:
    """Return the columns to look at: all, or of many those that move the risk of some rows most."""
    if len(columns) <= MOST_COLUMNS:
        return tuple(columns)
    rows = np.linspace(0, good.height - 1, min(MOST_ROWS, good.height)).astype(int)
    found = explain(good[rows], risk[rows], risk_of, columns)
    order = np.argsort(-np.abs(found.change).mean(axis=0), kind="stable")[:MOST_COLUMNS]
    return tuple(columns[k] for k in sorted(order))
