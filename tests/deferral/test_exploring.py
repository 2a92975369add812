"""Labels that come back: `ExploringRule`, `feedback_weights`, `refit_risk`."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from condrisk import BudgetRule, Deferral, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.deferral import ExploringRule
from condrisk.shift import effective_sample_size, feedback_weights, refit_risk


def test_all_of_the_inner_rule_and_a_share_of_the_rest(seed):
    risk = np.random.default_rng(seed).random(20_000)
    rule = ExploringRule(BudgetRule(0.3), rate=0.1, random_state=seed).fit(risk, risk)
    deferred = BudgetRule(0.3).fit(risk).defer(risk)
    asked = rule.defer(risk)
    assert asked[deferred].all()
    n = np.count_nonzero(~deferred)
    assert abs(asked[~deferred].sum() - 0.1 * n) < 5 * np.sqrt(0.09 * n)
    assert_array_equal(rule.propensity(risk), np.where(deferred, 1.0, 0.1))
    # Chance alone decides: explored rows have the same risks as accepted ones.
    explored = asked & ~deferred
    spread = risk[~deferred].std() / np.sqrt(explored.sum())
    assert abs(risk[explored].mean() - risk[~deferred].mean()) < 5 * spread


def test_rows_asked_one_by_one_are_explored_as_often_as_in_a_batch():
    for seed in (0, None):
        rule = ExploringRule(rate=0.2, random_state=seed).fit([0.0], [0.0])
        asked = [rule.defer([0.1], cost=1.0)[0] for _ in range(2000)]
        assert abs(np.sum(asked) - 400) < 5 * np.sqrt(2000 * 0.16)


def test_a_seed_gives_the_same_draws_and_none_gives_new_ones_after_loading():
    risk = np.zeros(1000)
    rule = ExploringRule(rate=0.5, random_state=3).fit(risk, risk)
    again = clone(rule).fit(risk, risk)
    first = rule.defer(risk, cost=1.0)
    assert_array_equal(again.defer(risk, cost=1.0), first)
    assert (rule.defer(risk, cost=1.0) != first).any()
    saved = pickle.dumps(ExploringRule(rate=0.5).fit(risk, risk))
    one, two = (pickle.loads(saved).defer(risk, cost=1.0) for _ in range(2))
    assert (one != two).any()


def test_weights_make_answers_stand_for_all_rows():
    """The mean of z over all rows, from asked ones: unbiased with weights, not without."""
    rng = np.random.default_rng(0)
    weighted, plain, n = [], [], 2000
    for _ in range(400):
        g = rng.uniform(0, 2, n)
        z = g * rng.exponential(size=n)
        rule = ExploringRule(rate=0.1, random_state=int(rng.integers(1 << 30))).fit(g, z)
        asked, chance = rule.defer(g, cost=1.0), rule.propensity(g, cost=1.0)
        weighted.append((feedback_weights(asked, chance) * z).sum() / n)
        plain.append(z[asked].mean())
    error = np.std(weighted) / np.sqrt(len(weighted))
    assert abs(np.mean(weighted) - 1.0) < 4 * error
    assert np.mean(plain) > 1.3


def test_effective_size_is_as_the_docstring_says():
    rng = np.random.default_rng(0)
    chance = np.where(rng.random(100_000) < 0.6, 0.05, 1.0)
    weight = feedback_weights(rng.random(100_000) < chance, chance)
    assert_allclose(effective_sample_size(weight), 100_000 / (0.4 + 0.6 / 0.05), rtol=0.05)


def test_refit_learns_what_a_frozen_predictor_would():
    world = make_heteroscedastic(400, random_state=0)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0)
    fitted = clone(risk).fit(world.X, world.y)
    before = fitted.predict_risk(world.X)
    new = world.sample(300, random_state=1)
    weight = np.random.default_rng(0).random(300)
    learnt = refit_risk(fitted, new.X, new.y, sample_weight=weight)
    frozen = RegressionRisk(FrozenEstimator(fitted.predictor_), regressor=Ridge())
    expected = frozen.fit(new.X, new.y, sample_weight=weight)
    assert_allclose(learnt.predict_risk(new.X), expected.predict_risk(new.X))
    assert_array_equal(learnt.predict(new.X), fitted.predict(new.X))
    assert_array_equal(fitted.predict_risk(world.X), before)  # the old one is left alone
    twice = refit_risk(learnt, new.X, new.y, sample_weight=weight)
    assert_allclose(twice.predict_risk(new.X), expected.predict_risk(new.X))


def test_refit_of_a_predictor_elsewhere_and_of_a_plug_in():
    world = make_heteroscedastic(200, random_state=0)
    elsewhere = RegressionRisk("precomputed", loss="squared_error", regressor=Ridge())
    elsewhere.fit(world.X, world.y, prediction=world.mean(world.X))
    again = refit_risk(elsewhere, world.X, world.y, prediction=world.mean(world.X))
    assert_allclose(again.predict_risk(world.X), elsewhere.predict_risk(world.X))
    classes = make_gaussian_mixture(300, random_state=0)
    plug_in = PlugInRisk(LogisticRegression(), calibration="temperature", random_state=0)
    plug_in.fit(classes.X, classes.y)
    learnt = refit_risk(plug_in, classes.X, classes.y)
    assert_array_equal(learnt.predict(classes.X), plug_in.predict(classes.X))


def test_the_whole_round_with_deferral():
    world = make_heteroscedastic(300, random_state=0)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0)
    rule = ExploringRule(rate=0.2, random_state=0)
    model = Deferral(risk, cost=1.5, rule=rule).fit(world.X, world.y)
    day = world.sample(1000, random_state=1)
    decision = model.decide(day.X)
    chance = model.rule_.propensity(decision.risk, cost=1.5)
    weight = feedback_weights(decision.deferred, chance)
    asked = decision.deferred
    learnt = refit_risk(model.risk_, day.X[asked], day.y[asked], sample_weight=weight[asked])
    assert np.isfinite(learnt.predict_risk(day.X)).all()


def test_they_say_what_is_wrong():
    for rate in (0.0, 1.1, np.nan):
        with pytest.raises(ValueError, match="'rate' parameter of ExploringRule"):
            ExploringRule(rate=rate).fit([1.0], [1.0])
    with pytest.raises(TypeError, match="deferred must be made of booleans"):
        feedback_weights([1, 0], [1.0, 0.5])
    for chance in (0.0, -0.5, 1.5):
        with pytest.raises(ValueError, match="propensity must lie above 0"):
            feedback_weights([True, False], [1.0, chance])
    with pytest.raises(ValueError, match="propensity and deferred must have the same length"):
        feedback_weights([True], [1.0, 1.0])
    with pytest.raises(ValueError, match="deferred is False for 1 row"):
        feedback_weights([True, False], [0.5, 1.0])
    with pytest.warns(UserWarning, match="deferred has 500 rows, where the propensities make 100"):
        feedback_weights(np.repeat([True, False], 500), np.full(1000, 0.1))
    with pytest.raises(ValueError, match="risk must be a fitted risk estimator"):
        refit_risk(LinearRegression(), [[1.0]], [1.0])
    with pytest.raises(ValueError, match="cost must be given"):
        ExploringRule().fit([1.0], [1.0]).defer([1.0])
