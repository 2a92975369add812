"""Classes: the chance of being wrong, beside 1 − max p of the calibrated predictor.

The same split and folds as for regression, with the classes' shares kept. "calibrated" is
``CalibratedClassifierCV(predictor, method="temperature", cv=5, ensemble=False)`` on the same rows:
the predictor itself, whose predictions a temperature does not change, so that all methods rank the
same losses. "calibrated, five models" is the default, ``ensemble=True``: the mean of five
predictors. It predicts otherwise, so its figures are about losses of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.given_model._once import fitted_once
from benchmarks.given_model._protocol import N_FOLDS, SEED, TEST_SHARE, Case, Floats
from benchmarks.given_model._sets import Data
from condrisk import AutoRisk, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.learners import StackedClassifier
from condrisk.metrics import aurc, deferral_loss

LOSS = "zero_one"
PRICES = (0.02, 0.05, 0.1, 0.2)
PREDICTORS: dict[str, Any] = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "forest": RandomForestClassifier(random_state=SEED),
    "boosting": HistGradientBoostingClassifier(random_state=SEED),
}
# Losses of the rows to test on, and their estimates.
Outcome = tuple[Floats, Floats]
Estimate = Callable[[Case, Any], Outcome]


def calibrated(*, ensemble: bool) -> Estimate:
    """Return what estimates the risk by 1 − max p."""

    def estimate(case: Case, predictor: Any) -> Outcome:
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
        model = CalibratedClassifierCV(predictor, method="temperature", cv=folds, ensemble=ensemble)
        proba = model.fit(case.X, case.y).predict_proba(case.X_test)
        wrong = model.classes_[proba.argmax(axis=1)] != case.y_test
        return wrong.astype(float), 1 - proba.max(axis=1)

    return estimate


def library(kind: Any, **params: Any) -> Estimate:
    """Return what fits a risk estimator of the library."""

    def estimate(case: Case, predictor: Any) -> Outcome:
        model = kind(clone(predictor), loss=LOSS, cv=N_FOLDS, random_state=SEED, **params)
        model.fit(case.X, case.y)
        return model.loss_values(case.X_test, case.y_test), model.predict_risk(case.X_test)

    return estimate


METHODS: dict[str, Estimate] = {
    "calibrated": calibrated(ensemble=False),
    "calibrated, five models": calibrated(ensemble=True),
    "RegressionRisk": library(RegressionRisk),
    "PlugIn": library(PlugInRisk),
    "Hybrid": library(HybridRisk),
    "AutoRisk": library(AutoRisk),
}


def case_of(data: Data, split: int) -> Case:
    """Return one split."""
    X, X_test, y, y_test = train_test_split(
        data.X,
        data.y,
        test_size=TEST_SHARE["cross-fitted"],
        random_state=split,
        stratify=data.y,
    )
    return Case(X, y, X_test, y_test)


def run(case: Case, methods: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures by predictor, loss (there is one) and method."""
    figures: dict[str, Any] = {}
    means = []
    with fitted_once(StackedClassifier):
        for predictor in PREDICTORS.values():
            # A pipeline keeps what it has found in its parameters, so that its fits are not shared.
            own = [] if isinstance(predictor, Pipeline) else [predictor]
            with fitted_once(*own), warnings.catch_warnings():
                # Temperature's optimiser warns on sets that are nearly separable.
                warnings.simplefilter("ignore", RuntimeWarning)
                outcomes = [METHODS[name](case, predictor) for name in methods]
            found = [scores(*outcome) for outcome in outcomes]
            for figure in found[0]:
                figures.setdefault(figure, []).append([[each[figure] for each in found]])
            means.append([[float(outcomes[0][0].mean())]])
    return figures, {"mean of losses": means}


def scores(realised: Floats, risk: Floats) -> dict[str, float]:
    """Return the figures of one estimate."""
    found = {
        "squared": float(np.mean((realised - risk) ** 2)),
        "AURC": aurc(realised, risk),
        "mean": float(risk.mean()),
        "loss": float(realised.mean()),
    }
    for price in PRICES:
        found[f"deferral {price:g}"] = deferral_loss(realised, risk, price)
    return found
