"""What holds for every metric, driven by one dictionary of them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import condrisk.metrics
from condrisk.metrics import (
    augrc,
    aurc,
    cost_curve,
    coverage_at_risk,
    deferral_loss,
    deferral_rate,
    excess_aurc,
    risk_at_coverage,
    risk_calibration_curve,
    risk_calibration_error,
    risk_coverage_curve,
    risk_error,
)


class Rows(NamedTuple):
    """A column for each argument; `price` is one number for all rows."""

    loss: np.ndarray
    risk: np.ndarray
    cost: np.ndarray
    weight: np.ndarray | None
    price: float

    def take(self, index):
        weight = None if self.weight is None else self.weight[index]
        columns = [column[index] for column in self[:3]]
        return Rows(*columns, weight, self.price)


class Metric(NamedTuple):
    """How a metric is called, and with which power of a common factor its results grow."""

    compute: Callable[[Rows], object]
    degrees: tuple[int, ...] = (1,)
    weight_degrees: tuple[int, ...] = (0,)
    factors: tuple[float, ...] = (2.0**-20, 2.0, 3.0, 0.1, 1e6)

    def __call__(self, rows):
        result = self.compute(rows)
        return result if isinstance(result, tuple) else (result,)


def _calibration(function, strategy, **metric_options):
    return Metric(
        lambda r: function(r.loss, r.risk, n_bins=4, strategy=strategy, sample_weight=r.weight),
        **metric_options,
    )


CURVE_OF_BINS = {"degrees": (1, 1, 0), "weight_degrees": (0, 0, 1)}
CURVE_OF_COSTS = {"degrees": (1, 1, 0, 1, 1, 1), "weight_degrees": (0,) * 6}

# Powers of two, so that a price equal to a risk stays so when both are scaled.
COST_STEPS = np.array([0.0, 0.5, 1.0, 2.0, 4.0])

METRICS = {
    "deferral_loss": Metric(lambda r: deferral_loss(*r[:2], r.price, sample_weight=r.weight)),
    "deferral_loss, price a row": Metric(lambda r: deferral_loss(*r[:3], sample_weight=r.weight)),
    "deferral_rate": Metric(
        lambda r: deferral_rate(r.risk, r.price, sample_weight=r.weight), degrees=(0,)
    ),
    "deferral_rate, price a row": Metric(
        lambda r: deferral_rate(r.risk, r.cost, sample_weight=r.weight), degrees=(0,)
    ),
    "risk_error, norm 1": Metric(lambda r: risk_error(*r[:2], norm=1, sample_weight=r.weight)),
    "risk_error, norm 2": Metric(
        lambda r: risk_error(*r[:2], sample_weight=r.weight), degrees=(2,)
    ),
    "risk_coverage_curve": Metric(
        lambda r: risk_coverage_curve(*r[:2], sample_weight=r.weight),
        degrees=(0, 1, 1),
        weight_degrees=(0, 0, 0),
    ),
    "aurc": Metric(lambda r: aurc(*r[:2], sample_weight=r.weight)),
    "excess_aurc": Metric(lambda r: excess_aurc(*r[:2], sample_weight=r.weight)),
    "augrc": Metric(lambda r: augrc(*r[:2], sample_weight=r.weight)),
    "risk_at_coverage, step": Metric(
        lambda r: risk_at_coverage(*r[:2], 0.7, sample_weight=r.weight)
    ),
    "risk_at_coverage, linear": Metric(
        lambda r: risk_at_coverage(*r[:2], 0.7, convention="linear", sample_weight=r.weight)
    ),
    "coverage_at_risk": Metric(
        lambda r: coverage_at_risk(*r[:2], r.price, sample_weight=r.weight), degrees=(0,)
    ),
    "cost_curve": Metric(
        lambda r: cost_curve(*r[:2], costs=r.price * COST_STEPS, sample_weight=r.weight),
        **CURVE_OF_COSTS,
    ),
    "cost_curve, its own costs": Metric(
        lambda r: cost_curve(*r[:2], sample_weight=r.weight),
        # Other factors can round a price of the grid to just below a risk that it was equal to.
        factors=(2.0**-20, 2.0),
        **CURVE_OF_COSTS,
    ),
    "risk_calibration_curve, quantile": _calibration(
        risk_calibration_curve, "quantile", **CURVE_OF_BINS
    ),
    "risk_calibration_curve, uniform": _calibration(
        risk_calibration_curve, "uniform", **CURVE_OF_BINS
    ),
    "risk_calibration_error, quantile": _calibration(risk_calibration_error, "quantile"),
    "risk_calibration_error, uniform": _calibration(risk_calibration_error, "uniform"),
}
some_examples = settings(max_examples=25, deadline=None)
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())


def numbers(least, greatest):
    """Multiples of 1/64: many ties, and no two that a common factor could make equal."""
    return st.integers(64 * least, 64 * greatest).map(lambda value: value / 64)


@st.composite
def some_rows(draw):
    n = draw(st.integers(1, 25))

    def column(values):
        return np.array(draw(st.lists(values, min_size=n, max_size=n)), dtype=float)

    constant, binary, many = st.just(0.5), st.integers(0, 1), numbers(-1, 10)
    risk = column(draw(st.sampled_from([constant, binary, many])))
    weight = column(st.floats(0.01, 10)) if draw(st.booleans()) else None
    return Rows(column(numbers(0, 10)), risk, column(numbers(0, 10)), weight, draw(numbers(0, 10)))


def many_rows(seed, n=20_000):
    """More rows than are handled at a time, in large and small groups of equal risk."""
    rng = np.random.default_rng(seed)
    risk = np.where(
        rng.random(n) < 0.5, rng.integers(0, 3, n), np.round(rng.exponential(size=n), 3)
    )
    return Rows(*rng.exponential(size=(3, n)), rng.uniform(0.1, 3.0, n), 0.7)._replace(risk=risk)


def assert_same(actual, desired):
    assert len(actual) == len(desired)
    for one, other in zip(actual, desired, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def divide(values, factor, degrees):
    return [value / factor**degree for value, degree in zip(values, degrees, strict=True)]


def test_every_function_is_in_the_dictionary():
    tested = {name.split(",")[0] for name in METRICS}
    functions = {name for name in condrisk.metrics.__all__ if name.islower()}
    # Intervals draw rows at random; of segments weights are counts, and their own tests say so.
    apart = {"risk_scorer", "metric_interval", "multicalibration_error", "segment_calibration"}
    assert functions - apart == tested


@every_metric
@some_examples
@given(data=st.data())
def test_order_of_rows(metric, data):
    rows = data.draw(some_rows())
    order = np.array(data.draw(st.permutations(range(len(rows.loss)))))
    assert_same(metric(rows.take(order)), metric(rows))


@every_metric
def test_order_of_many_rows(metric, seed):
    rows = many_rows(seed)
    order = np.random.default_rng(seed).permutation(len(rows.loss))
    assert_same(metric(rows.take(order)), metric(rows))
    assert_same(metric(rows.take(order)._replace(weight=None)), metric(rows._replace(weight=None)))


@every_metric
@some_examples
@given(data=st.data())
def test_scaling_loss_risk_and_cost(metric, data):
    rows, factor = data.draw(some_rows()), data.draw(st.sampled_from(metric.factors))
    # Where no loss is positive the cost curve's own prices end at 1, whatever the scale.
    rows = rows._replace(loss=rows.loss + 1 / 64)
    scaled = Rows(*(factor * column for column in rows[:3]), rows.weight, factor * rows.price)
    assert_same(divide(metric(scaled), factor, metric.degrees), metric(rows))


@every_metric
@some_examples
@given(data=st.data())
def test_duplicates_are_weight_two(metric, data):
    rows = data.draw(some_rows())
    n = len(rows.loss)
    counts = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    weight = counts if rows.weight is None else counts * rows.weight
    repeated = rows.take(np.repeat(np.arange(n), counts))
    assert_same(metric(repeated), metric(rows._replace(weight=weight)))


@every_metric
@some_examples
@given(data=st.data())
def test_weight_zero_is_absence(metric, data):
    rows = data.draw(some_rows())
    n = len(rows.loss)
    present = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    present[data.draw(st.integers(0, n - 1))] = True
    weight = present if rows.weight is None else present * rows.weight
    assert_same(metric(rows._replace(weight=weight)), metric(rows.take(present)))


@every_metric
@some_examples
@given(rows=some_rows(), factor=st.sampled_from([0.1, 1.0, 7.0, 1e9]))
def test_only_proportions_of_weights_matter(metric, rows, factor):
    weight = np.ones(len(rows.loss)) if rows.weight is None else rows.weight
    scaled = metric(rows._replace(weight=factor * weight))
    assert_same(divide(scaled, factor, metric.weight_degrees), metric(rows))


@every_metric
def test_constant_weights_of_many_rows(metric):
    """0.1 is not a binary fraction: a plain running sum of it drifts."""
    rows = many_rows(0, n=300_000)._replace(weight=None)
    scaled = metric(rows._replace(weight=np.full(len(rows.loss), 0.1)))
    assert_same(divide(scaled, 0.1, metric.weight_degrees), metric(rows))


@every_metric
@some_examples
@given(rows=some_rows())
def test_results_are_float64(metric, rows):
    for value in metric(rows):
        assert type(value) is float or (value.dtype == np.float64 and value.ndim == 1)
        assert np.all(np.isfinite(value))


@every_metric
def test_arguments_are_not_changed(metric, seed):
    rows = many_rows(seed, n=50)
    before = Rows(*(column.copy() for column in rows[:4]), rows.price)
    metric(rows)
    for column, copy in zip(rows[:4], before[:4], strict=True):
        assert np.array_equal(column, copy)


@every_metric
def test_kinds_of_columns(metric):
    columns = np.array([[0, 1, 1, 0, 1], [1, 2, 2, 3, 1], [1, 1, 0, 2, 1], [2, 1, 0, 1, 1]], float)
    expected = metric(Rows(*columns, 1.0))
    for convert in (
        list,
        lambda column: column.astype(np.float32),
        lambda column: column.astype(bool if column.max() == 1 else int),
        lambda column: column.astype(object),
        lambda column: pd.Series(column, index=list("vwxyz"), dtype="Float64"),
        pl.Series,
    ):
        assert_same(metric(Rows(*map(convert, columns), 1.0)), expected)


@settings(deadline=None)
@given(some_rows())
def test_deferral_loss_is_at_most_the_cost_when_the_risk_is_the_loss(rows):
    loss = deferral_loss(rows.loss, rows.loss, rows.price, sample_weight=rows.weight)
    assert loss <= rows.price + 1e-12
    by_row = deferral_loss(rows.loss, rows.loss, rows.cost, sample_weight=rows.weight)
    assert by_row <= np.average(rows.cost, weights=rows.weight) + 1e-12


@settings(deadline=None)
@given(some_rows())
def test_no_rule_beats_the_oracle(rows):
    oracle = deferral_loss(rows.loss, rows.loss, rows.cost, sample_weight=rows.weight)
    assert oracle <= deferral_loss(*rows[:3], sample_weight=rows.weight) + 1e-12
    curve = cost_curve(*rows[:2], sample_weight=rows.weight)
    for other in (curve.deferral_loss, curve.always_defer, curve.never_defer):
        assert np.all(curve.oracle <= other + 1e-12)


@settings(deadline=None)
@given(some_rows())
def test_no_ranking_beats_that_of_the_losses(rows):
    assert excess_aurc(*rows[:2], sample_weight=rows.weight) >= -1e-12
    best = excess_aurc(rows.loss, np.exp(rows.loss), sample_weight=rows.weight)
    assert best == pytest.approx(0.0, abs=1e-12)


@settings(deadline=None)
@given(some_rows())
def test_ranking_is_all_that_aurc_sees(rows):
    other = aurc(rows.loss, np.expm1(rows.risk), sample_weight=rows.weight)
    assert other == pytest.approx(aurc(*rows[:2], sample_weight=rows.weight), abs=1e-12)


@settings(deadline=None)
@given(some_rows())
def test_aurc_of_a_constant_risk_is_the_mean_loss(rows):
    area = aurc(rows.loss, np.zeros_like(rows.risk), sample_weight=rows.weight)
    assert area == pytest.approx(np.average(rows.loss, weights=rows.weight), abs=1e-12)
