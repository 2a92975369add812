"""The level of the losses, corrected by held-out rows; differences between models stay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

Floats = NDArray[np.float64]

# Rows that a point of the curve stands for, and the most points.
ROWS_PER_POINT, MOST_POINTS = 100, 8
N_FOLDS = 5


class LevelCurve:
    """What to add to all risks of a row, by their mean.

    A convex mixture is right on average and need not be at either end. The correction goes through
    the means of some bins of an isotonic regression of the mean loss on the mean risk. How much of
    it is taken is found by cross-validation: none where it is noise.

    Parameters
    ----------
    seed : int
        For the folds.

    Attributes
    ----------
    at, added : ndarray of shape (n_points,)
        Mean risks, and what is added there; lines between, constants beyond.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, level: Floats, target: Floats, weight: Floats) -> LevelCurve:
        """Learn the curve from mean risks of rows that had not seen their mean losses."""
        self.at, self.added = np.zeros(1), np.zeros(1)
        n_points = min(MOST_POINTS, len(level) // ROWS_PER_POINT)
        if n_points < 2 or np.ptp(level) == 0:
            return self
        fold = np.random.default_rng(self.seed).permutation(len(level)) % N_FOLDS
        added = np.empty(len(level))
        for k in range(N_FOLDS):
            rest, own = fold != k, fold == k
            added[own] = np.interp(
                level[own], *_points(level[rest], target[rest], weight[rest], n_points)
            )
        size = float(np.sum(weight * added**2))
        share = float(np.sum(weight * added * (target - level))) / size if size > 0 else 0.0
        self.at, added = _points(level, target, weight, n_points)
        self.added = np.clip(share, 0.0, 1.0) * added
        return self

    def __call__(self, risks: Floats) -> Floats:
        """Return the risks of each row, all moved by the same."""
        return risks + np.interp(risks.mean(axis=1), self.at, self.added)[:, None]


def _points(level: Floats, target: Floats, weight: Floats, n_points: int) -> tuple[Floats, Floats]:
    order = np.argsort(level, kind="stable")
    x, w = level[order], weight[order]
    y = IsotonicRegression().fit(x, target[order], w).predict(x)
    bins = [rows for rows in np.array_split(np.arange(len(x)), n_points) if w[rows].sum() > 0]
    at = np.array([np.average(x[rows], weights=w[rows]) for rows in bins])
    added = np.array([np.average(y[rows] - x[rows], weights=w[rows]) for rows in bins])
    at, first = np.unique(at, return_index=True)
    return at, added[first]
