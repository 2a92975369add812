"""XGBoost's trees as nodes of ONNX, with the float32 arithmetic that XGBoost has.

XGBoost compares and adds up in float32, tree after tree. The graph does the same in the same
order, so that its sums are those of XGBoost to the last bit.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import ROUGH_TOLERANCE, Graph, Rows
from condrisk.app.export._lightgbm import truncated
from condrisk.app.export._registry import CLASSIFIERS, REGRESSORS
from condrisk.app.export._trees import Ensemble, Tree

_IDENTITY = (
    "reg:squarederror",
    "reg:squaredlogerror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
)
_EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie")
_LOGISTIC = ("binary:logistic", "reg:logistic")
# Beyond this the exponential of a float32 is infinite; XGBoost stops there.
LARGEST_EXPONENT = 88.7


@REGRESSORS.register("xgboost.sklearn.XGBRegressor", "xgboost.sklearn.XGBRFRegressor")
def _regressor(graph: Graph, model: Any, X: Rows) -> str:
    margin, objective = _margin(graph, model, X)
    if objective in _EXPONENTIAL:
        return graph.as_double(_exp(graph, margin))
    return graph.as_double(_sigmoid(graph, margin) if objective in _LOGISTIC else margin)


@CLASSIFIERS.register("xgboost.sklearn.XGBClassifier", "xgboost.sklearn.XGBRFClassifier")
def _classifier(graph: Graph, model: Any, X: Rows) -> str:
    margin, objective = _margin(graph, model, X)
    if objective == "multi:softprob":
        return graph.as_double(_softmax(graph, margin))
    if objective != "binary:logistic":
        raise ExportError(
            f"XGBoost's objective {objective!r} gives no class probabilities that can be converted "
            f"to ONNX; those of 'binary:logistic' and 'multi:softprob' can."
        )
    positive = _sigmoid(graph, margin)
    negative = graph.add("Sub", graph.constant(1.0, np.float32), positive)
    return graph.as_double(graph.join([negative, positive]))


# -- trees ----------------------------------------------------------------------------------------


def _margin(graph: Graph, model: Any, X: Rows) -> tuple[str, str]:
    """Return the sums over trees in float32, a column for each class, and the objective."""
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    booster, objective = learner["gradient_booster"], learner["objective"]["name"]
    if booster["name"] != "gbtree":
        raise ExportError(
            f"XGBoost's booster {booster['name']!r} cannot be converted to ONNX; 'gbtree' can."
        )
    base = _base_margin(learner["learner_model_param"]["base_score"], objective)
    trees, groups = _kept_trees(model, booster["model"])
    graph.tolerance = ROUGH_TOLERANCE
    name = graph.rounded(X.name)
    if any(any(tree["split_type"]) for tree in trees):
        name = _whole_categories(graph, name, trees, len(X.categories))
    ensemble = Ensemble(len(trees))  # a column for each tree: they are added up below
    for k, tree in enumerate(trees):
        ensemble.add_tree(_tree(tree), k)
    leaves = ensemble.node(graph, name)
    n_groups = max(1, int(learner["learner_model_param"]["num_class"]))
    parts = [
        _added_up(graph, graph.columns(leaves, np.flatnonzero(groups == g)), base[g % len(base)])
        for g in range(n_groups)
    ]
    return graph.join(parts), objective


def _kept_trees(model: Any, booster: dict[str, Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the trees that predict, and the class of each; early stopping leaves some out."""
    try:
        end = booster["iteration_indptr"][int(model.best_iteration) + 1]
    except AttributeError:
        end = None
    trees = booster["trees"][:end]
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise ExportError(
            "XGBoost's multi_strategy='multi_output_tree' cannot be converted to ONNX; "
            "'one_output_per_tree' can."
        )
    return trees, np.array(booster["tree_info"][:end])


def _base_margin(text: str, objective: str) -> NDArray[np.float32]:
    """Return what the sums start from: the link function of the base score."""
    score = np.array(json.loads(text), dtype=np.float32).reshape(-1)
    if objective in _LOGISTIC:
        odds = (np.float32(1) / score - np.float32(1)).astype(np.float64)
        return (-np.log(odds)).astype(np.float32)
    if objective in _EXPONENTIAL:
        return np.log(score.astype(np.float64)).astype(np.float32)
    if objective in _IDENTITY or objective == "multi:softprob":
        return score
    raise ExportError(f"XGBoost's objective {objective!r} cannot be converted to ONNX.")


def _tree(found: dict[str, Any]) -> Tree:
    left, right = np.array(found["left_children"]), np.array(found["right_children"])
    condition = np.array(found["split_conditions"], dtype=np.float32)
    default_left = np.array(found["default_left"], dtype=bool)
    members: dict[int, list[int]] = {}
    for node, start, size in zip(
        found["categories_nodes"],
        found["categories_segments"],
        found["categories_sizes"],
        strict=True,
    ):
        # The categories listed go right: seen from ONNX, whose set goes left, sides are swapped.
        members[int(node)] = found["categories"][start : start + size]
        left[node], right[node] = right[node], left[node]
        default_left[node] = not default_left[node]
    return Tree(
        is_leaf=np.array(found["left_children"]) == -1,
        left=left,
        right=right,
        feature=np.array(found["split_indices"]),
        # Below a threshold, of float32 numbers, is at most the number before it.
        threshold=np.nextafter(condition, np.float32(-np.inf)).astype(np.float64),
        missing_left=default_left,
        value=condition.astype(np.float64),
        members=members,
    )


def _whole_categories(graph: Graph, X: str, trees: list[Any], n_columns: int) -> str:
    where = {
        feature
        for tree in trees
        for feature, kind in zip(tree["split_indices"], tree["split_type"], strict=True)
        if kind
    }
    mask = np.isin(np.arange(n_columns), list(where)).reshape(1, -1)
    return graph.add("Where", graph.constant(mask, bool), truncated(graph, X), X)


# -- float32 --------------------------------------------------------------------------------------


def _added_up(graph: Graph, leaves: str, base: np.float32) -> str:
    """Return base plus leaves, added in float32 one after the other as XGBoost does."""
    zeros = graph.scaled(graph.columns(leaves, [0]), 0.0)
    first = graph.add("Add", zeros, graph.constant(float(base)))
    summands = graph.as_float(graph.join([first, leaves]))
    sums = graph.add("CumSum", summands, graph.constant(1, np.int64))
    return graph.columns(sums, [-1])


def _exp(graph: Graph, x: str) -> str:
    """Return exponentials of float32 numbers, right to the last bit: computed in float64."""
    return graph.as_float(graph.add("Exp", graph.as_double(x)))


def _sigmoid(graph: Graph, x: str) -> str:
    one = graph.constant(1.0, np.float32)
    minus = graph.add("Min", graph.add("Neg", x), graph.constant(LARGEST_EXPONENT, np.float32))
    return graph.add("Div", one, graph.add("Add", _exp(graph, minus), one))


def _softmax(graph: Graph, x: str) -> str:
    most = graph.add("ReduceMax", x, graph.constant([1], np.int64), keepdims=1)
    powers = _exp(graph, graph.add("Sub", x, most))
    total = graph.as_float(graph.row_sums(graph.as_double(powers)))
    return graph.add("Div", powers, total)
