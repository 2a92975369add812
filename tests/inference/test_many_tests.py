"""Many tests at once, as rules use them: exact binomial ones, and betting on gains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest

from condrisk.inference import (
    betting_p_values,
    binomial_interval,
    binomial_p_values,
    binomial_upper,
)


def too_often(count, n, chance):
    """Tell whether `count` of `n` contradicts a chance, at a level that never fails by itself."""
    return binom.sf(count - 1, n, chance) < 1e-4


@given(st.integers(1, 60), st.data(), st.floats(0.01, 0.99))
def test_binomial_p_values_are_those_of_scipy(n, data, share):
    k = data.draw(st.integers(0, n))
    assert_allclose(binomial_p_values(k, n, share), binom.cdf(k, n, share), atol=1e-12)


def test_binomial_upper_is_where_the_p_value_is_the_level():
    for k, n in ((0, 10), (3, 50), (40, 41)):
        assert_allclose(binomial_p_values(k, n, binomial_upper(k, n, 0.05)), 0.05)
    assert binomial_upper(5, 5, 0.1) == 1.0
    for nothing in (0.0, -0.2):  # which no count can refute
        assert binomial_p_values(0, 10, nothing) == 1.0


@pytest.mark.parametrize("name", ["0/1", "exponential", "rare and large"])
def test_betting_rejects_a_true_hypothesis_no_more_often_than_it_may(name):
    rng = np.random.default_rng(0)
    shape, mean = (2000, 400), 0.1
    losses = {
        "0/1": lambda: (rng.random(shape) < mean).astype(float),
        "exponential": lambda: np.minimum(rng.exponential(mean * 1.0001, shape), 2.0),
        "rare and large": lambda: 2.0 * (rng.random(shape) < mean / 2),
    }[name]()
    for delta, spread in ((0.1, 0.05), (0.3, 1e-4), (0.02, 1.0)):  # good and bad guesses
        p = betting_p_values(
            mean - losses,
            worst=2.0 - mean,
            n_rows=np.full(2000, 400),
            spread=np.full(2000, spread),
            level=delta,
        )
        for level in (delta, delta / 2):
            assert not too_often(np.sum(p <= level), 2000, level)
        assert p.min() > 0
        assert p.max() <= 1


def test_betting_has_nearly_the_power_of_the_best_test():
    """At a true mean z standard errors below the hypothesis the best test rejects half."""
    rng = np.random.default_rng(1)
    n, mean = 4000, 0.1
    truth = mean - 1.2816 * 0.3 / np.sqrt(n)
    gains = mean - (rng.random((1000, n)) < truth)
    p = betting_p_values(
        gains, worst=0.9, n_rows=np.full(1000, n), spread=np.full(1000, 0.09), level=0.1
    )
    assert 0.44 < np.mean(p <= 0.1) < 0.56


def test_rows_that_take_no_part_change_nothing_but_the_times_of_bets():
    rng = np.random.default_rng(2)
    gains = np.where(rng.random((500, 1000)) < 0.5, 0.1 - (rng.random((500, 1000)) < 0.04), 0.0)
    p = betting_p_values(
        gains, worst=0.9, n_rows=np.full(500, 500), spread=np.full(500, 0.09), level=0.1
    )
    assert np.mean(p <= 0.1) > 0.95


@given(st.integers(1, 200), st.data(), st.floats(0.5, 0.999))
def test_binomial_interval_is_that_of_scipy(n, data, confidence):
    k = data.draw(st.integers(0, n))
    found = binomial_interval(k, n, confidence=confidence)
    exact = binomtest(k, n).proportion_ci(confidence, method="exact")
    assert_allclose((found.estimate, found.lower, found.upper), (k / n, *exact), atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2), "successes must be a count between 0 and n=2, got 3"),
        ((-1, 2), "successes must be a count"),
        ((0.5, 2), "successes must be a count"),
        ((0, 0), "n must be a number of rows"),
    ],
)
def test_binomial_interval_names_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        binomial_interval(*arguments)


def test_binomial_interval_needs_a_probability():
    with pytest.raises(ValueError, match="confidence must lie strictly"):
        binomial_interval(1, 2, confidence=95)
