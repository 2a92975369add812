"""Ridge regression of all losses at once, at several strengths."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# As shares of the mean variance of a column times the number of rows.
STRENGTHS = np.array([0.003, 0.03, 0.3, 3.0, 30.0])


class JointRidge:
    """Ridge regressions that share the decomposition of the rows between targets and strengths.

    Targets that are known on the same rows share one decomposition; those with gaps of their own
    have one each.

    Parameters
    ----------
    folds : list of (train, held_out)
        Together they hold out each row once.
    """

    def __init__(self, folds: list[tuple[Rows, Rows]]) -> None:
        self.folds = folds

    def fit(self, X: Floats, target: Floats, known: NDArray[np.bool_], weight: Floats) -> Floats:
        """Fit on all rows; return predictions by models that have not seen the row.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows, centred and without gaps.
        target : ndarray of shape (n_rows, n_targets)
            Targets.
        known : ndarray of bool, shape (n_rows, n_targets)
            Which are known.
        weight : ndarray of shape (n_rows,)
            Weights.

        Returns
        -------
        ndarray of shape (n_rows, n_targets, n_strengths)
            Held-out predictions.
        """
        held_out = np.empty((*target.shape, len(STRENGTHS)))
        for train, test in self.folds:
            coefficients, intercepts = _fit(X[train], target[train], known[train], weight[train])
            held_out[test] = np.einsum("np,pts->nts", X[test], coefficients) + intercepts
        self.coefficients, self.intercepts = _fit(X, target, known, weight)
        return held_out

    def blend(self, shares: Floats) -> Self:
        """Merge targets and strengths into what is predicted; see `JointForest.blend`."""
        self.coefficients = np.einsum("pts,tsm->pm", self.coefficients, shares)
        self.intercepts = np.einsum("ts,tsm->m", self.intercepts, shares)
        del self.folds
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the part of the prediction that comes from ridge, (n_rows, n_out)."""
        return X @ self.coefficients + self.intercepts


def _fit(
    X: Floats, target: Floats, known: NDArray[np.bool_], weight: Floats
) -> tuple[Floats, Floats]:
    """Return coefficients (n_features, n_targets, n_strengths) and intercepts."""
    n_targets = target.shape[1]
    coefficients = np.zeros((X.shape[1], n_targets, len(STRENGTHS)))
    intercepts = np.zeros((n_targets, len(STRENGTHS)))
    patterns, which = np.unique(known, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        rows, own = patterns[:, number], np.flatnonzero(which.ravel() == number)
        if not rows.any():
            continue
        found, base = _solve(X[rows], target[np.ix_(rows, own)], weight[rows])
        coefficients[:, own], intercepts[own] = found, base
    return coefficients, intercepts


def _solve(X: Floats, target: Floats, weight: Floats) -> tuple[Floats, Floats]:
    centre = np.average(X, axis=0, weights=weight)
    mean = np.average(target, axis=0, weights=weight)
    root = np.sqrt(weight)[:, None]
    rows, values = root * (X - centre), root * (target - mean)
    wide = rows.shape[1] > rows.shape[0]
    gram: Any = rows @ rows.T if wide else rows.T @ rows
    size, directions = np.linalg.eigh(gram)
    size = np.maximum(size, 0.0)
    # The first strength shrinks the average direction of the columns hardly, the last all of it.
    strength = STRENGTHS * max(float(np.trace(gram)) / X.shape[1], np.finfo(float).tiny)
    seen = directions.T @ (values if wide else rows.T @ values)
    shrunk = seen[:, :, None] / (size[:, None, None] + strength)
    solved = np.einsum("pk,kts->pts", directions, shrunk)
    if wide:
        solved = np.einsum("np,nts->pts", rows, solved)
    return solved, mean[:, None] - np.einsum("p,pts->ts", centre, solved)
