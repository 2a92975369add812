"""The risk of regressors as nodes of ONNX: a distribution, a loss put into it, corrections."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from condrisk._delegate import is_frozen
from condrisk._validation import LARGEST_RISK
from condrisk.app.export._errors import ExportError, refuse_encoder
from condrisk.app.export._graph import Graph, Rows, numeric
from condrisk.app.export._models import add_regressor
from condrisk.app.export._registry import NUMBER_LOSSES
from condrisk.app.export._stacks import is_stack, stack_responses
from condrisk.app.export._trees import averaged
from condrisk.learners import DistributionRegressor
from condrisk.losses import absolute_error, huber, pinball, squared_error


class Law(NamedTuple):
    """The distribution at each row, as columns, and the risk that it gives.

    Attributes
    ----------
    mean, variance, risk : str
        Of the target, and the expected loss.
    uncertainty : list of str
        How far the models of the mean disagree, where that is known.
    gap : str
        How far the prediction is from the mean.
    """

    mean: str
    variance: str
    uncertainty: list[str]
    gap: str
    risk: str


def add_law(graph: Graph, risk: Any, X: Rows, response: str) -> Law:
    """Add the distribution of a risk estimator, and the expected loss of a prediction under it."""
    model = risk.distribution_
    model = model.estimator if is_frozen(model) else model
    mean, variance, uncertainty = add_distribution(graph, model, X)
    std = graph.add("Sqrt", variance)
    found = NUMBER_LOSSES.find(risk.loss_)(graph, risk.loss_, response, (mean, std), model)
    gap = _gap(graph, response, mean)
    return Law(mean, variance, uncertainty, gap, found)


def add_distribution(graph: Graph, model: Any, X: Rows) -> tuple[str, str, list[str]]:
    """Add mean and variance of the target, and how far the models of the mean disagree."""
    if type(model) is not DistributionRegressor:
        raise ExportError(
            f"the distribution {type(model).__name__} cannot be converted to ONNX; "
            f"DistributionRegressor can."
        )
    refuse_encoder(model)
    mean, uncertainty = _mean(graph, model, X)
    return mean, _variance(graph, model, X, mean, uncertainty), uncertainty


def _gap(graph: Graph, response: str, mean: str) -> str:
    """Return how far predictions are from means, so that the square is a number."""
    apart = graph.add("Abs", graph.add("Sub", response, mean))
    return graph.clip(apart, -np.inf, float(np.sqrt(LARGEST_RISK)))


def _mean(graph: Graph, model: Any, X: Rows) -> tuple[str, list[str]]:
    if not is_stack(model.mean_):
        return add_regressor(graph, model.mean_, X), []
    found = stack_responses(graph, model.mean_, X)
    return found["predict"], [found["uncertainty"]]


def _variance(graph: Graph, model: Any, X: Rows, mean: str, uncertainty: list[str]) -> str:
    inputs = graph.join([X.numbers(model), mean, *uncertainty])
    inside = _kept_inside(graph, inputs, model._lowest, model._highest)
    rows = numeric(inside, len(model._lowest))
    learnt = graph.clip(add_regressor(graph, model.variance_, rows), model._least, np.inf)
    variance = graph.scaled(learnt, model._scale)
    if not uncertainty:
        return variance
    squared = graph.add("Mul", uncertainty[0], uncertainty[0])
    known = graph.constant(model._most_uncertain.reshape(1, -1) ** 2)
    beyond = graph.clip(graph.add("Sub", squared, known), 0.0, np.inf)
    extra = graph.add("ReduceMax", beyond, graph.constant([1], np.int64), keepdims=1)
    return graph.add("Add", variance, extra)


def _kept_inside(graph: Graph, inputs: str, low: Any, high: Any) -> str:
    """Return inputs within the range of the training rows; what is missing stays so."""
    missing = graph.add("IsNaN", inputs)
    empty = np.isnan(low)  # columns that had no value at all
    if empty.any():
        missing = graph.add("Or", missing, graph.constant(empty.reshape(1, -1), bool))
    kept = graph.add("Max", inputs, graph.constant(np.nan_to_num(low).reshape(1, -1)))
    kept = graph.add("Min", kept, graph.constant(np.nan_to_num(high).reshape(1, -1)))
    return graph.add("Where", missing, graph.constant(np.nan), kept)


# -- losses ---------------------------------------------------------------------------------------


@NUMBER_LOSSES.register(type(squared_error))
def _squared(graph: Graph, loss: Any, response: str, law: tuple[str, str], model: Any) -> str:
    mean, std = law
    gap = _gap(graph, response, mean)
    return graph.add("Add", graph.add("Mul", gap, gap), graph.add("Mul", std, std))


def _errors(graph: Graph, response: str, law: tuple[str, str], model: Any) -> str:
    """Return what the target is above the prediction at each point, a column for each."""
    mean, std = law
    steps = graph.add("MatMul", std, graph.constant(model.residuals_.reshape(1, -1)))
    return graph.add("Add", steps, graph.add("Sub", mean, response))


def _averaged(graph: Graph, losses: str, model: Any) -> str:
    return graph.add("MatMul", losses, graph.constant(model.residual_weights_.reshape(-1, 1)))


@NUMBER_LOSSES.register(type(absolute_error))
def _absolute(graph: Graph, loss: Any, response: str, law: tuple[str, str], model: Any) -> str:
    return _averaged(graph, graph.add("Abs", _errors(graph, response, law, model)), model)


@NUMBER_LOSSES.register(type(pinball(0.5)))
def _pinball(graph: Graph, loss: Any, response: str, law: tuple[str, str], model: Any) -> str:
    errors = _errors(graph, response, law, model)
    above, below = graph.scaled(errors, loss.quantile), graph.scaled(errors, loss.quantile - 1)
    return _averaged(graph, graph.add("Max", above, below), model)


@NUMBER_LOSSES.register(type(huber(1.0)))
def _huber(graph: Graph, loss: Any, response: str, law: tuple[str, str], model: Any) -> str:
    size = graph.add("Abs", _errors(graph, response, law, model))
    near = graph.scaled(graph.add("Mul", size, size), 0.5)
    far = graph.add("Sub", graph.scaled(size, loss.delta), graph.constant(loss.delta**2 / 2))
    small = graph.add("LessOrEqual", size, graph.constant(loss.delta))
    return _averaged(graph, graph.add("Where", small, near, far), model)


# -- realised losses ------------------------------------------------------------------------------


def telling_columns(law: Law, response: str) -> list[str]:
    """Return what tells of the errors of a distribution, beside the row itself."""
    return [law.mean, *law.uncertainty, response, law.gap, law.variance, law.risk]


def n_telling_columns(risk: Any) -> int:
    """Return how many columns these are."""
    model = risk.distribution_
    model = model.estimator if is_frozen(model) else model
    return 5 + len(model._most_uncertain)


def corrected(graph: Graph, risk: Any, X: Rows, law: Law, response: str) -> str:
    """Return the plug-in risk with its default correction."""
    correction = risk.correction_
    if not correction.shares.any():
        return law.risk
    gap = graph.add("Mul", law.gap, law.gap)
    total = graph.add("Add", gap, law.variance)
    some = graph.add("Greater", total, graph.constant(0.0))
    share = graph.add("Div", gap, graph.add("Where", some, total, graph.constant(1.0)))
    unit = graph.clip(graph.add("Abs", law.risk), correction._least, correction._largest)
    parts = []
    if correction.shares[0]:
        line = graph.scaled(share, float(correction._line[1]))
        line = graph.add("Add", line, graph.constant(float(correction._line[0])))
        parts.append(graph.scaled(line, float(correction.shares[0])))
    if correction.shares[1]:
        inputs = graph.join([X.numbers(risk), *telling_columns(law, response), share])
        trees = averaged(graph, correction._forest.estimators_, inputs, proba=False)
        parts.append(graph.scaled(trees, float(correction.shares[1])))
    return graph.add("Add", law.risk, graph.add("Mul", unit, graph.total(parts)))


def mixed(graph: Graph, mixture: Any, known: dict[str, str], inputs: dict[str, Rows]) -> str:
    """Return the mixture of risks at hand and regressions of the loss."""
    base = known["hybrid"]
    parts = [graph.scaled(base, mixture.shares["hybrid"])]
    for name, share in mixture.shares.items():
        if share > 0 and name in mixture._models:
            value = add_regressor(graph, mixture._models[name], inputs[name])
            parts.append(graph.scaled(value, share))
        elif share > 0 and name == "plug-in":
            parts.append(graph.scaled(known[name], share))
    constant = graph.constant(mixture.shares["mean"] * mixture._mean)
    value = graph.add("Add", graph.total(parts), constant)
    if np.isinf(mixture._highest):
        return value
    beyond = graph.add("Greater", base, graph.constant(mixture._highest))
    return graph.add("Where", beyond, base, value)
