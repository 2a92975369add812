"""Trees as one node of ONNX, in float64, with missing values and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph

# As ONNX numbers them: at most a threshold, and member of a set.
AT_MOST, MEMBER = 0, 6
SUM = 1
# Boosted trees know no more categories than this.
MOST_CODES = 256


@dataclass
class Ensemble:
    """The attributes of the node `TreeEnsemble`, filled tree by tree."""

    n_targets: int
    feature: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    child: dict[bool, list[int]] = field(default_factory=lambda: {True: [], False: []})
    is_leaf: dict[bool, list[int]] = field(default_factory=lambda: {True: [], False: []})
    missing: list[int] = field(default_factory=list)
    member: list[float] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    root: list[int] = field(default_factory=list)

    def add_tree(self, tree: Tree, target: int) -> None:
        """Add a tree whose leaves give one number to one target."""
        inner = np.flatnonzero(~tree.is_leaf)
        if not len(inner):  # ONNX has no tree without a split: one whose sides are the same
            tree, inner = _dummy_split(tree), np.array([0])
        place = np.full(len(tree.is_leaf), -1)
        place[inner] = len(self.feature) + np.arange(len(inner))
        leaves = np.flatnonzero(tree.is_leaf)
        place[leaves] = len(self.weight) + np.arange(len(leaves))
        self.root.append(int(place[inner[0]]))
        for node in inner:
            self.feature.append(int(tree.feature[node]))
            members = tree.members.get(int(node))
            self.mode.append(AT_MOST if members is None else MEMBER)
            self.split.append(float(tree.threshold[node]) if members is None else 0.0)
            if members is not None:
                self.member += [*map(float, members), float("nan")]
            self.missing.append(int(tree.missing_left[node]))
            for side, children in ((True, tree.left), (False, tree.right)):
                child = int(children[node])
                self.child[side].append(int(place[child]))
                self.is_leaf[side].append(int(tree.is_leaf[child]))
        self.target += [target] * len(leaves)
        self.weight += [float(value) for value in tree.value[leaves]]

    def node(self, graph: Graph, X: str) -> str:
        """Add the node to a graph; return the sums over the trees, a column for each target."""
        tensor = graph.onnx.numpy_helper.from_array
        members = {}
        if self.member:
            members["membership_values"] = tensor(np.array(self.member), "members")
        return graph.add(
            "TreeEnsemble",
            X,
            domain="ai.onnx.ml",
            n_targets=self.n_targets,
            aggregate_function=SUM,
            post_transform=0,
            tree_roots=self.root,
            nodes_featureids=self.feature,
            nodes_splits=tensor(np.array(self.split), "splits"),
            nodes_modes=tensor(np.array(self.mode, dtype=np.uint8), "modes"),
            nodes_truenodeids=self.child[True],
            nodes_trueleafs=self.is_leaf[True],
            nodes_falsenodeids=self.child[False],
            nodes_falseleafs=self.is_leaf[False],
            nodes_missing_value_tracks_true=self.missing,
            leaf_targetids=self.target,
            leaf_weights=tensor(np.array(self.weight), "weights"),
            **members,
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


def _dummy_split(tree: Tree) -> Tree:
    value = np.array([0.0, tree.value[0], tree.value[0]])
    sides = np.array([1, 0, 0]), np.array([2, 0, 0])
    zeros = np.zeros(3)
    leaf = np.array([False, True, True])
    return Tree(leaf, *sides, zeros.astype(int), zeros, zeros.astype(bool), value)


# -- scikit-learn's -------------------------------------------------------------------------------


def boosted(graph: Graph, model: Any, X: str) -> str:
    """Return the raw values of histogram gradient boosting, a column for each tree a round."""
    columns, categories = _features(model)
    ensemble = Ensemble(n_targets=len(model._predictors[0]) if model._predictors else 1)
    for round_ in model._predictors:
        for target, predictor in enumerate(round_):
            ensemble.add_tree(_boosted_tree(predictor, columns, categories), target)
    base = graph.constant(np.asarray(model._baseline_prediction, dtype=np.float64).reshape(1, -1))
    return graph.add("Add", ensemble.node(graph, X), base)


def _features(model: Any) -> tuple[NDArray[np.intp], list[list[int]]]:
    """Return which column each feature of the trees is, and the codes that its categories had."""
    encoder = getattr(model, "_preprocessor", None)
    if encoder is None:
        return np.arange(model.n_features_in_), []
    (_, codes, categorical), (_, _, numerical) = encoder.transformers_[:2]
    columns = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(numerical)])
    known = [[int(v) for v in values if v == v] for values in codes.categories_]
    if any(max(values, default=0) >= MOST_CODES for values in known):
        raise ExportError(f"boosted trees with a category coded above {MOST_CODES} are not known.")
    return columns, known


def _boosted_tree(predictor: Any, columns: NDArray[np.intp], categories: list[list[int]]) -> Tree:
    nodes = predictor.nodes
    members = {}
    for k in np.flatnonzero((nodes["is_categorical"] == 1) & (nodes["is_leaf"] == 0)):
        known = categories[nodes["feature_idx"][k]]
        bits = _set_bits(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][k]])
        members[int(k)] = [known[bit] for bit in bits if bit < len(known)]
        if nodes["missing_go_to_left"][k]:  # a category never seen is taken as missing
            members[int(k)] += [code for code in range(MOST_CODES) if code not in known]
    return Tree(
        is_leaf=nodes["is_leaf"].astype(bool),
        left=nodes["left"],
        right=nodes["right"],
        feature=columns[nodes["feature_idx"]],
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
    ensemble = Ensemble(n_targets=n_targets)
    for tree in trees:
        grown = tree.tree_
        for target in range(n_targets):
            value = grown.value[:, 0, target]
            share = value / grown.value[:, 0, :].sum(axis=1) if proba else value
            ensemble.add_tree(_decision_tree(grown, share), target)
    # These trees look at float32, and compare it with thresholds in float64.
    thin = graph.add("Cast", X, to=graph.onnx.TensorProto.FLOAT)
    wide = graph.add("Cast", thin, to=graph.onnx.TensorProto.DOUBLE)
    total = ensemble.node(graph, wide)
    return graph.add("Div", total, graph.constant(float(len(trees))))


def _decision_tree(tree: Any, value: NDArray[np.float64]) -> Tree:
    return Tree(
        is_leaf=tree.children_left == -1,
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=tree.threshold,
        missing_left=np.asarray(tree.missing_go_to_left, dtype=bool),
        value=np.asarray(value, dtype=np.float64),
    )
