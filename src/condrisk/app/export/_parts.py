"""Parts of a model as nodes of ONNX: what fills, spreads and scales, and what predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from condrisk._extras import require
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph
from condrisk.app.export._trees import averaged, boosted

_TREES = (DecisionTreeRegressor, DecisionTreeClassifier)
_LINEAR = (LinearRegression, Ridge, Lasso, ElasticNet)
_LOG_LINEAR = (PoissonRegressor, GammaRegressor)


def add_regressor(graph: Graph, model: Any, X: str) -> str:
    """Add a regressor; return its answers as a column."""
    model, X = _without_pipeline(graph, model, X)
    if isinstance(model, HistGradientBoostingRegressor):
        raw = boosted(graph, model, X)
        return graph.add("Exp", raw) if model.loss in ("poisson", "gamma") else raw
    if isinstance(model, (RandomForestRegressor, ExtraTreesRegressor, DecisionTreeRegressor)):
        return averaged(graph, _trees(model), X, proba=False)
    if isinstance(model, (*_LINEAR, *_LOG_LINEAR)):
        raw = _linear(graph, np.atleast_2d(model.coef_), model.intercept_, X)
        return graph.add("Exp", raw) if isinstance(model, _LOG_LINEAR) else raw
    return _by_skl2onnx(graph, model, X, classes=False)


def add_classifier(graph: Graph, model: Any, X: str) -> str:
    """Add a classifier; return its probabilities, a column for each class."""
    model, X = _without_pipeline(graph, model, X)
    if isinstance(model, HistGradientBoostingClassifier):
        return _probabilities(graph, boosted(graph, model, X), len(model.classes_))
    if isinstance(model, (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)):
        return averaged(graph, _trees(model), X, proba=True)
    if isinstance(model, LogisticRegression):
        return _probabilities(
            graph, _linear(graph, model.coef_, model.intercept_, X), len(model.classes_)
        )
    return _by_skl2onnx(graph, model, X, classes=True)


def _trees(model: Any) -> list[Any]:
    return [model] if isinstance(model, _TREES) else list(model.estimators_)


def _linear(graph: Graph, coef: Any, intercept: Any, X: str) -> str:
    weights = graph.constant(np.asarray(coef, dtype=np.float64).T)
    # A product of matrices takes in a scaling before it that is one number, and onnxruntime then
    # keeps that number as float32; of one column it is a product of numbers.
    product = graph.add("Mul" if np.shape(coef)[1] == 1 else "MatMul", X, weights)
    return graph.add("Add", product, graph.constant(np.atleast_2d(intercept)))


def _probabilities(graph: Graph, raw: str, n_classes: int) -> str:
    if n_classes > 2:
        return graph.add("Softmax", raw, axis=1)
    positive = graph.add("Sigmoid", raw)
    return graph.join([graph.add("Sub", graph.constant(1.0), positive), positive])


# -- what comes before ----------------------------------------------------------------------------


def _without_pipeline(graph: Graph, model: Any, X: str) -> tuple[Any, str]:
    """Add the steps of a pipeline before its last; return that and what it gets."""
    while isinstance(model, (Pipeline, FrozenEstimator)):
        if isinstance(model, FrozenEstimator):
            model = model.estimator
            continue
        for _, step in model.steps[:-1]:
            X = add_transformer(graph, step, X)
        model = model.steps[-1][1]
    return model, X


def add_transformer(graph: Graph, step: Any, X: str) -> str:
    """Add what fills, spreads or scales columns; return the new ones."""
    if isinstance(step, str) and step == "passthrough":
        return X
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            X = add_transformer(graph, part, X)
        return X
    adders = {
        SimpleImputer: _impute,
        StandardScaler: _scale,
        OneHotEncoder: _one_hot,
        ColumnTransformer: _column_transformer,
    }
    if type(step) not in adders:
        raise ExportError(f"{type(step).__name__} before a model has no form in ONNX here.")
    return adders[type(step)](graph, step, X)


def _impute(graph: Graph, step: Any, X: str) -> str:
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise ExportError("an imputer of values other than NaN has no form in ONNX here.")
    filling = np.asarray(step.statistics_, dtype=np.float64).reshape(1, -1)
    if np.isnan(filling).any():
        raise ExportError("an imputer that drops columns has no form in ONNX here.")
    gap = graph.add("IsNaN", X)
    filled = graph.add("Where", gap, graph.constant(filling), X)
    if not step.add_indicator or not len(step.indicator_.features_):
        return filled
    shown = graph.columns(gap, step.indicator_.features_)
    return graph.join([filled, graph.add("Cast", shown, to=graph.onnx.TensorProto.DOUBLE)])


def _scale(graph: Graph, step: Any, X: str) -> str:
    if step.with_mean:
        X = graph.add("Sub", X, graph.constant(step.mean_.reshape(1, -1)))
    if step.with_std:
        X = graph.add("Div", X, graph.constant(step.scale_.reshape(1, -1)))
    return X


def _one_hot(graph: Graph, step: Any, X: str) -> str:
    if step.handle_unknown != "ignore" or step.drop is not None or step._infrequent_enabled:
        raise ExportError(
            "one-hot columns other than with handle_unknown='ignore' have no form in ONNX here."
        )
    parts = []
    for k, known in enumerate(step.categories_):
        column = graph.columns(X, [k])
        codes = np.asarray(known, dtype=np.float64).reshape(1, -1)
        same = graph.add("Equal", column, graph.constant(codes))
        if np.isnan(codes).any():
            gap = graph.add(
                "And", graph.add("IsNaN", column), graph.constant(np.isnan(codes), bool)
            )
            same = graph.add("Or", same, gap)
        parts.append(graph.add("Cast", same, to=graph.onnx.TensorProto.DOUBLE))
    return graph.join(parts)


def _column_transformer(graph: Graph, step: Any, X: str) -> str:
    parts = []
    for name, part, where in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        columns = np.arange(step.n_features_in_)[where]
        if not len(columns):
            continue
        if not isinstance(where, slice) and any(isinstance(key, str) for key in where):
            raise ExportError(f"columns by name, as in {name!r}, have no form in ONNX here.")
        parts.append(add_transformer(graph, part, graph.columns(X, columns)))
    return graph.join(parts)


# -- everything else -----------------------------------------------------------------------------


def _by_skl2onnx(graph: Graph, model: Any, X: str, *, classes: bool) -> str:
    """Add what skl2onnx makes of a model; return its answers or probabilities."""
    kind = type(model).__name__
    require("ONNX", "skl2onnx", extra="onnx")
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType

    inputs = [("X", DoubleTensorType([None, model.n_features_in_]))]
    options = {id(model): {"zipmap": False}} if classes else None
    try:
        made = to_onnx(model, initial_types=inputs, options=options, target_opset=18)
    except Exception as error:  # it raises many kinds of errors for what it does not know
        raise ExportError(f"{kind} has no form in ONNX: {_first_line(error)}") from None
    prefix = graph.name("part")
    made = graph.onnx.compose.add_prefix(made, f"{prefix}/")
    graph.constants += list(made.graph.initializer)
    graph.call(made.graph.input[0].name, X)
    graph.nodes += list(made.graph.node)
    answer = made.graph.output[-1].name
    return graph.add("Cast", answer, to=graph.onnx.TensorProto.DOUBLE)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return text if len(text) <= 120 else text[:119] + "…"
