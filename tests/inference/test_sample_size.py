"""The least number of rows: the bound is small enough there, and not with one row fewer."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from condrisk.inference import sample_size
from condrisk.paper.theory import (
    plug_in_bound,
    realised_absolute_bound,
    separable_bound,
    squared_error_bound,
)
from condrisk.paper.theory.complexity import constant_complexity

BASE = {"epsilon": 0.1, "delta": 0.05, "upper": 1.0, "rate_constant": 1.0}
FUNCTIONS = {
    "squared_error": squared_error_bound,
    "realised_absolute": realised_absolute_bound,
    "plug_in": plug_in_bound,
    "separable": separable_bound,
}


def closed_form(bound, epsilon, delta, upper, rate_constant, n_classes=None):
    a = math.sqrt(math.log(1 / delta) / 2)
    if bound == "plug_in":
        return (n_classes * upper**2 * (rate_constant + a) / epsilon**2) ** 2
    sums = {
        "squared_error": 4 * upper * rate_constant + 2 * upper**2 * a,
        "realised_absolute": 2 * rate_constant + 2 * upper * a,
        "separable": upper * (2 * rate_constant + a),
    }
    return (sums[bound] / epsilon) ** 2


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.floats(0.01, 20),
    st.floats(1e-6, 0.999),
    st.floats(0.05, 5),
    st.floats(0, 5),
    st.integers(2, 20),
)
def test_enough_and_not_one_too_many(bound, epsilon, delta, upper, rate, n_classes):
    more = {"n_classes": n_classes} if bound == "plug_in" else {}
    exact = closed_form(bound, epsilon, delta, upper, rate, **more)
    assume(exact < 1e12)
    n = sample_size(
        epsilon=epsilon, delta=delta, upper=upper, rate_constant=rate, bound=bound, **more
    )
    assert type(n) is int

    def value(rows):
        return FUNCTIONS[bound](
            complexity=rate / math.sqrt(rows), n=rows, upper=upper, delta=delta, **more
        ).value

    assert value(n) <= epsilon
    assert n == 1 or value(n - 1) > epsilon
    assert math.ceil(exact * (1 - 1e-12)) <= n <= max(1, math.ceil(exact * (1 + 1e-12)))


def test_closed_form_where_it_is_a_whole_number():
    # δ = e⁻²: √(ln(1/δ)/2) = 1. A = 4 + 2 = 6 and (6 / 0.5)² = 144; plug-in: (2·2/0.25)² = 256.
    kwargs = {"delta": math.exp(-2), "upper": 1.0, "rate_constant": 1.0, "epsilon": 0.5}
    assert abs(sample_size(**kwargs) - 144) <= 1
    assert abs(sample_size(**kwargs, bound="realised_absolute") - 64) <= 1
    assert abs(sample_size(**kwargs, bound="separable") - 36) <= 1
    assert abs(sample_size(**kwargs, bound="plug_in", n_classes=2) - 256) <= 1


@pytest.mark.parametrize("bound", sorted(FUNCTIONS))
def test_rounding_is_put_right(bound):
    """With ε such that the closed form is k², rounding alone decides about one row."""
    more = {"n_classes": 2} if bound == "plug_in" else {}
    kwargs = {"delta": math.exp(-2), "upper": 1.0}
    off = 0
    for k in range(2, 300):
        one = FUNCTIONS[bound](complexity=1.0, n=1, **kwargs, **more).value
        epsilon = one / (math.sqrt(k) if bound == "plug_in" else k)
        n = sample_size(epsilon=epsilon, rate_constant=1.0, bound=bound, **kwargs, **more)
        above, below = (
            FUNCTIONS[bound](complexity=1 / math.sqrt(m), n=m, **kwargs, **more).value
            for m in (n, n - 1)
        )
        assert above <= epsilon < below
        assert abs(n - k**2) <= 1
        off += n != math.ceil(
            closed_form(bound, epsilon=epsilon, rate_constant=1.0, **kwargs, **more)
        )
    assert off > 0  # otherwise nothing was tested


def test_half_the_error_takes_four_times_the_rows_or_sixteen():
    many = BASE | {"epsilon": 0.01}
    fewer = BASE | {"epsilon": 0.02}
    assert sample_size(**many) / sample_size(**fewer) == pytest.approx(4, rel=1e-3)
    ratio = sample_size(**many, bound="plug_in", n_classes=2) / sample_size(
        **fewer, bound="plug_in", n_classes=2
    )
    assert ratio == pytest.approx(16, rel=1e-3)


def test_the_rate_of_constants():
    n = sample_size(**BASE | {"rate_constant": 0.5})
    bound = squared_error_bound(complexity=constant_complexity(n=n), n=n, upper=1.0, delta=0.05)
    assert bound.value <= 0.1


def test_one_row_can_be_enough():
    assert sample_size(**BASE | {"epsilon": 1000.0}) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"epsilon": 1e-9},
            "epsilon is too small, got 1e-09: the bound would need more than 5e.15 rows",
        ),
        ({"epsilon": 1e-300}, "epsilon is too small"),
        ({"epsilon": 1e-300, "bound": "plug_in", "n_classes": 2}, "epsilon is too small"),
        ({"bound": "brier"}, "bound must be one of"),
        ({"bound": "plug_in"}, "n_classes must be given"),
        ({"n_classes": 3}, 'n_classes is for bound="plug_in" only'),
        ({"bound": "plug_in", "n_classes": 1}, "n_classes must be at least 2"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        sample_size(**BASE | change)
