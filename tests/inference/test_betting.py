"""Intervals by betting: against a game played by hand, their coverage, and what they refuse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from condrisk.inference._betting import (
    bernstein_limits,
    betting_interval,
    betting_limits,
    betting_p_value,
    empirical_bernstein_interval,
)
from condrisk.paper.theory import _betting


def play(x, m, confidence):
    """Return the greatest capital of either bettor against the mean m, step by step."""
    n, log_term = len(x), math.log(2 / (1 - confidence))
    capital_up = capital_down = peak_up = peak_down = 1.0
    mean, total, squares, variance = 0.5, 0.5, 0.25, 0.25
    for t, value in enumerate(x, start=1):
        bet = math.sqrt(2 * log_term / (n * variance))
        capital_up *= 1 + min(bet, 0.75 / m) * (value - m)
        capital_down *= 1 - min(bet, 0.75 / (1 - m)) * (value - m)
        peak_up, peak_down = max(peak_up, capital_up), max(peak_down, capital_down)
        total += value
        mean = total / (t + 1)
        squares += (value - mean) ** 2
        variance = squares / (t + 1)
    return max(peak_up, peak_down)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_against_a_game_played_by_hand(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.beta(0.5, 1.0, size=n)
    [low], [high] = betting_limits(x[None], confidence=0.8)
    grid = np.linspace(0.001, 0.999, 999)
    left = [m for m in grid if play(x, m, 0.8) < 2 / 0.2]
    assert left[0] - low < 0.001 + 1e-9
    assert high - left[-1] < 0.001 + 1e-9
    assert low <= left[0] <= left[-1] <= high
    # what has not been refuted is one interval
    assert len(left) == round((left[-1] - left[0]) / 0.001) + 1


def test_blocks_do_not_matter(monkeypatch):
    x = np.random.default_rng(0).beta(0.5, 1.0, size=(5, 137))
    whole = betting_limits(x, confidence=0.9)
    p = betting_p_value(x[0], mean=0.5, upper=1.0)
    monkeypatch.setattr(_betting, "_BLOCK", 64)
    np.testing.assert_allclose(betting_limits(x, confidence=0.9), whole, atol=1e-6)
    assert betting_p_value(x[0], mean=0.5, upper=1.0) == pytest.approx(p)


LAWS = {
    "coin": (lambda rng, size: (rng.uniform(size=size) < 0.3).astype(float), 0.3),
    "rare": (lambda rng, size: (rng.uniform(size=size) < 0.02).astype(float), 0.02),
    "uniform": (lambda rng, size: rng.uniform(0, 0.5, size=size), 0.25),
    "near one": (lambda rng, size: rng.beta(20, 1, size=size), 20 / 21),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("limits", [betting_limits, bernstein_limits])
@pytest.mark.parametrize("n", [20, 300])
def test_coverage(law, limits, n):
    draw, truth = LAWS[law]
    low, high = limits(draw(np.random.default_rng(7), (600, n)), confidence=0.9)
    covered = int(((low <= truth) & (truth <= high)).sum())
    assert stats.binomtest(covered, 600, 0.9, alternative="less").pvalue > 1e-4


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [50, 1000])
def test_betting_is_narrower(law, n):
    samples = LAWS[law][0](np.random.default_rng(3), (100, n))
    betting, bernstein = (
        np.subtract(*limits(samples, confidence=0.95)[::-1])
        for limits in (betting_limits, bernstein_limits)
    )
    assert betting.mean() < 0.9 * bernstein.mean()


def test_width_tends_to_the_normal_one():
    """The width of such an interval is √(2 ln(2/δ) / n) σ on each side, to first order."""
    x = np.random.default_rng(0).uniform(size=(20, 20_000))
    low, high = betting_limits(x, confidence=0.95)
    first_order = 2 * math.sqrt(2 * math.log(2 / 0.05) / 20_000 / 12)
    assert 0.6 * first_order < (high - low).mean() < 1.1 * first_order


def test_bernstein_closed_form():
    x = np.random.default_rng(1).uniform(2, 5, size=400)
    found = empirical_bernstein_interval(x, confidence=0.99, lower=0.0, upper=8.0)
    log_term = math.log(4 / 0.01)
    half = math.sqrt(2 * np.var(x, ddof=1) * log_term / 400) + 7 * 8 * log_term / (3 * 399)
    assert found.lower == pytest.approx(x.mean() - half)
    assert found.upper == pytest.approx(x.mean() + half)
    assert found.width == pytest.approx(2 * half)


units = arrays(np.float64, st.integers(2, 60), elements=st.floats(0, 1))


@given(units, st.floats(0.5, 0.99), st.integers(0, 9))
def test_properties(x, confidence, random_state):
    found = betting_interval(x, confidence=confidence, upper=1.0, random_state=random_state)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.estimate == pytest.approx(x.mean())
    mirrored = betting_interval(1 - x, confidence=confidence, upper=1.0, random_state=random_state)
    assert mirrored.lower == pytest.approx(1 - found.upper, abs=1e-5)
    assert mirrored.upper == pytest.approx(1 - found.lower, abs=1e-5)


@given(units, st.floats(0.01, 100), st.floats(-50, 50))
def test_units_do_not_matter(x, scale, shift):
    plain = betting_interval(x, upper=1.0)
    rows = np.clip(shift + scale * x, shift, shift + scale)
    moved = betting_interval(rows, lower=shift, upper=shift + scale)
    assert moved.lower == pytest.approx(shift + scale * plain.lower, abs=1e-5 * scale)
    assert moved.upper == pytest.approx(shift + scale * plain.upper, abs=1e-5 * scale)
    p = betting_p_value(x, mean=0.4, upper=1.0)
    q = betting_p_value(rows, mean=shift + 0.4 * scale, lower=shift, upper=shift + scale)
    assert q == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_more_confidence_is_wider(law):
    samples = LAWS[law][0](np.random.default_rng(2), (50, 100))
    widths = [
        np.subtract(*betting_limits(samples, confidence=c)[::-1]).mean() for c in (0.5, 0.9, 0.99)
    ]
    assert widths == sorted(widths)
    assert widths[0] < 0.8 * widths[2]


def test_a_sorted_table_does_no_harm():
    """Sorted rows are not independent in that order; they are drawn in random order instead."""
    x = np.sort(np.random.default_rng(0).uniform(size=(400, 60)), axis=1)
    missed_sorted = (betting_limits(x, confidence=0.9)[0] > 0.5).mean()
    found = [betting_interval(rows, confidence=0.9, upper=1.0) for rows in x]
    assert missed_sorted > 0.2 or (betting_limits(x, confidence=0.9)[1] < 0.5).mean() > 0.2
    missed = sum(not f.lower <= 0.5 <= f.upper for f in found)
    assert stats.binomtest(missed, 400, 0.1, alternative="greater").pvalue > 1e-4


# -- the p-value ----------------------------------------------------------------------------------


def test_p_value_against_the_mixture_by_hand():
    x = np.random.default_rng(5).uniform(size=30)
    order = np.random.default_rng(0).permutation(x)
    bets = np.geomspace(0.002, 0.99, 24) / (1 - 0.6)
    capitals = [np.prod([1 + bets * (0.6 - v) for v in order[:t]], axis=0) for t in range(31)]
    best = max(np.mean(capital) for capital in capitals)
    assert betting_p_value(x, mean=0.6, upper=1.0) == pytest.approx(1 / best)


@pytest.mark.parametrize("law", LAWS)
def test_p_value_is_valid_at_the_edge(law):
    draw, truth = LAWS[law]
    samples = draw(np.random.default_rng(11), (800, 150))
    p = np.array([betting_p_value(x, mean=truth, upper=1.0) for x in samples])
    for level in (0.02, 0.1, 0.3):
        hits = int((p <= level).sum())
        assert stats.binomtest(hits, 800, level, alternative="greater").pvalue > 1e-4


def test_p_value_has_power():
    """Not as small as the exact binomial one, but within a power of it."""
    x = np.repeat([0.0, 1.0], [940, 60])
    exact = stats.binom.cdf(60, 1000, 0.1)
    found = betting_p_value(x, mean=0.1, upper=1.0)
    assert exact < found < exact**0.5
    assert betting_p_value(x, mean=0.06, upper=1.0) > 0.1


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [betting_interval, empirical_bernstein_interval])
@pytest.mark.parametrize(
    ("x", "arguments", "message"),
    [
        ([0.2, 1.2], {"upper": 1.0}, r"x must lie in \[0, 1\]"),
        ([-0.2, 0.2], {"upper": 1.0}, r"x must lie in \[0, 1\]"),
        ([0.2, math.nan], {"upper": 1.0}, "x must be finite"),
        ([], {"upper": 1.0}, "x is empty"),
        ([[0.2]], {"upper": 1.0}, "x must be one-dimensional"),
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


def test_bernstein_needs_two_rows():
    with pytest.raises(ValueError, match="at least two rows"):
        empirical_bernstein_interval([0.5], upper=1.0)


@pytest.mark.parametrize("mean", [0.0, 1.0, math.nan])
def test_p_value_needs_a_mean_inside(mean):
    with pytest.raises(ValueError, match="mean must lie between"):
        betting_p_value([0.5], mean=mean, upper=1.0)
