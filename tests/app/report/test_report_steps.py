"""The sums that a page is drawn from give what `condrisk.metrics` gives for the rows."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown import profile

from condrisk.app.report import _steps, report_from_arrays, report_from_manifest
from condrisk.metrics import (
    cost_curve,
    deferral_loss,
    deferral_rate,
    risk_calibration_curve,
    risk_coverage_curve,
)

numbers = st.floats(0, 100, allow_subnormal=False).map(lambda x: round(x, 2))
rows = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=60)


def sample(n, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    risk = rng.gamma(1.0, 2.0, n)
    risk = np.round(risk, 2) if ties else risk
    return rng.gamma(0.5, 2.0 * risk + 0.01), risk


@given(rows, numbers)
def test_figures_at_a_price_are_those_of_the_metrics(pairs, price):
    loss, risk = np.array(pairs).T
    report = report_from_arrays(loss, risk)
    for cost in (price, *risk[:3]):  # a price that is one of the risks accepts that row
        now = report.at(float(cost))
        assert now.rate == pytest.approx(deferral_rate(risk, cost))
        assert now.loss == pytest.approx(deferral_loss(loss, risk, cost))
        curve = cost_curve(loss, risk, costs=[cost])
        assert now.oracle == pytest.approx(curve.oracle[0])
        assert now.never == pytest.approx(curve.never_defer[0])
        assert now.always == cost
        accepted = loss[risk <= cost]
        assert now.accepted_loss == (pytest.approx(accepted.mean()) if accepted.size else None)


def test_steps_of_few_rows_are_the_points_of_the_coverage_curve(seed):
    loss, risk = sample(500, seed)
    steps = _steps.steps_of(loss, risk)
    curve = risk_coverage_curve(loss, risk)
    np.testing.assert_array_equal(steps.threshold, curve.threshold)
    np.testing.assert_allclose(np.cumsum(steps.rows) / 500, curve.coverage)
    np.testing.assert_allclose(np.cumsum(steps.loss) / np.cumsum(steps.rows), curve.selective_loss)
    np.testing.assert_allclose(steps.squares.sum(), (loss**2).sum())


@pytest.mark.parametrize("ties", [True, False])
def test_many_rows_give_few_steps_that_are_exact_at_their_thresholds(seed, ties):
    loss, risk = sample(_steps.MAX_ROWS + 5_000, seed, ties)
    report = report_from_arrays(loss, risk)
    assert len(report.steps.rows) <= _steps.MAX_STEPS
    assert any("exact sums" in note for note in report.notes) == (not ties)
    for price in np.random.default_rng(seed).choice(report.steps.threshold, 20):
        assert report.at(price).rate == pytest.approx(deferral_rate(risk, price))
        assert report.at(price).loss == pytest.approx(deferral_loss(loss, risk, price))
    widest = report.steps.rows.max() / len(risk)
    for price in np.quantile(risk, np.linspace(0.01, 0.99, 30)) * 1.0001:
        assert 0 <= report.at(price).rate - deferral_rate(risk, price) <= widest
    if not ties:
        assert widest < 0.0011  # what the note promises to be small is small


def test_a_manifest_gives_the_same_at_the_ends_of_its_groups(seed):
    loss, risk = sample(3_000, seed)
    groups = profile(risk, loss)
    report = report_from_manifest({"target": "y", "loss": "squared_error", "profile": groups})
    assert report.n_rows == 3_000
    assert report.mean_loss == pytest.approx(loss.mean())
    assert (report.lowest, report.highest) == (risk.min(), risk.max())
    ends = [group[3] for group in groups]
    # Rows of equal risk may lie in two groups; where they do not, the figures are exact.
    whole = [end for end, after in zip(ends, groups[1:], strict=False) if after[2] > end]
    assert len(whole) > 30
    for price in whole:
        assert report.at(price).rate == pytest.approx(deferral_rate(risk, price))
        assert report.at(price).loss == pytest.approx(deferral_loss(loss, risk, price))
    for price in np.quantile(risk, np.linspace(0, 1, 50)):
        assert abs(report.at(price).rate - deferral_rate(risk, price)) < 0.03
    assert report.at(1.0).oracle is None


def test_bins_are_the_calibration_curve_and_their_limits_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        risk = rng.uniform(0.5, 2.0, 1_000)
        loss = rng.gamma(2.0, risk / 2)  # of mean risk: calibrated
        bins = _steps.bins_of(loss, risk)
        covered.append((bins.low <= bins.risk) & (bins.risk <= bins.high))
    curve = risk_calibration_curve(loss, risk)
    np.testing.assert_array_equal(bins.risk, curve.mean_risk)
    np.testing.assert_array_equal(bins.loss, curve.mean_loss)
    np.testing.assert_array_equal(bins.rows, curve.weight)
    assert 0.93 < np.mean(covered) < 0.97


def test_limits_of_errors_that_are_0_or_1_hold_as_often_as_they_say():
    """Also in groups with hardly any error, where the usual limits are far too narrow."""
    rng = np.random.default_rng(1)
    chance = np.array([0.002, 0.01, 0.05, 0.3])
    wrong = rng.binomial(100, chance, (4_000, 4)) / 100
    rows = np.full(4, 100.0)
    limits = [_steps.mean_limits(mean, mean, rows, floor=0.0) for mean in wrong]
    covered = np.mean([(low <= chance) & (chance <= high) for low, high in limits], axis=0)
    assert (covered > 0.9).all()
    low, high = _steps.mean_limits(np.zeros(1), np.zeros(1), np.full(1, 10.0), floor=0.0)
    assert low == 0
    assert high > 0.2


def test_limits_are_not_below_what_a_mean_can_be():
    mean, squares, rows = np.array([0.1]), np.array([1.0]), np.array([5.0])
    assert _steps.mean_limits(mean, squares, rows, floor=0.0)[0] == 0
    assert _steps.mean_limits(mean, squares, rows, floor=-np.inf)[0] < 0
    assert _steps.floor_of(np.array([0.0, 1.0])) == 0
    assert _steps.floor_of(np.array([-0.1, 1.0])) == -np.inf


def test_bins_of_groups_are_close_to_the_calibration_curve_of_the_rows(seed):
    loss, risk = sample(4_000, seed, ties=False)
    bins, own = _steps.bins_of_groups(profile(risk, loss)), _steps.bins_of(loss, risk)
    np.testing.assert_allclose(bins.rows, own.rows)
    np.testing.assert_allclose(bins.risk, own.risk)
    np.testing.assert_allclose(bins.low, own.low)
    np.testing.assert_allclose(bins.high, own.high)


@given(st.lists(numbers, min_size=1, max_size=50))
def test_every_row_is_in_one_bar_whatever_the_scale(values):
    risk = np.array(values)
    scale = _steps.scale_of(risk, risk)
    assert scale.low < scale.high
    assert not scale.log or scale.low > 0
    bars = _steps.bars_of(risk, scale)
    assert bars.rows.sum() == len(values)
    groups = profile(risk, risk)
    assert _steps.bars_of_groups(groups, scale).rows.sum() == pytest.approx(len(values))


def test_rows_beyond_the_ends_of_a_log_scale_are_in_its_outer_bars():
    risk = np.concatenate([np.zeros(3), [1e-9], np.geomspace(0.001, 10, 200)])
    scale = _steps.scale_of(risk, risk)
    assert scale.log
    assert scale.low > 1e-9
    assert _steps.bars_of(risk, scale).rows.sum() == 204
    assert _steps.bars_of(risk, scale).rows[0] >= 4
    assert _steps.bars_of_groups(profile(risk, risk), scale).rows.sum() == pytest.approx(204)


def test_a_log_scale_is_taken_where_factors_tell_rows_apart():
    wide, narrow = np.geomspace(0.001, 10, 100), np.linspace(1, 2, 100)
    assert _steps.scale_of(wide, wide).log
    assert not _steps.scale_of(narrow, narrow).log
    below_zero = np.append(wide, -1.0)
    assert not _steps.scale_of(below_zero, below_zero).log
    assert _steps.scale_of(np.zeros(5), np.zeros(5)) == (0.0, 1.0, False)


def test_where_asking_by_risk_pays_is_found_as_by_trying_every_price(seed):
    loss, risk = sample(400, seed)
    report = report_from_arrays(loss, risk)
    low, high = report.pays_between()
    prices = np.unique(np.append(risk[risk > 0], loss.mean()))
    saves = [deferral_loss(loss, risk, p) < min(p, loss.mean()) for p in prices]
    inside = [s for p, s in zip(prices, saves, strict=True) if low <= p <= high]
    assert all(inside)
    before = [s for p, s in zip(prices, saves, strict=True) if p < low]
    after = [s for p, s in zip(prices, saves, strict=True) if p > high]
    assert not before or not before[-1]
    assert not after or not after[0]


def test_a_risk_that_misleads_pays_nowhere():
    loss = np.linspace(0.1, 2.0, 50)
    assert report_from_arrays(loss, loss[::-1]).pays_between() is None
    assert report_from_arrays(np.ones(5), np.ones(5)).pays_between() is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0]), "same length"),
        (([np.nan], [1.0]), "finite"),
        (([1e200], [1.0]), "must not exceed"),
    ],
)
def test_arrays_that_cannot_be_shown_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        report_from_arrays(*arguments)


def test_a_frame_of_other_rows_is_refused():
    with pytest.raises(ValueError, match="frame must have 2 rows"):
        report_from_arrays([1.0, 2.0], [1.0, 2.0], frame=pl.DataFrame({"a": [1]}))


@pytest.mark.parametrize(
    "profile",
    [None, [], [[1, 2, 3]], [[0, 1, 1, 1, 1, 1]], [[1, 1, 0, np.inf, 1, 1]], "abc",
     [[1, 1, 1, 2, 1, 1], [1, 1, 0, 1, 1, 1]]],
)  # fmt: skip
def test_a_manifest_without_a_sound_profile_is_refused(profile):
    with pytest.raises(ValueError, match="profile"):
        report_from_manifest({"profile": profile})
