"""The leaves of a tree, as the calibration rows fill them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._forest import BaseForest

Thin = NDArray[np.float32]
Levels = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


class Leaves:
    """The nodes of one tree that rows are counted in: how many, and in which range.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
        The tree, which is not kept here: its forest has it.
    X : ndarray of float32, shape (n_samples, n_features)
        The calibration rows.
    min_rows : int
        A leaf with fewer is widened to its closest ancestor that has so many.
    spread : ndarray of float32, shape (n_features,)
        Of each feature over all rows: it stands in where those of a leaf do not vary.
    """

    def __init__(self, tree: Any, X: Thin, min_rows: int, spread: Thin) -> None:
        levels = _levels(tree)
        count, low, high = _fill(tree, X, levels)
        home = np.zeros(tree.node_count, dtype=np.intp)
        for parents, children in levels:
            home[children] = np.where(count[children] >= min_rows, children, home[parents])
        # Only some nodes are home to rows: `place` says of every node where among those.
        used, self.place = np.unique(home, return_inverse=True)
        self.rows, self.low, self.high = count[used], low[used], high[used]
        width = self.high - self.low
        gap = np.where(width > 0, width, spread) / np.maximum(self.rows - 1, 1)[:, None]
        self.per_gap = (1 / gap).astype(np.float32)

    def count(self, tree: Any, X: Thin, margin: float) -> NDArray[np.float64]:
        """Return how many calibration rows share each row's leaf, fewer if it lies beyond them."""
        place = self.place[tree.apply(X)]
        outside = np.maximum(self.low[place] - X, X - self.high[place]) * self.per_gap[place]
        # A missing value, on either side, is not beyond anything.
        gaps = np.fmax.reduce(outside, axis=1, initial=0.0)
        return self.rows[place] * np.exp(-gaps / margin)


def _levels(tree: Any) -> Levels:
    """Return parents and their children, level by level from the root."""
    levels: Levels = []
    level = np.array([0])
    while True:
        parents = level[tree.children_left[level] >= 0]
        if not len(parents):
            return levels
        level = np.concatenate([tree.children_left[parents], tree.children_right[parents]])
        levels.append((np.concatenate([parents, parents]), level))


def _fill(tree: Any, X: Thin, levels: Levels) -> tuple[NDArray[np.intp], Thin, Thin]:
    """Return the number of rows in each node, and their least and largest values."""
    leaf = tree.apply(X)
    count = np.bincount(leaf, minlength=tree.node_count)
    low = np.full((tree.node_count, X.shape[1]), np.nan, dtype=np.float32)
    high = low.copy()
    order = np.argsort(leaf, kind="stable")
    filled, starts = np.unique(leaf[order], return_index=True)
    low[filled] = np.fmin.reduceat(X[order], starts, axis=0)
    high[filled] = np.fmax.reduceat(X[order], starts, axis=0)
    for parents, children in reversed(levels):
        np.add.at(count, parents, count[children])
        np.fmin.at(low, parents, low[children])
        np.fmax.at(high, parents, high[children])
    return count, low, high


def trees_of(forest: Any) -> list[Any]:
    """Return the trees of a fitted forest, wherever in it they are."""
    from sklearn.frozen import FrozenEstimator  # not loaded by `import sklearn.ensemble`

    if isinstance(forest, FrozenEstimator):
        return trees_of(forest.estimator)
    if hasattr(forest, "regressor_"):  # a risk estimator
        return trees_of(forest.regressor_)
    if hasattr(forest, "forest_"):  # a LossRegressor
        forest = forest.forest_
        if forest is None:
            raise ValueError(
                "forest: the trees have no share in this LossRegressor, so no leaf stands behind "
                "its estimates. Use DistanceSupport."
            )
    if not isinstance(forest, BaseForest) or not hasattr(forest, "estimators_"):
        raise ValueError(
            f"forest must be extra-trees, a random forest or LossRegressor, fitted if it is "
            f"frozen, or a risk estimator with such a regressor; got {type(forest).__name__}. For "
            f"any other there is DistanceSupport."
        )
    return [tree.tree_ for tree in forest.estimators_]
