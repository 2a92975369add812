"""What may stand around a risk: samplers, metadata routing, and a type checker."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from condrisk import AutoRisk, BudgetRule, Deferral, PlugInRisk, RegressionRisk, predict_risk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.deferral import SupportRule
from condrisk.metrics import risk_scorer

WORLD = make_heteroscedastic(300, random_state=0)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_samplers_in_front_of_a_risk_are_passed_over_on_new_rows():
    over_sampling = pytest.importorskip("imblearn.over_sampling")
    pipeline = pytest.importorskip("imblearn.pipeline")
    world = make_gaussian_mixture(400, random_state=0)
    y = (world.y == 0).astype(int)
    risk = PlugInRisk(LogisticRegression(), random_state=0)
    sampler = over_sampling.RandomOverSampler(random_state=0)
    model = pipeline.make_pipeline(StandardScaler(), sampler, risk).fit(world.X, y)
    scaled = StandardScaler().fit_transform(world.X)
    by_hand = risk.fit(*sampler.fit_resample(scaled, y))
    assert_array_equal(predict_risk(model, world.X), by_hand.predict_risk(scaled))
    budget = Deferral(model, rule=BudgetRule(0.2)).fit(world.X, y)
    assert len(budget.risk_[-1].held_out_.rows) > len(y)  # rows that the sampler made
    assert len(budget.decide(world.X).deferred) == len(y)
    assert np.isfinite(risk_scorer("deferral_loss", cost=0.1)(model, world.X, y))
    with pytest.raises(ValueError, match="X must be given"):
        Deferral(model, rule=SupportRule(BudgetRule(0.2))).fit(world.X, y)


@pytest.mark.usefixtures("routing")
def test_a_frozen_risk_with_metadata_routing():
    risk = RegressionRisk(LinearRegression(), regressor=Ridge()).fit(WORLD.X, WORLD.y)
    weight = np.linspace(1, 2, 300)
    model = Deferral(FrozenEstimator(risk), rule=BudgetRule(0.2))
    model.fit(WORLD.X, WORLD.y, sample_weight=weight)
    values = risk.predict_risk(WORLD.X)
    expected = BudgetRule(0.2).fit(values, sample_weight=weight)
    assert model.rule_.threshold_ == expected.threshold_
    weighted = clone(model).set_params(cost=1.0).set_fit_request(sample_weight=True)
    weighted.set_score_request(sample_weight=False)
    scores = cross_val_score(weighted, WORLD.X, WORLD.y, params={"sample_weight": weight}, cv=3)
    assert np.isfinite(scores).all()


@pytest.mark.usefixtures("routing")
def test_a_built_predictor_takes_weights_and_groups_with_metadata_routing():
    weight, groups = np.linspace(1, 2, 300), np.arange(300) // 3
    risk = AutoRisk(time_budget=0, cv=3, random_state=0)
    by_routing = risk.fit(WORLD.X, WORLD.y, sample_weight=weight, groups=groups).held_out_
    with sklearn.config_context(enable_metadata_routing=False):
        plain = risk.fit(WORLD.X, WORLD.y, sample_weight=weight, groups=groups).held_out_
    assert_array_equal(by_routing.risks, plain.risks)
    assert_array_equal(by_routing.groups, groups)


@pytest.mark.usefixtures("routing")
def test_rules_are_weighted_whatever_the_risk_does_with_weights():
    weight = np.linspace(1, 9, 300)
    line = LinearRegression().set_fit_request(sample_weight=False)
    ridge = Ridge().set_fit_request(sample_weight=False)
    risk = RegressionRisk(line, regressor=ridge, random_state=0)
    risk.set_fit_request(sample_weight=False)
    model = Deferral(risk, rule=BudgetRule(0.2)).fit(WORLD.X, WORLD.y, sample_weight=weight)
    held_out = model.risk_.held_out_
    assert held_out.weights is None
    expected = BudgetRule(0.2).fit(held_out.risks, sample_weight=weight)
    assert model.rule_.threshold_ == expected.threshold_


MISTAKES = """
from sklearn.linear_model import LinearRegression
from condrisk import AutoRisk, BudgetRule, Deferral, RegressionRisk
model = Deferral(RegressionRisk(LinearRegression()), cost=1.0, rule=BudgetRule(0.1))
fitted = model.fit([[0.0]], [0.0])
decision = fitted.decide([[0.0]])
decision.deferred.mean()
decision.defered
risk = RegressionRisk(LinearRegression()).fit([[0.0]], [0.0])
risk.held_out_.risk
risk.assess([[0.0]]).losses
"""


def test_a_type_checker_finds_misspelt_names(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "mistakes.py"
    script.write_text(MISTAKES)
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--no-incremental"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    found = [line for line in done.stdout.splitlines() if "error" in line and "mistakes" in line]
    assert len(found) == 3, done.stdout
    for name in ("defered", "risk", "losses"):
        assert any(name in line for line in found)
