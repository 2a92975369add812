"""The view of a risk as a regressor, as skl2onnx converts it."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrisk._extras import require
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import OPSET, Graph, numeric
from condrisk.app.export._models import without_pipeline
from condrisk.app.export._predictor import Predictor
from condrisk.app.export._risks import add_risk
from condrisk.app.export._trees import AT_MOST
from condrisk.risk import RiskAsRegressor

# Of the operators for machine learning, the latest that skl2onnx knows.
ML_VERSION = 3


def register_converter() -> None:
    """Let skl2onnx convert ``risk.as_regressor()``, alone or at the end of a Pipeline.

    Give it rows of float64: trees compare these as they are. What the trees say is float32, as in
    all graphs of skl2onnx, which knows trees in no later form; in those of `to_onnx` all is
    float64. Columns of text are for `to_onnx` as well.

    See Also
    --------
    to_onnx : Prediction, risk and decision in one graph, compared with Python before it is kept.

    Examples
    --------
    >>> import skl2onnx
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> from condrisk import RegressionRisk
    >>> from condrisk.app.export import register_converter
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(200, random_state=0)
    >>> risk = RegressionRisk(LinearRegression(), regressor=Ridge()).fit(world.X, world.y)
    >>> register_converter()
    >>> graph = skl2onnx.to_onnx(risk.as_regressor(), world.X[:1])
    >>> [output.name for output in graph.graph.output]
    ['variable']
    """
    require("ONNX", "skl2onnx", extra="onnx")
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import calculate_linear_regressor_output_shapes

    update_registered_converter(
        RiskAsRegressor,
        "CondriskRisk",
        calculate_linear_regressor_output_shapes,
        _convert,
        overwrite=True,
    )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a risk to the graph that skl2onnx makes."""
    if container.target_opset_any_domain("") < OPSET:
        raise ExportError(f"target_opset must be {OPSET} or more for the risk of condrisk.")
    risk, [given], [wanted] = operator.raw_operator.risk, operator.inputs, operator.outputs
    graph = Graph()
    rows = numeric(graph.as_double("rows"), risk.n_features_in_)
    risk, rows = without_pipeline(graph, risk, rows)
    if not hasattr(risk, "predictor_"):
        raise ExportError("the risk of an external predictor cannot be converted by skl2onnx.")
    value = add_risk(graph, risk, rows, Predictor(graph, risk.predictor_, rows))
    is_double = type(wanted.type).__name__ == "DoubleTensorType"
    graph.call("risk", value if is_double else graph.as_float(value))
    prefix = f"{scope.get_unique_operator_name('risk')}/"
    names = {"": "", "rows": given.full_name, "risk": wanted.full_name}
    for node in [new for old in graph.nodes for new in in_version_3(graph, old)]:
        node.name = prefix + node.name
        for side in (node.input, node.output):
            side[:] = [names.get(name, prefix + name) for name in side]
        container.nodes.append(node)
        version = ML_VERSION if node.domain else OPSET
        container.node_domain_version_pair_sets.add((node.domain, version))
    for constant in graph.constants:
        constant.name = prefix + constant.name
        container.initializers.append(constant)


def in_version_3(graph: Graph, node: Any) -> list[Any]:
    """Return nodes in the place of one: for trees, those of the version that skl2onnx knows."""
    if node.op_type != "TreeEnsemble":
        return [node]
    helper = graph.onnx.helper
    found = {item.name: helper.get_attribute_value(item) for item in node.attribute}
    if (graph.onnx.numpy_helper.to_array(found["nodes_modes"]) != AT_MOST).any():
        raise ExportError("trees with categories are for condrisk.app.export.to_onnx.")
    between = f"{node.output[0]}_float"
    trees = helper.make_node(
        "TreeEnsembleRegressor",
        node.input,
        [between],
        name=node.name,
        domain=node.domain,
        n_targets=found["n_targets"],
        aggregate_function="SUM",
        post_transform="NONE",
        **_attributes(graph, found),
    )
    double = graph.onnx.TensorProto.DOUBLE
    return [
        trees,
        helper.make_node("Cast", [between], node.output, name=f"{node.name}_cast", to=double),
    ]


def _attributes(graph: Graph, found: dict[str, Any]) -> dict[str, Any]:
    """Return nodes and leaves of each tree in one list, numbered within the tree."""
    to_array, tensor = graph.onnx.numpy_helper.to_array, graph.onnx.numpy_helper.from_array
    root = np.asarray(found["tree_roots"])
    n_nodes, n_leaves = len(found["nodes_featureids"]), len(found["leaf_targetids"])
    size = np.diff(np.append(root, n_nodes))  # of a tree, without its leaves: one more than these
    tree, leaf_tree = (np.repeat(np.arange(len(root)), n) for n in (size, size + 1))
    place = np.arange(n_nodes) - root[tree]
    leaf_place = size[leaf_tree] + np.arange(n_leaves) - (root + np.arange(len(root)))[leaf_tree]
    trees = np.concatenate([tree, leaf_tree])
    by_tree = np.argsort(trees, kind="stable")  # onnxruntime wants each tree in one piece

    def child(side: str) -> Any:
        index = np.asarray(found[f"nodes_{side}nodeids"])
        is_leaf = np.asarray(found[f"nodes_{side}leafs"], dtype=bool)
        at = np.empty(n_nodes, dtype=np.int64)
        at[is_leaf], at[~is_leaf] = leaf_place[index[is_leaf]], place[index[~is_leaf]]
        return at

    def with_leaves(values: Any) -> Any:
        return np.append(values, np.zeros(n_leaves, dtype=np.asarray(values).dtype))[by_tree]

    modes = np.repeat(["BRANCH_LEQ", "LEAF"], [n_nodes, n_leaves])[by_tree]
    thresholds = with_leaves(to_array(found["nodes_splits"]))
    nodes = {
        "nodes_treeids": trees[by_tree],
        "nodes_nodeids": np.concatenate([place, leaf_place])[by_tree],
        "nodes_modes": modes,
        "nodes_featureids": with_leaves(found["nodes_featureids"]),
        "nodes_truenodeids": with_leaves(child("true")),
        "nodes_falsenodeids": with_leaves(child("false")),
        "nodes_missing_value_tracks_true": with_leaves(found["nodes_missing_value_tracks_true"]),
        "target_treeids": leaf_tree,
        "target_nodeids": leaf_place,
        "target_ids": np.asarray(found["leaf_targetids"]),
    }
    return {name: values.tolist() for name, values in nodes.items()} | {
        "nodes_values_as_tensor": tensor(thresholds, "nodes_values"),
        "target_weights_as_tensor": tensor(to_array(found["leaf_weights"]), "target_weights"),
    }
