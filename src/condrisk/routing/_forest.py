"""One forest for the losses of all models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import ExtraTreeRegressor
from sklearn.utils.parallel import Parallel, delayed

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

N_TREES = 100
# More rows than this make a tree larger and slower, not better: its leaves are averaged anyway.
ROWS_PER_TREE = 5000
# Rows of the smallest node that is split: a realised loss says little of its mean.
LEAST_NODE = 10
# By how many rows' worth of its own mean a node holds back what its children say.
STRENGTHS = np.array([3.0, 10.0, 30.0, 100.0, 300.0])
# Columns that a tree may look at in a node, of wide tables.
MOST_COLUMNS = 32


class JointForest:
    """Extra-trees that share their splits between targets, shrunk by several strengths.

    Each tree is grown on a random combination of the standardised targets, so that growing takes
    the time of one target, however many there are. A node has, for each target, the mean over its
    rows for which that is known. On the way down a prediction takes n / (n + s) of the step from
    the mean of a node to that of its child, where n is the number of such rows in the node and s
    the strength (hierarchical shrinkage, Agarwal et al. 2022). That keeps the mean over the
    training rows, which stopping at nodes of some size does not: small nodes are outliers, and
    their losses are not like those of others.

    Parameters
    ----------
    seed : int
        For the trees.
    n_jobs : int or None
        How many trees to grow at a time.
    folds : list of (train, held_out) or None
        Where rows depend on each other: trees keep to the rows outside of a fold. None: rows out
        of bag are held out.
    """

    def __init__(
        self, seed: int, n_jobs: int | None, folds: list[tuple[Rows, Rows]] | None
    ) -> None:
        self.seed = seed
        self.n_jobs = n_jobs
        self.folds = folds

    def fit(self, X: Floats, filled: Floats, known: NDArray[np.bool_], weight: Floats) -> Floats:
        """Grow the trees.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows, without gaps.
        filled : ndarray of shape (n_rows, n_targets)
            Targets; where one is not known a guess, which shapes trees and enters no mean.
        known : ndarray of bool, shape (n_rows, n_targets)
            Which are known.
        weight : ndarray of shape (n_rows,)
            Weights.

        Returns
        -------
        ndarray of shape (n_rows, n_targets, n_strengths)
            Predictions by trees that have not seen the row.
        """
        thin = _as_float32(X)
        centre = np.average(filled, axis=0, weights=weight)
        scale = np.sqrt(np.average((filled - centre) ** 2, axis=0, weights=weight))
        standard = (filled - centre) / np.where(scale > 0, scale, 1.0)
        # Rounded, so that losses in other units give the same splits, not nearly the same.
        standard = standard.astype(np.float32).astype(np.float64)
        data = _Data(thin, standard, filled, known, weight)
        seeds = np.random.SeedSequence(self.seed).spawn(N_TREES)
        folds: Sequence[tuple[Rows, Rows] | None] = self.folds or [None]
        parts = [folds[k % len(folds)] for k in range(N_TREES)]
        grown = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grow)(data, seed, part) for seed, part in zip(seeds, parts, strict=True)
        )
        self.trees = [tree for tree, _, _ in grown]
        self.values = [values for _, values, _ in grown]
        return self._held_out(thin, [rows for _, _, rows in grown], centre)

    def _held_out(self, thin: NDArray[np.float32], free: list[Rows], centre: Floats) -> Floats:
        n_targets, n_strengths = self.values[0].shape[1:]
        total, count = np.zeros((len(thin), n_targets, n_strengths)), np.zeros(len(thin))
        for tree, values, rows in zip(self.trees, self.values, free, strict=True):
            if len(rows):
                total[rows] += values[tree.tree_.apply(thin[rows])]
                count[rows] += 1
        # A row that every tree has seen, which is rare, gets the mean.
        unseen = total / np.maximum(count, 1)[:, None, None]
        return np.where(count[:, None, None] > 0, unseen, centre[:, None])

    def blend(self, shares: Floats) -> Self:
        """Merge what is predicted for targets, by shares (n_targets, n_strengths, n_out)."""
        self.values = [np.einsum("kts,tsm->km", values, shares) for values in self.values]
        del self.folds
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the part of the prediction that comes from the trees, (n_rows, n_out)."""
        thin = _as_float32(X)
        total = np.zeros((len(thin), self.values[0].shape[1]))
        for tree, values in zip(self.trees, self.values, strict=True):
            if tree.tree_.n_features != thin.shape[1]:  # apply does not check, and files may differ
                raise ValueError(f"the rows have {thin.shape[1]} columns, and a tree others.")
            total += values[tree.tree_.apply(thin)]
        return total / len(self.trees)


class _Data(NamedTuple):
    thin: NDArray[np.float32]
    standard: Floats
    filled: Floats
    known: NDArray[np.bool_]
    weight: Floats


def _grow(data: _Data, seed: Any, part: tuple[Rows, Rows] | None) -> tuple[Any, Floats, Rows]:
    """Return a tree, the values of its nodes, and the rows that are held out of it."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = data.thin.shape
    pool = np.arange(n_rows) if part is None else part[0]
    drawn = pool[rng.integers(len(pool), size=min(len(pool), ROWS_PER_TREE))]
    rows, counts = np.unique(drawn, return_counts=True)
    target = data.standard[rows] @ rng.standard_normal(data.standard.shape[1])
    tree = ExtraTreeRegressor(
        min_samples_split=LEAST_NODE,
        max_features=min(n_features, max(MOST_COLUMNS, n_features // 3)),
        random_state=int(rng.integers(2**31)),
    )
    mass = counts * data.weight[rows]
    tree.fit(data.thin[rows], target, sample_weight=mass)
    values = _node_values(tree.tree_, data, rows, mass)
    if part is not None:
        return tree, values, part[1]
    unseen = np.ones(n_rows, dtype=bool)
    unseen[rows] = False
    return tree, values, np.flatnonzero(unseen)


def _node_values(tree: Any, data: _Data, rows: Rows, mass: Floats) -> Floats:
    """Return the value of each node for each target, (n_nodes, n_targets, n_strengths)."""
    leaf = tree.apply(data.thin[rows])
    known = data.known[rows]
    n_targets = known.shape[1]
    sums = np.zeros((3, tree.node_count, n_targets))
    for k in range(n_targets):
        own = mass * known[:, k]
        for j, value in enumerate((own, own * data.filled[rows, k], known[:, k])):
            sums[j, :, k] = np.bincount(leaf, weights=value, minlength=tree.node_count)
    levels = _levels(tree)
    for parents, left, right in reversed(levels):
        sums[:, parents] = sums[:, left] + sums[:, right]
    total, moment, count = sums
    mean = np.divide(moment, total, out=np.zeros_like(moment), where=total > 0)
    taken = count[:, :, None] / (count[:, :, None] + STRENGTHS)
    values = np.repeat(mean[:, :, None], len(STRENGTHS), axis=2)
    for parents, *sides in levels:
        for children in sides:
            step = np.where(total[children] > 0, mean[children] - mean[parents], 0.0)
            values[children] = values[parents] + taken[parents] * step[:, :, None]
    return values


def _levels(tree: Any) -> list[tuple[Rows, Rows, Rows]]:
    """Return nodes with their left and right children, those of equal depth together."""
    found: list[tuple[Rows, Rows, Rows]] = []
    level = np.array([0])
    while True:
        parents = level[tree.children_left[level] >= 0]
        if not len(parents):
            return found
        left, right = tree.children_left[parents], tree.children_right[parents]
        found.append((parents, left, right))
        level = np.concatenate([left, right])


def _as_float32(X: Floats) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        thin = np.ascontiguousarray(X, dtype=np.float32)
    return np.nan_to_num(thin, nan=0.0)  # as good as infinite for a threshold
