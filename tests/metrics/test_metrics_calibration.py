"""The calibration curve against a loop over bins, and its error against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.calibration import calibration_curve

from condrisk.metrics import risk_calibration_curve, risk_calibration_error


def loop_bins(loss, risk, weight, n_bins, strategy):
    """Put each distinct risk into its bin, then average bin by bin."""
    bins = {}
    for value in sorted(set(risk)):
        tied = risk == value
        if strategy == "quantile":
            place = (weight[risk < value].sum() + weight[tied].sum() / 2) / weight.sum()
        else:
            place = (value - risk.min()) / (np.ptp(risk) or 1.0)
        bins.setdefault(min(int(place * n_bins + 1e-9), n_bins - 1), []).append(tied)
    members = [np.any(bins[number], axis=0) for number in sorted(bins)]
    return (
        np.array([np.average(risk[rows], weights=weight[rows]) for rows in members]),
        np.array([np.average(loss[rows], weights=weight[rows]) for rows in members]),
        np.array([weight[rows].sum() for rows in members]),
    )


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("n_bins", [1, 3, 10, 200])
@pytest.mark.parametrize("n_values", [1, 5, 1000])
def test_curve_against_a_loop(strategy, n_bins, n_values, seed):
    rng = np.random.default_rng(seed)
    loss, weight = rng.exponential(size=(2, 100))
    risk = rng.integers(0, n_values, 100) / 7
    expected = loop_bins(loss, risk, weight, n_bins, strategy)
    options = {"n_bins": n_bins, "strategy": strategy, "sample_weight": weight}
    curve = risk_calibration_curve(loss, risk, **options)
    for one, other in zip(curve, expected, strict=True):
        assert_allclose(one, other, rtol=1e-12)
    gap = np.sum(np.abs(expected[0] - expected[1]) * expected[2]) / weight.sum()
    assert risk_calibration_error(loss, risk, **options) == pytest.approx(gap, rel=1e-12)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_chance_of_error_against_scikit_learn(strategy, seed):
    """The zero-one loss is a binary label, its risk a probability; 0 and 1 are both risks."""
    rng = np.random.default_rng(seed)
    risk = np.concatenate([[0.0, 1.0], rng.random(998)])
    wrong = rng.random(1000) < risk
    frequency, mean_risk = calibration_curve(wrong, risk, n_bins=8, strategy=strategy)
    curve = risk_calibration_curve(wrong, risk, n_bins=8, strategy=strategy)
    assert_allclose(curve.mean_loss, frequency)
    assert_allclose(curve.mean_risk, mean_risk)


@pytest.mark.parametrize("n", [10, 97, 1000])
def test_quantile_bins_are_equal_but_for_one_row(n, seed):
    loss, risk = np.random.default_rng(seed).random((2, n))
    weight = risk_calibration_curve(loss, risk).weight
    assert len(weight) == 10
    assert weight.sum() == n
    assert np.ptp(weight) <= 1


def test_uniform_bins_without_rows_are_dropped():
    curve = risk_calibration_curve([1, 2, 3], [0.0, 0.05, 1.0], n_bins=10, strategy="uniform")
    assert_allclose(curve.mean_risk, [0.025, 1.0])
    assert_allclose(curve.mean_loss, [1.5, 3.0])
    assert_allclose(curve.weight, [2, 1])


def test_edges_of_uniform_bins_belong_above():
    risk = np.arange(101) / 100  # 0.29 * 100 is less than 29 in floating point
    curve = risk_calibration_curve(risk, risk, n_bins=100, strategy="uniform")
    assert_allclose(curve.weight, [1] * 99 + [2])


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.7, 1.1])
@pytest.mark.parametrize("n", [3, 11, 25, 99])
def test_constant_weights_move_no_row_over_an_edge(weight, n):
    """The middle of the middle row is the edge of two bins, up to rounding."""
    risk = np.arange(n)
    rows = risk_calibration_curve(risk, risk, n_bins=2).weight
    weighted = risk_calibration_curve(risk, risk, n_bins=2, sample_weight=np.full(n, weight))
    assert_allclose(rows, [n // 2, n // 2 + 1])
    assert_allclose(weighted.weight, weight * rows)


@settings(deadline=None)
@given(
    loss=st.lists(st.integers(0, 100), min_size=1, max_size=30),
    strategy=st.sampled_from(["quantile", "uniform"]),
    n_bins=st.integers(1, 12),
    n_values=st.integers(1, 5),
    shift=st.integers(-3, 3),
)
def test_error_of_a_risk_that_is_the_mean_loss_of_its_group(
    loss, strategy, n_bins, n_values, shift
):
    """Zero, because bins never cut a group in two; a shift of all risks is the whole error."""
    losses, group = np.array(loss), np.arange(len(loss)) % n_values
    risk = np.array([losses[group == member].mean() for member in group])
    error = risk_calibration_error(losses, risk + shift, n_bins=n_bins, strategy=strategy)
    assert error == pytest.approx(abs(shift), abs=1e-11)


@pytest.mark.parametrize("n_bins", [0, -1, 2.0, True, "10", None])
def test_bad_number_of_bins(n_bins):
    for function in (risk_calibration_curve, risk_calibration_error):
        with pytest.raises(ValueError, match="n_bins must be an integer of at least 1"):
            function([1.0], [1.0], n_bins=n_bins)


@pytest.mark.parametrize("strategy", ["width", None, 3])
def test_bad_strategy(strategy):
    for function in (risk_calibration_curve, risk_calibration_error):
        with pytest.raises(ValueError, match="strategy must be"):
            function([1.0], [1.0], strategy=strategy)
