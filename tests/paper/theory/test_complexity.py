"""What a Rademacher complexity is, sums and means of them, and those in closed form."""

import math
from fractions import Fraction

import numpy as np
import pytest
from enumeration import by_enumeration

from condrisk.paper.theory.complexity import (
    Complexity,
    LowerBound,
    average_complexity,
    constant_complexity,
    stump_complexity,
    sum_complexities,
)
from condrisk.paper.theory.simulations._cells import cell_complexity
from condrisk.paper.theory.simulations._excess import threshold_complexity


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


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_classes_of_the_simulations(n):
    """Thresholds on a line see the order of the rows alone; one cell is a constant."""
    steps = np.tri(n + 1, n, -1)
    assert threshold_complexity(n).value == pytest.approx(by_enumeration(steps), rel=1e-12)
    assert cell_complexity(n, n_cells=1).value == pytest.approx(constant_complexity(n=n).value)


def test_sum():
    parts = [
        Complexity(value=0.1, kind="exact", name="a"),
        Complexity(value=0.2, kind="estimate", standard_error=0.01, name="b"),
        Complexity(value=0.3, kind="estimate", standard_error=0.02, name="b"),
    ]
    total = sum_complexities(parts)
    assert total.value == pytest.approx(0.6)
    assert (total.kind, total.standard_error, total.scope) == ("estimate", 0.03, "expected")
    assert total.name == "a + b"
    upper = Complexity(value=0.3, kind="upper", scope="empirical")
    total = sum_complexities([*parts, upper])
    assert (total.kind, total.standard_error, total.scope) == ("upper", 0.03, "empirical")
    assert sum_complexities(parts[:1]).kind == "exact"


def test_average_covers_the_expected_complexity():
    # On two rows that are equal with probability ½ stumps have complexity 0.5, otherwise 1.
    rng = np.random.default_rng(0)
    samples = [rng.integers(0, 2, size=(2, 1)).astype(float) for _ in range(400)]
    mean = average_complexity(stump_complexity(X) for X in samples)
    assert (mean.kind, mean.scope) == ("estimate", "expected")
    assert mean.standard_error == pytest.approx(0.25 / 20, rel=0.05)
    assert abs(mean.value - 0.75) < 4 * mean.standard_error


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"value": -0.1}, ValueError, "value must not be negative"),
        ({"value": math.nan}, ValueError, "value must be finite"),
        ({"value": "0.1"}, TypeError, "value must be a real number"),
        ({"kind": "lower"}, ValueError, "kind must be one of"),
        ({"scope": "sample"}, ValueError, "scope must be one of"),
        ({"standard_error": -1.0}, ValueError, "standard_error must not be negative"),
        ({"kind": "exact", "standard_error": 0.1}, ValueError, "standard_error must be 0"),
    ],
)
def test_bad_complexity(change, error, message):
    with pytest.raises(error, match=message):
        Complexity(**{"value": 0.1, "kind": "upper", **change})


@pytest.mark.parametrize("function", [average_complexity, sum_complexities])
def test_bad_collections(function):
    with pytest.raises(ValueError, match="complexities is empty"):
        function([])
    with pytest.raises(TypeError, match="complexities must hold Complexity objects"):
        function([LowerBound(value=0.1), LowerBound(value=0.1)])


def test_average_of_one():
    with pytest.raises(ValueError, match="at least two samples, got 1"):
        average_complexity([constant_complexity(n=3)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"n": 2, "upper": -1.0}, "lower must not exceed upper"),
    ],
)
def test_bad_constants(given, message):
    with pytest.raises(ValueError, match=message):
        constant_complexity(**given)
