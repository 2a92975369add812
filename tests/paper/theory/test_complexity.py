"""Rademacher complexities against enumeration of all signs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from enumeration import by_enumeration
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from condrisk.paper.theory import Complexity, constant_complexity, stump_bound, sum_complexities
from condrisk.paper.theory._complexity import massart_bound
from condrisk.paper.theory.simulations._cells import cell_complexity
from condrisk.paper.theory.simulations._excess import threshold_complexity

# Small integers make ties.
small_rows = st.tuples(st.integers(1, 6), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-2, 2).map(float))
)
SLACK = 1 + 1e-9


def all_stumps(X, low, high):
    """The values of every stump on the rows, written down one by one."""
    thresholds = [(j, t) for j in range(X.shape[1]) for t in [-math.inf, *X[:, j]]]
    return [
        [a if row[j] <= t else b for row in X]
        for j, t in thresholds
        for a in (low, high)
        for b in (low, high)
    ]


@pytest.mark.parametrize("n", range(1, 13))
def test_constants(n):
    exact = sum(abs(n - 2 * k) * Fraction(math.comb(n, k), 2**n) for k in range(n + 1))
    found = constant_complexity(n=n, lower=-1.0, upper=2.0)
    assert found.value == pytest.approx(float(1.5 * exact / n), rel=1e-12)
    assert found.value == pytest.approx(by_enumeration([[-1.0] * n, [2.0] * n]), rel=1e-12)
    assert (found.kind, found.scope) == ("exact", "expected")


@pytest.mark.parametrize("n", [10**6, 10**6 + 1, 10**12])
def test_constants_on_many_rows(n):
    m = n // 2
    series = (1 - 1 / (8 * m)) / math.sqrt(math.pi * m)
    assert constant_complexity(n=n).value == pytest.approx(series / 2, rel=1e-11)


@settings(max_examples=60, deadline=None)
@given(small_rows)
def test_massart(X):
    upper = massart_bound(n_members=X.shape[1], n=len(X), radius=float(np.abs(X).max()))
    assert (upper.kind, upper.scope) == ("upper", "expected")
    assert by_enumeration(X.T) <= upper.value * SLACK + 1e-9
    four = massart_bound(n_members=X.shape[1], n=4 * len(X), radius=float(np.abs(X).max()))
    assert four.value == pytest.approx(upper.value / 2)


@settings(max_examples=60, deadline=None)
@given(small_rows, st.sampled_from([(-1.0, 1.0), (0.0, 3.0), (2.0, 2.5), (1.0, 1.0)]))
def test_stumps(X, ends):
    upper = stump_bound(n=len(X), n_features=X.shape[1], lower=ends[0], upper=ends[1])
    assert (upper.kind, upper.scope) == ("upper", "expected")
    assert by_enumeration(all_stumps(X, *ends)) <= upper.value * SLACK + 1e-12


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_classes_of_the_simulations(n):
    """Thresholds on a line see the order of the rows alone; one cell is a constant."""
    steps = np.tri(n + 1, n, -1)
    assert threshold_complexity(n).value == pytest.approx(by_enumeration(steps), rel=1e-12)
    assert cell_complexity(n, n_cells=1).value == pytest.approx(constant_complexity(n=n).value)


def test_sum():
    parts = [
        Complexity(value=0.1, kind="exact", name="a"),
        Complexity(value=0.2, kind="exact", name="b"),
        Complexity(value=0.3, kind="exact", name="b"),
    ]
    total = sum_complexities(parts)
    assert total.value == pytest.approx(0.6)
    assert (total.kind, total.scope, total.name) == ("exact", "expected", "a + b")
    total = sum_complexities([*parts, Complexity(value=0.3, kind="upper", scope="empirical")])
    assert (total.kind, total.scope) == ("upper", "empirical")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Complexity(value=-0.1, kind="upper"), ValueError, "value must not be negative"),
        (lambda: Complexity(value=math.nan, kind="upper"), ValueError, "value must be finite"),
        (lambda: Complexity(value="0.1", kind="upper"), TypeError, "value must be a real number"),
        (lambda: Complexity(value=0.1, kind="lower"), ValueError, "kind must be one of"),
        (
            lambda: Complexity(value=0.1, kind="exact", scope="sample"),
            ValueError,
            "scope must be one of",
        ),
        (lambda: sum_complexities([]), ValueError, "complexities is empty"),
        (lambda: sum_complexities([0.1]), TypeError, "complexities must hold Complexity objects"),
        (lambda: constant_complexity(n=0), ValueError, "n must be at least 1"),
        (lambda: constant_complexity(n=2, upper=-1.0), ValueError, "lower must not exceed upper"),
        (lambda: massart_bound(n_members=0, n=2, radius=1.0), ValueError, "n_members must be at"),
        (lambda: massart_bound(n_members=2, n=0, radius=1.0), ValueError, "n must be at least 1"),
        (lambda: massart_bound(n_members=2, n=2, radius=-1), ValueError, "radius must not be neg"),
        (lambda: stump_bound(n=0, n_features=1), ValueError, "n must be at least 1"),
        (lambda: stump_bound(n=1, n_features=0), ValueError, "n_features must be at least 1"),
        (lambda: stump_bound(n=1, n_features=1, lower=2), ValueError, "lower must not exceed"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
