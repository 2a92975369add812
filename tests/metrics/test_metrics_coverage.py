"""The risk-coverage curve and its area against slow ways to the same numbers."""

from math import fsum, log

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import auc, zero_one_loss

from condrisk.metrics import aurc, excess_aurc, risk_coverage_curve


@pytest.fixture(params=["continuous", "ties", "constant"])
def rows(request, seed):
    rng = np.random.default_rng(seed)
    n = 60
    risk = {"continuous": rng.exponential(size=n), "ties": rng.integers(0, 7, n) / 3}
    return rng.exponential(size=n), risk.get(request.param, np.full(n, 0.4)), rng.uniform(0, 2, n)


def loop_curve(loss, risk, weight):
    """Accept all rows up to each threshold in turn."""
    points = []
    for threshold in sorted(set(risk)):
        accepted = risk <= threshold
        share = fsum(weight[accepted]) / fsum(weight)
        points.append((share, np.average(loss[accepted], weights=weight[accepted]), threshold))
    return tuple(map(np.array, zip(*points, strict=True)))


def loop_area(loss, risk, weight):
    """Sum over distinct risks of mean loss × [H(c) - H(c before)], H(c) = c - c log c."""
    terms, below = [], 0.0
    for value in sorted(set(risk)):
        tied = risk == value
        above = below + fsum(weight[tied])
        lower, upper = below / fsum(weight), above / fsum(weight)
        width = upper - upper * log(upper) - (lower - lower * log(lower) if lower else 0.0)
        terms.append(width * np.average(loss[tied], weights=weight[tied]))
        below = above
    return fsum(terms)


def usual_sum(losses_in_order):
    """Mean over k of the mean of the first k."""
    return np.mean(np.cumsum(losses_in_order) / np.arange(1, len(losses_in_order) + 1))


def test_curve_against_a_loop(rows):
    loss, risk, weight = rows
    actual = risk_coverage_curve(loss, risk, sample_weight=weight)
    for one, other in zip(actual, loop_curve(loss, risk, weight), strict=True):
        assert_allclose(one, other, rtol=1e-12)
    assert actual.coverage[-1] == 1.0


def test_area_against_a_loop(rows):
    loss, risk, weight = rows
    expected = loop_area(loss, risk, weight)
    assert aurc(loss, risk, sample_weight=weight) == pytest.approx(expected, rel=1e-12)
    assert aurc(loss, risk) == pytest.approx(loop_area(loss, risk, np.ones(60)), rel=1e-12)


@pytest.mark.parametrize("n_distinct", [1, 2, 5, 40, 30_000])
def test_more_rows_than_are_looked_at_at_once(n_distinct, seed):
    """Ties go across the borders of what is handled at a time, wherever these are."""
    rng = np.random.default_rng(seed)
    n = 30_000
    loss, weight = rng.exponential(size=n), rng.uniform(0, 2, n)
    risk = rng.permutation(n) if n_distinct == n else rng.integers(0, n_distinct, n)
    found = risk_coverage_curve(loss, risk, sample_weight=weight)
    below = np.bincount(risk, weights=weight).cumsum()
    costs = np.bincount(risk, weights=weight * loss).cumsum()
    for one, other in zip(
        found, (below / below[-1], costs / below, np.arange(n_distinct)), strict=True
    ):
        assert_allclose(one, other, rtol=1e-11)
    share = below / below[-1]
    width = np.diff(share - share * np.log(share), prepend=0.0)
    area = (width * np.diff(costs, prepend=0.0) / np.diff(below, prepend=0.0)).sum()
    assert aurc(loss, risk, sample_weight=weight) == pytest.approx(area, rel=1e-9)


def test_area_against_scikit_learn_on_a_fine_curve(rows):
    """Between two points the accepted loss grows linearly, as the tied rows come in evenly."""
    loss, risk, weight = rows
    coverage, selective_loss, _ = risk_coverage_curve(loss, risk, sample_weight=weight)
    fine = np.linspace(0, 1, 200_001)[1:]
    total = np.interp(fine, np.append(0, coverage), np.append(0, coverage * selective_loss))
    area = auc(np.append(0, fine), np.append(selective_loss[0], total / fine))
    assert aurc(loss, risk, sample_weight=weight) == pytest.approx(area, rel=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_distance_to_the_usual_sum(n, seed):
    rng = np.random.default_rng(seed)
    loss, risk = rng.exponential(size=n), rng.permutation(n)
    usual = usual_sum(loss[np.argsort(risk)])
    assert abs(aurc(loss, risk) - usual) <= np.ptp(loss) / (2 * n) + 1e-15
    assert usual == pytest.approx(np.mean(risk_coverage_curve(loss, risk).selective_loss))


def test_the_usual_sum_over_repeated_rows_tends_to_the_area(rows):
    """In random order, the expected loss of each tied row is the mean of those it ties with."""
    loss, risk, _ = rows
    expected_loss = [np.mean(loss[risk == value]) for value in np.sort(risk)]
    gaps = [
        abs(usual_sum(np.repeat(expected_loss, repeats)) - aurc(loss, risk))
        for repeats in (1, 100, 10_000)
    ]
    bound = np.ptp(expected_loss) / (2 * len(loss))
    assert np.all(np.array(gaps) <= bound / np.array([1, 100, 10_000]) + 1e-10)


@pytest.mark.parametrize("n_wrong", [0, 1, 30, 100])
def test_best_area_of_the_zero_one_loss(n_wrong):
    y_true, y_pred = np.zeros(100), np.repeat([1.0, 0.0], [n_wrong, 100 - n_wrong])
    error = zero_one_loss(y_true, y_pred)
    best = error + ((1 - error) * log(1 - error) if error < 1 else 0.0)
    wrong = y_true != y_pred
    assert aurc(wrong, wrong) == pytest.approx(best, abs=1e-14)
    assert excess_aurc(wrong, np.zeros(100)) == pytest.approx(error - best, abs=1e-14)


def test_area_of_a_linear_loss_in_the_limit():
    """The integral of -s log(s) is 1/4, and the n steps of the loss are off by O(1/n²)."""
    n = 1_000_000
    position = (np.arange(n) + 0.5) / n
    assert aurc(position, position) == pytest.approx(0.25, abs=1e-11)


def test_weights_of_very_different_size():
    area = aurc([3.0, 1.0, 5.0], [1, 2, 3], sample_weight=[1e-300, 1.0, 1e-300])
    assert area == pytest.approx(1.0, rel=1e-12)


def test_one_row():
    assert aurc([2.5], [0.1]) == 2.5
    assert excess_aurc([2.5], [0.1]) == 0.0
    assert [list(field) for field in risk_coverage_curve([2.5], [0.1])] == [[1.0], [2.5], [0.1]]
