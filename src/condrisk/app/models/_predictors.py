"""The models that a name stands for, made for the columns of a table."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
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

# Boosting keeps a histogram of each column for each leaf: of wide tables these have fewer bins, so
# that all histograms of a tree have so many at most, 640 MB.
MOST_BINS, LEAVES = 1 << 25, 32
# On more rows than this there are no extra-trees beside logistic regression: they take minutes.
MOST_ROWS_FOR_TREES = 20_000


class Plan(NamedTuple):
    """What to fit."""

    schema: Schema
    task: Task
    loss: Loss
    cost: float | None
    cv: int
    seed: int
    predictions: str | None  # the column of an external predictor
    n_rows: int


def make_risk(plan: Plan, predictor: str, *, trust: bool) -> Any:
    """Return the risk estimator to fit."""
    if ":" in predictor:
        return _imported_predictor(plan, predictor, trust=trust)
    if predictor not in _MAKERS:
        raise TableError(
            f"predictor must be one of {', '.join(_MAKERS)}, or module:object with trust=True; "
            f"got {predictor!r}."
        )
    return _MAKERS[predictor](plan)


def _risk_of(plan: Plan, predictor: Any) -> Any:
    """Return the estimator of a predictor's risk: what second models of the target say of it.

    These are quick ones. `AutoRisk` would fit a stack with Gaussian processes, which is better on
    few rows, but scores a thousand rows a second and takes seconds to load.
    """
    from condrisk import HybridRisk

    predictor = "precomputed" if plan.predictions else predictor
    second = _probabilities(plan) if plan.task == "classification" else _distribution(plan)
    return HybridRisk(predictor, loss=plan.loss, **second, cv=plan.cv, random_state=plan.seed)


def _probabilities(plan: Plan) -> dict[str, Any]:
    from sklearn.impute import SimpleImputer

    # A ColumnTransformer does not say that it takes gaps, so that they are filled before it. Codes
    # of categories are filled with what is no code, and then belong to none.
    filled = SimpleImputer(keep_empty_features=True)
    models = [make_pipeline(filled, prepared(plan.schema, scale=True), _logistic())]
    if plan.n_rows <= MOST_ROWS_FOR_TREES:
        models.append(ExtraTreesClassifier(min_samples_leaf=2))
    return {"probability": models}


def _distribution(plan: Plan) -> dict[str, Any]:
    from condrisk.learners import DistributionRegressor

    mean = _boosted(plan, learning_rate=0.05, max_iter=200)
    return {"distribution": DistributionRegressor(mean)}


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


# -- boosting -------------------------------------------------------------------------------------


def _boosting(plan: Plan) -> Any:
    return _risk_of(plan, _boosted(plan))


def _boosted(plan: Plan, **options: Any) -> Any:
    """Return boosting that knows which columns are categories."""
    kinds = {
        "regression": HistGradientBoostingRegressor,
        "classification": HistGradientBoostingClassifier,
    }
    categorical = _categorical(plan.schema)
    return kinds[plan.task](
        categorical_features=categorical, max_bins=_bins(plan, categorical), **options
    )


def _bins(plan: Plan, categorical: list[int] | None) -> int:
    """Return how many bins a column gets: never more than there are rows, which would be empty."""
    wanted = min(255, plan.n_rows, MOST_BINS // (LEAVES * max(1, len(plan.schema.columns))))
    codes = [len(plan.schema.columns[k].categories) for k in categorical or []]
    return min(255, max([2, wanted, *codes]))


def _categorical(schema: Schema) -> list[int] | None:
    found = [k for k, column in enumerate(schema.columns) if column.kind == "category"]
    return found or None


# -- models that take neither gaps nor codes ----------------------------------------------------


def _forest(plan: Plan) -> Any:
    kinds = {"regression": RandomForestRegressor, "classification": RandomForestClassifier}
    return _risk_of(plan, make_pipeline(prepared(plan.schema, scale=False), kinds[plan.task]()))


def _linear(plan: Plan) -> Any:
    from sklearn.linear_model import Ridge

    last = Ridge() if plan.task == "regression" else _logistic()
    return _risk_of(plan, make_pipeline(prepared(plan.schema, scale=True), last))


def prepared(schema: Schema, *, scale: bool) -> Any:
    """Return what fills gaps, tells where they were, makes columns of categories, and scales."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    codes = _categorical(schema) or []
    numbers = [k for k in range(len(schema.columns)) if k not in codes]
    gaps = any(schema.columns[k].missing > 0 for k in numbers)
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

    if plan.predictions:
        return AutoRisk("precomputed", loss=plan.loss, cv=plan.cv, random_state=plan.seed)
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
    return _risk_of(plan, made)


def _call(found: Any, name: str) -> Any:
    try:
        return found()
    except Exception as error:
        raise TableError(f"predictor {name!r} cannot be made: {error}") from None
