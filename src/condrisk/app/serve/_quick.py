"""The model's decision with as little as possible between a row and its answer.

scikit-learn checks its input at each step of a pipeline, which takes milliseconds whatever the
number of rows. Rows that have passed the schema need no further check, so where the steps are
known, only their arithmetic is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from condrisk import RegressionRisk
from condrisk._validation import LARGEST_RISK
from condrisk.app.models import TableModel

Floats = NDArray[np.float64]
Step = Callable[[Floats], NDArray[Any]]
# Rows on which the arithmetic must agree with scikit-learn's, or it is not used.
_PROBES = 64


class Decided(NamedTuple):
    """Prediction, risk and decision, row by row."""

    prediction: NDArray[Any]
    risk: Floats
    deferred: NDArray[np.bool_]


Decide = Callable[[Floats, "Floats | None", "NDArray[Any] | None"], Decided]


class UnknownStepError(Exception):
    """A step that is left to scikit-learn."""


def quick_decide(model: TableModel) -> tuple[Decide, bool]:
    """Return the fastest function that decides as `model.model.decide` does.

    Parameters
    ----------
    model : TableModel
        The model.

    Returns
    -------
    decide : callable
        From encoded rows, prices (or None) and given predictions (or None) to `Decided`.
    at_once : bool
        Whether it is mere arithmetic: quicker than handing the rows to a thread.
    """

    def plain(X: Floats, cost: Floats | None, given: NDArray[Any] | None) -> Decided:
        decision = model.model.decide(X, cost=cost, prediction=given)
        return Decided(decision.prediction, decision.risk, decision.deferred)

    risk = model.model.risk_
    if type(risk) is not RegressionRisk or risk.features != "x":
        return plain, False
    predictor = None if model.prediction_column is not None else risk.predictor_
    predict, estimate = _arithmetic(predictor), _arithmetic(risk.regressor_)
    at_once = estimate is not None and (predict is not None or predictor is None)
    predict = predict or getattr(predictor, "predict", None)
    estimate = estimate or risk.regressor_.predict
    least = risk.loss_.minimum if risk.clip else -np.inf
    rule = model.model.rule_

    def quick(X: Floats, cost: Floats | None, given: NDArray[Any] | None) -> Decided:
        prediction: Any = given if predict is None else predict(X)
        estimated = np.clip(np.ravel(estimate(X)), least, LARGEST_RISK)  # as `predict_risk` has it
        if not np.isfinite(estimated).all():
            raise ValueError("the regressor's estimate of the risk is NaN or -inf on some rows.")
        return Decided(prediction, estimated, rule.defer(estimated, X=X, cost=cost))

    return (quick, at_once) if _agree(quick, plain, model) else (plain, False)


def _agree(quick: Decide, plain: Decide, model: TableModel) -> bool:
    """Compare on random rows in the range that was seen, some values missing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([_values(column, rng) for column in model.schema.columns])
    given = None
    if model.prediction_column is not None:
        given = np.resize([0.0, 1.0] if model.classes is None else model.classes, _PROBES)
    cost = np.full(_PROBES, 1.0)
    ours, theirs = quick(X, cost, given), plain(X, cost, given)
    if ours.prediction.dtype.kind == "f":
        same = np.allclose(ours.prediction, theirs.prediction, rtol=1e-9, atol=1e-12)
    else:
        same = np.array_equal(ours.prediction, theirs.prediction)
    return same and np.allclose(ours.risk, theirs.risk, rtol=1e-9, atol=1e-12)


def _values(column: Any, rng: np.random.Generator) -> Floats:
    if column.kind == "category":
        values = rng.integers(0, len(column.categories), _PROBES).astype(np.float64)
    elif column.kind == "boolean":
        values = rng.integers(0, 2, _PROBES).astype(np.float64)
    else:
        values = rng.uniform(column.low, column.high, _PROBES)
    if not column.required:
        values[rng.random(_PROBES) < 0.1] = np.nan
    return values


# -- the arithmetic of fitted steps -------------------------------------------------------------


def _arithmetic(estimator: Any) -> Step | None:
    try:
        return _step(estimator)
    except UnknownStepError:
        return None


def _step(step: Any) -> Step:
    make = _KNOWN.get(type(step))
    if make is None:
        raise UnknownStepError(type(step).__name__)
    return make(step)


def _pipeline(pipeline: Pipeline) -> Step:
    steps = [_step(step) for _, step in pipeline.steps]

    def apply(X: Floats) -> NDArray[Any]:
        for step in steps:
            X = step(X)
        return X

    return apply


def _columns(transformer: ColumnTransformer) -> Step:
    parts = [(_step(part), where) for _, part, where in transformer.transformers_]

    def apply(X: Floats) -> Floats:
        return np.hstack([part(X[:, where]) for part, where in parts])

    return apply


def _imputer(imputer: SimpleImputer) -> Step:
    fill = imputer.statistics_.astype(np.float64)
    if not imputer.keep_empty_features and np.isnan(fill).any():
        raise UnknownStepError("columns that are left out")
    indicated = imputer.indicator_.features_ if imputer.add_indicator else None

    def apply(X: Floats) -> Floats:
        missing = np.isnan(X)
        filled = np.where(missing, fill, X)
        return filled if indicated is None else np.hstack([filled, missing[:, indicated]])

    return apply


def _scaler(scaler: StandardScaler) -> Step:
    mean = 0.0 if scaler.mean_ is None else scaler.mean_
    scale = 1.0 if scaler.scale_ is None else scaler.scale_
    return lambda X: (X - mean) / scale


def _one_hot(encoder: OneHotEncoder) -> Step:
    if encoder.drop is not None or encoder.sparse_output or encoder.handle_unknown != "ignore":
        raise UnknownStepError("another way of encoding")
    categories = [np.asarray(known, dtype=np.float64) for known in encoder.categories_]

    def apply(X: Floats) -> Floats:
        parts = [X[:, [k]] == known for k, known in enumerate(categories)]
        return np.hstack(parts).astype(np.float64)

    return apply


def _sum(X: Floats, weights: Floats) -> Floats:
    # Not X @ weights, whose rounding depends on how many rows there are.
    return (X * weights).sum(axis=1)


def _ridge(model: Ridge) -> Step:
    return lambda X: _sum(X, model.coef_) + model.intercept_


def _poisson(model: PoissonRegressor) -> Step:
    def apply(X: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(_sum(X, model.coef_) + model.intercept_)

    return apply


def _logistic(model: LogisticRegression) -> Step:
    def apply(X: Floats) -> NDArray[Any]:
        scores = [_sum(X, weights) for weights in model.coef_] + model.intercept_[:, None]
        if len(scores) == 1:
            return model.classes_[(scores[0] > 0).astype(int)]
        return model.classes_[scores.argmax(axis=0)]

    return apply


_KNOWN: dict[type, Callable[[Any], Step]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _columns,
    SimpleImputer: _imputer,
    StandardScaler: _scaler,
    OneHotEncoder: _one_hot,
    Ridge: _ridge,
    PoissonRegressor: _poisson,
    LogisticRegression: _logistic,
}
