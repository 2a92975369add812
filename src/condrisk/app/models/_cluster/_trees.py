"""LightGBM's trees as those of scikit-learn, which every command takes and every file may hold.

A booster of LightGBM is code to whoever loads it; a model file that anybody can open holds
scikit-learn's boosting. Both take a row down the same splits: a number at most the threshold goes
left, a category by a set, a missing value where it went in fitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from condrisk.app._booster import Text, members, numbers, read_booster

# LightGBM keeps one of its 255 bins for missing values, and one for zero.
MOST_EDGES = 250
# Of few rows there are fewer: a bin that a worker has no row of, LightGBM joins with its neighbour
# there and then, so that a model would depend on who looked first.
FEWEST_EDGES, ROWS_OF_A_BIN = 15, 200
MISSING = 255
_N_WORDS = 8  # of 32 bits: scikit-learn's categories are numbers below 256
Floats = NDArray[np.float64]


class Bins(NamedTuple):
    """What boosting sees of each column: between which edges a number is, or which category.

    All workers bin by the same edges. LightGBM's own would be those of one worker for each column,
    which may hold the rows of one month.

    Attributes
    ----------
    edges : tuple of ndarray
        Of a column of numbers, ascending; bin k holds the numbers above edge k - 1 and at most
        edge k. Of a category none.
    n_categories : tuple of int
        Of a column of numbers 0.
    """

    edges: tuple[Floats, ...]
    n_categories: tuple[int, ...]

    @property
    def categorical(self) -> list[int]:
        """Return which columns are categories."""
        return [k for k, n in enumerate(self.n_categories) if n]

    def with_numbers(self, X: Floats) -> Bins:
        """Return bins for more columns of numbers."""
        edges = tuple(_edges(column) for column in X.T)
        return Bins((*self.edges, *edges), (*self.n_categories, *[0] * len(edges)))

    def bin_of(self, values: Floats, column: int) -> NDArray[np.intp]:
        """Return the bins of numbers of a column."""
        return np.searchsorted(self.edges[column], values)

    def write(self, X: Floats, out: NDArray[np.uint8]) -> None:
        """Write the bins of rows as bytes."""
        for k, n in enumerate(self.n_categories):
            column = np.ascontiguousarray(X[:, k])
            missing = np.isnan(column)
            found = np.where(missing, 0, column) if n else self.bin_of(column, k)
            out[:, k] = np.where(missing, MISSING, found)

    def as_numbers(self, bins: NDArray[np.uint8], out: NDArray[np.float32]) -> None:
        """Write bytes as the numbers that LightGBM takes; NaN is what is missing."""
        out[:] = bins
        out[bins == MISSING] = np.nan


def find_bins(X: Floats, n_categories: Sequence[int]) -> Bins:
    """Return the bins of columns as a sample of rows has them."""
    edges = tuple(
        np.empty(0) if n else _edges(column) for column, n in zip(X.T, n_categories, strict=True)
    )
    return Bins(edges, tuple(n_categories))


def _edges(column: Floats) -> Floats:
    known = column[~np.isnan(column)]
    values = np.unique(known)
    if len(values) < 2:
        return np.empty(0)
    most = min(MOST_EDGES, max(FEWEST_EDGES, len(known) // ROWS_OF_A_BIN))
    if len(values) <= most:
        return values[:-1] + np.diff(values) / 2
    shares = np.linspace(0, 1, most + 2)[1:-1]
    return np.unique(np.quantile(known, shares, method="lower"))


def boosting_of(text: str, bins: Bins, classes: NDArray[Any] | None, **options: Any) -> Any:
    """Return a booster that was fitted to bins as one of scikit-learn's for the numbers in them.

    Parameters
    ----------
    text : str
        The booster.
    bins : Bins
        Of its columns.
    classes : ndarray or None
        The labels that its numbers stand for, for a classifier.
    **options
        How it was fitted, in scikit-learn's words.
    """
    head, *trees = read_booster(text)
    model = _empty(bins, classes, options)
    # Scikit-learn puts categories before numbers.
    order = [*bins.categorical, *(k for k, n in enumerate(bins.n_categories) if not n)]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    made = [_predictor(tree, bins, place) for tree in trees]
    width = int(head["num_tree_per_iteration"])
    model._predictors = [made[k : k + width] for k in range(0, len(made), width)]
    model._baseline_prediction = np.zeros((1, width))  # it is in the leaves of the first trees
    return model.set_params(max_iter=len(model._predictors))


def _empty(bins: Bins, classes: NDArray[Any] | None, options: dict[str, Any]) -> Any:
    """Return boosting fitted to rows that hold all categories and classes, and tell nothing."""
    n_rows = max(2, *bins.n_categories, 0 if classes is None else 2 * len(classes))
    X = np.column_stack(
        [
            np.arange(n_rows) % n if n else np.resize(edges if len(edges) else [0.0], n_rows)
            for edges, n in zip(bins.edges, bins.n_categories, strict=True)
        ]
    ).astype(np.float64)
    shared = {
        "categorical_features": bins.categorical or None,
        "early_stopping": False,
        "max_iter": 1,
        "random_state": 0,
        **options,
    }
    if classes is None:
        return HistGradientBoostingRegressor(**shared).fit(X, np.arange(n_rows, dtype=np.float64))
    return HistGradientBoostingClassifier(**shared).fit(X, np.resize(classes, n_rows))


def _predictor(tree: Text, bins: Bins, place: NDArray[np.int64]) -> TreePredictor:
    """Return a tree: first its splits, then its leaves, which LightGBM calls -1, -2 and so on."""
    value = numbers(tree, "leaf_value", np.float64)
    feature = numbers(tree, "split_feature", np.int64)
    n = len(feature)
    nodes = np.zeros(n + len(value), dtype=PREDICTOR_RECORD_DTYPE)
    nodes["is_leaf"][n:] = 1
    nodes["value"][n:] = value
    nodes["gain"] = -1
    if not n:
        return TreePredictor(nodes, *_sets([]))
    sides = {}
    for side in ("left", "right"):
        found = numbers(tree, f"{side}_child", np.int64)
        sides[side] = np.where(found < 0, n - 1 - found, found)
        nodes[side][:n] = sides[side]
    nodes["count"][:n] = numbers(tree, "internal_count", np.int64)
    nodes["count"][n:] = numbers(tree, "leaf_count", np.int64)
    nodes["gain"][:n] = numbers(tree, "split_gain", np.float64)
    for parent in range(n):  # a child is behind its parent
        for child in sides.values():
            nodes["depth"][child[parent]] = nodes["depth"][parent] + 1
    decision = numbers(tree, "decision_type", np.int64)
    categorical = (decision & 1).astype(bool)
    nodes["is_categorical"][:n] = categorical
    nodes["feature_idx"][:n] = place[feature]
    count = nodes["count"]
    # Where nothing was missing in fitting, scikit-learn goes with most of the rows.
    by_rows = count[sides["left"]] > count[sides["right"]]
    by_split = (decision & 2).astype(bool)
    never_missing = ((decision >> 2) & 3) == 0
    nodes["missing_go_to_left"][:n] = ~categorical & np.where(never_missing, by_rows, by_split)
    threshold = numbers(tree, "threshold", np.float64)
    for k in np.flatnonzero(~categorical).tolist():
        nodes["num_threshold"][k] = _number(threshold[k], bins.edges[feature[k]])
    sets = [members(tree, int(threshold[k])) for k in np.flatnonzero(categorical)]
    nodes["bitset_idx"][np.flatnonzero(categorical)] = np.arange(len(sets))
    return TreePredictor(nodes, *_sets(sets))


def _number(threshold: float, edges: Floats) -> float:
    """Return the number that parts the bins at most a threshold from those above it."""
    last = int(np.clip(np.floor(threshold), -1, len(edges)))
    if last < 0:
        return -np.inf
    return np.inf if last == len(edges) else float(edges[last])


def _sets(sets: list[list[int]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return sets of categories as bits, by their codes and by their bins, which are the same."""
    words = np.zeros((len(sets), _N_WORDS), dtype=np.uint32)
    for k, found in enumerate(sets):
        for member in found:
            words[k, member // 32] |= np.uint32(1 << (member % 32))
    return words, words.copy()
