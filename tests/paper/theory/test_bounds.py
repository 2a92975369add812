"""The values of the bounds, what they refuse, and the inequalities that hold for sure."""

import inspect
import math

import numpy as np
import pytest
from bound_cases import ALL, PLANNING, PRINTED, ROWS, found
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from condrisk.paper.theory import (
    as_printed,
    brier_probability_bound,
    cross_entropy_kl_bound,
    plug_in_bound,
    plug_in_cross_entropy_bound,
    plug_in_kl_bound,
    plug_in_lipschitz_bound,
    plug_in_matched_bound,
    plug_in_mean_variance_bound,
    realised_absolute_bound,
    rejection_bound,
    restricted_rejection_bound,
    separable_bound,
    squared_error_bound,
)
from condrisk.paper.theory.complexity import Complexity, LowerBound

C, M, K, FLOOR = 0.03, 2.0, 3, 0.1
S = math.sqrt(math.log(10) / 400)  # n = 200, δ = 0.1


def names(cases):
    return [f"{f.__module__.rsplit('.')[-1]}.{f.__name__}" for f in cases]


def test_every_function_is_in_the_table():
    assert found() == set(ALL)
    assert {f.__name__ for f in PRINTED} == set(as_printed.__all__)
    for function, kwargs in ALL.items():
        parameters = inspect.signature(function).parameters
        assert set(parameters) == set(kwargs)
        assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("function", "expected", "empirical"),
    [
        (realised_absolute_bound, 2 * C + 2 * M * S, 2 * C + 4 * M * S),
        (squared_error_bound, 4 * M * C + 2 * M**2 * S, 4 * M * C + 4 * M**2 * S),
        (brier_probability_bound, 4 * C + 4 * S, 4 * C + 8 * S),
        (plug_in_bound, M * math.sqrt(K * (C + S)), M * math.sqrt(K * (C + 2 * S))),
        (plug_in_matched_bound, M * C + 2 * M * S, M * C + 4 * M * S),
        (separable_bound, M * (2 * C + S), M * (2 * C + 3 * S)),
        (
            cross_entropy_kl_bound,
            20 * C + 2 * math.log(10) * S,
            20 * C + 4 * math.log(10) * S,
        ),
        (
            plug_in_cross_entropy_bound,
            M * math.sqrt((20 * C + 2 * math.log(10) * S) / 2),
            M * math.sqrt((20 * C + 4 * math.log(10) * S) / 2),
        ),
        # As printed, no difference is made.
        (as_printed.proposition_1, *[2 * C + 2 * M * S] * 2),
        (as_printed.theorem_1_line_1, *[2 * M * C + 2 * M * S] * 2),
        (as_printed.theorem_1_line_2, *[M * math.sqrt(K * (2 * C + S))] * 2),
        (as_printed.proposition_3, *[2 * C + 2 * S] * 2),
        (as_printed.proposition_3_regression, *[0.1 + 2 * C + 2 * S] * 2),
    ],
)
def test_values(function, expected, empirical):
    kwargs = ALL[function]
    assert kwargs.items() >= ROWS.items()
    assert function(**kwargs).value == pytest.approx(expected)
    upper = Complexity(value=C, kind="upper")
    assert function(**{**kwargs, "complexity": upper}).value == pytest.approx(expected)
    here = Complexity(value=C, kind="exact", scope="empirical")
    assert function(**{**kwargs, "complexity": here}).value == pytest.approx(empirical)


def test_values_without_complexity():
    assert plug_in_lipschitz_bound(l1_distance=0.3, upper=2.0).value == pytest.approx(0.3)
    assert as_printed.theorem_1_l1_distance(l1_distance=0.3, upper=2.0).value == pytest.approx(0.6)
    assert plug_in_kl_bound(kl=0.5, upper=3.0).value == pytest.approx(1.5)
    for function in (rejection_bound, as_printed.rejection_bound):
        assert function(regressor_error=0.1, risk_error=0.2).value == pytest.approx(0.3)
    restricted = restricted_rejection_bound(conditional_excess=0.1, risk_error=0.2)
    assert restricted.value == pytest.approx(0.3)
    moments = {"variance_error": 0.1, "mean_error": 0.2, "predictor_error": 0.5}
    assert plug_in_mean_variance_bound(**moments).value == pytest.approx(0.1 + 0.2 * (1 + 0.2))


@pytest.mark.parametrize("function", ALL, ids=names(ALL))
class TestEveryFunction:
    def test_what_is_returned(self, function):
        bound = function(**ALL[function])
        assert float(bound) == bound.value > 0
        assert f"{bound.value:.4g}" in bound.statement
        assert bound.assumptions
        assert all(text.endswith(".") for text in (*bound.assumptions, bound.statement))
        if function not in (
            plug_in_bound,
            plug_in_kl_bound,
            plug_in_cross_entropy_bound,
            as_printed.theorem_1_line_2,
        ):
            assert sum(bound.terms.values()) == pytest.approx(bound.value)

    def test_vacuous(self, function):
        bound = function(**ALL[function])
        trivial = {
            squared_error_bound: 4.0,
            brier_probability_bound: 2.0,
            cross_entropy_kl_bound: math.log(10),
            as_printed.proposition_3: 1.0,
            as_printed.proposition_3_regression: 1.0,
            plug_in_mean_variance_bound: math.inf,
        }
        if "rejection" in function.__name__:
            assert bound.trivial == math.inf
        else:
            assert bound.trivial == pytest.approx(trivial.get(function, 2.0))
        assert bound.vacuous == (bound.value >= bound.trivial)

    def test_grows_with_what_is_bad(self, function):
        kwargs = ALL[function]
        value = function(**kwargs).value
        for name in kwargs:
            more = function(**{**kwargs, name: kwargs[name] * 2}).value
            falls = name in ("n", "delta", "floor")
            assert more < value if falls else more > value


def test_vacuous_just_where_nothing_is_said():
    kwargs = {"complexity": 0.0, "upper": 2.0, "delta": 0.05}  # 2M²s against M²: s ≥ ½
    last, first = (squared_error_bound(n=n, **kwargs) for n in (5, 6))
    assert last.vacuous
    assert not first.vacuous


@pytest.mark.parametrize("function", [f for f, k in ALL.items() if "complexity" in k])
class TestComplexity:
    def test_lower_bound_is_refused_with_the_reason(self, function):
        lower = LowerBound(value=0.01, name="greedy trees")
        with pytest.raises(TypeError, match=r"complexity .*LowerBound \(greedy trees\).*smaller"):
            function(**{**ALL[function], "complexity": lower})

    def test_bare_number_is_taken_for_an_upper_bound_and_that_is_said(self, function):
        kwargs = ALL[function]
        exact = function(**{**kwargs, "complexity": Complexity(value=C, kind="exact")})
        number = function(**{**kwargs, "complexity": C})
        assert number.value == exact.value
        assert set(number.assumptions) - set(exact.assumptions) == {
            "The complexity given is at least the expected one."
        }

    def test_estimate_counts_three_standard_errors(self, function):
        kwargs = ALL[function]
        estimate = Complexity(value=C, kind="estimate", standard_error=0.002)
        bound = function(**{**kwargs, "complexity": estimate})
        assert bound.value == pytest.approx(function(**{**kwargs, "complexity": C + 0.006}).value)
        exact = function(**{**kwargs, "complexity": Complexity(value=C, kind="exact")})
        assert set(bound.terms) - set(exact.terms) == {"monte_carlo"}
        (added,) = set(bound.assumptions) - set(exact.assumptions)
        assert "Monte Carlo; 3 of its standard errors" in added


EVERYTHING = {**ALL, **PLANNING}


NO_NUMBERS = [None, "0.1", True, [0.1]]
OUT_OF_RANGE = [-1, -0.5, math.nan, math.inf]
EDGES = {"n": [0, 2.5], "n_classes": [1, 2.5], "upper": [0], "epsilon": [0]}
EDGES |= {"delta": [0, 1], "floor": [0, 0.6, 1]}


@pytest.mark.parametrize("function", EVERYTHING, ids=names(EVERYTHING))
def test_bad_input_is_named(function):
    good = EVERYTHING[function]
    for name in good:
        for value in NO_NUMBERS:
            with pytest.raises(TypeError, match=f"^{name} must"):
                function(**{**good, name: value})
        for value in [LowerBound(value=0.1), *OUT_OF_RANGE, *EDGES.get(name, [])]:
            with pytest.raises((ValueError, TypeError), match=f"^{name} must"):
                function(**{**good, name: value})
        if name not in EDGES:  # nothing at all is fine
            function(**{**good, name: 0})


def simplex(n, k):
    positive = st.floats(0.01, 1)
    return arrays(np.float64, (n, k), elements=positive).map(
        lambda rows: rows / rows.sum(axis=1, keepdims=True)
    )


worlds = st.integers(2, 5).flatmap(
    lambda k: st.tuples(
        simplex(4, k), simplex(4, k), arrays(np.float64, (4, k), elements=st.floats(0, 3))
    )
)


class TestCertainInequalities:
    """No probability is involved: on four equally likely points the means are exact."""

    @settings(max_examples=200, deadline=None)
    @given(worlds)
    def test_plug_in_risk(self, world):
        p, q, loss = world
        error = np.abs(((q - p) * loss).sum(axis=1)).mean()
        distance = np.abs(q - p).sum(axis=1).mean()
        kl = max(0.0, (p * np.log(p / q)).sum(axis=1).mean())
        lipschitz = plug_in_lipschitz_bound(l1_distance=distance, upper=3.0).value
        assert error <= lipschitz + 1e-12
        assert lipschitz <= plug_in_kl_bound(kl=kl, upper=3.0).value + 1e-7
        # The step to squared distances, of which `plug_in_bound` takes the root.
        squares = ((q - p) ** 2).sum(axis=1).mean()
        assert lipschitz <= 3.0 / 2 * math.sqrt(p.shape[1] * squares) + 1e-12

    @settings(max_examples=50, deadline=None)
    @given(simplex(4, 2), simplex(4, 2))
    def test_slope_is_attained_by_two_classes_and_zero_one_loss(self, p, q):
        loss = np.array([0.0, 1.0])  # of predicting class 0
        error = np.abs((q - p) @ loss).mean()
        distance = np.abs(q - p).sum(axis=1).mean()
        bound = plug_in_lipschitz_bound(l1_distance=distance, upper=1.0).value
        assert error == pytest.approx(bound, abs=1e-12)

    @settings(max_examples=200, deadline=None)
    @given(
        arrays(np.float64, (4, 4), elements=st.floats(-2, 2)),
        arrays(np.float64, 4, elements=st.floats(0, 4)),
        st.floats(0, 4),
    )
    def test_rejection(self, draws, risk, cost):
        mean, f, best, spread = draws
        variance = spread**2
        g, g_best = variance + (f - mean) ** 2, variance + (best - mean) ** 2
        loss = np.where(risk <= cost, g, cost).mean()
        risk_error = np.abs(risk - g).mean()
        valid = rejection_bound(regressor_error=((f - mean) ** 2).mean(), risk_error=risk_error)
        assert loss - np.minimum(variance, cost).mean() <= valid.value + 1e-12
        # Against any other regressor, with its best rejector.
        restricted = restricted_rejection_bound(
            conditional_excess=np.maximum(0, g - g_best).mean(), risk_error=risk_error
        )
        assert loss - np.minimum(g_best, cost).mean() <= restricted.value + 1e-12

    def test_both_constants_of_the_rejection_bound_are_attained(self):
        # Y ≡ 0, f̂ ≡ 1, g_θ = g = 1, c = 10: accepted, and all of (f̂ − f*)² = 1 is lost.
        assert rejection_bound(regressor_error=1.0, risk_error=0.0).value == 1.0 - 0.0
        # f̂ = f*, Var(Y | X) = g = 1, g_θ = 0 ≤ c = 0: accepted, though deferring costs nothing.
        assert rejection_bound(regressor_error=0.0, risk_error=1.0).value == 1.0 - 0.0

    @settings(max_examples=100, deadline=None)
    @given(st.floats(1e-3, 1.0))
    def test_printed_rejection_bound_is_violated_in_a_restricted_class(self, step):
        # {f ≤ 0}, Y ≡ 1, c = 10: f* = 0, f̂ = −step, both accepted, g_θ = g.
        excess = (1 + step) ** 2 - 1
        assert excess == pytest.approx(2 * step + step**2)
        assert excess > as_printed.rejection_bound(regressor_error=step**2, risk_error=0.0).value
        repaired = restricted_rejection_bound(conditional_excess=excess, risk_error=0.0)
        assert excess <= repaired.value

    @settings(max_examples=100, deadline=None)
    @given(simplex(4, 3), st.integers(0, 2), st.integers(0, 2))
    def test_separable_step_holds_for_every_predictor(self, q, label, predicted):
        loss = (np.arange(3) != predicted).astype(float)
        error = np.abs(q @ loss - loss[label])
        assert (error <= 1 - q[:, label] + 1e-12).all()


four = arrays(np.float64, 4, elements=st.floats(-3, 3))


class TestMeanAndVariance:
    """The plug-in risk (f − m)² + v under squared error, on four equally likely points."""

    @settings(max_examples=200, deadline=None)
    @given(four, four, four, four, four)
    def test_holds_at_every_point_and_on_average(self, f, mean, m, variance, v):
        error = np.abs((f - m) ** 2 + v - (f - mean) ** 2 - variance)
        parts = np.abs([v - variance, m - mean, f - mean])
        for x, at_point in enumerate(error):
            assert at_point <= _moments(*parts[:, x]) + 1e-12
        roots = np.sqrt((parts[1:] ** 2).mean(axis=1))
        assert error.mean() <= _moments(parts[0].mean(), *roots) + 1e-12

    @settings(max_examples=100, deadline=None)
    @given(st.floats(-3, 3), st.floats(0, 3), st.floats(0, 3), st.floats(0, 3), st.booleans())
    def test_is_attained_where_m_and_f_lie_on_either_side(self, mean, d, e, excess, up):
        f, m = (mean - e, mean + d) if up else (mean + e, mean - d)
        error = (f - m) ** 2 + excess - (f - mean) ** 2
        assert error == pytest.approx(_moments(excess, d, e), abs=1e-9)

    @settings(max_examples=100, deadline=None)
    @given(four, st.floats(-3, 3), four, four)
    def test_what_the_plug_in_risk_misses(self, y, f, m, v):
        mean, variance = y.mean(), y.var()
        losses = ((f - y) ** 2).mean()
        missed = 2 * (m - f) * (mean - m) + (mean - m) ** 2 + variance - v
        np.testing.assert_allclose(losses - (f - m) ** 2 - v, missed, atol=1e-9)
        # On average over estimates m and v, of which the four are equally likely.
        bias = m.mean() - mean
        excess = m.var() + bias**2 - 2 * bias * (f - mean) + v.mean() - variance
        assert ((f - m) ** 2 + v).mean() - losses == pytest.approx(excess, abs=1e-9)


def _moments(variance_error, mean_error, predictor_error):
    return plug_in_mean_variance_bound(
        variance_error=float(variance_error),
        mean_error=float(mean_error),
        predictor_error=float(predictor_error),
    ).value


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 100), st.floats(0, 1))
def test_bounds_scale_with_the_loss(scale, complexity):
    kwargs = {"n": 50, "delta": 0.2}

    def ratio(function, power, **scaled):
        one = function(complexity=complexity, upper=1.0, **kwargs).value
        return function(upper=scale, **scaled, **kwargs).value / (one * scale**power)

    # A class of scaled functions has a scaled complexity; probabilities are not scaled.
    assert ratio(realised_absolute_bound, 1, complexity=scale * complexity) == pytest.approx(1)
    assert ratio(squared_error_bound, 2, complexity=scale * complexity) == pytest.approx(1)
    assert ratio(plug_in_matched_bound, 1, complexity=complexity) == pytest.approx(1)
    assert ratio(separable_bound, 1, complexity=complexity) == pytest.approx(1)
