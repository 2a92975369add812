"""Intervals and p-values by betting: against a game played by hand, coverage, what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import ndtri

from condrisk.inference import (
    betting_interval,
    betting_p_value,
    binomial_interval,
    empirical_bernstein_interval,
)

INTERVALS = {"betting": betting_interval, "bernstein": empirical_bernstein_interval}


def aimed(capital, aim, variance, n_left):
    """Return the bet that most likely gets from a capital to the aim."""
    share = min(capital / aim, 1.0)
    if share == 1.0:
        return 0.0
    z = float(ndtri(min(max(share, 1e-300), 1 - 1e-12)))
    return math.exp(-z * z / 2) / (share * math.sqrt(2 * math.pi * variance * n_left))


def play(x, m, level, reference=None, common=0):
    """Return the greatest capital against "the mean is at most m", one row after another.

    Bets are those of `reference`, whose own capital they aim with; those of the first `common`
    rows do not look at any capital.
    """
    n = len(x)
    r = m if reference is None else reference
    aim = (1 + 4 / math.sqrt(n)) / level
    capital = own = peak = 1.0
    for t, value in enumerate(x):  # of few rows, bets are reconsidered at each
        guess = 0.5 if t < common else r
        mean = (sum(x[:t]) + 2 * guess) / (t + 2)
        variance = (sum(v * v for v in x[:t]) + 2 * guess) / (t + 2) - mean**2
        bet = aimed(1.0 if t < common else own, aim, max(variance, 1e-12), n - t)
        capital *= 1 + min(bet, 0.9 / m) * (value - m)
        own *= 1 + min(bet, 0.9 / r) * (value - r)
        peak = max(peak, capital)
    return peak


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_p_value_against_a_game_played_by_hand(seed, n):
    x = np.random.default_rng(seed).beta(0.5, 1.0, size=n)
    order = np.random.default_rng(0).permutation(x)
    for mean, level in ((0.7, 0.05), (0.4, 0.2)):
        by_hand = 1 / play(1 - order, 1 - mean, level)
        found = betting_p_value(x, mean=mean, upper=1.0, level=level)
        assert found == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_interval_is_the_hull_of_means_that_a_game_by_hand_does_not_refute(seed, n):
    x = np.random.default_rng(seed).beta(0.5, 1.0, size=n)
    order = np.random.default_rng(0).permutation(x)
    found = betting_interval(x, confidence=0.8, upper=1.0)
    assert 0 <= least_mean_left(order, 0.1) - found.lower < 0.0011
    assert 0 <= found.upper - (1 - least_mean_left(1 - order, 0.1)) < 0.0011


def cells(first, n):
    """Return where cells of means end: dense around the mean of the first rows, and two more."""
    mean = (first.sum() + 1) / (len(first) + 2)
    variance = ((first**2).sum() + 1) / (len(first) + 2) - mean**2
    far = -2.0 + 2.0 * np.sinh(np.linspace(-3.35, 2.85, 48))
    near = np.clip(mean + math.sqrt(variance / n) * far, 0, 1)
    return np.sort(np.concatenate([near, np.arange(1, 17) / 16]))


def least_mean_left(x, level):
    common = len(x) // 8
    ends = cells(x[:common], len(x))
    for m in np.linspace(0.001, 1, 1000):
        reference = ends[np.searchsorted(ends, m)]
        if play(x, m, level, reference, common) < 1 / level:
            return m
    return 1.0


LAWS = {
    "uniform": (lambda rng, size: rng.uniform(size=size), 0.5),
    "coin": (lambda rng, size: (rng.uniform(size=size) < 0.5).astype(float), 0.5),
    "rare": (lambda rng, size: (rng.uniform(size=size) < 0.01).astype(float), 0.01),
    "skewed": (lambda rng, size: rng.beta(2, 8, size=size), 0.2),
    "two points": (lambda rng, size: np.where(rng.uniform(size=size) < 0.02, 1.0, 0.05), 0.069),
    "nearly constant": (lambda rng, size: rng.uniform(0.3, 0.31, size=size), 0.305),
    "near one": (lambda rng, size: rng.beta(20, 1, size=size), 20 / 21),
}


def too_seldom(covered, confidence):
    """Tell whether samples were covered less often than promised, at a level never met by luck."""
    test = stats.binomtest(int(covered.sum()), len(covered), confidence, alternative="less")
    return test.pvalue < 1e-5


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("interval", INTERVALS.values(), ids=INTERVALS)
@pytest.mark.parametrize("n", [2, 100])
def test_coverage(law, interval, n, seed):
    draw, truth = LAWS[law]
    x = draw(np.random.default_rng([seed, n]), (100 if n > 500 else 400, n))
    found = interval(x, confidence=0.9, upper=1.0)
    assert not too_seldom((found.lower <= truth) & (truth <= found.upper), 0.9)


@pytest.mark.parametrize("law", ["coin", "uniform"])
def test_each_side_is_in_error_at_most_half_as_often(law, seed):
    draw, truth = LAWS[law]
    found = betting_interval(
        draw(np.random.default_rng(seed), (1000, 60)), confidence=0.8, upper=1.0
    )
    assert not too_seldom(found.lower <= truth, 0.9)
    assert not too_seldom(found.upper >= truth, 0.9)
    # and not much less often: the error that is allowed is used
    assert np.mean((found.lower <= truth) & (truth <= found.upper)) < 0.92


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [50, 1000])
def test_betting_is_narrower_than_bernstein(law, n):
    samples = LAWS[law][0](np.random.default_rng(3), (100, n))
    betting, bernstein = (
        interval(samples, confidence=0.95, upper=1.0).width for interval in INTERVALS.values()
    )
    assert betting.mean() < 0.8 * bernstein.mean()


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_betting_is_nearly_as_narrow_as_the_exact_interval_of_coins(share):
    x = (np.random.default_rng(4).uniform(size=(100, 1000)) < share).astype(float)
    exact = [binomial_interval(int(k), 1000).width for k in x.sum(axis=1)]
    assert betting_interval(x, upper=1.0).width.mean() < 1.15 * np.mean(exact)


def test_width_tends_to_that_of_the_normal_approximation():
    x = np.random.default_rng(0).uniform(size=(20, 20_000))
    normal = 2 * stats.norm.ppf(0.975) / math.sqrt(12 * 20_000)
    assert 0.9 * normal < betting_interval(x, upper=1.0).width.mean() < 1.08 * normal


def test_several_samples_are_those_taken_one_by_one():
    x = np.random.default_rng(0).beta(0.5, 1.0, size=(7, 137))
    for interval in INTERVALS.values():
        together = interval(x, confidence=0.9, upper=1.0)
        one_by_one = [interval(rows, confidence=0.9, upper=1.0) for rows in x]
        np.testing.assert_allclose(np.transpose(together), one_by_one, rtol=1e-9)
        assert all(type(value) is float for value in one_by_one[0])


@pytest.mark.parametrize("n", [1, 2, 5, 200])
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_rows_that_are_all_the_same(value, n):
    found = betting_interval(np.full(n, value), upper=1.0)
    assert 0 <= found.lower <= value <= found.upper <= 1
    # δ/2 = 0.025: n rows alone can show no more than 1 − 0.025^(1/n) (Clopper and Pearson)
    assert found.width < (1.6 * (1 - 0.025 ** (1 / n)) + 0.01 if n > 2 else 1.01)


# Few digits: what is done to them below is exact, so that no rounding changes a bet.
units = arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 1, width=16))


@given(units, st.floats(0.5, 0.99), st.integers(0, 9))
def test_properties(x, confidence, random_state):
    found = betting_interval(x, confidence=confidence, upper=1.0, random_state=random_state)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.estimate == pytest.approx(x.mean())
    mirrored = betting_interval(1 - x, confidence=confidence, upper=1.0, random_state=random_state)
    assert mirrored.lower == pytest.approx(1 - found.upper, abs=1e-9)
    assert mirrored.upper == pytest.approx(1 - found.lower, abs=1e-9)


@given(units, st.integers(-6, 6), st.integers(-50, 50))
def test_units_do_not_matter(x, exponent, shift):
    scale = 2.0**exponent
    plain = betting_interval(x, upper=1.0)
    rows = shift + scale * x
    moved = betting_interval(rows, lower=shift, upper=shift + scale)
    assert moved.lower == pytest.approx(shift + scale * plain.lower, abs=1e-9 * scale)
    assert moved.upper == pytest.approx(shift + scale * plain.upper, abs=1e-9 * scale)
    p = betting_p_value(x, mean=0.375, upper=1.0)
    q = betting_p_value(rows, mean=shift + 0.375 * scale, lower=shift, upper=shift + scale)
    assert q == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_more_confidence_is_wider(law):
    samples = LAWS[law][0](np.random.default_rng(2), (50, 100))
    widths = [
        betting_interval(samples, confidence=c, upper=1.0).width.mean() for c in (0.5, 0.9, 0.99)
    ]
    assert widths == sorted(widths)
    assert widths[0] < 0.8 * widths[2]


def test_a_sorted_table_does_no_harm():
    """Sorted rows are not independent in that order; they are drawn in random order instead."""
    x = np.sort(np.random.default_rng(0).uniform(size=(400, 60)), axis=1)
    found = betting_interval(x, confidence=0.9, upper=1.0)
    assert not too_seldom((found.lower <= 0.5) & (found.upper >= 0.5), 0.9)


# -- the p-value ----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("level", [0.02, 0.2])
def test_p_value_is_valid_at_every_level(law, level, seed):
    draw, truth = LAWS[law]
    samples = draw(np.random.default_rng([seed, 11]), (100, 60))
    p = np.array([betting_p_value(x, mean=truth, upper=1.0, level=level) for x in samples])
    for at in (0.02, 0.1, 0.3):
        assert not too_seldom(p > at, 1 - at)
    assert p.min() > 0
    assert p.max() <= 1


def test_p_value_has_nearly_the_power_of_the_best_test():
    """At a true mean z₀.₉ standard errors below the hypothesis the best test rejects half."""
    x = np.random.default_rng(1).uniform(size=(200, 1000))
    mean = 0.5 + 1.2816 / math.sqrt(12 * 1000)
    p = [betting_p_value(rows, mean=mean, upper=1.0, level=0.1) for rows in x]
    assert 0.35 < np.mean(np.array(p) <= 0.1) < 0.65


def test_the_p_value_decides_as_the_interval_does():
    """A mean above the upper limit has a p-value of at most half of the probability of error."""
    x = np.random.default_rng(8).beta(2, 5, size=(20, 200))
    for rows in x:
        upper = betting_interval(rows, confidence=0.9, upper=1.0).upper
        assert betting_p_value(rows, mean=upper + 0.02, upper=1.0, level=0.05) <= 0.05
        assert betting_p_value(rows, mean=upper - 0.02, upper=1.0, level=0.05) > 0.05


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("function", INTERVALS.values(), ids=INTERVALS)
@pytest.mark.parametrize(
    ("x", "arguments", "message"),
    [
        ([0.2, 1.2], {"upper": 1.0}, r"x must lie in \[0, 1\]"),
        ([-0.2, 0.2], {"upper": 1.0}, r"x must lie in \[0, 1\]"),
        ([0.2, math.nan], {"upper": 1.0}, "x must be finite"),
        ([], {"upper": 1.0}, "x is empty"),
        (np.empty((3, 0)), {"upper": 1.0}, "x is empty"),
        ([[[0.2]]], {"upper": 1.0}, "x must be one-dimensional"),
        ([0.2, 0.3], {"upper": 0.0}, "upper must be more than lower"),
        ([0.2, 0.3], {"upper": math.inf}, "upper must be a finite number"),
        ([0.2, 0.3], {"upper": "1"}, "upper must be a finite number"),
        ([0.2, 0.3], {"upper": 1.0, "confidence": 95}, "confidence must lie strictly"),
        ([0.2, 0.3], {"upper": 1.0, "confidence": 1.0}, "confidence must lie strictly"),
    ],
)
def test_bad_input_is_named(function, x, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(x, **arguments)


def test_bernstein_closed_form():
    x = np.random.default_rng(1).uniform(2, 5, size=400)
    found = empirical_bernstein_interval(x, confidence=0.99, lower=0.0, upper=8.0)
    log_term = math.log(4 / 0.01)
    half = math.sqrt(2 * np.var(x, ddof=1) * log_term / 400) + 7 * 8 * log_term / (3 * 399)
    assert found.lower == pytest.approx(x.mean() - half)
    assert found.upper == pytest.approx(x.mean() + half)
    assert found.width == pytest.approx(2 * half)


def test_bernstein_needs_two_rows():
    with pytest.raises(ValueError, match="at least two rows"):
        empirical_bernstein_interval([0.5], upper=1.0)


@pytest.mark.parametrize("mean", [0.0, 1.0, math.nan])
def test_p_value_needs_a_mean_inside(mean):
    with pytest.raises(ValueError, match="mean must lie between"):
        betting_p_value([0.5], mean=mean, upper=1.0)


@pytest.mark.parametrize("level", [0.0, 5, math.nan])
def test_p_value_needs_a_level(level):
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        betting_p_value([0.5], mean=0.5, upper=1.0, level=level)


def test_p_value_is_of_one_sample():
    with pytest.raises(ValueError, match="x must be one sample"):
        betting_p_value(np.full((2, 3), 0.5), mean=0.5, upper=1.0)
