"""Forests whose trees keep to folds, for rows that depend on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from condrisk._crossfit import Split

Floats = NDArray[np.float64]


# Trees take no number that float32 has not.
LARGEST = float(np.finfo(np.float32).max)


def is_within_float32(X: Floats) -> bool:
    """Tell whether trees take all of these numbers; NaN is none of them. Nothing is copied."""
    return X.size == 0 or not (
        np.fmax.reduce(X, axis=None) > LARGEST or np.fmin.reduce(X, axis=None) < -LARGEST
    )


def within_float32(X: Floats) -> Floats:
    """Return rows for trees: numbers that they do not take are moved to the nearest that they do.

    Rows that need no change are returned as they are.
    """
    return X if is_within_float32(X) else np.clip(X, -LARGEST, LARGEST)


def grow_on_folds(
    forest: Any, X: Floats, z: Floats, weight: Floats | None, folds: Sequence[Split]
) -> tuple[Any, list[NDArray[np.intp]]]:
    """Grow a forest in parts, each on the rows outside of one fold.

    Parameters
    ----------
    forest : forest of scikit-learn
        Not fitted; its trees are divided between the folds.
    X : ndarray of shape (n_rows, n_features)
        Rows.
    z : ndarray of shape (n_rows,)
        Targets.
    weight : ndarray of shape (n_rows,) or None
        Weights.
    folds : sequence of (train, test)
        The folds.

    Returns
    -------
    forest : forest of scikit-learn
        Of all trees.
    seen : list of ndarray of int
        For each tree, the rows that it may have seen: all outside of its fold.
    """
    n_trees = max(1, forest.n_estimators // len(folds))
    parts, seen = [], []
    for k, (train, _) in enumerate(folds):
        part = clone(forest).set_params(
            n_estimators=n_trees, oob_score=False, random_state=(forest.random_state + k) % 2**31
        )
        if part.max_samples is not None:
            part.set_params(max_samples=min(part.max_samples, len(train)))
        part.fit(X[train], z[train], None if weight is None else weight[train])
        parts.append(part)
        seen += [train] * n_trees
    whole = parts[0]
    whole.estimators_ = [tree for part in parts for tree in part.estimators_]
    whole.n_estimators = len(whole.estimators_)
    return whole, seen


def predict_unseen(forest: Any, X: Floats, seen: Sequence[NDArray[np.intp]]) -> Floats:
    """Return the mean prediction, for each row, of the trees that cannot have seen it."""
    total, count = np.zeros(len(X)), np.zeros(len(X))
    for tree, rows in zip(forest.estimators_, seen, strict=True):
        unseen = np.ones(len(X), dtype=bool)
        unseen[rows] = False
        total[unseen] += tree.predict(X[unseen])
        count[unseen] += 1
    return np.divide(total, count, out=np.full(len(X), np.nan), where=count > 0)
