"""A model of tables as one ONNX graph: prediction, risk and decision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

from condrisk._validation import LARGEST_RISK
from condrisk.app.export._check import check_onnx
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import IR_VERSION, ML_OPSET, OPSET, Graph
from condrisk.app.export._parts import add_classifier, add_regressor
from condrisk.app.models import TableModel
from condrisk.deferral import CostRule
from condrisk.persistence import Column
from condrisk.risk import RegressionRisk


def to_onnx(model: TableModel, *, check: pl.DataFrame | None = None) -> Any:
    """Return one ONNX graph of a model's predictor, risk and decision.

    Parameters
    ----------
    model : TableModel
        With a predictor and a risk of boosted trees, forests, linear models, pipelines of these,
        or whatever skl2onnx converts; and a rule that compares the risk with a number.
    check : polars.DataFrame, optional
        Rows on which to compare the graph with Python. 2,000 random rows, drawn within and a
        little beyond the range of each column, if not given.

    Returns
    -------
    onnx.ModelProto
        With an input of shape (n_rows, 1) for each column: float64 for numbers (NaN where
        missing), for booleans (0, 1, NaN) and for dates (days since 1970-01-01), text for
        categories (anything not seen before, such as an empty text, is missing). Outputs
        "prediction", "risk" and "defer" of shape (n_rows,). All arithmetic is in float64.

    Raises
    ------
    ExportError
        Where a part has no form in ONNX, or a row comes out differently.

    See Also
    --------
    check_onnx : The comparison, and what "differently" means.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from condrisk.app.export import to_onnx
    >>> from condrisk.app.models import fit_table
    >>> x = np.linspace(-1, 1, 200)
    >>> y = x + np.where(x > 0, 1.0, 0.1) * np.sin(40 * x)
    >>> frame = pl.DataFrame({"x": x, "y": y})
    >>> graph = to_onnx(fit_table(frame, target="y", cost=0.5, predictor="linear"))
    >>> [output.name for output in graph.graph.output]
    ['prediction', 'risk', 'defer']
    """
    made = build(model)
    found = check_onnx(made, model, check)
    if found.wrong:
        raise ExportError(
            f"the graph differs from Python in {len(found.wrong):,} of {found.rows:,} rows, first "
            f"in row {found.wrong[0] + 1:,}: it was not kept."
        )
    return made


def build(model: TableModel) -> Any:
    """Return the graph of a model, unchecked."""
    graph = Graph()
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    risk, threshold = _parts_of(model)
    columns = model.schema.columns
    X = graph.join([_add_column(graph, column) for column in columns])
    prediction, kind, response = _add_prediction(graph, model, risk, X)
    if risk.features == "x+response":
        X = graph.join([X, response])
    value = add_regressor(graph, risk.regressor_, X)
    value = graph.add("Min", value, graph.constant(LARGEST_RISK))
    if risk.clip and np.isfinite(risk.loss_.minimum):
        value = graph.add("Max", value, graph.constant(float(risk.loss_.minimum)))
    flat = graph.add("Reshape", value, graph.constant([-1], np.int64))
    graph.call("risk", flat)
    graph.call("defer", graph.add("Greater", flat, graph.constant(threshold)))
    graph.call("prediction", graph.add("Reshape", prediction, graph.constant([-1], np.int64)))
    inputs = [
        helper.make_tensor_value_info(column.name, _type_of(column, types), ["rows", 1])
        for column in columns
    ]
    outputs = [
        helper.make_tensor_value_info(name, type_, ["rows"])
        for name, type_ in (("prediction", kind), ("risk", types.DOUBLE), ("defer", types.BOOL))
    ]
    body = helper.make_graph(graph.nodes, "condrisk", inputs, outputs, graph.constants)
    made = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="condrisk",
        doc_string=f"{model.manifest['task']} of {model.target}: {model.manifest['rule']}",
    )
    helper.set_model_props(made, {"condrisk": json.dumps(_shown(model))})
    graph.onnx.checker.check_model(made)
    return made


def _shown(model: TableModel) -> dict[str, Any]:
    """Return what of the manifest goes with the graph."""
    names = ("condrisk", "task", "target", "loss", "cost", "rule", "predictor", "classes")
    return {name: model.manifest[name] for name in names} | {
        "columns": [{"name": c.name, "kind": c.kind} for c in model.schema.columns]
    }


def _parts_of(model: TableModel) -> tuple[Any, float]:
    """Return the risk estimator and the number that its risk is compared with."""
    risk, rule = model.model.risk_, model.model.rule_
    if type(risk) is not RegressionRisk:
        raise ExportError(
            f"a risk by {type(risk).__name__} has no form in ONNX here: RegressionRisk has, as "
            f"the predictors boosting, forest and linear give it."
        )
    if risk.features != "x" and model.prediction_column is not None and _has_classes(model):
        raise ExportError("a risk that depends on labels from elsewhere has no form in ONNX here.")
    if hasattr(rule, "threshold_"):
        return risk, float(rule.threshold_)
    if type(rule) is not CostRule:
        raise ExportError(f"the rule {type(rule).__name__} has no form in ONNX here.")
    if model.cost is None:
        raise ExportError("the model has no price of asking, so that there is nothing to decide.")
    return risk, float(model.cost)


# -- columns ------------------------------------------------------------------------------------


def _type_of(column: Column, types: Any) -> Any:
    return types.STRING if column.kind == "category" else types.DOUBLE


def _add_column(graph: Graph, column: Column) -> str:
    """Add what makes numbers of a column; return it."""
    if column.kind != "category":
        return column.name
    if not column.categories:
        raise ExportError(f"column {column.name!r} has no categories.")
    from_array = graph.onnx.numpy_helper.from_array
    codes = np.arange(len(column.categories), dtype=np.float64)
    return graph.add(
        "LabelEncoder",
        column.name,
        domain="ai.onnx.ml",
        keys_tensor=graph.onnx.helper.make_tensor(
            "keys",
            graph.onnx.TensorProto.STRING,
            [len(codes)],
            [text.encode() for text in column.categories],
        ),
        values_tensor=from_array(codes, "values"),
        default_tensor=from_array(np.array([np.nan]), "default"),
    )


# -- predictions --------------------------------------------------------------------------------


def _has_classes(model: TableModel) -> bool:
    return model.task == "classification"


def _add_prediction(graph: Graph, model: TableModel, risk: Any, X: str) -> tuple[str, Any, str]:
    """Add the predictor; return its answers, of which type they are, and what a risk may see."""
    types = graph.onnx.TensorProto
    if model.prediction_column is not None:  # the predictor lives elsewhere
        (column,) = [c for c in model.schema.columns if c.name == model.prediction_column]
        return column.name, _type_of(column, types), column.name
    if not _has_classes(model):
        answer = add_regressor(graph, risk.predictor_, X)
        return answer, types.DOUBLE, answer
    proba = add_classifier(graph, risk.predictor_, X)
    best = graph.add("ArgMax", proba, axis=1, keepdims=0)
    label, kind = _add_labels(graph, np.asarray(risk.classes_), best)
    return label, kind, proba


def _add_labels(graph: Graph, labels: Any, best: str) -> tuple[str, Any]:
    """Return the label at each position, and of which type labels are."""
    types = graph.onnx.TensorProto
    if labels.dtype.kind in "OU":
        name = graph.name("labels")
        words = [str(label).encode() for label in labels]
        graph.constants.append(
            graph.onnx.helper.make_tensor(name, types.STRING, [len(words)], words)
        )
        return graph.add("Gather", name, best), types.STRING
    if labels.dtype.kind == "b":
        return graph.add("Gather", graph.constant(labels, bool), best), types.BOOL
    return graph.add("Gather", graph.constant(labels, np.int64), best), types.INT64
