"""Rules as nodes of ONNX, and how close to a decision each row is."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph, Rows
from condrisk.app.export._models import without_pipeline
from condrisk.app.export._predictor import GivenPredictor
from condrisk.app.export._registry import RULES, Registry
from condrisk.app.export._risks import add_risk, denoised
from condrisk.deferral import (
    BudgetRule,
    CostRule,
    ExpertRule,
    ExploringRule,
    RateControlRule,
    RiskControlRule,
    SupportRule,
    denoised_risk,
)
from condrisk.shift import DistanceSupport

SUPPORTS = Registry("the support", "DistanceSupport can.")
# Where a value is missing, it counts as one so many scales away from all others.
MISSING = 10.0


def add_rule(graph: Graph, rule: Any, risk: str, X: Rows, cost: float | None) -> str:
    """Add a rule; return which rows are deferred, shape (n_rows, 1)."""
    return RULES.find(rule)(graph, rule, risk, X, cost)


@RULES.register(CostRule)
def _cost(graph: Graph, rule: Any, risk: str, X: Rows, cost: float | None) -> str:
    if cost is None:
        raise ExportError("the model has no cost of deferring, so that there is nothing to decide.")
    return graph.add("Greater", risk, graph.constant(cost))


@RULES.register(BudgetRule, RiskControlRule, RateControlRule)
def _threshold(graph: Graph, rule: Any, risk: str, X: Rows, cost: float | None) -> str:
    if getattr(rule, "groups_", None):
        raise ExportError(
            "a RiskControlRule with subgroups has a threshold for each group of rows, which is not "
            "exported; without subgroups it is."
        )
    return graph.add("Greater", risk, graph.constant(float(rule.threshold_)))


@RULES.register(ExploringRule)
def _exploring(graph: Graph, rule: Any, risk: str, X: Rows, cost: float | None) -> str:
    raise ExportError(
        "the rule ExploringRule draws at random, which cannot be converted to ONNX; its inner rule "
        "can be exported, and the draws made where the graph runs."
    )


# -- experts --------------------------------------------------------------------------------------


@RULES.register(ExpertRule)
def _expert(graph: Graph, rule: Any, risk: str, X: Rows, cost: float | None) -> str:
    """Defer where cost, fee and risk of an expert together are less than the model's risk."""
    experts = list(rule.experts) if isinstance(rule.experts, list | tuple) else [rule.experts]
    capacities = rule.capacity if isinstance(rule.capacity, list | tuple) else [rule.capacity]
    if any(capacity is not None for capacity in capacities):
        raise ExportError(
            "an ExpertRule with capacities decides about a batch as a whole, which cannot be "
            "converted to ONNX; without capacities it can."
        )
    fees = np.broadcast_to(np.asarray(rule.fee, dtype=np.float64), len(experts)) + (cost or 0.0)
    risk = denoised(graph, risk, rule.noise)
    gains = [
        graph.add("Sub", risk, _price(graph, expert, X, fee))
        for expert, fee in zip(experts, fees, strict=True)
    ]
    best = graph.add("Max", *gains) if len(gains) > 1 else gains[0]
    return graph.add("Greater", best, graph.constant(0.0))


def _price(graph: Graph, expert: Any, X: Rows, fee: float) -> str:
    if isinstance(expert, Real):
        return graph.constant(float(expert) + fee)
    estimator, X = without_pipeline(graph, expert, X)
    nobody = GivenPredictor(graph, "")
    return graph.add("Add", add_risk(graph, estimator, X, nobody), graph.constant(fee))


# -- support --------------------------------------------------------------------------------------


@RULES.register(SupportRule)
def _support(graph: Graph, rule: Any, risk: str, X: Rows, cost: float | None) -> str:
    deferred = add_rule(graph, rule.rule_, risk, X, cost)
    support, rows = without_pipeline(graph, rule.support_, X)
    value = SUPPORTS.find(support)(graph, support, rows)
    unknown = graph.add("Less", value, graph.constant(float(rule.minimum_)))
    return graph.add("Or", deferred, unknown)


@SUPPORTS.register(DistanceSupport)
def _distance_support(graph: Graph, support: Any, X: Rows) -> str:
    """Return the sum of exp(−½ (d/h)²) over the distances d to the nearest known rows."""
    name = X.numbers(support)
    scaled = graph.add("Sub", name, graph.constant(support._center.reshape(1, -1)))
    scaled = graph.add("Div", scaled, graph.constant(support._scale.reshape(1, -1)))
    gap = graph.add("IsNaN", name)
    new = graph.add("Where", gap, graph.constant(-MISSING), scaled)
    known = np.asarray(support._neighbors._fit_X, dtype=np.float64)
    own = graph.row_sums(graph.add("Mul", new, new))
    product = graph.add("MatMul", new, graph.constant(-2.0 * known.T))
    theirs = graph.constant((known**2).sum(axis=1).reshape(1, -1))
    squared = graph.clip(graph.add("Add", graph.add("Add", own, theirs), product), 0.0, np.inf)
    k = graph.constant([support._neighbors.n_neighbors], np.int64)
    nearest = graph.add_several("TopK", (squared, k), 2, axis=1, largest=0)[0]
    power = graph.scaled(nearest, -0.5 / support.usual_distance_**2)
    return graph.row_sums(graph.add("Exp", power))


# -- how close ------------------------------------------------------------------------------------


def margins(rule: Any, risk: Any, X: Any, cost: float | None) -> NDArray[np.float64]:
    """Return how far each row is from being decided otherwise, as Python sees it."""
    if isinstance(rule, SupportRule):
        support = np.abs(np.asarray(rule.support_.score_samples(X)) - rule.minimum_)
        return np.minimum(support, margins(rule.rule_, risk, X, cost))
    if isinstance(rule, ExpertRule):
        gain = denoised_risk(risk, rule.noise)[:, None] - rule.expected_costs(risk, X=X, cost=cost)
        return np.abs(gain.max(axis=1))
    return np.abs(risk - getattr(rule, "threshold_", cost or 0.0))
