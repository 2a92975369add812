"""CatBoost's trees as nodes of ONNX: thresholds of float32, leaves and sums in float64.

CatBoost's own ONNX files add up in float32; its JSON files have every number in full.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph, Rows
from condrisk.app.export._models import probabilities
from condrisk.app.export._registry import CLASSIFIERS, REGRESSORS
from condrisk.app.export._trees import Ensemble, Tree

_IDENTITY = ("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE", "Expectile", "Lq")
_EXPONENTIAL = ("Poisson", "Tweedie")


@REGRESSORS.register("catboost.core.CatBoostRegressor")
def _regressor(graph: Graph, model: Any, X: Rows) -> str:
    raw, loss = _raw(graph, model, X)
    if loss in _EXPONENTIAL:
        return graph.add("Exp", raw)
    if loss not in _IDENTITY:
        raise ExportError(f"CatBoost's loss {loss!r} cannot be converted to ONNX; RMSE can.")
    return raw


@CLASSIFIERS.register("catboost.core.CatBoostClassifier")
def _classifier(graph: Graph, model: Any, X: Rows) -> str:
    raw, loss = _raw(graph, model, X)
    if loss not in ("Logloss", "CrossEntropy", "MultiClass"):
        raise ExportError(
            f"CatBoost's loss {loss!r} gives no class probabilities that can be converted "
            f"to ONNX; those of 'Logloss' and 'MultiClass' can."
        )
    return probabilities(graph, raw, len(model.classes_))


def _raw(graph: Graph, model: Any, X: Rows) -> tuple[str, str]:
    """Return the sums over trees, a column for each class, and the name of the loss."""
    found = _dump(model)
    info = found["features_info"]
    for kind in ("categorical_features", "text_features", "embedding_features", "ctrs"):
        if info.get(kind):
            raise ExportError(
                f"CatBoost's {kind.replace('_', ' ')} cannot be converted to ONNX; features of "
                f"numbers can."
            )
    scale, bias = found["scale_and_bias"]
    bias = np.reshape(bias, (1, -1))
    ensemble = Ensemble(bias.shape[1])
    features = {f["feature_index"]: f for f in info["float_features"]}
    for tree in found.get("oblivious_trees", []) or found.get("trees", []):
        grown = _oblivious(tree, features) if "splits" in tree else _grown(tree, features)
        for target, values in enumerate(np.reshape(grown.value, (len(grown.is_leaf), -1)).T):
            ensemble.add_tree(grown.with_values(values), target)
    total = ensemble.node(graph, graph.rounded(X.numbers(model)))
    shifted = graph.add("Add", graph.scaled(total, float(scale)), graph.constant(bias))
    return shifted, str(model.get_all_params().get("loss_function", "")).split(":")[0]


def _dump(model: Any) -> dict[str, Any]:
    """Return the model as CatBoost writes it in JSON, which it does to files alone."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        return json.loads(file.read_text(encoding="utf-8"))


def _split(split: dict[str, Any], features: dict[int, Any]) -> tuple[int, float, bool]:
    """Return the column of a split, its threshold, and whether missing values stay below it."""
    if split["split_type"] != "FloatFeature":
        raise ExportError(f"CatBoost's splits {split['split_type']!r} cannot be converted to ONNX.")
    feature = features[split["float_feature_index"]]
    below = feature["nan_value_treatment"] != "AsTrue"
    return feature["flat_feature_index"], float(np.float32(split["border"])), below


def _oblivious(tree: dict[str, Any], features: dict[int, Any]) -> Tree:
    """Return a tree with one split for each level; the last split is the root's.

    The number of a leaf has a bit for each split, the first split's the lowest.
    """
    splits = [_split(split, features) for split in reversed(tree["splits"])]
    n_inner = 2 ** len(splits) - 1
    n = 2 * n_inner + 1
    level = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
    inner = [splits[k] for k in level] + [(0, 0.0, False)] * (n - n_inner)
    feature, threshold, below = (np.array(part) for part in zip(*inner, strict=True))
    node = np.arange(n)
    leaves = np.reshape(tree["leaf_values"], (n - n_inner, -1))
    return Tree(
        is_leaf=node >= n_inner,
        left=np.where(node < n_inner, 2 * node + 1, 0),
        right=np.where(node < n_inner, 2 * node + 2, 0),
        feature=feature,
        threshold=threshold,
        missing_left=below,
        value=np.concatenate([np.zeros((n_inner, leaves.shape[1])), leaves]),
    )


def _grown(tree: dict[str, Any], features: dict[int, Any]) -> Tree:
    """Return a tree whose branches have splits of their own."""
    nodes = [tree]
    left, right, splits = [], [], []
    for node in nodes:  # grows while it is walked
        is_leaf = "split" not in node
        splits.append((0, 0.0, False) if is_leaf else _split(node["split"], features))
        left.append(0 if is_leaf else len(nodes))
        right.append(0 if is_leaf else len(nodes) + 1)
        if not is_leaf:
            nodes += [node["left"], node["right"]]
    width = max(np.size(node.get("value", 0.0)) for node in nodes)
    feature, threshold, below = (np.array(part) for part in zip(*splits, strict=True))
    return Tree(
        is_leaf=np.array(["split" not in node for node in nodes]),
        left=np.array(left),
        right=np.array(right),
        feature=feature,
        threshold=threshold,
        missing_left=below,
        value=np.array([np.broadcast_to(node.get("value", 0.0), width) for node in nodes]),
    )
