"""LightGBM's trees as nodes of ONNX: its own thresholds and leaves, all in float64.

A converter such as onnxmltools rounds both to float32, so that rows close to a threshold may fall
on the other side. The text of a booster has every number in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.app._booster import Text, members, numbers, read_booster
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph, Rows
from condrisk.app.export._models import probabilities
from condrisk.app.export._registry import CLASSIFIERS, REGRESSORS, SCORES
from condrisk.app.export._trees import Ensemble, Tree, leaf

# As LightGBM numbers them: what counts as missing at a node.
NOTHING, ZERO = 0, 1
# Numbers closer to zero than this are zero, as LightGBM sees them.
ZERO_RANGE = float(np.float32(1e-35))
_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "")
_EXPONENTIAL = ("poisson", "gamma", "tweedie")


@REGRESSORS.register("lightgbm.sklearn.LGBMRegressor")
def _regressor(graph: Graph, model: Any, X: Rows) -> str:
    raw, objective = _raw(graph, model, X)
    name = (objective or [""])[0]
    if name in _EXPONENTIAL:
        return graph.add("Exp", raw)
    if name not in _IDENTITY:
        raise ExportError(f"LightGBM's objective {name!r} cannot be converted to ONNX.")
    if "sqrt" in objective:  # fitted to roots: back to the sign and the square
        return graph.add("Mul", raw, graph.add("Abs", raw))
    return raw


@CLASSIFIERS.register("lightgbm.sklearn.LGBMClassifier")
def _classifier(graph: Graph, model: Any, X: Rows) -> str:
    raw, objective = _raw(graph, model, X)
    name = (objective or [""])[0]
    steepness = next((float(o[8:]) for o in objective if o.startswith("sigmoid:")), 1.0)
    if name == "binary":
        return probabilities(graph, graph.scaled(raw, steepness), 2)
    if name == "multiclass":
        return graph.add("Softmax", raw, axis=1)
    if name == "multiclassova":
        return graph.add("Sigmoid", graph.scaled(raw, steepness))
    raise ExportError(
        f"LightGBM's objective {name or 'of a Python function'!r} gives no class probabilities "
        f"that can be converted to ONNX; those of 'binary', 'multiclass' and 'multiclassova' can."
    )


@SCORES.register("lightgbm.sklearn.LGBMClassifier")
def _scores(graph: Graph, model: Any, X: Rows) -> str:
    return _raw(graph, model, X)[0]


def _raw(graph: Graph, model: Any, X: Rows) -> tuple[str, list[str]]:
    """Return the sums over trees, a column for each class, and the words of the objective."""
    head, *trees = read_booster(model.booster_.model_to_string())
    n_targets = int(head["num_tree_per_iteration"])
    name = _prepared(graph, X.name, trees, len(X.categories))
    ensemble = Ensemble(n_targets)
    for k, tree in enumerate(trees):
        ensemble.add_tree(_tree(tree), k % n_targets)
    total = ensemble.node(graph, name)
    if "average_output" in head:
        total = graph.add("Div", total, graph.constant(len(trees) / n_targets))
    return total, head.get("objective", "").split()


def _tree(text: Text) -> Tree:
    """Return a tree: first its splits, then its leaves, which children name by -1, -2 and so on."""
    if text.get("is_linear", "0") != "0":
        raise ExportError(
            "LightGBM's linear_tree cannot be converted to ONNX; trees with constant leaves can."
        )
    value = numbers(text, "leaf_value", np.float64)
    feature = numbers(text, "split_feature", np.intp)
    n = len(feature)
    if not n:
        return leaf(float(value[0]))
    decision = numbers(text, "decision_type", np.intp)
    threshold = numbers(text, "threshold", np.float64)
    categorical = (decision & 1).astype(bool)
    missing = (decision >> 2) & 3
    default_left = (decision & 2).astype(bool)
    # Where nothing counts as missing, NaN is taken as zero; of categories it is none.
    left = np.where(missing == NOTHING, threshold >= 0, default_left) & ~categorical
    ends = np.zeros(len(value))

    def children(name: str) -> NDArray[np.intp]:
        found = numbers(text, name, np.intp)
        return np.concatenate([np.where(found < 0, n - 1 - found, found), ends.astype(np.intp)])

    return Tree(
        is_leaf=np.arange(n + len(value)) >= n,
        left=children("left_child"),
        right=children("right_child"),
        feature=np.concatenate([feature, ends.astype(np.intp)]),
        threshold=np.concatenate([threshold, ends]),
        missing_left=np.concatenate([left, ends.astype(bool)]),
        value=np.concatenate([np.zeros(n), value]),
        members={int(k): members(text, int(threshold[k])) for k in np.flatnonzero(categorical)},
    )


def _prepared(graph: Graph, X: str, trees: list[Text], n_columns: int) -> str:
    """Return rows as the trees compare them: categories cut to whole numbers, zeros missing."""
    categorical: set[int] = set()
    zeros: set[int] = set()
    others: set[int] = set()
    for tree in trees:
        features = numbers(tree, "split_feature", np.intp).tolist()
        for feature, kind in zip(features, numbers(tree, "decision_type", np.intp), strict=True):
            if kind & 1:
                categorical.add(feature)
            else:
                (zeros if (kind >> 2) & 3 == ZERO else others).add(feature)
    if zeros & others:
        raise ExportError("LightGBM takes zeros as missing at some nodes of a feature only.")
    if categorical:
        is_category = graph.constant(_mask(categorical, n_columns), bool)
        X = graph.add("Where", is_category, truncated(graph, X), X)
    if zeros:
        small = graph.add("LessOrEqual", graph.add("Abs", X), graph.constant(ZERO_RANGE))
        gap = graph.add("And", small, graph.constant(_mask(zeros, n_columns), bool))
        X = graph.add("Where", gap, graph.constant(float("nan")), X)
    return X


def _mask(where: set[int], n: int) -> NDArray[np.bool_]:
    return np.isin(np.arange(n), list(where)).reshape(1, -1)


def truncated(graph: Graph, X: str) -> str:
    """Return numbers without what is after the point."""
    negative = graph.add("Less", X, graph.constant(0.0))
    return graph.add("Where", negative, graph.add("Ceil", X), graph.add("Floor", X))
