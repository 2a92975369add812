"""Rules, decisions, metrics and displays, which need losses and risks alone, of several targets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeRegressor

from condrisk import BudgetRule, CostRule, Deferral, RegressionRisk, RiskControlRule
from condrisk.deferral import Cascade, RateControlRule
from condrisk.metrics import aurc, risk_scorer
from condrisk.plots import CostCurveDisplay, RiskCoverageDisplay

TREE = DecisionTreeRegressor(min_samples_leaf=40, random_state=0)


def numbers(rng, X):
    return X[:, :2] + np.exp(X[:, [2]]) * rng.normal(size=(len(X), 2))


def labels(rng, X):
    return (X[:, :2] + rng.normal(size=(len(X), 2)) > 0).astype(int)


WORLDS = {
    "numbers": (numbers, LinearRegression()),
    "labels": (labels, MultiOutputClassifier(LogisticRegression())),
}
each_task = pytest.mark.parametrize("task", WORLDS)


def rows(task, n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, WORLDS[task][0](rng, X)


def risk_of(task):
    return RegressionRisk(WORLDS[task][1], regressor=TREE, cv=3, random_state=0)


@pytest.mark.parametrize(
    ("task", "rule"),
    [
        ("numbers", CostRule()),
        ("labels", BudgetRule(0.3)),
        ("numbers", RateControlRule(0.5, cap=50.0, random_state=0)),
        ("numbers", RiskControlRule(4.0, cap=50.0, random_state=0)),
        ("labels", RiskControlRule(0.5, random_state=0)),
    ],
)
def test_rules_take_the_mean_loss_of_several_outputs(task, rule):
    X, Y = rows(task)
    model = Deferral(risk_of(task), cost=0.3, rule=rule).fit(X, Y)
    decision = model.decide(X)
    assert decision.prediction.shape == Y.shape
    paid = np.where(decision.deferred, 0.3, model.loss_values(X, Y))
    assert model.score(X, Y) == pytest.approx(-paid.mean())
    frozen = Deferral(FrozenEstimator(model.risk_), cost=0.3, rule=rule).fit(X, Y)
    assert frozen.decide(X).deferred.shape == (len(X),)


@each_task
def test_frames_of_decisions_have_a_column_for_each_output(task):
    X, Y = rows(task, 200)
    model = Deferral(risk_of(task), cost=0.3).fit(X, Y)
    index = pd.Index(np.arange(200) + 7)
    for given in (X, pd.DataFrame(X, index=index)):
        found = model.decide(given).to_frame()
        assert list(found.columns) == ["prediction_0", "prediction_1", "risk", "deferred"]
        np.testing.assert_array_equal(found["prediction_1"], model.predict(X)[:, 1])
    assert list(found.index) == list(index)


@each_task
def test_cascades_of_models_of_several_outputs(task):
    X, Y = rows(task)
    cascade = Cascade([risk_of(task), risk_of(task)], fee=0.1, regressor=TREE)
    decision = cascade.fit(X, Y).decide(X)
    assert decision.prediction.shape == Y.shape
    assert list(decision.to_frame().columns)[:3] == ["prediction_0", "prediction_1", "risk"]


@each_task
def test_metrics_displays_and_searches(task):
    pytest.importorskip("matplotlib").use("Agg")
    X, Y = rows(task)
    risk = risk_of(task).fit(X, Y)
    loss, estimate = risk.loss_values(X, Y), risk.predict_risk(X)
    assert risk_scorer("aurc")(risk, X, Y) == -aurc(loss, estimate)
    for display in (RiskCoverageDisplay, CostCurveDisplay):
        display.from_estimator(risk, X, Y)
    search = GridSearchCV(
        Deferral(risk_of(task), cost=0.3), {"risk__regressor__min_samples_leaf": [20, 60]}, cv=2
    ).fit(X, Y)
    assert search.predict(X).shape == Y.shape
