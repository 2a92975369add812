"""Conditional distributions of a number, as weighted points at each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Points evaluated at a time: 4 MiB of them.
_BLOCK = 1 << 19


class Conditional:
    """The distribution of Y at each of some rows: points that share their weights.

    Parameters
    ----------
    mean, std : ndarray of shape (n_rows,)
        Of Y at each row.
    weights : ndarray of shape (n_points,)
        Probabilities of the points, the same for every row.
    shape : ndarray of shape (n_points,) or (n_rows, n_points)
        The points, increasing: standardised ones for all rows, y = mean + std · shape, or for each
        row its own.
    """

    def __init__(self, mean: Floats, std: Floats, weights: Floats, shape: Floats) -> None:
        self.mean, self.std, self.weights, self.shape = mean, std, weights, shape

    def __len__(self) -> int:
        return len(self.mean)

    def points(self, rows: Any) -> Floats:
        """Return the points of some rows, shape (n_rows, n_points)."""
        if self.shape.ndim == 2:
            return self.shape[rows]
        return self.mean[rows, None] + self.std[rows, None] * self.shape

    def blocks(self) -> Iterator[slice]:
        """Cut the rows into slices whose points fit into little memory."""
        step = max(1, _BLOCK // len(self.weights))
        return (slice(start, start + step) for start in range(0, len(self), step))

    def expect(self, function: Callable[[Floats, slice], Floats]) -> Floats:
        """Return the mean of ``function(points, rows)`` at each row, in blocks of rows."""
        out = np.empty(len(self))
        for rows in self.blocks():
            out[rows] = function(self.points(rows), rows) @ self.weights
        return out

    def quantiles(self, levels: Any) -> Floats:
        """Return inf{t : P(Y ≤ t) ≥ q} at each row, shape (n_rows, n_levels)."""
        places = quantile_places(self.weights, np.atleast_1d(levels))
        if self.shape.ndim == 2:
            return self.shape[:, places]
        return self.mean[:, None] + self.std[:, None] * self.shape[places]


def with_moments(points: Floats, weights: Floats, mean: Floats, std: Floats) -> Floats:
    """Return points moved and stretched so that each row has this mean and deviation."""
    middle = points @ weights
    width = np.sqrt(((points - middle[:, None]) ** 2) @ weights)
    stretch = np.divide(std, width, out=np.zeros_like(width), where=width > 0)
    return mean[:, None] + stretch[:, None] * (points - middle[:, None])


def quantile_places(weights: Floats, levels: Floats) -> NDArray[np.intp]:
    """Return which of the increasing points is the quantile at each level."""
    below = np.cumsum(weights)
    below /= below[-1]
    # A level that a sum of weights reaches, rounding aside, is reached.
    return np.minimum(np.searchsorted(below, levels - 1e-12), len(weights) - 1)


# Residuals kept one by one at either end, and groups for those between.
N_TAIL = 250
N_MIDDLE = 1000


def standard_points(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return increasing points of mean zero and variance one, and their weights.

    Many points are merged in the middle and kept in the tails, where single ones matter.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Standardised residuals.
    weights : ndarray of shape (n_values,)
        Their weights.
    """
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order] / weights.sum()
    if len(values) > 2 * N_TAIL + N_MIDDLE:
        middle = np.linspace(N_TAIL, len(values) - N_TAIL, N_MIDDLE + 1).astype(int)
        starts = np.concatenate(
            [np.arange(N_TAIL), middle[:-1], np.arange(len(values) - N_TAIL, len(values))]
        )
        merged = np.add.reduceat(weights, starts)
        total = np.add.reduceat(weights * values, starts)
        values = np.divide(total, merged, out=values[starts], where=merged > 0)
        weights = merged
    values = values - values @ weights
    spread = np.sqrt(values**2 @ weights)
    return (values / spread if spread > 0 else values), weights
