"""Empirical complexities against enumeration, against each other and against Monte Carlo."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from enumeration import all_stumps, by_enumeration
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from condrisk.paper.theory.complexity import (
    LowerBound,
    _monte_carlo,
    constant_complexity,
    finite_complexity,
    greedy_tree_complexity,
    linear_complexity,
    stump_complexity,
)

# Small integers make ties, which stumps and trees must respect.
small_rows = st.tuples(st.integers(1, 6), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-2, 2).map(float))
)


def all_trees(X, depth):
    """The distinct sign patterns that trees of a depth can give the rows."""
    if depth == 0:
        return {(1.0,) * len(X), (-1.0,) * len(X)}
    patterns = set()
    for j in range(X.shape[1]):
        for t in {*X[:, j]}:
            below = X[:, j] <= t
            for left in all_trees(X[below], depth - 1):
                for right in all_trees(X[~below], depth - 1) if (~below).any() else [()]:
                    pattern = np.empty(len(X))
                    pattern[below], pattern[~below] = left, right
                    patterns.add(tuple(pattern))
    return patterns


class TestSigns:
    def test_all_signs_come_once(self):
        signs = np.concatenate(list(_monte_carlo.all_signs(7, 10)))
        assert signs.shape == (128, 7)
        assert len({tuple(row) for row in signs}) == 128
        assert set(np.unique(signs)) == {-1, 1}

    @pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
    def test_random_signs_are_fair_and_uncorrelated(self, n):
        signs = np.concatenate(
            list(_monte_carlo.random_signs(n, 4000, 999, np.random.default_rng(1)))
        )
        assert signs.shape == (4000, n)
        assert set(np.unique(signs)) == {-1, 1}
        second_moments = signs.T.astype(float) @ signs / 4000
        assert np.abs(signs.mean(axis=0)).max() < 5 / math.sqrt(4000)
        assert np.abs(second_moments - np.eye(n)).max() < 5.5 / math.sqrt(4000)

    @pytest.mark.parametrize("function", ["linear", "finite", "stump", "tree"])
    def test_size_of_blocks_does_not_matter(self, function, monkeypatch):
        X = np.random.default_rng(0).normal(size=(70, 3))
        calls = {
            "linear": lambda: linear_complexity(X, radius=1.0, n_draws=50, random_state=3),
            "finite": lambda: finite_complexity(X.T, n_draws=50, random_state=3),
            "stump": lambda: stump_complexity(X, n_draws=50, random_state=3),
            "tree": lambda: greedy_tree_complexity(X, max_depth=3, n_draws=50, random_state=3),
        }
        whole = calls[function]()
        monkeypatch.setattr(_monte_carlo, "BLOCK_ENTRIES", 500)
        parts = calls[function]()
        assert parts.value == pytest.approx(whole.value, rel=1e-12)
        assert parts.standard_error == pytest.approx(whole.standard_error, rel=1e-12)

    def test_memory_stays_far_below_draws_times_rows_times_features(self):
        X = np.random.default_rng(0).normal(size=(5000, 20))
        tracemalloc.start()
        linear_complexity(X, radius=1.0, n_draws=1000, random_state=0)
        stump_complexity(X, n_draws=1000, random_state=0)
        finite_complexity(X.T, n_draws=1000, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6  # all at once: 800 MB


class TestAgainstEnumeration:
    @settings(max_examples=60, deadline=None)
    @given(small_rows, st.sampled_from([1, "inf"]))
    def test_linear_at_the_corners_of_the_ball(self, X, norm):
        d = X.shape[1]
        if norm == 1:
            corners = [sign * np.eye(d)[j] for j in range(d) for sign in (-1, 1)]
        else:
            corners = list(itertools.product((-1, 1), repeat=d))
        expected = by_enumeration([1.5 * (X @ np.asarray(w)) for w in corners])
        result = linear_complexity(X, radius=1.5, norm=norm)
        assert result.kind == "exact"
        assert result.value == pytest.approx(expected, abs=1e-12)

    def test_linear_in_the_disc(self):
        X = np.random.default_rng(5).normal(size=(6, 2))
        angles = np.linspace(0, 2 * np.pi, 2001)
        members = 0.7 * np.column_stack([np.cos(angles), np.sin(angles)]) @ X.T
        exact = linear_complexity(X, radius=0.7).value
        # The best of the grid's directions is within half a step of the best of all.
        assert exact * math.cos(np.pi / 2000) <= by_enumeration(members) <= exact + 1e-12

    @settings(max_examples=60, deadline=None)
    @given(small_rows)
    def test_finite(self, X):
        result = finite_complexity(X.T)
        assert result.kind == "exact"
        assert result.value == pytest.approx(by_enumeration(X.T), abs=1e-12)

    @settings(max_examples=60, deadline=None)
    @given(small_rows, st.sampled_from([(-1.0, 1.0), (0.0, 3.0), (2.0, 2.5), (1.0, 1.0)]))
    def test_stumps(self, X, ends):
        low, high = ends
        result = stump_complexity(X, lower=low, upper=high)
        assert result.kind == "exact"
        assert result.value == pytest.approx(by_enumeration(all_stumps(X, low, high)), abs=1e-12)

    @settings(max_examples=30, deadline=None)
    @given(small_rows, st.integers(0, 2))
    def test_greedy_trees_are_a_lower_bound(self, X, depth):
        best = by_enumeration(list(all_trees(X, depth)))
        greedy = greedy_tree_complexity(X, max_depth=depth, n_draws=64)
        assert isinstance(greedy, LowerBound)
        assert greedy.value <= best + 1e-12
        if depth < 2:  # nothing is greedy about one split
            assert greedy.value == pytest.approx(best, abs=1e-12)


class TestAgainstMonteCarlo:
    """2¹² sign vectors, of which fewer are drawn."""

    X = np.random.default_rng(7).normal(size=(12, 3)).round(1)

    def complexities(self, n_draws, seed=None):
        X, given = self.X, {"n_draws": n_draws, "random_state": seed}
        return (
            linear_complexity(X, radius=2.0, norm=1, **given),
            linear_complexity(X, radius=2.0, norm=2, **given),
            linear_complexity(X, radius=2.0, norm="inf", **given),
            finite_complexity(X.T, **given),
            stump_complexity(X, lower=0.0, upper=2.0, **given),
            greedy_tree_complexity(X, max_depth=2, **given),
        )

    def test_exact_within_four_standard_errors(self):
        exact = self.complexities(4096)
        assert all(c.standard_error == 0 for c in exact)
        scores = [
            [(d.value - e.value) / d.standard_error for e, d in zip(exact, drawn, strict=True)]
            for drawn in (self.complexities(400, seed) for seed in range(30))
        ]
        assert np.abs(scores).max() < 4
        # The standard errors are neither too large nor too small.
        assert np.std(scores, axis=0) == pytest.approx(np.ones(6), abs=0.35)

    def test_kinds(self):
        exact, drawn = self.complexities(4096)[:-1], self.complexities(400)[:-1]
        assert {c.kind for c in exact} == {"exact"}
        assert {c.kind for c in drawn} == {"estimate"}
        assert {c.scope for c in (*exact, *drawn)} == {"empirical"}

    def test_all_signs_are_taken_as_soon_as_the_draws_suffice(self):
        for n_draws, kind in ((4095, "estimate"), (4096, "exact")):
            X = np.arange(12.0)[:, None]
            assert stump_complexity(X, n_draws=n_draws, random_state=0).kind == kind

    def test_constants_and_stumps_without_a_feature_to_split_agree(self):
        estimate = stump_complexity(np.zeros((50, 2)), lower=0.0, upper=3.0, random_state=0)
        exact = constant_complexity(n=50, upper=3.0)
        assert abs(estimate.value - exact.value) < 4 * estimate.standard_error

    def test_constants_as_a_linear_class(self):
        estimate = linear_complexity(np.ones((50, 1)), radius=3.0, random_state=0)
        exact = constant_complexity(n=50, lower=-3.0, upper=3.0)
        assert abs(estimate.value - exact.value) < 4 * estimate.standard_error


class TestInvariances:
    X = np.random.default_rng(11).normal(size=(60, 3))

    def test_same_seed_same_result(self):
        first, second = (linear_complexity(self.X, radius=1.0, random_state=4) for _ in range(2))
        other = linear_complexity(self.X, radius=1.0, random_state=5)
        assert first == second != other

    def test_radius_scales(self):
        one, three = (
            linear_complexity(self.X, radius=r, random_state=0, n_draws=100).value for r in (1, 3)
        )
        assert three == pytest.approx(3 * one)

    def test_linear_does_not_see_rotations(self):
        q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
        plain, turned = (
            linear_complexity(rows, radius=1.0, random_state=0, n_draws=100).value
            for rows in (self.X, self.X @ q)
        )
        assert turned == pytest.approx(plain)

    def test_stumps_and_trees_see_only_the_order(self):
        for function, more in ((stump_complexity, {}), (greedy_tree_complexity, {"max_depth": 3})):
            plain, bent = (
                function(rows, n_draws=100, random_state=0, **more).value
                for rows in (self.X, np.exp(self.X))
            )
            assert bent == plain

    def test_what_is_added_to_all_members_does_not_matter(self):
        shift = np.random.default_rng(1).normal(size=60)
        plain, moved = (
            finite_complexity(values, n_draws=100, random_state=0)
            for values in (self.X.T, self.X.T + shift)
        )
        assert moved.value == pytest.approx(plain.value)

    def test_one_member_has_none(self):
        alone = finite_complexity(self.X[:, :1].T, random_state=0)
        assert (alone.value, alone.standard_error) == (0.0, 0.0)

    def test_deeper_trees_reach_more_until_every_row_has_its_leaf(self):
        values = [
            greedy_tree_complexity(self.X, max_depth=depth, n_draws=50, random_state=0).value
            for depth in (0, 1, 2, 3, 60)
        ]
        assert values == sorted(values)
        assert values[-1] == 1.0

    def test_tied_rows_are_never_separated(self):
        twice = np.repeat(self.X[:5], 2, axis=0)
        deep = greedy_tree_complexity(twice, max_depth=60, n_draws=1024)
        assert deep.value == pytest.approx(0.5)  # E|σ₁ + σ₂| / 2 for each pair

    def test_trees_may_be_as_deep_as_there_are_rows(self):
        line = np.arange(2000.0)[:, None]
        deep = greedy_tree_complexity(line, max_depth=10**6, n_draws=2, random_state=0)
        assert deep.value == 1.0


X = [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linear_complexity([1.0, 2.0], radius=1.0), ValueError, "X must be two-dim"),
        (lambda: linear_complexity([[1.0], [1.0, 2.0]], radius=1.0), ValueError, "X must be two"),
        (lambda: linear_complexity(np.empty((0, 2)), radius=1.0), ValueError, "X is empty"),
        (lambda: linear_complexity([["a"]], radius=1.0), TypeError, "X must be made of real"),
        (
            lambda: linear_complexity([[0, 1], [2, np.nan]], radius=1.0),
            ValueError,
            "X must be finite, got 1 .* row 1, column 1",
        ),
        (lambda: linear_complexity(X, radius=-1.0), ValueError, "radius must not be negative"),
        (lambda: linear_complexity(X, radius=1.0, norm=3), ValueError, "norm must be 1, 2 or"),
        (lambda: linear_complexity(X, radius=1.0, norm=True), ValueError, "norm must be 1, 2 or"),
        (lambda: linear_complexity(X, radius=1.0, n_draws=1), ValueError, "n_draws must be at le"),
        (lambda: linear_complexity(X, radius=1.0, n_draws=2.5), TypeError, "n_draws must be an i"),
        (lambda: finite_complexity([0.0, 1.0]), ValueError, "values must be two-dimensional"),
        (lambda: finite_complexity(X, n_draws=0), ValueError, "n_draws must be at least 2"),
        (lambda: stump_complexity([0.0]), ValueError, "X must be two-dimensional"),
        (lambda: stump_complexity(X, lower=1.5), ValueError, "lower must not exceed upper"),
        (lambda: stump_complexity(X, n_draws=1), ValueError, "n_draws must be at least 2"),
        (lambda: greedy_tree_complexity(X, max_depth=-1), ValueError, "max_depth must be at least"),
        (lambda: greedy_tree_complexity(X, max_depth=True), TypeError, "max_depth must be an int"),
        (
            lambda: greedy_tree_complexity(X, max_depth=1, lower=2.0),
            ValueError,
            "lower must not exceed upper",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
