"""Trees as one node of ONNX, in float64, with missing values and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.app.export._graph import Graph, Rows, category_text

# As ONNX numbers them: at most a threshold, and member of a set.
AT_MOST, MEMBER = 0, 6
SUM = 1

_TENSORS = ("nodes_splits", "nodes_modes", "leaf_weights")
_ATTRIBUTES = (
    "nodes_featureids",
    "nodes_splits",
    "nodes_modes",
    "nodes_truenodeids",
    "nodes_trueleafs",
    "nodes_falsenodeids",
    "nodes_falseleafs",
    "nodes_missing_value_tracks_true",
    "leaf_targetids",
    "leaf_weights",
)


class Ensemble:
    """The attributes of the node `TreeEnsemble`, filled tree by tree.

    Parameters
    ----------
    n_targets : int
        How many sums over trees there are.
    """

    def __init__(self, n_targets: int) -> None:
        self.n_targets = n_targets
        self.root: list[int] = []
        self._n_nodes = self._n_leaves = 0
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _ATTRIBUTES}
        self._members: list[float] = []

    def add_tree(self, tree: Tree, target: int) -> None:
        """Add a tree whose leaves give one number to one target."""
        inner = np.flatnonzero(~tree.is_leaf)
        if not len(inner):  # ONNX has no tree without a split: one whose sides are the same
            tree, inner = _dummy_split(tree), np.array([0])
        leaves = np.flatnonzero(tree.is_leaf)
        place = np.empty(len(tree.is_leaf), dtype=np.int64)
        place[inner] = self._n_nodes + np.arange(len(inner))
        place[leaves] = self._n_leaves + np.arange(len(leaves))
        self.root.append(int(place[0]))
        mode = np.full(len(inner), AT_MOST)
        split = np.asarray(tree.threshold, dtype=np.float64)[inner]
        for k in np.flatnonzero(np.isin(inner, list(tree.members))):
            members = tree.members[int(inner[k])]
            if not members:  # no number is at most minus infinity; missing values may go left
                split[k] = -np.inf
                continue
            mode[k], split[k] = MEMBER, 0.0
            self._members += [*map(float, members), float("nan")]
        left, right = tree.left[inner], tree.right[inner]
        found = {
            "nodes_featureids": tree.feature[inner],
            "nodes_splits": split,
            "nodes_modes": mode.astype(np.uint8),
            "nodes_truenodeids": place[left],
            "nodes_trueleafs": tree.is_leaf[left],
            "nodes_falsenodeids": place[right],
            "nodes_falseleafs": tree.is_leaf[right],
            "nodes_missing_value_tracks_true": tree.missing_left[inner],
            "leaf_targetids": np.full(len(leaves), target),
            "leaf_weights": np.asarray(tree.value, dtype=np.float64)[leaves],
        }
        for name, values in found.items():
            self._parts[name].append(np.asarray(values))
        self._n_nodes += len(inner)
        self._n_leaves += len(leaves)

    def node(self, graph: Graph, X: str) -> str:
        """Add the node to a graph; return the sums over the trees, a column for each target."""
        if not self.root:
            self.add_tree(leaf(0.0), 0)
        tensor = graph.onnx.numpy_helper.from_array
        attributes: dict[str, Any] = {}
        for name, parts in self._parts.items():
            values = np.concatenate(parts)
            integers = name not in _TENSORS
            attributes[name] = values.astype(int).tolist() if integers else tensor(values, name)
        if self._members:
            attributes["membership_values"] = tensor(np.array(self._members), "members")
        return graph.add(
            "TreeEnsemble",
            X,
            domain="ai.onnx.ml",
            n_targets=self.n_targets,
            aggregate_function=SUM,
            post_transform=0,
            tree_roots=self.root,
            **attributes,
        )


@dataclass
class Tree:
    """A tree as arrays over its nodes, the root first."""

    is_leaf: NDArray[np.bool_]
    left: NDArray[Any]
    right: NDArray[Any]
    feature: NDArray[Any]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    value: NDArray[np.float64]
    members: dict[int, list[int]] = field(default_factory=dict)  # of categories that go left

    def with_values(self, value: NDArray[np.float64]) -> Tree:
        """Return the same splits with other numbers at the nodes."""
        return replace(self, value=value)


def leaf(value: float) -> Tree:
    """Return a tree that is one leaf."""
    none, never = np.zeros(1, dtype=int), np.zeros(1, dtype=bool)
    return Tree(~never, none, none, none, np.zeros(1), never, np.array([value]))


def _dummy_split(tree: Tree) -> Tree:
    value = np.array([0.0, tree.value[0], tree.value[0]])
    sides = np.array([1, 0, 0]), np.array([2, 0, 0])
    zeros = np.zeros(3)
    is_leaf = np.array([False, True, True])
    return Tree(is_leaf, *sides, zeros.astype(int), zeros, zeros.astype(bool), value)


# -- scikit-learn's -------------------------------------------------------------------------------


def boosted(graph: Graph, model: Any, X: Rows) -> str:
    """Return the raw values of histogram gradient boosting, a column for each tree a round."""
    name, categories = _features(graph, model, X)
    ensemble = Ensemble(model.n_trees_per_iteration_)
    for round_ in model._predictors:
        for target, predictor in enumerate(round_):
            ensemble.add_tree(_boosted_tree(predictor, categories), target)
    base = graph.constant(np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, -1))
    return graph.add("Add", ensemble.node(graph, name), base)


def _features(graph: Graph, model: Any, X: Rows) -> tuple[str, list[list[int]]]:
    """Return rows in the order of the trees' features, and the codes that categories have.

    Categories come first. One that was never seen is taken as missing.
    """
    encoder = getattr(model, "_preprocessor", None)
    if encoder is None:
        return X.numbers(model), []
    (_, codes, categorical), (_, _, numerical) = encoder.transformers_[:2]
    parts, known = [], []
    for k, values in zip(np.flatnonzero(categorical), codes.categories_, strict=True):
        known.append(_codes(values, X.categories[k]))
        column = graph.columns(X.name, [int(k)])
        same = graph.add("Equal", column, graph.constant(np.reshape(known[-1], (1, -1))))
        seen = graph.add("Greater", graph.row_sums(graph.as_double(same)), graph.constant(0.0))
        parts.append(graph.add("Where", seen, column, graph.constant(float("nan"))))
    if any(numerical):
        parts.append(X.select(graph, np.flatnonzero(numerical)).numbers(model))
    return graph.join(parts), known


def _codes(values: Any, texts: tuple[str, ...] | None) -> list[int]:
    """Return the codes of the categories that boosting has seen."""
    if texts is None:
        return [int(v) for v in values if v == v]
    return [texts.index(category_text(v)) for v in values if v is not None and v == v]


def _boosted_tree(predictor: Any, categories: list[list[int]]) -> Tree:
    nodes = predictor.nodes
    members = {}
    for k in np.flatnonzero((nodes["is_categorical"] == 1) & (nodes["is_leaf"] == 0)):
        known = categories[nodes["feature_idx"][k]]
        bits = _set_bits(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][k]])
        members[int(k)] = [known[bit] for bit in bits if bit < len(known)]
    return Tree(
        is_leaf=nodes["is_leaf"].astype(bool),
        left=nodes["left"],
        right=nodes["right"],
        feature=nodes["feature_idx"],
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"].astype(np.float64),
        members=members,
    )


def _set_bits(words: NDArray[np.uint32]) -> list[int]:
    return [32 * k + bit for k, word in enumerate(words) for bit in range(32) if word >> bit & 1]


def averaged(graph: Graph, trees: Sequence[Any], X: str, *, proba: bool) -> str:
    """Return the mean of decision trees: numbers, or the shares of the classes."""
    n_targets = trees[0].tree_.value.shape[2] if proba else 1
    ensemble = Ensemble(n_targets)
    for tree in trees:
        grown = tree.tree_
        for target in range(n_targets):
            value = grown.value[:, 0, target]
            share = value / grown.value[:, 0, :].sum(axis=1) if proba else value
            ensemble.add_tree(decision_tree(grown, share), target)
    # These trees look at float32, and compare it with thresholds in float64.
    total = ensemble.node(graph, graph.rounded(X))
    return graph.add("Div", total, graph.constant(float(len(trees))))


def decision_tree(tree: Any, value: NDArray[np.float64]) -> Tree:
    """Return a decision tree of scikit-learn with a number for each of its nodes."""
    return Tree(
        is_leaf=tree.children_left == -1,
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=tree.threshold,
        missing_left=np.asarray(tree.missing_go_to_left, dtype=bool),
        value=np.asarray(value, dtype=np.float64),
    )
