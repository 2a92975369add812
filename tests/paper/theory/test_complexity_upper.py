"""Upper bounds lie above what they bound, and not too far."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from condrisk.paper.theory.complexity import (
    finite_complexity,
    kernel_ball_bound,
    linear_bound,
    linear_complexity,
    massart_bound,
    network_bound,
    stump_bound,
    stump_complexity,
)

# Seven rows at most: all signs are taken, so that what is bounded is exact.
rows = st.tuples(st.integers(1, 7), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-10, 10, allow_subnormal=False))
)
SLACK = 1 + 1e-9


@settings(max_examples=150, deadline=None)
@given(rows, st.sampled_from([1, 2, "inf"]), st.floats(0, 5))
def test_linear(X, norm, radius):
    exact = linear_complexity(X, radius=radius, norm=norm).value
    upper = linear_bound(X, radius=radius, norm=norm)
    assert (upper.kind, upper.scope) == ("upper", "empirical")
    assert exact <= upper.value * SLACK + 1e-12
    if norm != 1:  # Khintchine: at most √2 too large
        assert upper.value <= math.sqrt(2) * exact * SLACK + 1e-12


def test_linear_with_many_features_uses_the_logarithm():
    X = np.ones((10, 1000))
    assert linear_bound(X, radius=1.0, norm=1).value == pytest.approx(
        math.sqrt(10 * 2 * math.log(2000)) / 10
    )


@settings(max_examples=150, deadline=None)
@given(rows)
def test_massart(X):
    exact = finite_complexity(X.T).value
    upper = massart_bound(X.T)
    assert (upper.kind, upper.scope) == ("upper", "empirical")
    assert exact <= upper.value * SLACK + 1e-9
    from_numbers = massart_bound(n_members=X.shape[1], n=len(X), radius=float(np.abs(X).max()))
    assert from_numbers.scope == "expected"
    assert upper.value <= from_numbers.value * SLACK + 1e-9


def test_massart_takes_the_best_centre():
    values = np.array([[0.0] * 4, [0.0] * 4, [1.0] * 4])
    halves = massart_bound(n_members=3, n=4, radius=0.5).value
    assert massart_bound(values).value == pytest.approx(halves)
    assert massart_bound(values + 100).value == pytest.approx(halves)


@settings(max_examples=100, deadline=None)
@given(rows, st.floats(-3, 3), st.floats(0, 3))
def test_stumps(X, low, width):
    exact = stump_complexity(X, lower=low, upper=low + width).value
    upper = stump_bound(n=len(X), n_features=X.shape[1], lower=low, upper=low + width)
    assert (upper.kind, upper.scope) == ("upper", "expected")
    assert exact <= upper.value * SLACK + 1e-12


def test_kernel_ball_of_the_linear_kernel():
    X = np.random.default_rng(0).normal(size=(9, 3))
    upper = kernel_ball_bound((X**2).sum(axis=1), radius=2.0)
    assert upper.value == pytest.approx(linear_bound(X, radius=2.0).value)
    assert linear_complexity(X, radius=2.0).value <= upper.value


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (7, 2), elements=st.floats(-2, 2)), st.floats(0.3, 3), st.floats(0.1, 2))
def test_kernel_ball_of_the_gaussian_kernel(X, width, radius):
    gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / width**2)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=7)))
    squares = np.einsum("bi,ij,bj->b", signs, gram, signs)
    exact = radius * np.sqrt(np.maximum(squares, 0)).mean() / 7
    assert exact <= kernel_ball_bound(np.diag(gram), radius=radius).value * SLACK


@pytest.mark.parametrize("seed", range(5))
def test_networks_found_by_search_stay_below(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    angles = np.linspace(0, 2 * np.pi, 2000)
    units = np.maximum(0.0, 1.5 * np.column_stack([np.cos(angles), np.sin(angles)]) @ X.T)
    # The best network puts all its output weight on the best unit, with either sign.
    found = finite_complexity(np.vstack([2.0 * units, -2.0 * units])).value
    upper = network_bound(X, hidden_norm=1.5, output_norm=2.0)
    assert (upper.kind, upper.scope) == ("upper", "empirical")
    assert upper.value / 4 < found <= upper.value
    # Both norms and the factor two that the absolute value costs.
    assert upper.value == pytest.approx(2 * 2.0 * linear_bound(X, radius=1.5).value)


def test_all_fall_like_one_over_the_root_of_n():
    X = np.random.default_rng(0).normal(size=(50, 4))
    four = np.tile(X, (4, 1))
    for bound in (
        lambda rows: linear_bound(rows, radius=1.0),
        lambda rows: linear_bound(rows, radius=1.0, norm=1),
        lambda rows: network_bound(rows, hidden_norm=1.0, output_norm=1.0),
        lambda rows: kernel_ball_bound(np.ones(len(rows)), radius=1.0),
        lambda rows: massart_bound(rows.T),
        lambda rows: massart_bound(n_members=5, n=len(rows), radius=1.0),
    ):
        assert bound(four).value == pytest.approx(bound(X).value / 2)


X = [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: linear_bound([1.0], radius=1.0), ValueError, "X must be two-dimensional"),
        (lambda: linear_bound(X, radius=math.inf), ValueError, "radius must be finite"),
        (lambda: linear_bound(X, radius=1.0, norm="two"), ValueError, "norm must be 1, 2 or"),
        (lambda: massart_bound(X, n=2), ValueError, "values must be given without"),
        (lambda: massart_bound(n=2, radius=1.0), ValueError, "n_members must be given"),
        (lambda: massart_bound(n_members=2, radius=1.0), ValueError, "n must be given"),
        (lambda: massart_bound(n_members=2, n=2), ValueError, "radius must be given"),
        (lambda: massart_bound(n_members=0, n=2, radius=1.0), ValueError, "n_members must be at"),
        (lambda: massart_bound(n_members=2, n=0, radius=1.0), ValueError, "n must be at least 1"),
        (lambda: massart_bound(n_members=2, n=2, radius=-1), ValueError, "radius must not be neg"),
        (lambda: massart_bound([1.0]), ValueError, "values must be two-dimensional"),
        (lambda: stump_bound(n=0, n_features=1), ValueError, "n must be at least 1"),
        (lambda: stump_bound(n=1, n_features=0), ValueError, "n_features must be at least 1"),
        (lambda: stump_bound(n=1, n_features=1, lower=2), ValueError, "lower must not exceed"),
        (lambda: kernel_ball_bound([-1.0], radius=1.0), ValueError, "gram_diagonal must not be"),
        (lambda: kernel_ball_bound(X, radius=1.0), ValueError, "gram_diagonal must be one-dim"),
        (lambda: kernel_ball_bound([1.0], radius=None), TypeError, "radius must be a real"),
        (
            lambda: network_bound(X, hidden_norm=-1.0, output_norm=1.0),
            ValueError,
            "hidden_norm must not be negative",
        ),
        (
            lambda: network_bound(X, hidden_norm=1.0, output_norm="1"),
            TypeError,
            "output_norm must be a real number",
        ),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
