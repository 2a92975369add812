"""Assessments of held-out rows: intervals cover, tests keep their level, comparisons agree."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest

from condrisk.assessment import calibration_test, compare_risks, deferral_savings
from condrisk.metrics import aurc, deferral_loss, risk_calibration_error


def draw(n, rng, kind="gamma"):
    """Return the true risk of rows, and losses of that mean."""
    g = rng.gamma(2.0, 0.5, n)
    if kind == "zero_one":
        g = np.clip(g / 10, 0, 0.5)
        return g, (rng.random(n) < g).astype(float)
    return g, g * rng.exponential(size=n)


def test_a_few_wrong_answers_or_none_do_not_look_certain():
    # 60 rows, of which one in 40 would be wrong: none is, one time in five.
    risk, loss = np.full(60, 0.025), np.zeros(60)
    found = calibration_test(loss, risk)
    assert not found.level_is_off
    assert found.excess.lower >= -1.0
    saved = deferral_savings(loss, np.arange(60) < 3, 0.02)
    assert saved.choice.startswith("as good as")
    assert saved.below_always.lower < 0
    # Many rows without any error do tell.
    many = calibration_test(np.zeros(3000), np.full(3000, 0.025))
    assert many.level_is_off
    assert many.excess.upper < -0.9


def test_one_cost_for_all_rows_is_known_exactly():
    # The mean of equal numbers is not always that number.
    always = deferral_savings(np.arange(60.0), np.arange(60) < 9, 0.05).always
    assert (always.estimate, always.lower, always.upper) == (0.05, 0.05, 0.05)


@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_intervals_of_wrong_answers_cover_whatever_their_number(rate):
    rng = np.random.default_rng(0)
    saved, level = [], []
    for _ in range(200):
        risk = rng.beta(1, 1 / rate - 1, 80)
        loss = (rng.random(80) < risk).astype(float)
        found = deferral_savings(loss, risk > 0.1, 0.1)
        truth = np.where(risk > 0.1, 0.0, 0.1 - risk).mean()
        saved.append(found.below_always.lower <= truth <= found.below_always.upper)
        level.append(not calibration_test(loss, risk).level_is_off)
    assert min(np.mean(saved), np.mean(level)) >= 0.95


# -- does deferring pay -------------------------------------------------------------------------


def test_savings_are_scipys_paired_intervals(seed):
    rng = np.random.default_rng(seed)
    risk, loss = draw(300, rng)
    found = deferral_savings(loss, risk > 0.8, 0.8)
    paid = np.where(risk > 0.8, 0.8, loss)
    for part, values in ((found.below_never, loss - paid), (found.below_always, 0.8 - paid)):
        wanted = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert (part.lower, part.upper) == pytest.approx((wanted.low, wanted.high))
    assert found.deferral_loss.estimate == pytest.approx(deferral_loss(loss, risk, 0.8))
    assert found.deferral_rate == np.mean(risk > 0.8)


def test_the_choice_is_what_the_costs_of_the_three_ways_say():
    rng = np.random.default_rng(0)
    risk, loss = draw(4000, rng)
    assert deferral_savings(loss, risk > 1.0, 1.0).choice == "by risk"
    # Deferring the wrong half is dearer than either, at a cost on either side of the mean loss.
    assert deferral_savings(loss, risk < 1.0, 0.5).choice == "everything"
    assert deferral_savings(loss, risk < 1.0, 1.7).choice == "nothing"
    few = np.arange(4000) < 5
    assert deferral_savings(loss, few, 1.3).choice == "as good as nothing"
    assert deferral_savings(loss, ~few, 0.7).choice == "as good as everything"
    assert deferral_savings(loss, np.ones(4000, bool), 0.1).choice == "everything"
    assert deferral_savings(loss, np.zeros(4000, bool), 9.0).choice == "nothing"


def test_one_cost_a_row_is_paid_where_its_row_is_deferred():
    found = deferral_savings([1.0, 5.0, 2.0], np.array([False, True, True]), [9.0, 2.0, 3.0])
    assert found.deferral_loss.estimate == pytest.approx((1 + 2 + 3) / 3)
    assert found.always.estimate == pytest.approx(14 / 3)


@pytest.mark.parametrize("deferred", [[True], [1, 0, 1], np.ones((3, 1), bool)])
def test_a_decision_of_another_kind_is_refused(deferred):
    with pytest.raises(ValueError, match="deferred must be true or false for each of 3 rows"):
        deferral_savings([1.0, 2.0, 3.0], deferred, 1.0)


# -- calibration --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gamma", "zero_one"])
def test_a_right_risk_is_rejected_as_seldom_as_said(kind):
    rng = np.random.default_rng(1)
    level, shape = 0, 0
    for _ in range(400):
        risk, loss = draw(500, rng, kind)
        found = calibration_test(loss, risk)
        level += found.level_is_off
        shape += found.shape_is_off
    for rejected in (level, shape):
        assert binomtest(rejected, 400, 0.05, alternative="greater").pvalue > 0.001
        assert rejected > 2  # a test that never rejects is none


def test_the_share_by_which_losses_are_above_is_covered():
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(400):
        risk, loss = draw(500, rng)
        found = calibration_test(1.35 * loss, risk).excess
        inside += found.lower <= 0.35 <= found.upper
    assert binomtest(inside, 400, 0.95).pvalue > 0.001


def test_a_risk_right_on_average_and_wrong_at_its_ends_is_found(seed):
    rng = np.random.default_rng(seed)
    risk, loss = draw(3000, rng)
    flat = 0.5 * risk + 0.5 * risk.mean() + loss.mean() - risk.mean()
    found = calibration_test(loss, flat)
    assert found.shape_is_off
    assert not found.level_is_off
    assert found.error == pytest.approx(risk_calibration_error(loss, flat))
    assert found.error > found.noise


def test_losses_below_zero_have_a_difference_and_no_share():
    rng = np.random.default_rng(3)
    found = calibration_test(rng.normal(-1, 1, 200), np.full(200, -1.0))
    assert found.excess is None
    assert found.difference.lower <= 0 <= found.difference.upper


# -- two models ---------------------------------------------------------------------------------


def test_figures_of_a_comparison_are_those_of_the_metrics(seed):
    rng = np.random.default_rng(seed)
    risk, loss = draw(400, rng)
    other = np.round(risk * rng.uniform(0.5, 2, 400), 1)  # with ties
    found = compare_risks((loss, 2 * loss), (risk, other), n_resamples=20)
    assert (found.aurc.first, found.aurc.second) == (aurc(loss, risk), aurc(2 * loss, other))
    assert found.mean_loss.second == pytest.approx(2 * loss.mean())
    assert found.calibration_error.first == risk_calibration_error(loss, risk)
    for k in (0, 50, -1):
        assert found.first[k] == pytest.approx(deferral_loss(loss, risk, found.cost[k]))
        assert found.second[k] == pytest.approx(deferral_loss(2 * loss, other, found.cost[k]))
    np.testing.assert_allclose(found.difference, found.first - found.second)


def test_draws_count_rows_as_the_metrics_weigh_them():
    """A draw of the rows is a weight for each; the metrics say what such weights give."""
    from condrisk.assessment._comparison import _Model

    rng = np.random.default_rng(0)
    risk, loss = draw(200, rng)
    risk = np.round(risk, 1)
    weight = rng.integers(0, 4, 200).astype(float)
    costs = np.array([0.3, 1.0, 2.0])
    area, _, *deferral = _Model(loss, risk, costs).figures(weight)
    assert area == pytest.approx(aurc(loss, risk, sample_weight=weight))
    wanted = [deferral_loss(loss, risk, cost, sample_weight=weight) for cost in costs]
    assert deferral == pytest.approx(wanted)


def test_intervals_of_a_difference_that_is_nothing_have_zero_in_them():
    """Two noisy estimates of one risk, equally good: the intervals say so as often as they say."""
    rng = np.random.default_rng(4)
    names, inside, band = ("aurc", "calibration_error"), [], 0
    for _ in range(150):
        g, loss = draw(300, rng)
        risks = tuple(g * rng.uniform(0.7, 1.3, 300) for _ in range(2))
        found = compare_risks((loss, loss), risks, n_resamples=100)
        inside.append([getattr(found, name).better is None for name in names])
        band += bool(((found.lower <= 0) & (found.upper >= 0)).all())
    for count in (*np.sum(inside, axis=0), band):
        assert binomtest(int(count), 150, 0.95, alternative="less").pvalue > 0.001


def test_the_better_risk_wins_and_models_change_places():
    rng = np.random.default_rng(5)
    g, loss = draw(2000, rng)
    found = compare_risks((loss, loss), (g, np.full(2000, 1.0)))
    back = compare_risks((loss, loss), (np.full(2000, 1.0), g))
    assert (found.aurc.better, back.aurc.better) == (0, 1)
    assert (found.upper < 0).any()
    assert not (found.lower > 0).any()
    np.testing.assert_allclose(found.lower, -back.upper)


def test_rows_of_different_tables_are_refused():
    with pytest.raises(ValueError, match="must be of the same rows"):
        compare_risks(([1.0], [1.0, 2.0]), ([1.0], [1.0, 2.0]))
