"""Limits for the error of a risk: what is identified, how often they cover, what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from condrisk.inference import (
    MeanInterval,
    betting_interval,
    empirical_bernstein_interval,
    risk_error_interval,
)

METHODS = ["betting", "bernstein"]


def rows(seed, n=400):
    rng = np.random.default_rng(seed)
    g = rng.uniform(0, 0.6, size=n)
    return g, np.clip(g + 0.3 * rng.standard_normal(n), 0, 1), (rng.uniform(size=n) < g) * 1.0


def test_made_of_intervals_of_u_and_d(seed):
    """Put together once more from single intervals, each with its share of the error."""
    g, risk, z = rows(seed)
    risk, z, g = 3 * risk, 3 * z, 3 * g
    references = {"constant": 0.9, "g": g}
    found = risk_error_interval(
        risk, z, reference=references, confidence=0.94, upper=3.0, method="bernstein"
    )
    u = (risk - z) ** 2
    expected = empirical_bernstein_interval(u, confidence=0.98, upper=9.0)
    np.testing.assert_allclose(found.realised, expected, rtol=1e-9)
    for name, h in references.items():
        # What D is for the least and for the greatest loss: no row can be outside.
        ends = [(risk - end) ** 2 - (h - end) ** 2 for end in (0.0, 3.0)]
        bounds = {"lower": np.min(ends), "upper": np.max(ends)}
        expected = empirical_bernstein_interval(u - (h - z) ** 2, confidence=0.98, **bounds)
        np.testing.assert_allclose(found.differences[name], expected, rtol=1e-9, atol=1e-12)
    assert found.upper == found.realised.upper
    assert found.lower == max(0.0, *(d.lower for d in found.differences.values()))
    assert found.width == found.upper - found.lower
    assert (found.n_rows, found.confidence, found.method) == (400, 0.94, "bernstein")


def test_over_the_population_nothing_is_known_but_the_largest_loss(seed):
    g, risk, z = rows(seed)
    found = risk_error_interval(risk, z, reference=g, confidence=0.96, upper=1.0, over="population")
    u = (risk - z) ** 2
    np.testing.assert_allclose(found.realised, betting_interval(u, confidence=0.98, upper=1.0))
    d = betting_interval(u - (g - z) ** 2, confidence=0.98, lower=-1.0, upper=1.0)
    np.testing.assert_allclose(found.differences["reference"], d)


def test_without_a_reference_the_error_is_not_divided(seed):
    _, risk, z = rows(seed)
    found = risk_error_interval(risk, z, confidence=0.9, upper=1.0, method="bernstein")
    alone = empirical_bernstein_interval((risk - z) ** 2, confidence=0.9, upper=1.0)
    np.testing.assert_allclose(found.realised, alone)
    assert found.lower == 0.0
    assert found.differences == {}


@pytest.mark.parametrize("seen", [0, 7, 25])
def test_a_limit_is_where_the_capital_reaches_its_goal(seen):
    """ĝ = 0, z in {0, 1}: U = z, and the capital against a mean m has a closed form."""
    n, confidence = 25, 0.9
    z = np.repeat([1.0, 0.0], [seen, n - seen])
    found = risk_error_interval(np.zeros(n), z, confidence=confidence, upper=1.0).realised
    goal = 2 / (1 - confidence)
    shares = 1 / np.arange(1, 9)
    bets = np.sqrt(8 * np.log(goal) / n) * 3.0 ** np.arange(8)

    def capital(m, hits):
        cut = np.minimum(bets, 0.9 / m)
        return (shares * (1 + cut * (1 - m)) ** hits * (1 - cut * m) ** (n - hits)).sum()

    for m, hits in ((found.lower, seen), (1 - found.upper, n - seen)):
        if hits == 0:
            assert m == 0.0
        else:
            assert capital(m, hits) / shares.sum() == pytest.approx(goal, rel=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_width_shrinks_in_proportion_as_the_estimates_come_close(method):
    """D = (ĝ − h)(ĝ + h − 2z): a hundredth of the difference, a hundredth of the width."""
    _, risk, z = rows(0, n=1000)
    towards = np.where(risk > 0.5, -0.2, 0.2)
    width = {}
    for apart in (1.0, 0.1, 0.001):
        h = risk + apart * towards
        found = risk_error_interval(risk, z, reference=h, upper=1.0, method=method)
        width[apart] = found.differences["reference"].width
    assert width[0.1] == pytest.approx(0.1 * width[1.0], rel=0.15)
    assert width[0.001] == pytest.approx(0.01 * width[0.1], rel=0.02)
    assert width[0.001] < 1e-4  # with M² as the range of D it would be 0.01
    itself = risk_error_interval(risk, z, reference=risk, upper=1.0, method=method)
    assert itself.differences["reference"] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rare", [0.002, 0.02, 0.3])
def test_differences_are_covered_given_the_inputs(method, rare):
    """Rows of different means and ranges, fixed over all draws; losses are seldom M, else small."""
    rng = np.random.default_rng(1)
    n, most, draws = 120, 4.0, 600
    risk = rng.uniform(0, 2, size=n)
    h = risk + rng.choice([0.001, 0.01, 1.5], size=n, p=[0.5, 0.45, 0.05])
    p = np.clip(rare * rng.uniform(0, 2, size=n) * np.where(h - risk > 1, 4, 1), 0, 1)
    z = np.where(rng.uniform(size=(draws, n)) < p, most, 0.05)
    g = most * p + 0.05 * (1 - p)
    truth = ((risk - g) ** 2 - (h - g) ** 2).mean()
    estimates = {"risk": np.tile(risk, (draws, 1)), "reference": {"h": np.tile(h, (draws, 1))}}
    found = risk_error_interval(**estimates, loss=z, confidence=0.9, upper=most, method=method)
    _, low, high = found.differences["h"]
    missed = int(((truth < low) | (truth > high)).sum())
    assert stats.binomtest(missed, draws, 0.05, alternative="greater").pvalue > 1e-4


def test_two_worlds_with_the_same_pairs():
    """ĝ = ½: a constant g = ½ and a g in {0, 1} have the same pairs, so the limits hold both."""
    z = (np.random.default_rng(0).uniform(size=2000) < 0.5) * 1.0
    found = risk_error_interval(np.full(2000, 0.5), z, reference=0.4, upper=1.0)
    assert found.lower == 0.0
    assert found.upper >= 0.25


WORLDS = {
    # ĝ, g and a reference, functions of u; z is 0 or 1
    "far off": (lambda u: 0.9 - 0.8 * u, lambda u: u, lambda u: u),
    "truth": (lambda u: 0.1 * u, lambda u: 0.1 * u, lambda u: 0 * u + 0.05),
    "deterministic": (
        lambda u: 0.2 + 0 * u,
        lambda u: (u < 0.03) * 1.0,
        lambda u: (u < 0.03) * 1.0,
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [50, 400])
def test_everything_is_covered_at_once(method, world, n):
    """Over the population. Over rows, the third world's differences of few inputs are missed."""
    estimate, risk, reference = WORLDS[world]
    rng = np.random.default_rng(5)
    u = rng.uniform(size=(500, n))
    z = (rng.uniform(size=u.shape) < risk(u)) * 1.0
    grid = (np.arange(100_000) + 0.5) / 100_000
    error = ((estimate(grid) - risk(grid)) ** 2).mean()
    noise = (risk(grid) * (1 - risk(grid))).mean()
    other = ((reference(grid) - risk(grid)) ** 2).mean()
    settings = {"confidence": 0.9, "upper": 1.0, "method": method, "over": "population"}
    limits = risk_error_interval(estimate(u), z, reference={"h": reference(u)}, **settings)
    _, d_low, d_high = limits.differences["h"]
    _, u_low, u_high = limits.realised
    good = (limits.lower <= error) & (error <= limits.upper)
    good &= (u_low <= error + noise) & (error + noise <= u_high)
    good &= (d_low <= error - other) & (error - other <= d_high)
    covered = int(good.sum())
    assert stats.binomtest(covered, 500, 0.9, alternative="less").pvalue > 1e-4


def test_limits_close_in_on_what_is_identified():
    rng = np.random.default_rng(0)
    u = rng.uniform(size=200_000)
    z = (rng.uniform(size=u.shape) < u) * 1.0
    found = risk_error_interval(1 - u, z, reference=u, upper=1.0)
    assert found.lower == pytest.approx(1 / 3, abs=0.01)  # the reference is g: nothing is lost
    assert found.upper == pytest.approx(1 / 3 + 1 / 6, abs=0.01)  # and E g(1 − g) on top


@settings(max_examples=25)
@given(st.integers(-6, 9), st.integers(0, 99))
def test_units_do_not_matter(exponent, seed):
    scale = 2.0**exponent  # exact, so that no rounding changes a bet
    g, risk, z = rows(seed, n=30)
    plain = risk_error_interval(risk, z, reference=g, upper=1.0)
    scaled = [scale * part for part in (risk, z, g)]
    found = risk_error_interval(*scaled[:2], reference=scaled[2], upper=scale)
    assert found.lower == pytest.approx(scale**2 * plain.lower, abs=1e-9 * scale**2)
    assert found.upper == pytest.approx(scale**2 * plain.upper, abs=1e-9 * scale**2)


def test_limits_that_contradict_each_other_are_put_in_order():
    """A lower limit of E D above the upper limit of E U: one of them is in error.

    D lies in [−1, 1], so that 0.8 of its range is 0.6.
    """
    limits = risk_error_interval(
        np.ones(3),
        np.zeros(3),
        reference=0.0,
        upper=1.0,
        method=lambda x, confidence, lower, upper: MeanInterval(0.5, 0.8, 0.1),
    )
    assert (limits.lower, limits.upper) == pytest.approx((0.1, 0.6))


def test_several_samples_are_those_taken_one_by_one(seed):
    rng = np.random.default_rng(seed)
    risk, z, h = rng.uniform(size=(3, 4, 90))
    together = risk_error_interval(risk, z, reference={"h": h, "half": 0.5}, upper=1.0)
    for k in range(4):
        alone = risk_error_interval(risk[k], z[k], reference={"h": h[k], "half": 0.5}, upper=1.0)
        assert (together.lower[k], together.upper[k]) == pytest.approx((alone.lower, alone.upper))
        np.testing.assert_allclose([part[k] for part in together.realised], alone.realised)
        for name, interval in alone.differences.items():
            np.testing.assert_allclose([d[k] for d in together.differences[name]], interval)
        assert type(alone.lower) is type(alone.upper) is float


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"risk": [0.1, 1.5]}, r"risk must lie in \[0, 1\]"),
        ({"loss": [-0.1, 0.5]}, r"loss must lie in \[0, 1\]"),
        ({"loss": [0.1]}, "loss and risk must have the same length"),
        ({"loss": [0.1, np.nan]}, "loss must be finite"),
        ({"reference": 2.0}, r"reference must lie in \[0, 1\]"),
        ({"reference": [0.1]}, "reference and risk must have the same length"),
        ({"reference": {"mean": [0.1, np.inf]}}, "mean must be finite"),
        ({"reference": {"mean": -1}}, r"mean must lie in \[0, 1\]"),
        ({"reference": {}}, "reference is an empty dict"),
        ({"upper": 0}, "upper must be a positive, finite number"),
        ({"upper": np.inf}, "upper must be a positive, finite number"),
        ({"upper": None}, "upper must be a positive, finite number"),
        ({"confidence": 95}, "confidence must lie strictly between 0 and 1"),
        ({"over": "x"}, "over must be one of rows, population"),
        ({"method": "normal"}, "method must be one of betting, bernstein"),
    ],
)
def test_bad_input_is_named(changes, message):
    arguments = {"risk": [0.1, 0.2], "loss": [0.0, 1.0], "upper": 1.0} | changes
    with pytest.raises(ValueError, match=message):
        risk_error_interval(arguments.pop("risk"), arguments.pop("loss"), **arguments)
