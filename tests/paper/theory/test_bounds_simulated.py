"""Bounds that hold with high probability do, and printed ones that are false do not.

Small worlds whose expectations are known exactly; a bound may fail in a share δ of the samples.
"""

import itertools
import math

import numpy as np
import pytest
from enumeration import by_enumeration
from scipy.stats import binomtest

from condrisk.paper.theory import (
    as_printed,
    brier_probability_bound,
    cross_entropy_kl_bound,
    plug_in_bound,
    plug_in_cross_entropy_bound,
    plug_in_matched_bound,
    realised_absolute_bound,
    separable_bound,
    squared_error_bound,
)
from condrisk.paper.theory.complexity import (
    average_complexity,
    constant_complexity,
    finite_complexity,
    sum_complexities,
)
from condrisk.paper.theory.simulations._excess import threshold_complexity

DELTA = 0.2
N_SAMPLES = 1000


def assert_holds(excess, bound):
    """Violated no more often than δ allows, and not because nothing ever happens."""
    violations = int(np.count_nonzero(excess > np.asarray(bound) + 1e-12))
    assert binomtest(violations, len(excess), DELTA, alternative="greater").pvalue > 1e-4
    assert excess.min() > -1e-9
    assert excess.max() > 0


@pytest.mark.parametrize("n", [5, 50, 1000])
class TestConstants:
    """The class is the constants, Z ~ Bernoulli(0.45) or three labels."""

    share = 0.45
    p = np.array([0.5, 0.3, 0.2])

    def means(self, n, share=share):
        return np.random.default_rng(n).binomial(n, share, size=N_SAMPLES) / n

    def frequencies(self, n):
        return np.random.default_rng(n).multinomial(n, self.p, size=N_SAMPLES) / n

    def test_realised_absolute(self, n):
        best = np.where(self.means(n) > 0.5, 1.0, 0.0)  # the median
        excess = np.abs(best - self.share) - self.share  # E|c − Z| at c = 0, 1
        bound = realised_absolute_bound(
            complexity=constant_complexity(n=n), n=n, upper=1.0, delta=DELTA
        )
        if n < 1000:
            assert_holds(excess, bound.value)
        else:
            assert (excess <= bound.value).all()

    def test_squared_error(self, n):
        excess = (self.means(n) - self.share) ** 2
        bound = squared_error_bound(
            complexity=constant_complexity(n=n), n=n, upper=1.0, delta=DELTA
        )
        assert_holds(excess, bound.value)

    def test_brier_and_its_plug_in_risk(self, n):
        p_hat = self.frequencies(n)
        complexity = sum_complexities([constant_complexity(n=n)] * 3)
        bound = brier_probability_bound(complexity=complexity, n=n, delta=DELTA)
        assert_holds(((p_hat - self.p) ** 2).sum(axis=1), bound.value)
        loss = np.array([0.0, 2.0, 1.0])
        bound = plug_in_bound(complexity=complexity, n=n, n_classes=3, upper=2.0, delta=DELTA)
        assert_holds(np.abs((p_hat - self.p) @ loss), bound.value)

    def test_cross_entropy_and_its_plug_in_risk(self, n):
        floor = 0.1
        q_hat = np.clip(self.means(n), floor, 1 - floor)
        p, q = np.array([0.55, 0.45]), np.stack([1 - q_hat, q_hat], axis=1)
        kl = (p * np.log(p / q)).sum(axis=1)
        part = constant_complexity(n=n, lower=floor, upper=1 - floor)
        complexity = sum_complexities([part] * 2)
        bound = cross_entropy_kl_bound(complexity=complexity, n=n, floor=floor, delta=DELTA)
        assert_holds(kl, bound.value)
        bound = plug_in_cross_entropy_bound(
            complexity=complexity, n=n, floor=floor, upper=1.0, delta=DELTA
        )
        assert_holds(np.abs(q_hat - 0.45), bound.value)

    def test_matched_plug_in(self, n):
        # f ≡ 0 with the zero-one loss: the plug-in risk of (1 − q, q) is q, the loss is Y.
        q_hat = np.where(self.means(n) > 0.5, 1.0, 0.0)
        excess = np.abs(q_hat - self.share) - self.share
        bound = plug_in_matched_bound(
            complexity=2 * constant_complexity(n=n).value, n=n, upper=1.0, delta=DELTA
        )
        assert (excess <= bound.value).mean() >= 1 - DELTA


class TestFiniteClass:
    """Eight functions on twelve points: rich for ten rows, so that choosing among them errs."""

    n = 10
    rng = np.random.default_rng(0)
    members = rng.integers(0, 2, size=(8, 12)).astype(float)
    g = rng.uniform(0.3, 0.7, size=12)

    def samples(self):
        rng = np.random.default_rng(1)
        x = rng.integers(0, 12, size=(N_SAMPLES, self.n))
        z = (rng.random((N_SAMPLES, self.n)) < self.g[x]).astype(float)
        values = self.members[:, x]  # members × samples × rows
        here = [finite_complexity(values[:, i]) for i in range(N_SAMPLES)]
        return values, z, here

    def test_squared_error(self):
        values, z, here = self.samples()
        chosen = ((values - z) ** 2).mean(axis=2).argmin(axis=0)
        errors = ((self.members - self.g) ** 2).mean(axis=1)
        self.check(errors[chosen] - errors.min(), here, squared_error_bound)

    def test_realised_absolute(self):
        values, z, here = self.samples()
        chosen = np.abs(values - z).mean(axis=2).argmin(axis=0)
        errors = (self.g * (1 - self.members) + (1 - self.g) * self.members).mean(axis=1)
        self.check(errors[chosen] - errors.min(), here, realised_absolute_bound)

    def check(self, excess, here, function):
        kwargs = {"n": self.n, "upper": 1.0, "delta": DELTA}
        empirical = [function(complexity=c, **kwargs).value for c in here]
        assert_holds(excess, empirical)
        expected = function(complexity=average_complexity(here), **kwargs).value
        assert_holds(excess, expected)
        assert expected < np.mean(empirical)


@pytest.mark.parametrize("n", [5, 40])
def test_separable_for_the_worst_interpolating_threshold(n):
    """Y = 1{X > ½}, H = {1{x > t}}: the gap around ½ is where an interpolator may err."""
    rng = np.random.default_rng(n)
    x = rng.random((N_SAMPLES, n))
    below = np.where(x <= 0.5, x, 0.0).max(axis=1)
    above = np.where(x > 0.5, x, 1.0).min(axis=1)
    error = np.maximum(0.5 - below, above - 0.5)  # E[1 − p_θ̂(X)_Y], the same for every f
    part = threshold_complexity(n)
    bound = separable_bound(complexity=sum_complexities([part] * 2), n=n, delta=DELTA)
    assert_holds(error, bound.value)
    printed = as_printed.proposition_3(complexity=sum_complexities([part] * 2), n=n, delta=DELTA)
    assert bound.value < printed.value


class TestPrintedVersionsAreViolated:
    def test_proposition_1(self):
        n = 1000
        constants = constant_complexity(n=n)
        z = np.random.default_rng(0).random((200, n)) < 0.3
        chosen = np.median(z, axis=1)
        excess = np.abs(chosen - 0.3)  # the least, at c = 0.3, is zero
        kwargs = {"complexity": constants, "n": n, "upper": 1.0, "delta": 0.05}
        printed = as_printed.proposition_1(**kwargs)
        assert printed.value == pytest.approx(0.103, abs=5e-4)
        assert (excess > printed.value).all()
        # What the same number bounds is the error against Z, of which 0 is the least.
        realised = np.where(chosen == 0, 0.3, 0.7) - 0.3
        assert (realised <= realised_absolute_bound(**kwargs).value).all()
        # The minimiser of squared errors obeys its own bound.
        assert ((z.mean(axis=1) - 0.3) ** 2 <= squared_error_bound(**kwargs).value).all()

    def test_theorem_1_line_1(self):
        # P(X = 1) = 0.3, Y = X, f ≡ 0, constants (1 − q, q): R_ca(q) = 0.7q + 0.3(1 − q).
        n = 10_000
        q_hat = np.random.default_rng(0).binomial(n, 0.3, size=200) / n
        excess = (0.7 * q_hat + 0.3 * (1 - q_hat)) - 0.3
        complexity = sum_complexities([constant_complexity(n=n)] * 2)
        kwargs = {"complexity": complexity, "n": n, "upper": 1.0, "delta": 0.05}
        printed = as_printed.theorem_1_line_1(**kwargs)
        assert excess.mean() == pytest.approx(0.12, abs=1e-3)
        assert printed.value == pytest.approx(0.04, abs=1e-3)
        assert (excess > printed.value).all()
        # The minimiser of the matched error, q = 0, obeys the valid one.
        matched = np.where(q_hat > 0.5, 0.7, 0.3) - 0.3
        assert (matched <= plug_in_matched_bound(**kwargs).value).all()

    def test_theorem_1_line_2_for_all_theta(self):
        # H = {p, q}, p = (½, ½), q = (0.1, 0.9), f ≡ 0, zero-one loss: R_ca(q) = 0.4.
        p, q = np.array([0.5, 0.5]), np.array([0.1, 0.9])
        violated = []
        for n in (10, 1000, 100_000):
            # Of the constants from 0.5 to 0.9 one of the two ends is always the best.
            part = constant_complexity(n=n, lower=0.5, upper=0.9)
            kwargs = {"complexity": 2 * part.value, "n": n, "n_classes": 2, "upper": 1.0}
            violated.append(as_printed.theorem_1_line_2(**kwargs, delta=0.05).value < 0.4)
            labels = np.random.default_rng(0).binomial(n, 0.5, size=300)
            brier = [
                (n - labels) * ((v - [1, 0]) ** 2).sum() + labels * ((v - [0, 1]) ** 2).sum()
                for v in (p, q)
            ]
            error = np.where(brier[0] <= brier[1], 0.0, 0.4)
            valid = plug_in_bound(**kwargs, delta=DELTA)
            assert (error <= valid.value).mean() >= 1 - DELTA
        assert violated == [False, True, True]

    def test_largest_class_in_place_of_the_sum(self):
        """With the greatest Rad(H_k) for the undefined R̂ₙ(H), even the symmetrised step fails.

        Each of K classes has its own row on which a member may or may not be wrong, so that all
        coordinates can follow the signs at once.
        """
        k = 6
        members = np.array(list(itertools.product((0.0, 1.0), repeat=k)))  # 1 − p(x_j)_j, rows j
        whole = by_enumeration(members)
        largest = max(by_enumeration(np.unique(np.eye(k)[j] * members, axis=0)) for j in range(k))
        assert whole == pytest.approx(0.5)
        assert whole > largest
        assert whole <= k * largest + 1e-12
        assert math.isclose(largest, 0.5 / k)
