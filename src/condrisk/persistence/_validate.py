"""What was loaded, looked through before any of it is used.

A tree follows indices that the file gives it, in native code that does not check them: a bad one
would end the process. Everything here is therefore checked once, after loading.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from condrisk.learners import LossRegressor, TableEncoder

_N_BITSETS = 8  # of 32 bits: a category is a number below 256
_LEAF = -1
MOST_JOBS = 256
_FOREST = "condrisk.learners._members.Forest"


class BadModelError(ValueError):
    """A part of a loaded model would not work, or do harm."""


def validate(model: Any) -> None:
    """Raise `BadModelError` if any part of a loaded model is not safe to use."""
    sound: set[int] = set()
    parts = list(_parts(model))
    for part in parts:
        _check_attributes(part)
        _check_booster(part)
        for kind, check in _CHECKS.items():
            if isinstance(part, kind):
                sound |= {id(tree) for tree in check(part)}
    for part in parts:
        if isinstance(part, Tree | TreePredictor) and id(part) not in sound:
            raise BadModelError("has a tree where none belongs")


def _parts(model: Any) -> Iterator[Any]:
    """Yield every object inside a model, each once."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype == object:
                waiting.extend(part.ravel().tolist())
        elif isinstance(part, Tree):
            yield part
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            yield part
            waiting.extend(vars(part).values())


def _check_attributes(part: Any) -> None:
    """Refuse attributes that hide those of the type, and threads that no machine has."""
    kind = type(part)
    own = kind.__module__.partition(".")[0] in ("condrisk", "sklearn")
    for name in getattr(part, "__dict__", ()):
        fixed = getattr(kind, name, None)
        if callable(fixed) or (own and isinstance(fixed, str)):
            raise BadModelError(f"has a {kind.__name__} whose {name} is not its own")
    jobs = vars(part).get("n_jobs") if hasattr(part, "__dict__") else None
    if jobs is not None and not (isinstance(jobs, int) and abs(jobs) <= MOST_JOBS):
        raise BadModelError(f"has a {kind.__name__} with n_jobs={jobs!r}")


def _require(fits: bool, what: str) -> None:
    if not fits:
        raise BadModelError(f"has {what}")


# -- trees ----------------------------------------------------------------------------------------


def _check_decision_tree(estimator: Any) -> list[Any]:
    if not hasattr(estimator, "tree_"):
        return []  # a template, not fitted
    tree = estimator.tree_
    _require(isinstance(tree, Tree), "an object in place of a tree")
    _require(_n_features(estimator) == tree.n_features, "a tree for other columns")
    _require(tree.n_outputs == 1 == getattr(estimator, "n_outputs_", None), "a tree of many trees")
    left, right = tree.children_left, tree.children_right
    leaf = left == _LEAF
    _require(bool((leaf == (right == _LEAF)).all()), "a tree with half a leaf")
    inner = np.flatnonzero(~leaf)
    check_children(inner, left[inner], right[inner], len(left), most_depth=tree.max_depth)
    feature, threshold = tree.feature[inner], tree.threshold[inner]
    _check_range(feature, tree.n_features, "column")
    _require(not np.isnan(threshold).any(), "a tree with a threshold that is no number")
    _require(bool(np.isfinite(tree.value).all()), "a tree whose leaves are no numbers")
    return [tree]


def check_children(
    inner: NDArray[Any],
    left: NDArray[Any],
    right: NDArray[Any],
    n_nodes: int,
    *,
    most_depth: int | None = None,
) -> None:
    """Refuse nodes that are not one tree: each but the first must have one parent before it."""
    children = np.concatenate([left, right]).astype(np.int64)
    parents = np.concatenate([inner, inner]).astype(np.int64)
    _check_range(children, n_nodes, "child")
    _require(bool((children > parents).all()), "a tree that leads back to itself")
    counts = np.bincount(children, minlength=n_nodes)
    _require(bool((counts[1:] == 1).all()), "a tree with a branch that is torn off or grown twice")
    if most_depth is not None:
        _check_depth(inner, left, right, most_depth)


def _check_depth(inner: NDArray[Any], left: NDArray[Any], right: NDArray[Any], most: int) -> None:
    """Refuse a tree that is deeper than it claims: a path through it would overflow."""
    position = np.full(int(inner.max(initial=0)) + 1, -1, dtype=np.int64)
    position[inner] = np.arange(len(inner))
    level, depth = np.zeros(1, dtype=np.int64), 0
    while True:
        at = position[level[level < len(position)]]
        at = at[at >= 0]
        if not len(at):
            break
        level, depth = np.concatenate([left[at], right[at]]), depth + 1
    _require(depth <= most, "a tree that is deeper than it claims")


def _check_range(index: NDArray[Any], size: int, what: str) -> None:
    _require(
        not index.size or (int(index.min()) >= 0 and int(index.max()) < size),
        f"a tree with a {what} that does not exist",
    )


def _n_features(estimator: Any) -> int:
    n = getattr(estimator, "n_features_in_", None)
    if not isinstance(n, int | np.integer) or n < 1:
        raise BadModelError("has a model of no columns")
    return int(n)


def _check_forest(forest: Any) -> list[Any]:
    if not hasattr(forest, "estimators_"):
        return []
    trees = forest.estimators_
    fits = isinstance(trees, list) and all(isinstance(tree, BaseDecisionTree) for tree in trees)
    _require(fits and len(trees) > 0, "a forest of no trees")
    _require(
        all(_n_features(tree) == _n_features(forest) and hasattr(tree, "tree_") for tree in trees),
        "a forest of trees for other columns",
    )
    return []


# -- boosting -------------------------------------------------------------------------------------


def _check_boosting(model: Any) -> list[Any]:
    if not hasattr(model, "_predictors"):
        return []
    n_features = _n_features(model)
    _require(not getattr(model, "_in_fit", False), "boosting that is still being fitted")
    categorical = _check_bins(model._bin_mapper, n_features)
    if model._preprocessor is not None:
        with warnings.catch_warnings():  # that this row has no names, as a frame has
            warnings.simplefilter("ignore", UserWarning)
            rows = model._preprocessor.transform(_first_categories(model._preprocessor, n_features))
        _require(
            isinstance(rows, np.ndarray) and rows.shape == (1, n_features),
            "boosting that changes the number of columns",
        )
    trees = [tree for step in model._predictors for tree in step]
    for tree in trees:
        _require(isinstance(tree, TreePredictor), "boosting with an object that is not a tree")
        _check_tree_predictor(tree, n_features, categorical)
    _require(
        all(len(step) == model.n_trees_per_iteration_ for step in model._predictors)
        and np.shape(model._baseline_prediction) == (1, model.n_trees_per_iteration_)
        and bool(np.isfinite(model._baseline_prediction).all()),
        "boosting whose steps do not fit together",
    )
    return trees


def _first_categories(preprocessor: Any, n_features: int) -> NDArray[Any]:
    """Return a row that a preprocessor takes: in columns of text, a text that it knows."""
    row = np.zeros((1, n_features), dtype=object)
    for _, transformer, columns in preprocessor.transformers_:
        known = getattr(transformer, "categories_", ())
        for column, values in zip(np.flatnonzero(columns), known, strict=False):
            row[0, column] = values[0]
    return row


def _check_bins(mapper: Any, n_features: int) -> NDArray[np.bool_]:
    """Return which columns are categories, whose values become positions in a set of bits."""
    categorical = np.asarray(mapper.is_categorical_)
    known = mapper.bin_thresholds_
    _require(
        categorical.shape == (n_features,) and len(known) == n_features,
        "boosting with bins for other columns",
    )
    categorical = categorical.astype(bool)
    for values in (known[k] for k in np.flatnonzero(categorical)):
        values = np.asarray(values, dtype=np.float64)
        fits = ((values >= 0) & (values < 32 * _N_BITSETS) & (values == np.floor(values))).all()
        _require(bool(fits), "boosting with a category that does not exist")
    return categorical


def _check_tree_predictor(tree: Any, n_features: int, categorical: NDArray[np.bool_]) -> None:
    nodes, bitsets = tree.nodes, tree.raw_left_cat_bitsets
    _require(
        isinstance(nodes, np.ndarray)
        and nodes.dtype == PREDICTOR_RECORD_DTYPE
        and nodes.ndim == 1
        and len(nodes) > 0,
        "boosting with a tree of no nodes",
    )
    _require(
        isinstance(bitsets, np.ndarray)
        and bitsets.dtype == np.uint32
        and bitsets.ndim == 2
        and bitsets.shape[1] == _N_BITSETS,
        "boosting with categories in a wrong shape",
    )
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    splits = nodes[inner]
    check_children(inner, splits["left"], splits["right"], len(nodes))
    _check_range(splits["feature_idx"], n_features, "column")
    by_category = splits[splits["is_categorical"] != 0]
    _check_range(by_category["bitset_idx"], len(bitsets), "set of categories")
    _require(
        bool(categorical[by_category["feature_idx"]].all()),
        "boosting that takes a number for a category",
    )
    by_number = splits[splits["is_categorical"] == 0]
    _require(
        not np.isnan(by_number["num_threshold"]).any() and bool(np.isfinite(nodes["value"]).all()),
        "boosting whose thresholds or leaves are no numbers",
    )


# -- the others ---------------------------------------------------------------------------------


def _check_loss_regressor(model: Any) -> list[Any]:
    """Its trees are asked directly, so that its own number of columns has to be theirs."""
    for member in getattr(model, "_members", []):
        if f"{type(member).__module__}.{type(member).__qualname__}" == _FOREST:
            forest = member.forest
            _require(isinstance(forest, BaseForest), "an object in place of a forest")
            encoder = getattr(model, "encoder_", None)
            n_columns = _n_features(model) if encoder is None else _n_encoded(encoder)
            _require(_n_features(forest) == n_columns, "a forest for other columns")
            sizes = [tree.tree_.node_count for tree in forest.estimators_]
            _require([np.shape(v) for v in member.values] == [(n,) for n in sizes], "odd leaves")
    return []


def _n_encoded(encoder: Any) -> int:
    """Return how many numbers an encoder makes of a row, and refuses to differ from."""
    n = getattr(encoder, "n_features_out_", None)
    if type(encoder) is not TableEncoder or not isinstance(n, int | np.integer):
        raise BadModelError("has an object in place of an encoder")
    return int(n)


def _check_linear(model: Any) -> list[Any]:
    """Refuse coefficients that are no numbers, or not for these columns."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is None:
        return []
    fits = (
        isinstance(coefficients, np.ndarray)
        and coefficients.dtype.kind == "f"
        and coefficients.ndim in (1, 2)
        and coefficients.shape[-1] == _n_features(model)
        and bool(np.isfinite(coefficients).all())
        # A log-linear model of no loss at all has an intercept of minus infinity.
        and bool((np.asarray(getattr(model, "intercept_", 0.0)) < np.inf).all())
    )
    _require(fits, f"a {type(model).__name__} whose coefficients do not fit its columns")
    return []


def _check_booster(part: Any) -> None:
    """Refuse a model of one package with the booster of another."""
    booster = getattr(part, "__dict__", {}).get("_Booster")
    kinds = (type(part).__module__.partition(".")[0], type(booster).__module__.partition(".")[0])
    _require(booster is None or kinds[0] == kinds[1], f"a {type(part).__name__} without its trees")


_CHECKS: dict[type, Callable[[Any], list[Any]]] = {
    BaseDecisionTree: _check_decision_tree,
    BaseForest: _check_forest,
    HistGradientBoostingClassifier: _check_boosting,
    HistGradientBoostingRegressor: _check_boosting,
    LossRegressor: _check_loss_regressor,
    object: _check_linear,
}
