"""The models that a name stands for, made for the columns of a table."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from condrisk.app.tables import TableError
from condrisk.losses import Loss, Task
from condrisk.persistence import Schema


class Plan(NamedTuple):
    """What to fit."""

    schema: Schema
    task: Task
    loss: Loss
    cost: float | None
    cv: int
    seed: int
    predictions: str | None  # the column of an external predictor
    n_classes: int  # 0 for regression


def make_risk(plan: Plan, predictor: str, *, trust: bool) -> Any:
    """Return the risk estimator to fit."""
    if ":" in predictor:
        return _imported_predictor(plan, predictor, trust=trust)
    if predictor not in _MAKERS:
        raise TableError(
            f"predictor must be one of {', '.join(_MAKERS)}, or module:object with trust; "
            f"got {predictor!r}."
        )
    return _MAKERS[predictor](plan)


def _regression_risk(
    plan: Plan, predictor: Any, regressor: Any, *, sees_response: bool = False
) -> Any:
    from condrisk import RegressionRisk

    return RegressionRisk(
        "precomputed" if plan.predictions else predictor,
        loss=plan.loss,
        regressor=regressor,
        features="x+response" if sees_response else "x",
        cv=plan.cv,
        random_state=plan.seed,
    )


# -- boosting -------------------------------------------------------------------------------------


def _boosting(plan: Plan) -> Any:
    kinds = {
        "regression": HistGradientBoostingRegressor,
        "classification": HistGradientBoostingClassifier,
    }
    predictor = kinds[plan.task](categorical_features=_categorical(plan.schema))
    losses = boosted_losses(plan.schema)
    return _regression_risk(plan, predictor, losses, sees_response=_n_responses(plan) > 0)


def _n_responses(plan: Plan) -> int:
    """Return how many probabilities there are for the risk to look at.

    A classifier that is not sure says so. For regression there is nothing of the kind to see.
    """
    return 0 if plan.predictions else plan.n_classes


def boosted_losses(schema: Schema) -> HistGradientBoostingRegressor:
    """Return boosting for noisy losses: small steps, and few of them.

    Stopping early would be decided by a few held-out rows, whose noise makes it stop anywhere.
    """
    return HistGradientBoostingRegressor(
        learning_rate=0.05,
        max_leaf_nodes=15,
        max_iter=80,
        early_stopping=False,
        categorical_features=_categorical(schema),
    )


def _categorical(schema: Schema) -> list[int] | None:
    found = [k for k, column in enumerate(schema.columns) if column.kind == "category"]
    return found or None


# -- models that take neither gaps nor codes ----------------------------------------------------


def _forest(plan: Plan) -> Any:
    kinds = {"regression": RandomForestRegressor, "classification": RandomForestClassifier}
    predictor = make_pipeline(prepared(plan.schema, scale=False), kinds[plan.task]())
    leaf = 5  # under the noise of realised losses a leaf of one row learns that row
    regressor = RandomForestRegressor(min_samples_leaf=leaf, max_features=0.5)
    more = _n_responses(plan)
    regressor = make_pipeline(prepared(plan.schema, scale=False, more=more), regressor)
    return _regression_risk(plan, predictor, regressor, sees_response=more > 0)


def _linear(plan: Plan) -> Any:
    from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

    last = Ridge() if plan.task == "regression" else LogisticRegression(max_iter=1000)
    predictor = make_pipeline(prepared(plan.schema, scale=True), last)
    losses = PoissonRegressor(alpha=0.01, solver="newton-cholesky", max_iter=300)
    regressor = make_pipeline(prepared(plan.schema, scale=True), losses)
    return _regression_risk(plan, predictor, regressor)


def prepared(schema: Schema, *, scale: bool, more: int = 0) -> Any:
    """Return what fills gaps, tells where they were, makes columns of categories, and scales.

    `more` numbers follow after the columns of the schema.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    codes = _categorical(schema) or []
    numbers = [k for k in range(len(schema.columns)) if k not in codes]
    gaps = any(schema.columns[k].missing > 0 for k in numbers)
    numbers += range(len(schema.columns), len(schema.columns) + more)
    steps: list[Any] = [SimpleImputer(add_indicator=gaps, keep_empty_features=True)]
    if scale:
        steps.append(StandardScaler())
    fill = make_pipeline(*steps) if len(steps) > 1 else steps[0]
    if not codes:
        return fill
    known = [np.arange(len(schema.columns[k].categories), dtype=np.float64) for k in codes]
    spread = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((fill, numbers), (spread, codes))


# -- the others ---------------------------------------------------------------------------------


def _auto(plan: Plan) -> Any:
    from condrisk import AutoRisk

    if plan.predictions:  # LossRegressor, the default
        return _regression_risk(plan, None, None)
    return AutoRisk(
        loss=plan.loss, task=plan.task, cost=plan.cost, cv=plan.cv, random_state=plan.seed
    )


_MAKERS: dict[str, Callable[[Plan], Any]] = {
    "boosting": _boosting,
    "forest": _forest,
    "linear": _linear,
    "auto": _auto,
}
PREDICTORS = tuple(_MAKERS)


def _imported_predictor(plan: Plan, name: str, *, trust: bool) -> Any:
    if not trust:
        raise TableError(
            f"predictor {name!r} is code: to get it, its module is imported and thereby run. Say "
            f"--trust if you trust it, or name one of {', '.join(PREDICTORS)}."
        )
    if plan.predictions:
        raise TableError(f"predictor {name!r} has no use where the predictions are in a column.")
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise TableError(f"predictor {name!r} cannot be imported: {error}") from None
    made = found if hasattr(found, "fit") and not isinstance(found, type) else _call(found, name)
    fits = {"regression": is_regressor, "classification": is_classifier}[plan.task]
    if not isinstance(made, BaseEstimator) or not fits(made):
        raise TableError(f"predictor {name!r} is no scikit-learn model for {plan.task}.")
    if not get_tags(made).input_tags.allow_nan:
        made = make_pipeline(prepared(plan.schema, scale=True), made)
    sees = hasattr(made, "predict_proba")
    return _regression_risk(plan, made, boosted_losses(plan.schema), sees_response=sees)


def _call(found: Any, name: str) -> Any:
    try:
        return found()
    except Exception as error:
        raise TableError(f"predictor {name!r} cannot be made: {error}") from None
