"""Predictors and regressors of scikit-learn as nodes of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from condrisk._delegate import is_passed_over
from condrisk._extras import require
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import ROUGH_TOLERANCE, Graph, Rows
from condrisk.app.export._registry import CLASSIFIERS, REGRESSORS, SCORES
from condrisk.app.export._transformers import add_transformer
from condrisk.app.export._trees import averaged, boosted

_TREES = (DecisionTreeRegressor, DecisionTreeClassifier, ExtraTreeRegressor, ExtraTreeClassifier)


def add_regressor(graph: Graph, model: Any, X: Rows) -> str:
    """Add a regressor; return its answers as a column."""
    model, X = without_pipeline(graph, model, X)
    add = REGRESSORS.get(model)
    return add(graph, model, X) if add else _by_skl2onnx(graph, model, X, classes=False)


def add_classifier(graph: Graph, model: Any, X: Rows) -> str:
    """Add a classifier; return its probabilities, a column for each class."""
    model, X = without_pipeline(graph, model, X)
    add = CLASSIFIERS.get(model)
    return add(graph, model, X) if add else _by_skl2onnx(graph, model, X, classes=True)


def add_scores(graph: Graph, model: Any, X: Rows) -> str:
    """Add a classifier; return its decision function, one column for two classes."""
    model, X = without_pipeline(graph, model, X)
    return SCORES.find(model)(graph, model, X)


def without_pipeline(graph: Graph, model: Any, X: Rows) -> tuple[Any, Rows]:
    """Add the steps of a pipeline before its last; return that and what it gets."""
    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, Pipeline):
            for _, step in model.steps[:-1]:
                X = X if is_passed_over(step) else add_transformer(graph, step, X)
            model = model.steps[-1][1]
        else:
            return model, X


# -- linear ---------------------------------------------------------------------------------------


@REGRESSORS.register(
    LinearRegression,
    Ridge,
    RidgeCV,
    Lasso,
    LassoCV,
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    QuantileRegressor,
    LinearSVR,
)
@SCORES.register(LogisticRegression, LogisticRegressionCV, LinearSVC, RidgeClassifier)
def _linear(graph: Graph, model: Any, X: Rows) -> str:
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    name, weights = X.numbers(model), graph.constant(coef.T)
    # A product of matrices takes in a scaling before it that is one number, and onnxruntime then
    # keeps that number as float32; of one column it is a product of numbers.
    product = graph.add("Mul" if coef.shape[1] == 1 else "MatMul", name, weights)
    return graph.add("Add", product, graph.constant(np.atleast_2d(model.intercept_)))


@REGRESSORS.register(PoissonRegressor, GammaRegressor)
def _log_linear(graph: Graph, model: Any, X: Rows) -> str:
    return graph.add("Exp", _linear(graph, model, X))


@CLASSIFIERS.register(LogisticRegression, LogisticRegressionCV)
def _logistic(graph: Graph, model: Any, X: Rows) -> str:
    return probabilities(graph, _linear(graph, model, X), len(model.classes_))


def probabilities(graph: Graph, raw: str, n_classes: int) -> str:
    """Return class probabilities from log-odds, or from what their softmax is taken of."""
    if n_classes > 2:
        return graph.add("Softmax", raw, axis=1)
    positive = graph.add("Sigmoid", raw)
    return graph.join([graph.add("Sub", graph.constant(1.0), positive), positive])


@REGRESSORS.register(DummyRegressor)
def _constant(graph: Graph, model: Any, X: Rows) -> str:
    zero = graph.scaled(graph.as_double(graph.add("IsNaN", graph.columns(X.name, [0]))), 0.0)
    return graph.add("Add", zero, graph.constant(np.reshape(model.constant_, (1, 1))))


@CLASSIFIERS.register(DummyClassifier)
def _prior(graph: Graph, model: Any, X: Rows) -> str:
    if model.strategy != "prior":
        raise ExportError(
            f"DummyClassifier(strategy={model.strategy!r}) cannot be converted to ONNX; "
            f"'prior' can."
        )
    zero = graph.scaled(graph.as_double(graph.add("IsNaN", graph.columns(X.name, [0]))), 0.0)
    return graph.add("Add", zero, graph.constant(np.reshape(model.class_prior_, (1, -1))))


# -- trees ----------------------------------------------------------------------------------------


def _trees_of(model: Any) -> list[Any]:
    return [model] if isinstance(model, _TREES) else list(model.estimators_)


@REGRESSORS.register(
    RandomForestRegressor, ExtraTreesRegressor, DecisionTreeRegressor, ExtraTreeRegressor
)
def _forest(graph: Graph, model: Any, X: Rows) -> str:
    return averaged(graph, _trees_of(model), X.numbers(model), proba=False)


@CLASSIFIERS.register(
    RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier, ExtraTreeClassifier
)
def _class_forest(graph: Graph, model: Any, X: Rows) -> str:
    return averaged(graph, _trees_of(model), X.numbers(model), proba=True)


@REGRESSORS.register(HistGradientBoostingRegressor)
def _boosting(graph: Graph, model: Any, X: Rows) -> str:
    raw = boosted(graph, model, X)
    return graph.add("Exp", raw) if model.loss in ("poisson", "gamma") else raw


@CLASSIFIERS.register(HistGradientBoostingClassifier)
def _class_boosting(graph: Graph, model: Any, X: Rows) -> str:
    return probabilities(graph, boosted(graph, model, X), len(model.classes_))


@SCORES.register(HistGradientBoostingClassifier)
def _boosting_scores(graph: Graph, model: Any, X: Rows) -> str:
    return boosted(graph, model, X)


# -- everything else -----------------------------------------------------------------------------


def _by_skl2onnx(graph: Graph, model: Any, X: Rows, *, classes: bool) -> str:
    """Add what skl2onnx makes of a model; return its answers or probabilities."""
    if not type(model).__module__.startswith("sklearn."):
        (CLASSIFIERS if classes else REGRESSORS).find(model)  # refuses it
    require("ONNX", "skl2onnx", extra="onnx")
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType

    inputs = [("X", DoubleTensorType([None, model.n_features_in_]))]
    options = {id(model): {"zipmap": False}} if classes else None
    try:
        made = to_onnx(model, initial_types=inputs, options=options, target_opset=18)
    except Exception as error:  # it raises many kinds of errors for what it does not know
        raise ExportError(
            f"{type(model).__name__} cannot be converted to ONNX: {_first_line(error)}"
        ) from None
    graph.tolerance = ROUGH_TOLERANCE  # many of its nodes keep their numbers as float32
    prefix = graph.name("part")
    made = graph.onnx.compose.add_prefix(made, f"{prefix}/")
    graph.constants += list(made.graph.initializer)
    graph.call(made.graph.input[0].name, X.numbers(model))
    graph.nodes += list(made.graph.node)
    return graph.as_double(made.graph.output[-1].name)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return text if len(text) <= 120 else text[:119] + "…"
