"""The prediction of least expected loss as nodes of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrisk._distributions import quantile_places
from condrisk.app.export._distributions import add_distribution
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph, Rows
from condrisk.app.export._models import add_classifier
from condrisk.app.export._registry import NUMBER_LOSSES
from condrisk.app.export._stacks import is_stack, stack_responses
from condrisk.learners import BayesDecision
from condrisk.losses import absolute_error, pinball, squared_error, zero_one


def is_decision(model: Any) -> bool:
    """Tell whether a model predicts what has the least expected loss."""
    return type(model) is BayesDecision


def decision_responses(graph: Graph, model: Any, X: Rows) -> dict[str, str]:
    """Add a decision and the model inside; return all its responses, "uncertainty" among them."""
    if hasattr(model.model_, "classes_"):
        return _classes(graph, model, X)
    return _numbers(graph, model, X)


def _classes(graph: Graph, model: Any, X: Rows) -> dict[str, str]:
    inner, loss = model.model_, model.loss_
    if is_stack(inner):
        found = stack_responses(graph, inner, X)
    else:
        found = {"predict_proba": add_classifier(graph, inner, X)}
    proba = found["predict_proba"]
    if loss == zero_one or loss.response == "predict_proba":
        return found | {"codes": graph.add("ArgMax", proba, axis=1, keepdims=0)}
    costs = loss.rows(model.classes_, classes=model.classes_).T
    expected = graph.add("MatMul", proba, graph.constant(np.ascontiguousarray(costs)))
    return found | {"codes": graph.add("ArgMin", expected, axis=1, keepdims=0)}


def _numbers(graph: Graph, model: Any, X: Rows) -> dict[str, str]:
    inner, loss = model.model_, model.loss_
    mean, variance, uncertainty = add_distribution(graph, inner, X)
    std = graph.add("Sqrt", variance)
    best = graph.add("Add", mean, graph.scaled(std, _score(inner, loss)))
    risk = NUMBER_LOSSES.find(loss)(graph, loss, best, (mean, std), inner)
    return {"predict": best, "risk": risk, "uncertainty": graph.join([std, *uncertainty])}


def _score(model: Any, loss: Any) -> float:
    """Return how many deviations above the mean the best prediction is."""
    if loss == squared_error:
        return 0.0
    if loss != absolute_error and type(loss) is not type(pinball(0.5)):
        raise ExportError(
            f"the best prediction under {loss.name} is searched for, row by row, which ONNX "
            f"cannot; absolute_error and pinball can be converted."
        )
    level = 0.5 if loss == absolute_error else loss.quantile
    [place] = quantile_places(model.residual_weights_, np.array([level]))
    return float(model.residuals_[place])
