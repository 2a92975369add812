"""A model of tables as one ONNX graph: prediction, risk and decision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

# Families of models register what adds them.
from condrisk.app.export import _catboost, _lightgbm, _xgboost  # noqa: F401
from condrisk.app.export._check import check_onnx
from condrisk.app.export._columns import add_columns, is_text, type_of
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import IR_VERSION, ML_OPSET, OPSET, Graph, Rows
from condrisk.app.export._models import without_pipeline
from condrisk.app.export._predictor import GivenPredictor, Predictor
from condrisk.app.export._risks import add_risk
from condrisk.app.export._rules import add_rule
from condrisk.app.models import TableModel, open_model
from condrisk.deferral import Deferral
from condrisk.losses import encode


def to_onnx(
    model: Any,
    *,
    check: pl.DataFrame | None = None,
    schema: Any = None,
    trusted: Sequence[str] = (),
) -> Any:
    """Return one ONNX graph of a model's predictor, risk and decision.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        The fitted model, or its file. The predictor may be scikit-learn's (boosted trees,
        forests, linear models, pipelines of these, or whatever skl2onnx converts), LightGBM's,
        XGBoost's or CatBoost's; the risk by `RegressionRisk`, `PlugInRisk`, `HybridRisk` or
        `AutoRisk`; the rule one that compares numbers. Columns must be numbers, booleans or
        categories.
    check : polars.DataFrame, optional
        Rows on which to compare the graph with Python. 2,000 random rows, drawn within and a
        little beyond the range of each column, if not given.
    schema : frame or Schema, optional
        The columns, where `model` is an estimator.
    trusted : sequence of str
        Where `model` is a file: what is trusted in it, as for `load_model`.

    Returns
    -------
    onnx.ModelProto
        With an input of shape (n_rows, 1) for each column: float64 for numbers (NaN where
        missing), for booleans (0, 1, NaN) and for dates (days since 1970-01-01), text for
        categories (anything not seen before, such as an empty text, is missing). Outputs
        "prediction", "risk" and "defer" of shape (n_rows,). All arithmetic is in float64, but
        where the model itself computes in float32.

    Raises
    ------
    ExportError
        Where a part cannot be converted to ONNX, or a row comes out differently.

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
    table_model = open_model(model, schema=schema, trusted=trusted)
    made = build(table_model)
    found = check_onnx(made, table_model, check)
    if found.wrong:
        raise ExportError(
            f"the graph differs from Python in {len(found.wrong):,} of {found.rows:,} rows, first "
            f"in row {found.wrong[0] + 1:,}: it was not kept."
        )
    return made


def build(model: TableModel) -> Any:
    """Return the graph of a model, unchecked."""
    if type(model.model) is not Deferral:
        raise ExportError(
            f"the model {type(model.model).__name__} cannot be converted to ONNX; a Deferral can."
        )
    graph = Graph()
    types = graph.onnx.TensorProto
    X = add_columns(graph, model.schema)
    risk, rows = without_pipeline(graph, model.model.risk_, X)
    predictor = _predictor(graph, model, risk, rows)
    value = add_risk(graph, risk, rows, predictor)
    deferred = add_rule(graph, model.model.rule_, value, X, model.cost)
    prediction, kind = _add_prediction(graph, predictor)
    outputs = {
        "prediction": (prediction, kind),
        "risk": (value, types.DOUBLE),
        "defer": (deferred, types.BOOL),
    }
    for name, (output, _) in outputs.items():
        graph.call(name, graph.add("Reshape", output, graph.constant([-1], np.int64)))
    return _model_of(graph, model, {name: kind for name, (_, kind) in outputs.items()})


def _model_of(graph: Graph, model: TableModel, outputs: dict[str, Any]) -> Any:
    """Return the finished model, checked by onnx itself."""
    helper = graph.onnx.helper
    body = helper.make_graph(
        graph.nodes,
        "condrisk",
        [
            helper.make_tensor_value_info(column.name, type_of(graph, column), ["rows", 1])
            for column in model.schema.needed
        ],
        [helper.make_tensor_value_info(name, kind, ["rows"]) for name, kind in outputs.items()],
        graph.constants,
    )
    made = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="condrisk",
        doc_string=f"{model.task} of {model.target}: {model.manifest['rule']}",
    )
    shown = _shown(model) | {"tolerance": graph.tolerance}
    helper.set_model_props(made, {"condrisk": json.dumps(shown)})
    graph.onnx.checker.check_model(made)
    return made


def _shown(model: TableModel) -> dict[str, Any]:
    """Return what of the manifest goes with the graph."""
    names = ("condrisk", "task", "target", "loss", "cost", "rule", "predictor", "classes")
    return {name: model.manifest[name] for name in names} | {
        "columns": [{"name": c.name, "kind": c.kind} for c in model.schema.needed]
    }


# -- predictions --------------------------------------------------------------------------------


def _predictor(graph: Graph, model: TableModel, risk: Any, X: Rows) -> Predictor:
    column = model.schema.prediction
    if column is None:
        if not hasattr(risk, "predictor_"):
            raise ExportError(
                f"the risk estimator {type(risk).__name__} has no fitted predictor_, so that "
                f"there is no prediction to export."
            )
        return Predictor(graph, risk.predictor_, X)
    if model.task == "regression":
        return GivenPredictor(graph, column.name)
    classes, texts = getattr(risk, "_labels", risk.classes_), None
    if is_text(column):
        labels = model.targets(pl.Series(column.categories))
        texts = dict(zip(column.categories, encode(labels, classes).tolist(), strict=True))
    return GivenPredictor(graph, column.name, classes=classes, texts=texts)


def _add_prediction(graph: Graph, predictor: Predictor) -> tuple[str, Any]:
    """Return predictions, and of which type they are."""
    types = graph.onnx.TensorProto
    if predictor.classes is None:
        return predictor.number(), types.DOUBLE
    labels, best = np.asarray(predictor.classes), predictor.codes()
    if labels.dtype.kind in "OU":
        return graph.add("Gather", graph.texts(labels), best), types.STRING
    if labels.dtype.kind == "b":
        return graph.add("Gather", graph.constant(labels, bool), best), types.BOOL
    if labels.dtype.kind == "f":
        return graph.add("Gather", graph.constant(labels), best), types.DOUBLE
    return graph.add("Gather", graph.constant(labels, np.int64), best), types.INT64
