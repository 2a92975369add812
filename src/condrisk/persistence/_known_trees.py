"""Trees, forests and boosting in a file: compiled code follows their indices without a check."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.tree._tree import NODE_DTYPE

from condrisk.persistence import _kinds as k
from condrisk.persistence._closed import Known, Part, require
from condrisk.persistence._kinds import Kind, Node, Scope

TREE = "sklearn.tree._tree.Tree"
_HIST = "sklearn.ensemble._hist_gradient_boosting"
_PREDICTOR = f"{_HIST}.predictor.TreePredictor"
_MAPPER = f"{_HIST}.binning._BinMapper"
_COLUMNS = "sklearn.compose._column_transformer.ColumnTransformer"
_ORDINAL = "sklearn.preprocessing._encoders.OrdinalEncoder"
_FUNCTION = "sklearn.preprocessing._function_transformer.FunctionTransformer"
_N_BITSETS = 8  # of 32 bits: a category is a number below 256
_LEAF = -1


# -- what trees of both kinds have in common --------------------------------------------------


def _check_range(index: NDArray[Any], size: int, what: str) -> None:
    good = not index.size or (int(index.min()) >= 0 and int(index.max()) < size)
    require(good, f"a tree with a {what} that does not exist")


def _check_children(
    inner: NDArray[Any], left: NDArray[Any], right: NDArray[Any], n_nodes: int
) -> None:
    """Refuse nodes that are not one tree: each but the first must have one parent before it."""
    children = np.concatenate([left, right]).astype(np.int64)
    parents = np.concatenate([inner, inner]).astype(np.int64)
    _check_range(children, n_nodes, "child")
    require(bool((children > parents).all()), "a tree that leads back to itself")
    counts = np.bincount(children, minlength=n_nodes)
    require(bool((counts[1:] == 1).all()), "a tree with a branch that is torn off or grown twice")


def _depth(n_nodes: int, inner: NDArray[Any], left: NDArray[Any], right: NDArray[Any]) -> int:
    """Return the depth of nodes that are one tree."""
    position = np.full(n_nodes, -1, dtype=np.int64)
    position[inner] = np.arange(len(inner))
    level, depth = np.zeros(1, dtype=np.int64), 0
    while True:
        at = position[level]
        at = at[at >= 0]
        if not len(at):
            return depth
        level, depth = np.concatenate([left[at], right[at]]), depth + 1


# -- trees of scikit-learn -------------------------------------------------------------------------

_ARGUMENTS = k.tuple_of(
    k.whole(1, k.MOST_FEATURES, size="features"),
    k.array(("<i8",), "outputs", fits=lambda n: bool(((n >= 1) & (n <= k.MOST_LABELS)).all())),
    k.whole(1, k.MOST_OUTPUTS, size="outputs"),
)
_STATE = k.record(
    max_depth=k.whole(0),
    node_count=k.whole(1, size="nodes"),
    nodes=k.array((NODE_DTYPE,), "nodes"),
    values=k.array(("<f8",), "nodes", "outputs", "values"),
)


def _fits_tree(node: Node, scope: Scope) -> bool:
    own = Scope(scope.file)
    arguments, state = node["__reduce__"]["args"], node["content"]
    if not (_ARGUMENTS.admits(arguments, own) and _STATE.admits(state, own)):
        require(False, "a tree that contradicts itself")
    n_classes = scope.file.array(arguments["content"][1]["file"])
    require(own.sizes["values"] == n_classes.max(), "a tree that contradicts itself")
    inside = state["content"]
    values = scope.file.array(inside["values"]["file"])
    require(bool(np.isfinite(values).all()), "a tree whose leaves are no numbers")
    _check_nodes(
        scope.file.array(inside["nodes"]["file"]),
        own.sizes["features"],
        int(k.scalar(inside["max_depth"], own)),
    )
    require(scope.same("features", own.sizes["features"]), "a tree for other columns")
    require(scope.same("outputs", len(n_classes)), "a tree of other outputs")
    return len(n_classes) > 1 or scope.same("values", int(n_classes[0]))


def _check_nodes(nodes: NDArray[Any], n_features: int, most_depth: int) -> None:
    left, right = nodes["left_child"], nodes["right_child"]
    leaf = left == _LEAF
    require(bool((leaf == (right == _LEAF)).all()), "a tree with half a leaf")
    inner = np.flatnonzero(~leaf)
    _check_children(inner, left[inner], right[inner], len(nodes))
    depth = _depth(len(nodes), inner, left[inner], right[inner])
    require(depth <= most_depth <= len(nodes), "a tree that is deeper than it claims")
    _check_range(nodes["feature"][inner], n_features, "column")
    require(
        not np.isnan(nodes["threshold"][inner]).any(),
        "a tree with a threshold that is no number",
    )


tree = Kind("a tree for its columns and outputs", ("TreeNode",), _fits_tree)
_outputs = k.whole(1, k.MOST_OUTPUTS, size="outputs")
_TREE = {
    "tree_": tree,
    "n_outputs_": _outputs,
    "max_features_": k.whole(1),
    "class_weight": k.setting,
}
_TREE_OF_CLASSES = {
    **_TREE,
    "classes_": k.labels("values") | k.items(k.labels(), "outputs"),
    "n_classes_": k.whole(1, k.MOST_LABELS, size="values")
    | k.ints("outputs", low=1, high=k.MOST_LABELS)
    | k.items(k.whole(1, k.MOST_LABELS), "outputs"),
}
_FOREST = {
    "estimator": k.model,
    "estimator_": k.model,
    "n_outputs_": _outputs,
    "_n_samples": k.whole(1),
    "_n_samples_bootstrap": k.nothing | k.whole(1),
    "_sample_weight": k.nothing | k.floats(None),
    "estimator_params": k.tuples(k.text),
    "class_weight": k.setting,
    "oob_score_": k.any_real,
    "oob_prediction_": k.floats(None) | k.floats(None, "outputs"),
    "oob_decision_function_": k.floats(None, None) | k.floats(None, None, None),
}
_MANY_CLASSES = {
    "classes_": k.labels("values") | k.items(k.labels(), "outputs"),
    "n_classes_": k.whole(1, k.MOST_LABELS, size="values")
    | k.items(k.whole(1, k.MOST_LABELS), "outputs"),
}


def _trees_of(name: str) -> dict[str, Kind]:
    of = {"features": "features", "outputs": "outputs", "values": "values"}
    trees = k.items(k.part(f"sklearn.tree._classes.{name}", **of), size="trees")
    return {**_FOREST, "estimators_": trees}


def _check_forest(forest: Part) -> None:
    require(forest.sizes.get("trees") != 0, "a forest of no trees")
    for node in forest.items("estimators_") if "trees" in forest.sizes else []:
        attributes = forest.inside(node).attributes
        require("tree_" in attributes, "a forest with a tree that is not fitted")
    if "n_classes_" in forest.attributes and "trees" in forest.sizes:
        classes = forest.attributes["n_classes_"]
        several = classes["__loader__"] == "ListNode"
        require(several == (forest.sizes.get("outputs", 1) > 1), "a forest of other outputs")


_CLASSES = {"DecisionTreeClassifier", "ExtraTreeClassifier"}
_FORESTS = {
    "ExtraTreesClassifier": "ExtraTreeClassifier",
    "ExtraTreesRegressor": "ExtraTreeRegressor",
    "RandomForestClassifier": "DecisionTreeClassifier",
    "RandomForestRegressor": "DecisionTreeRegressor",
}


# -- boosting --------------------------------------------------------------------------------------


def _fits_nodes(nodes: NDArray[Any]) -> bool:
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    splits = nodes[inner]
    _check_children(inner, splits["left"], splits["right"], len(nodes))
    by_number = splits[splits["is_categorical"] == 0]
    require(
        not np.isnan(by_number["num_threshold"]).any() and bool(np.isfinite(nodes["value"]).all()),
        "boosting whose thresholds or leaves are no numbers",
    )
    return len(nodes) > 0


_BITSETS = k.array(("<u4",), "sets", _N_BITSETS)
_TREE_PREDICTOR = {
    "nodes": k.array((PREDICTOR_RECORD_DTYPE,), None, fits=_fits_nodes),
    "binned_left_cat_bitsets": _BITSETS,
    "raw_left_cat_bitsets": _BITSETS,
}
# A category is a place in a set of 256 bits.
_thresholds = k.floats(None)
_BIN_MAPPER = {
    "bin_thresholds_": k.items(_thresholds, "features"),
    "is_categorical": k.nothing | k.bools("features"),
    "is_categorical_": k.array(("|u1",), "features"),
    "known_categories": k.nothing | k.items(k.nothing | k.floats(None), "features"),
    "missing_values_bin_idx_": k.whole(0, 255),
    "n_bins": k.whole(3, 256),
    "n_bins_non_missing_": k.array(("<u4",), "features"),
    "n_threads": k.nothing | k.whole(1, k.MOST_JOBS),
    "random_state": k.seed,
    "subsample": k.nothing | k.whole(1),
}


def _check_bins(mapper: Part) -> None:
    """Refuse a category that is no place in a set of bits: it would be written beside it."""
    if "is_categorical_" not in mapper.attributes:
        return
    thresholds = mapper.items("bin_thresholds_")
    for column in np.flatnonzero(mapper.array("is_categorical_")):
        values = np.asarray(mapper.array_of(thresholds[column]), dtype=np.float64)
        fits = ((values >= 0) & (values < 32 * _N_BITSETS) & (values == np.floor(values))).all()
        require(bool(fits), "boosting with a category that does not exist")


_BOOSTING = {
    "_bin_mapper": k.part(_MAPPER, features="features"),
    "_predictors": k.items(k.items(k.part(_PREDICTOR), "trees"), "steps"),
    "n_trees_per_iteration_": k.whole(1, k.MOST_LABELS, size="trees"),
    "_baseline_prediction": k.floats(1, "trees", finite=True),
    "_preprocessor": k.nothing | k.part(_COLUMNS, features="features"),
    "is_categorical_": k.nothing | k.bools("features"),
    "_is_categorical_remapped": k.nothing | k.bools("features"),
    "_n_features": k.whole(1, size="features"),
    "_loss": k.part(),
    "_feature_subsample_rng": k.nothing | k.generator,
    "_random_seed": k.seed,
    "_scorer": k.nothing | k.trusted,
    "_use_validation_data": k.flag,
    "do_early_stopping_": k.flag,
    "train_score_": k.floats(None),
    "validation_score_": k.floats(None),
}
_BOOSTING_OF_CLASSES = {
    **_BOOSTING,
    "classes_": k.labels("classes"),
    "_label_encoder": k.part("sklearn.preprocessing._label.LabelEncoder", classes="classes"),
}


def _check_boosting(model: Part) -> None:
    if "_predictors" not in model.attributes:
        return
    require({"n_features_in_", "_bin_mapper"} <= set(model.attributes), "boosting without bins")
    mapper = model.inside(model.attributes["_bin_mapper"])
    require({"bin_thresholds_", "is_categorical_"} <= set(mapper.attributes), "boosting of no bins")
    categorical = mapper.array("is_categorical_").astype(bool)
    for step in model.items("_predictors"):
        for node in step["content"]:
            _check_splits(model.inside(node), model.sizes["features"], categorical)
    if not model.is_none("_preprocessor"):
        _check_preprocessor(model.inside(model.attributes["_preprocessor"]))
    if "classes" in model.sizes:
        trees = 1 if model.sizes["classes"] == 2 else model.sizes["classes"]
        require(model.sizes.get("trees") == trees, "boosting of other classes than its own")


def _check_splits(predictor: Part, n_features: int, categorical: NDArray[np.bool_]) -> None:
    nodes = predictor.array("nodes")
    splits = nodes[nodes["is_leaf"] == 0]
    _check_range(splits["feature_idx"], n_features, "column")
    by_category = splits[splits["is_categorical"] != 0]
    sets = predictor.array("raw_left_cat_bitsets")
    _check_range(by_category["bitset_idx"], len(sets), "set of categories")
    fits = categorical[by_category["feature_idx"]].all()
    require(bool(fits), "boosting that takes a number for a category")


def _check_preprocessor(columns: Part) -> None:
    """Refuse a preparation that would give boosting another number of columns than it had."""
    steps = [node["content"] for node in columns.items("transformers_")]
    names = [k.scalar(step[0], columns.scope) for step in steps]
    require(names[:2] == ["encoder", "numerical"] and len(names) <= 3, "boosting prepared oddly")
    kinds = [k.class_of(step[1]) for step in steps[:2]]
    n_features = columns.value("n_features_in_")
    is_mask = k.bools(n_features)
    fits = (
        kinds == [_ORDINAL, _FUNCTION]
        and columns.inside(steps[1][1]).attributes["func"]["__loader__"] == "PartialNode"
        and all(k.scalar(step[1], columns.scope) == "drop" for step in steps[2:])
        and all(is_mask.admits(step[2], columns.scope) for step in steps[:2])
        and bool((columns.array_of(steps[0][2]) != columns.array_of(steps[1][2])).all())
    )
    require(fits, "boosting whose preparation changes the number of columns")


KNOWN: dict[str, Known] = {
    **{
        f"sklearn.tree._classes.{name}": Known(_TREE_OF_CLASSES if name in _CLASSES else _TREE)
        for name in _FORESTS.values()
    },
    **{
        f"sklearn.ensemble._forest.{name}": Known(
            {**_trees_of(of), **(_MANY_CLASSES if of in _CLASSES else {})}, _check_forest
        )
        for name, of in _FORESTS.items()
    },
    _PREDICTOR: Known(_TREE_PREDICTOR, needed=tuple(_TREE_PREDICTOR)),
    _MAPPER: Known(_BIN_MAPPER, _check_bins),
    f"{_HIST}.gradient_boosting.HistGradientBoostingRegressor": Known(_BOOSTING, _check_boosting),
    f"{_HIST}.gradient_boosting.HistGradientBoostingClassifier": Known(
        _BOOSTING_OF_CLASSES, _check_boosting
    ),
}
