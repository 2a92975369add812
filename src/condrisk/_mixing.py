"""Several estimates made into one: a log-linear pool of probabilities, convex shares of numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

Floats = NDArray[np.float64]

# Below this a probability is as good as zero; a forest's zeros must not outvote everybody else.
_FLOOR = 1e-6
# Keeps the shifts small, for which there are few rows of each class: a shift of 0.3 costs 0.009.
_PENALTY = 0.1


class Pool(NamedTuple):
    """softmax(Σⱼ wⱼ log pⱼ + b): a weight for each model and a shift for each class.

    With one model and no shifts this is temperature scaling, with a temperature of 1 / w.
    """

    weights: Floats
    shifts: Floats

    def __call__(self, logs: Floats) -> Floats:
        """Return class probabilities from log-probabilities of shape (n_rows, models, classes)."""
        return _softmax(np.einsum("njk,j->nk", logs, self.weights) + self.shifts)


def log_probabilities(probabilities: list[Floats]) -> Floats:
    """Return the log-probabilities of several models, shape (n_rows, models, classes)."""
    return np.log(np.maximum(np.stack(probabilities, axis=1), _FLOOR))


def fit_pool(logs: Floats, codes: NDArray[np.intp], sample_weight: Floats | None = None) -> Pool:
    """Find the pool with the least log loss on rows that no model was fitted on.

    Parameters
    ----------
    logs : ndarray of shape (n_rows, models, classes)
        Log-probabilities.
    codes : ndarray of int, shape (n_rows,)
        The class of each row, as a position.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows.
    """
    n_rows, n_models, n_classes = logs.shape
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    weight = weight / weight.sum()
    rows = np.arange(n_rows)

    def objective(parameters: Floats) -> tuple[float, Floats]:
        weights, shifts = parameters[:n_models], parameters[n_models:]
        proba = _softmax(np.einsum("njk,j->nk", logs, weights) + shifts)
        loss = -weight @ np.log(np.maximum(proba[rows, codes], np.finfo(float).tiny))
        error = proba
        error[rows, codes] -= 1
        error *= weight[:, None]
        by_model = np.einsum("nk,njk->j", error, logs)
        by_class = error.sum(axis=0) + 2 * _PENALTY * shifts
        return loss + _PENALTY * shifts @ shifts, np.concatenate([by_model, by_class])

    start = np.concatenate([np.full(n_models, 1 / n_models), np.zeros(n_classes)])
    # A weight may be negative: a weak model tells where a strong one is too sure.
    found = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return Pool(found[:n_models], found[n_models:])


def _softmax(scores: Floats) -> Floats:
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def convex_shares(table: Floats, z: Floats, weight: Floats) -> Floats:
    """Return the convex combination of the columns of `table` closest to `z`."""
    root = np.sqrt(weight / weight.sum())[:, None]
    size = table.shape[1]
    # A heavy row makes the shares sum to one, light ones make them unique.
    heavy = 1e3 * np.ones((1, size)) * np.abs(table * root).max()
    light = 1e-4 * np.eye(size)
    left = np.vstack([table * root, heavy, light])
    right = np.concatenate([z * root[:, 0], heavy[0, :1], np.full(size, 1e-4 / size)])
    shares = nnls(left, right)[0]
    return shares / shares.sum()
