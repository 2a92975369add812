"""Deferral loss, deferral rate, risk error and the cost curve against slow ways to them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score, mean_absolute_error, mean_squared_error

from condrisk.metrics import cost_curve, deferral_loss, deferral_rate, risk_error


@pytest.fixture
def rows(seed):
    rng = np.random.default_rng(seed)
    n = 80
    return rng.exponential(size=n), rng.integers(0, 9, n) / 4, rng.uniform(0, 2, n)


def loop_deferral(loss, risk, cost, weight):
    """Return the mean price paid and the share of rows deferred, row by row."""
    paid = asked = 0.0
    for row_loss, row_risk, price, row_weight in zip(loss, risk, cost, weight, strict=True):
        deferred = row_risk > price
        paid += row_weight * (price if deferred else row_loss)
        asked += row_weight * deferred
    return paid / sum(weight), asked / sum(weight)


def test_deferral_against_a_loop(rows, seed):
    loss, risk, weight = rows
    costs = [np.full(80, 0.75), np.random.default_rng(seed).integers(0, 9, 80) / 4]
    for cost in costs:
        expected_loss, expected_rate = loop_deferral(loss, risk, cost, weight)
        assert deferral_loss(loss, risk, cost, sample_weight=weight) == pytest.approx(expected_loss)
        assert deferral_rate(risk, cost, sample_weight=weight) == pytest.approx(expected_rate)


def test_risk_equal_to_the_cost_is_accepted():
    assert deferral_loss([2.0], [0.5], 0.5) == 2.0
    assert deferral_rate([0.5], 0.5) == 0.0
    assert deferral_rate([np.nextafter(0.5, 1)], 0.5) == 1.0


def test_price_for_all_rows_is_that_price_for_each(rows):
    loss, risk, weight = rows
    each = np.full(80, 0.3)
    assert deferral_loss(loss, risk, 0.3) == deferral_loss(loss, risk, each)
    assert deferral_rate(risk, 0.3, sample_weight=weight) == deferral_rate(
        risk, each, sample_weight=weight
    )


def test_accuracy_of_what_is_accepted(seed):
    """With the zero-one loss and no price the deferral loss counts the accepted mistakes."""
    rng = np.random.default_rng(seed)
    y_true, y_pred, risk = rng.integers(0, 3, 200), rng.integers(0, 3, 200), rng.normal(size=200)
    accepted = risk <= 0
    mistakes = (1 - accuracy_score(y_true[accepted], y_pred[accepted])) * accepted.mean()
    assert deferral_loss(y_true != y_pred, risk, 0.0) == pytest.approx(mistakes)
    assert deferral_rate(risk, 0.0) == pytest.approx(1 - accepted.mean())


def test_risk_error_against_scikit_learn(rows):
    loss, risk, weight = rows
    for sample_weight in (None, weight):
        squared = mean_squared_error(loss, risk, sample_weight=sample_weight)
        absolute = mean_absolute_error(loss, risk, sample_weight=sample_weight)
        assert risk_error(loss, risk, sample_weight=sample_weight) == pytest.approx(squared)
        assert risk_error(loss, risk, norm=1, sample_weight=sample_weight) == pytest.approx(
            absolute
        )


def test_the_mean_wins_the_squared_error_and_the_median_the_absolute(seed):
    loss = np.random.default_rng(seed).exponential(size=2000)
    mean, median = np.full(2000, loss.mean()), np.full(2000, np.median(loss))
    assert risk_error(loss, mean) < risk_error(loss, median)
    assert risk_error(loss, median, norm=1) < risk_error(loss, mean, norm=1)


@pytest.mark.parametrize("norm", [0, 3, 1.5, "2", None])
def test_other_norms_are_refused(norm):
    with pytest.raises(ValueError, match="norm must be 1"):
        risk_error([1.0], [1.0], norm=norm)


@pytest.mark.parametrize("weighted", [False, True])
def test_cost_curve_against_a_loop(rows, weighted):
    loss, risk, weight = rows
    weight = weight if weighted else np.ones(80)
    costs = np.array([0.25, 5.0, 0.0, 0.6, 1.0, 1.0])  # any order, some equal to risks
    curve = cost_curve(loss, risk, costs=costs, sample_weight=weight if weighted else None)
    expected = [loop_deferral(loss, risk, np.full(80, cost), weight) for cost in costs]
    oracle = [loop_deferral(loss, loss, np.full(80, cost), weight)[0] for cost in costs]
    assert_allclose(np.column_stack([curve.deferral_loss, curve.deferral_rate]), expected)
    assert_allclose(curve.oracle, oracle)
    assert_allclose(curve.always_defer, costs)
    assert_allclose(curve.cost, costs)
    assert_allclose(curve.never_defer, np.average(loss, weights=weight))


def test_cost_curve_at_its_own_costs(rows):
    loss, risk, weight = rows
    curve = cost_curve(loss, risk, sample_weight=weight)
    greatest = max(
        np.quantile(values, 0.95, method="inverted_cdf", weights=weight) for values in (loss, risk)
    )
    assert_allclose(curve.cost, np.linspace(0, greatest, 101))
    same = cost_curve(loss, risk, costs=curve.cost, sample_weight=weight)
    assert_allclose(np.array(curve), np.array(same))


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.9, 1.3])
@pytest.mark.parametrize("n", [20, 60, 100])
def test_constant_weights_move_no_cost(weight, n):
    """Exactly 95 % of the rows lie at or below one of them, up to rounding."""
    risk = np.arange(1, n + 1)
    curve = cost_curve(np.zeros(n), risk, sample_weight=np.full(n, weight))
    assert curve.cost[-1] == 0.95 * n


@pytest.mark.parametrize("value", [0.0, -2.0])
def test_costs_without_a_positive_loss(value):
    curve = cost_curve([value, value], [value, value])
    assert_allclose(curve.cost, np.linspace(0, 1, 101))
    assert_allclose(curve.deferral_loss, value)


def test_cost_curve_keeps_no_rows_by_costs_array():
    import tracemalloc

    n, m = 20_000, 20_000
    rng = np.random.default_rng(0)
    loss, risk, costs = rng.random((3, n))
    tracemalloc.start()
    cost_curve(loss, risk, costs=costs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 8 * (n + m)
