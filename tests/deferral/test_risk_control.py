"""`RiskControlRule` and `RateControlRule`: promises about new rows, and when there are none."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import BudgetRule, Deferral, PlugInRisk, RegressionRisk, make_loss
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.deferral import RateControlRule, RiskControlRule
from condrisk.inference import binomial_p_values, binomial_upper
from condrisk.losses import get_loss

RULES = [RiskControlRule(0.1, cap=1.0), RateControlRule(0.2, cap=1.0)]


def pairs(rng, n, g=lambda u: u):
    """Return scores that are uniform, and 0/1 losses with the mean g(score)."""
    u = rng.random(n)
    return u, (rng.random(n) < g(u)).astype(float)


def too_often(count, n, chance):
    """Tell whether `count` of `n` contradicts a chance, at a level that never fails by itself."""
    return binom.sf(count - 1, n, chance) < 1e-4


# -- the promise ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("g", "target", "optimum"),
    [
        (lambda u: u**2, 0.1, np.sqrt(0.3)),  # ∫u²/c = c²/3
        (lambda u: np.full_like(u, 0.102), 0.1, 0.0),  # all of it a little too much
        (lambda u: np.where(u < 0.1, 0.5, 0.05), 0.2, 1.0),  # a start that misleads
    ],
)
@pytest.mark.parametrize("kind", ["0/1", "uniform"])
def test_population_mean_of_the_accepted_is_kept(g, target, optimum, kind):
    broken, accepted = 0, []
    for k in range(200):
        rng = np.random.default_rng([3, k])

        def draw(n, rng=rng):
            u = rng.random(n)
            mean = g(u)
            if kind == "0/1":
                return u, (rng.random(n) < mean).astype(float)
            return u, 2 * mean * rng.random(n)

        rule = RiskControlRule(target, cap=1.0, random_state=k)
        with warnings.catch_warnings():
            if not optimum:  # deferring everything keeps the promise
                warnings.filterwarnings("ignore", message=".*everything is deferred")
            rule.fit(*draw(1000), calibration=draw(2000))
        assert rule.test_ == ("binomial" if kind == "0/1" else "betting")
        coverage = min(max(rule.threshold_, 0.0), 1.0)
        accepted.append(coverage)
        broken += coverage > optimum
    assert not too_often(broken, 200, 0.1)
    if optimum:
        assert np.mean(accepted) > 0.85 * optimum


def test_known_weights_move_the_promise_to_their_population():
    """With weights 2u the density of the target population is 2u: its mean loss is larger."""
    broken, thresholds = 0, []
    for k in range(100):
        rng = np.random.default_rng([4, k])
        (u, z), (v, y) = pairs(rng, 4000, lambda u: u**2), pairs(rng, 8000, lambda u: u**2)
        rule = RiskControlRule(0.1, cap=1.0, max_weight=2.0, random_state=k)
        rule.fit(u, z, sample_weight=2 * u, calibration=(v, y, 2 * v))
        thresholds.append(rule.threshold_)
        broken += rule.threshold_ > np.sqrt(0.2)  # ∫2u·u²/∫2u = t²/2
    assert not too_often(broken, 100, 0.1)
    assert 0.9 * np.sqrt(0.2) < np.mean(thresholds) < np.sqrt(0.2)


def test_rare_and_heavy_weights_never_cost_more_than_the_capital():
    """Bets must be small enough for the heaviest weight that there can be."""
    rng = np.random.default_rng(15)
    u, v = rng.random(2000), rng.random(60)
    loss, weight = np.full(60, 0.001), np.full(60, 1.0)
    loss[50:], weight[50:] = 1.0, 20.0
    rule = RiskControlRule(0.1, cap=1.0, max_weight=20.0, random_state=0)
    with pytest.warns(UserWarning, match="everything is deferred"):
        rule.fit(
            u, np.full(2000, 0.001), sample_weight=np.ones(2000), calibration=(v, loss, weight)
        )
    assert rule.p_values_[0] > 0.1


def test_weights_of_one_and_no_weights_lead_to_the_same_place():
    rng = np.random.default_rng(5)
    fit, held = pairs(rng, 3000, lambda u: u**2), pairs(rng, 5000, lambda u: u**2)
    plain = RiskControlRule(0.1, cap=1.0, random_state=0).fit(*fit, calibration=held)
    weighted = RiskControlRule(0.1, cap=1.0, max_weight=1.0, random_state=0)
    weighted.fit(*fit, sample_weight=np.ones(3000), calibration=(*held, np.ones(5000)))
    assert (plain.test_, weighted.test_) == ("binomial", "betting")
    assert abs(plain.threshold_ - weighted.threshold_) < 0.03


def test_scores_may_be_changed_by_any_increasing_function():
    rng = np.random.default_rng(6)
    fit, held = pairs(rng, 2000, lambda u: u**2), pairs(rng, 2000, lambda u: u**2)
    new = rng.random(1000)
    rule = RiskControlRule(0.1, cap=1.0, random_state=0)
    plain = clone(rule).fit(*fit, calibration=held).defer(new)
    rule.fit(np.log(fit[0]), fit[1], calibration=(np.log(held[0]), held[1]))
    assert_array_equal(rule.defer(np.log(new)), plain)
    assert 0 < plain.mean() < 1


def test_losses_and_target_may_be_measured_in_other_units():
    rng = np.random.default_rng(7)
    u, v = rng.random(2000), rng.random(2000)
    fit, held = (u, u * rng.random(2000)), (v, v * rng.random(2000))
    plain = RiskControlRule(0.2, cap=0.9, random_state=0).fit(*fit, calibration=held)
    scaled = RiskControlRule(200.0, cap=900.0, random_state=0)
    scaled.fit(u, 1000 * fit[1], calibration=(v, 1000 * held[1]))
    assert plain.test_ == "betting"
    assert plain.threshold_ == scaled.threshold_
    assert_allclose(plain.p_values_, scaled.p_values_)


def test_rows_that_tie_with_a_threshold_are_counted_as_accepted():
    """Two risks, and all of the loss at the greater one: nothing but ties."""
    risk, loss = np.repeat([0.2, 0.8], 500), np.repeat([0.0, 1.0], 500)
    for draw in (loss, 0.7 * loss):  # binomial tests, then bets
        rule = RiskControlRule(0.1, cap=1.0, random_state=0).fit(
            risk, draw, calibration=(risk, draw)
        )
        assert rule.threshold_ == 0.2
        assert_array_equal(rule.defer([0.2, 0.8]), [False, True])


def test_the_lower_of_two_values_need_not_be_zero():
    """Losses of 2 or 4 with a mean of 2.2: a chance of 0.1 of the greater one."""
    rng = np.random.default_rng(16)
    u = rng.random(4000)
    loss = np.where(rng.random(4000) < 0.1, 4.0, 2.0)
    rule = RiskControlRule(2.3, cap=4.0, random_state=0).fit(u, loss)
    assert rule.test_ == "binomial"
    assert rule.threshold_ == np.inf
    with pytest.warns(UserWarning, match="everything is deferred"):
        RiskControlRule(2.1, cap=4.0, random_state=0).fit(u, loss)


def test_losses_of_two_values_that_turn_out_to_have_more_are_rounded_up():
    """What is found on the rows to choose on must not break the promise on the others."""
    rng = np.random.default_rng(8)
    fit, (v, y) = pairs(rng, 1000, lambda u: u**2), pairs(rng, 3000, lambda u: u**2)
    rule = RiskControlRule(0.1, cap=1.0, random_state=0)
    plain = clone(rule).fit(*fit, calibration=(v, y))
    rounded = clone(rule).fit(*fit, calibration=(v, np.where(y > 0, 0.01, 0.0)))
    assert rounded.threshold_ == plain.threshold_


def test_calibration_losses_decide_about_the_threshold_but_not_what_is_tried():
    rng = np.random.default_rng(9)
    fit, (v, y) = pairs(rng, 1000), pairs(rng, 1000)
    rule = RiskControlRule(0.1, cap=1.0, random_state=0)
    one = clone(rule).fit(*fit, calibration=(v, y))
    other = clone(rule).fit(*fit, calibration=(rng.random(1000), np.zeros(1000)))
    assert_array_equal(one.thresholds_, other.thresholds_)
    assert other.threshold_ == np.inf  # without a loss everything is accepted
    assert_array_equal(other.defer([0.0, 1e9]), [False, False])
    assert one.threshold_ < 0.25


def test_a_sorted_table_does_no_harm():
    """Small losses first: taken in that order, the bets would be won before they are lost."""
    rng = np.random.default_rng(17)
    loss = np.sort(rng.random(3000))
    rule = RiskControlRule(0.3, cap=1.0, random_state=0)  # the mean is 0.5
    with pytest.warns(UserWarning, match="everything is deferred"):
        rule.fit(rng.random(1000), rng.random(1000), calibration=(rng.random(3000), loss))
    assert rule.test_ == "betting"


@pytest.mark.parametrize("rule", RULES)
def test_what_is_tried_does_not_depend_on_the_rows_that_test_it(rule):
    """A rule that divides pairs by itself: new losses of the tested rows, the same thresholds."""
    rng = np.random.default_rng(18)
    risk, loss = pairs(rng, 1000)
    rule = clone(rule).set_params(random_state=0)
    kept = rule.hold_back(1000, fits_model=False)
    other = loss.copy()
    other[kept] = 0.0
    one, two = clone(rule).fit(risk, loss), clone(rule).fit(risk, other)
    assert one.n_calibration_ == len(kept) == 700
    if isinstance(rule, RiskControlRule):
        assert_array_equal(one.thresholds_, two.thresholds_)
        assert one.threshold_ < two.threshold_ == np.inf
        risk[kept] = 2.0  # nor is what they would be tested at looked at
        with pytest.warns(UserWarning, match="everything is deferred"):
            assert_array_equal(clone(rule).fit(risk, loss).thresholds_, one.thresholds_)
    else:
        assert one.threshold_ == two.threshold_
        assert two.risk_bound_ < 0.01 < 0.3 < one.risk_bound_


def test_a_cap_above_the_greatest_loss_is_no_cap():
    rng = np.random.default_rng(19)
    fit, held = pairs(rng, 1000), pairs(rng, 1000)
    found = [
        RiskControlRule(0.1, cap=cap, random_state=0).fit(*fit, calibration=held, loss_bound=1.0)
        for cap in (None, 1.0, 5.0)
    ]
    assert len({rule.threshold_ for rule in found}) == 1
    assert {rule.test_ for rule in found} == {"binomial"}


def test_groups_are_held_back_whole():
    groups = np.arange(400) // 20
    rule = RiskControlRule(0.1, cap=1.0, guarantee=False, calibration_size=0.5, random_state=0)
    kept = rule.hold_back(400, groups=groups)
    assert len(kept) == 200
    assert not set(groups[kept]) & set(np.delete(groups, kept))


def test_tests_stop_at_the_first_failure():
    rng = np.random.default_rng(10)
    for draw in (pairs, lambda rng, n: (u := rng.random(n), u * rng.random(n))):
        rule = RiskControlRule(0.1, cap=1.0, random_state=0)
        rule.fit(*draw(rng, 2000), calibration=draw(rng, 3000))
        reached = np.isfinite(rule.p_values_)
        n_passed = np.sum(rule.p_values_ <= 0.1)
        assert_array_equal(reached, np.arange(len(reached)) <= n_passed)
        assert rule.threshold_ == rule.thresholds_[n_passed - 1]
        assert (np.diff(rule.thresholds_) > 0).all()


def test_bets_are_as_large_as_when_their_power_was_measured():
    """Others are as sound; results/risk_control.json is about these."""
    for criterion, first in (("selective", 0.09102386), ("generalized", 0.03347204)):
        rng = np.random.default_rng(0)
        u, v = rng.random(1000), rng.random(1000)
        rule = RiskControlRule(0.1, criterion=criterion, cap=1.0, random_state=0)
        loss, held = 0.8 * u * rng.random(1000), 0.8 * v * rng.random(1000)
        rule.fit(u, loss, calibration=(v, held))
        assert_allclose(rule.p_values_[0], first, rtol=1e-6)


def test_infeasible_says_so_and_defers_all():
    rng = np.random.default_rng(11)
    rule = RiskControlRule(0.05, cap=1.0, random_state=0)
    with pytest.warns(UserWarning, match=r"target=0\.05"):
        rule.fit(*pairs(rng, 500, lambda u: 0.3 + u / 2))
    assert not rule.feasible_
    assert rule.threshold_ == -np.inf
    assert rule.defer([-1e9, 0.5]).all()
    with pytest.warns(UserWarning, match="everything is deferred"):
        RiskControlRule(0.0, cap=1.0).fit([0.1] * 50, [0.0] * 50)  # nothing proves a zero


def test_a_target_above_every_loss_accepts_all():
    rule = RiskControlRule(1.0, cap=1.0).fit([0.1, 0.2, 0.3], [1.0, 1.0, 1.0])
    assert rule.feasible_
    assert not rule.defer([1e9]).any()


def test_the_cap_is_what_is_controlled():
    """Losses of 10 with chance 0.1 count as 1: the mean of the capped loss is 0.1."""
    rng = np.random.default_rng(12)
    u = rng.random(4000)
    loss = 10.0 * (rng.random(4000) < 0.1)
    rule = RiskControlRule(0.15, cap=1.0, random_state=0).fit(u, loss)
    assert rule.threshold_ == np.inf
    assert "min(loss, 1)" in rule.guarantee_


# -- the dual ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["0/1", "uniform", "weighted"])
def test_rate_and_bound_are_both_kept(kind):
    broken, rates, bounds = 0, [], []
    for k in range(150):
        rng = np.random.default_rng([13, k])
        (u, z), (v, y) = pairs(rng, 1000), pairs(rng, 2000)
        if kind != "0/1":
            z, y = 2 * u * rng.random(1000), 2 * v * rng.random(2000)
        if kind == "weighted":
            rule = RateControlRule(0.3, cap=2.0, max_weight=2.0, random_state=k)
            rule.fit(u, z, sample_weight=2 * u, calibration=(v, y, 2 * v))
            t = min(rule.threshold_, 1.0)
            rate, mean = 1 - t**2, 2 * t / 3
        else:
            rule = RateControlRule(0.3, cap=1.0 if kind == "0/1" else 2.0, random_state=k)
            rule.fit(u, z, calibration=(v, y))
            t = min(rule.threshold_, 1.0)
            rate, mean = 1 - t, t / 2
        broken += (rate > 0.3) or (mean > rule.risk_bound_)
        rates.append(rate)
        bounds.append(rule.risk_bound_ - mean)
    assert not too_often(broken, 150, 0.1)
    assert 0.25 < np.mean(rates) < 0.3
    assert 0 < np.mean(bounds) < 0.06


def test_rate_and_bound_share_the_error_and_the_bound_pays_for_the_choice():
    """Half of the error is for the rate; of the rest, each threshold has a share."""
    n_close = 0
    for k in range(60):
        rng = np.random.default_rng([20, k])
        fit, (v, y) = pairs(rng, 1000), pairs(rng, 500)
        rule = RateControlRule(0.3, cap=1.0, random_state=0).fit(*fit, calibration=(v, y))
        deferred, accepted = v > rule.threshold_, v <= rule.threshold_
        p_value = binomial_p_values(deferred.sum(), 500, 0.3)
        assert p_value <= 0.05 or rule.threshold_ == np.inf
        n_close += 0.05 / 4 < p_value <= 0.05  # such that a greater level would go further
        limits = [
            binomial_upper(int(y[accepted].sum()), int(accepted.sum()), level)
            for level in (0.05 / 2, 0.05 / 10)  # of one threshold, and of nine
        ]
        assert limits[0] <= rule.risk_bound_ <= limits[1]
    assert n_close > 5


def test_a_rate_does_not_count_ties_with_the_threshold():
    risk = np.repeat([0.2, 0.8], [800, 200])
    rule = RateControlRule(0.3, cap=1.0, random_state=0).fit(risk, risk, calibration=(risk, risk))
    assert rule.threshold_ == 0.2
    assert_array_equal(rule.defer([0.2, 0.8]), [False, True])


def test_a_bound_that_nothing_refutes_is_the_greatest_loss():
    rng = np.random.default_rng(21)
    u = rng.random(500)
    rule = RateControlRule(0.3, cap=1.0, random_state=0)
    rule.fit(u, rng.random(500), calibration=(u, np.ones(500)))
    assert (rule.test_, rule.risk_bound_) == ("betting", 1.0)


def test_rate_of_zero_defers_none_and_still_bounds_the_risk():
    rng = np.random.default_rng(14)
    rule = RateControlRule(0.0, cap=1.0, random_state=0).fit(*pairs(rng, 3000))
    assert rule.threshold_ == np.inf
    assert 0.5 < rule.risk_bound_ < 0.55


# -- the model that carries them -------------------------------------------------------------------


@pytest.fixture
def world():
    return make_gaussian_mixture(1500, random_state=0)


def plug_in():
    return PlugInRisk(LogisticRegression(), cv=3, random_state=0)


def test_rows_are_set_aside_from_predictor_and_risk(world):
    """Labels of the kept rows change the threshold, and nothing else."""
    rule = RiskControlRule(0.12, random_state=0)
    kept = rule.hold_back(1500, loss_bound=1.0)
    model = Deferral(plug_in(), rule=rule).fit(world.X, world.y)
    y = world.y.copy()
    y[kept] = (y[kept] + 1) % 3
    with pytest.warns(UserWarning, match="everything is deferred"):
        other = Deferral(plug_in(), rule=rule).fit(world.X, y)
    assert_array_equal(model.predict_risk(world.X), other.predict_risk(world.X))
    assert_array_equal(model.predict_proba(world.X), other.predict_proba(world.X))
    assert_array_equal(model.rule_.thresholds_, other.rule_.thresholds_)
    assert model.rule_.feasible_
    assert not other.rule_.feasible_
    assert model.rule_.n_calibration_ == len(kept) == 450


def test_given_calibration_rows_equal_the_same_rows_set_aside(world):
    rule = RiskControlRule(0.12, random_state=0)
    kept = rule.hold_back(1500, loss_bound=1.0)
    rest = np.delete(np.arange(1500), kept)
    model = Deferral(plug_in(), rule=rule).fit(world.X, world.y)
    given = Deferral(plug_in(), rule=rule)
    given.fit(world.X[rest], world.y[rest], calibration=(world.X[kept], world.y[kept]))
    assert given.rule_.threshold_ == model.rule_.threshold_
    by_hand = clone(rule).set_params(cap=1.0)
    fitted = plug_in().fit(world.X[rest], world.y[rest])
    X, y = world.X[kept], world.y[kept]
    held = (fitted.predict_risk(X), fitted.loss_values(X, y))
    by_hand.fit(fitted.held_out_.risks, fitted.held_out_.losses, calibration=held)
    assert by_hand.threshold_ == model.rule_.threshold_


def test_a_frozen_risk_keeps_most_rows_for_the_tests(world):
    fitted = plug_in().fit(world.X, world.y)
    fresh = world.sample(1000, random_state=1)
    rule = RiskControlRule(0.12, random_state=0)
    model = Deferral(FrozenEstimator(fitted), rule=rule).fit(fresh.X, fresh.y)
    assert model.rule_.n_calibration_ == 700
    assert model.risk_.estimator is fitted
    given = Deferral(FrozenEstimator(fitted), rule=rule)
    given.fit(fresh.X[:300], fresh.y[:300], calibration=(fresh.X[300:], fresh.y[300:]))
    assert given.rule_.n_calibration_ == 700


def test_the_promise_is_written_on_rule_and_decision(world):
    model = Deferral(plug_in(), rule=RiskControlRule(0.12, random_state=0))
    decision = model.fit(world.X, world.y).decide(world.X)
    assert decision.guarantee == "mean loss of accepted rows <= 0.12 with probability >= 0.9"
    assert decision.guarantee in repr(decision)
    budget = Deferral(plug_in(), rule=BudgetRule(0.1)).fit(world.X, world.y)
    assert budget.decide(world.X).guarantee is None


@pytest.mark.parametrize("rule", [RiskControlRule(0.12), RateControlRule(0.2)])
def test_out_of_fold_pairs_are_refused_or_labelled(world, rule):
    rule = clone(rule).set_params(random_state=0)
    with pytest.raises(ValueError, match=r"calibration_size .* out-of-fold .* guarantee=False"):
        Deferral(plug_in(), rule=clone(rule).set_params(calibration_size=0)).fit(world.X, world.y)
    model = Deferral(plug_in(), rule=clone(rule).set_params(guarantee=False))
    model.fit(world.X, world.y)
    assert model.rule_.n_calibration_ == 1500
    assert_array_equal(model.risk_.held_out_.risks, plug_in().fit(world.X, world.y).held_out_.risks)
    assert model.rule_.guarantee_ == "no guarantee"
    assert "no guarantee" in repr(model.decide(world.X))
    assert "guarantee=False" in repr(model.rule_)


class Around(BaseEstimator):
    """A rule that changes what another accepts."""

    def __init__(self, rule):
        self.rule = rule

    def fit(self, risk, loss, *, X=None, sample_weight=None):
        self.rule_ = clone(self.rule).fit(risk, loss)
        return self

    def defer(self, risk, *, X=None, cost=None):
        return self.rule_.defer(risk)


def test_inside_another_rule_there_is_no_promise(world):
    rule = RiskControlRule(0.12, cap=1.0, random_state=0)
    with pytest.raises(ValueError, match="RiskControlRule inside Around cannot give its guarantee"):
        Deferral(plug_in(), rule=Around(rule)).fit(world.X, world.y)
    loose = Around(clone(rule).set_params(guarantee=False))
    model = Deferral(plug_in(), rule=loose).fit(world.X, world.y)
    assert model.rule_.rule_.guarantee_ == "no guarantee"


def test_groups_are_refused_or_kept_together():
    world = make_heteroscedastic(400, random_state=0)
    groups = np.arange(400) // 20
    risk = RegressionRisk(Ridge(), regressor=Ridge(), cv=2, random_state=0)
    rule = RiskControlRule(2.0, cap=8.0, random_state=0)
    with pytest.raises(ValueError, match="groups: rows of one group"):
        Deferral(risk, rule=rule).fit(world.X, world.y, groups=groups)
    loose = clone(rule).set_params(guarantee=False, calibration_size=0.5)
    model = Deferral(risk, rule=loose).fit(world.X, world.y, groups=groups)
    assert model.rule_.n_calibration_ == 200
    assert model.rule_.guarantee_ == "no guarantee"
    # Rows that are given apart do not depend on the groups of the others.
    more = world.sample(400, random_state=1)
    kept = clone(rule).set_params(calibration_size=0.0)
    model = Deferral(risk, rule=kept).fit(
        world.X, world.y, groups=groups, calibration=(more.X, more.y)
    )
    assert model.rule_.n_calibration_ == 400
    assert model.rule_.guarantee_ != "no guarantee"


def test_unbounded_losses_need_a_cap_before_anything_is_fitted():
    world = make_heteroscedastic(200, random_state=0)

    class Never(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("fitted before the check")

    for risk in (
        RegressionRisk(Never()),
        make_pipeline(StandardScaler(), RegressionRisk(Never())),
        RegressionRisk(Never(), loss=make_loss(lambda y, p: abs(y - p))),
    ):
        with pytest.raises(ValueError, match="cap must be given"):
            Deferral(risk, rule=RiskControlRule(1.0)).fit(world.X, world.y)
    with pytest.raises(ValueError, match="max_weight must be given"):
        Deferral(RegressionRisk(Never()), rule=RiskControlRule(1.0, cap=9.0)).fit(
            world.X, world.y, sample_weight=np.ones(200)
        )
    with pytest.raises(ValueError, match="cap must be given"):
        RiskControlRule(0.1).fit([0.1, 0.2], [0.0, 1.0])


@pytest.mark.parametrize(
    ("loss", "most"),
    [
        ("zero_one", 1.0),
        ("brier", 2.0),
        ("log_loss", -np.log(2.0**-52)),
        ([[0, 3], [7, -1]], 7.0),
        ("squared_error", np.inf),
    ],
)
def test_greatest_losses(loss, most):
    assert get_loss(loss).maximum == pytest.approx(most)


def test_weights_reach_the_rule_with_routing_and_without(world):
    weight = np.random.default_rng(0).uniform(0.5, 1.0, 1500)
    rule = RiskControlRule(0.12, max_weight=1.0, random_state=0)
    plain = Deferral(plug_in(), rule=rule).fit(world.X, world.y, sample_weight=weight)
    assert plain.rule_.test_ == "betting"
    kept = rule.hold_back(1500, loss_bound=1.0)
    rest = np.delete(np.arange(1500), kept)
    given = Deferral(plug_in(), rule=rule).fit(
        world.X[rest],
        world.y[rest],
        sample_weight=weight[rest],
        calibration=(world.X[kept], world.y[kept], weight[kept]),
    )
    assert given.rule_.threshold_ == plain.rule_.threshold_
    with sklearn.config_context(enable_metadata_routing=True):
        predictor = LogisticRegression().set_fit_request(sample_weight=True)
        risk = PlugInRisk(predictor, cv=3, random_state=0)
        risk.set_fit_request(sample_weight=True, prediction=False)
        routed = Deferral(risk, rule=rule).fit(world.X, world.y, sample_weight=weight)
    assert routed.rule_.threshold_ == plain.rule_.threshold_


def test_losses_that_are_given_are_what_is_tested(world):
    rule = RiskControlRule(0.1, cap=1.0, random_state=0)
    kept = rule.hold_back(1500)
    loss = np.zeros(1500)
    model = Deferral(RegressionRisk("precomputed", regressor=Ridge()), rule=rule)
    assert not clone(model).fit(world.X, loss=loss).defer(world.X).any()
    loss[kept] = 1.0
    with pytest.warns(UserWarning, match="everything is deferred"):
        assert model.fit(world.X, loss=loss).defer(world.X).all()


def test_a_predictor_that_lives_elsewhere(world):
    proba = LogisticRegression().fit(world.X[:300], world.y[:300]).predict_proba(world.X)
    X, y, proba = world.X[300:], world.y[300:], proba[300:]
    rule = RiskControlRule(0.12, random_state=0)
    risk = PlugInRisk("precomputed", probability=LogisticRegression())
    model = Deferral(risk, rule=rule).fit(X, y, prediction=proba)
    kept = rule.hold_back(1200, loss_bound=1.0)
    assert model.rule_.n_calibration_ == len(kept)
    assert 0 < model.defer(X, prediction=proba).mean() < 1
    with pytest.raises(ValueError, match="calibration cannot be given"):
        Deferral(risk, rule=rule).fit(X, y, prediction=proba, calibration=(X, y))


def test_they_clone_pickle_search_and_repeat(world):
    for rule in RULES:
        assert clone(rule).get_params() == rule.get_params()
    model = Deferral(plug_in(), cost=0.2, rule=RiskControlRule(0.28, random_state=0))
    fitted = clone(model).fit(world.X, world.y)
    again = pickle.loads(pickle.dumps(clone(model).fit(world.X, world.y)))
    assert_array_equal(fitted.defer(world.X), again.defer(world.X))
    search = GridSearchCV(model, {"rule__target": [0.28, 0.4]}, cv=2).fit(world.X, world.y)
    assert search.best_estimator_.rule_.target in (0.28, 0.4)
    assert np.isfinite(cross_val_score(model, world.X, world.y, cv=2)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.set_params(confidence=1.0).fit([0.1], [0.0]), "'confidence' parameter"),
        (lambda r: r.set_params(cap=np.inf).fit([0.1], [0.0]), "'cap' parameter"),
        (lambda r: r.set_params(calibration_size=1.0).fit([0.1], [0.0]), "'calibration_size'"),
        (lambda r: r.set_params(max_weight=0.0).fit([0.1], [0.0]), "'max_weight' parameter"),
        (lambda r: r.fit([0.1, np.nan], [0.0, 0.0]), "risk must be finite"),
        (lambda r: r.fit([0.1, 0.2], [0.0]), "loss and risk must have the same length"),
        (lambda r: r.fit([0.1], [0.0]), "at least two rows"),
        (lambda r: r.fit([0.1], [0.0], calibration=[1.0]), "calibration must be a tuple"),
        (
            lambda r: r.set_params(max_weight=1.0).fit([0.1] * 9, [0.0] * 9, sample_weight=[2] * 9),
            "must not exceed max_weight=1, got 2",
        ),
        (
            lambda r: r.set_params(max_weight=1.0).fit(
                [0.1], [0.0], sample_weight=[1], calibration=([0.1], [0.0])
            ),
            "sample_weight must be given for the calibration rows",
        ),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_they_say_what_is_wrong(rule, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(clone(rule))


def test_the_model_says_what_is_wrong(world):
    X, y = world.X, world.y
    with pytest.raises(ValueError, match="calibration is for rules that are fitted"):
        Deferral(plug_in(), cost=0.1).fit(X, y, calibration=(X, y))
    with pytest.raises(ValueError, match="calibration must be a tuple"):
        Deferral(plug_in(), rule=RULES[0]).fit(X, y, calibration=X)
    with pytest.raises(ValueError, match=r"calibration must be \(X, y, sample_weight\)"):
        Deferral(plug_in(), rule=clone(RULES[0]).set_params(max_weight=1.0)).fit(
            X, y, sample_weight=np.ones(1500), calibration=(X, y)
        )
    with pytest.raises(sklearn.exceptions.NotFittedError):
        RULES[0].defer([0.1])
