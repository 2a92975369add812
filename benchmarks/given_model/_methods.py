"""What estimates g, and the figures of one split.

"mean" is the training mean of held-out losses, "forest" what a user writes in ten lines: a random
forest on these losses, from the row alone. The others are the library's, with ``random_state=0``
and otherwise as they come; those that this version does not have for regressors are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor

import condrisk.learners
from benchmarks.given_model._once import fitted_once
from benchmarks.given_model._protocol import N_FOLDS, PREDICTORS, SEED, Case, Floats, Given
from benchmarks.given_model._scores import LEVELS, scores
from condrisk import AutoRisk, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.learners import StackedRegressor
from condrisk.losses import get_loss, huber, pinball

Estimate = Callable[[Given, Any, Floats], Floats]

LOSSES: dict[str, Any] = {
    "squared_error": "squared_error",
    "absolute_error": "absolute_error",
    "pinball(0.9)": pinball(0.9),
    "huber(1.0)": huber(1.0),
}


def mean(given: Given, loss: Any, held_out: Floats) -> Floats:
    return np.full(len(given.case.y_test), held_out.mean())


def forest(given: Given, loss: Any, held_out: Floats) -> Floats:
    model = RandomForestRegressor(random_state=SEED).fit(given.case.X, held_out)
    return model.predict(given.case.X_test)


def library(kind: Any) -> Estimate:
    """Return what fits a risk estimator of the library."""

    def estimate(given: Given, loss: Any, held_out: Floats) -> Floats:
        model = kind(given.predictor, loss=loss, cv=N_FOLDS, random_state=SEED)
        return model.fit(given.case.X, given.case.y).predict_risk(given.case.X_test)

    return estimate


METHODS: dict[str, Estimate] = {
    "mean": mean,
    "forest": forest,
    "RegressionRisk": library(RegressionRisk),
    "AutoRisk": library(AutoRisk),
}
DISTRIBUTION = getattr(condrisk.learners, "DistributionRegressor", None)
if DISTRIBUTION is not None:
    METHODS |= {"PlugIn": library(PlugInRisk), "Hybrid": library(HybridRisk)}

Figures = dict[str, list[list[list[float]]]]


def run(
    case: Case, predictors: list[str], losses: list[str], methods: list[str], *, cached: bool = True
) -> tuple[Figures, Figures]:
    """Return the figures by predictor, loss and method, and those of the losses themselves."""
    kinds = [StackedRegressor] if DISTRIBUTION is None else [StackedRegressor, DISTRIBUTION]
    figures: Figures = {}
    of_losses: Figures = {}
    with fitted_once(*(kinds if cached else [])):
        for predictor in (PREDICTORS[name] for name in predictors):
            own = [predictor] if cached and type(predictor) not in kinds else []
            with fitted_once(*own):
                _run_predictor(Given(case, predictor), losses, methods, figures, of_losses)
    return figures, of_losses


def _run_predictor(
    given: Given, losses: list[str], methods: list[str], figures: Figures, of_losses: Figures
) -> None:
    """Append the figures of one predictor."""
    for found in (figures, of_losses):
        for rows in found.values():
            rows.append([])
    for spec in (LOSSES[name] for name in losses):
        loss = get_loss(spec)
        held_out = loss(given.case.y, given.held_out)
        realised = loss(given.case.y_test, given.test)
        prices = np.quantile(held_out, LEVELS)
        for figure, value in _about(realised, held_out).items():
            of_losses.setdefault(figure, [[]])[-1].append([value])
        by_method = [
            scores(realised, METHODS[name](given, spec, held_out), prices, float(held_out.mean()))
            for name in methods
        ]
        for figure in by_method[0]:
            figures.setdefault(figure, [[]])[-1].append([found[figure] for found in by_method])


def _about(realised: Floats, held_out: Floats) -> dict[str, float]:
    return {
        "mean of losses": float(realised.mean()),
        "variance of losses": float(realised.var()),
        "training mean of losses": float(held_out.mean()),
    }
