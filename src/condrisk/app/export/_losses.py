"""Expected losses as nodes of ONNX: Σₖ ℓ(f(x), k) pₖ(x)."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph
from condrisk.app.export._predictor import Predictor, align
from condrisk.app.export._registry import LOSSES
from condrisk.losses import LOG_LOSS_FLOOR, CostMatrix, brier, log_loss, zero_one


def add_expected_loss(
    graph: Graph, loss: Any, predictor: Predictor, proba: str, labels: Any
) -> str:
    """Return the expected loss of the predictor's response under probabilities, as a column.

    Parameters
    ----------
    graph : Graph
        What it is added to.
    loss : Loss
        The loss.
    predictor : Predictor
        Whose response is judged.
    proba : str
        A matrix with a column for each label.
    labels : ndarray
        The predictor's classes, and after them classes that only other models know.
    """
    add = LOSSES.find(loss)
    if loss.response == "predict":
        return add(graph, loss, predictor.codes(), proba, labels)
    if predictor.is_given:
        raise ExportError(f"the loss {loss.name!r} needs probabilities, and the table has labels.")
    own = align(graph, predictor.proba(), predictor.classes, labels)
    return add(graph, loss, own, proba, labels)


@LOSSES.register(type(zero_one))
def _zero_one(graph: Graph, loss: Any, codes: str, proba: str, labels: Any) -> str:
    chosen = graph.add("Mul", graph.positions(codes, len(labels)), proba)
    wrong = graph.add("Sub", graph.constant(1.0), graph.row_sums(chosen))
    return graph.clip(wrong, 0.0, np.inf)


@LOSSES.register(CostMatrix)
def _cost_matrix(graph: Graph, loss: Any, codes: str, proba: str, labels: Any) -> str:
    # What each true class costs, for each prediction, in the order of the labels.
    costs = loss.rows(labels, classes=labels)
    chosen = graph.add("MatMul", graph.positions(codes, len(labels)), graph.constant(costs))
    return graph.row_sums(graph.add("Mul", chosen, proba))


@LOSSES.register(type(log_loss))
def _log_loss(graph: Graph, loss: Any, own: str, proba: str, labels: Any) -> str:
    logs = graph.clip(graph.add("Log", own), float(np.log(LOG_LOSS_FLOOR)), np.inf)
    total = graph.row_sums(graph.add("Mul", logs, proba))
    return graph.clip(graph.add("Neg", total), 0.0, np.inf)


@LOSSES.register(type(brier))
def _brier(graph: Graph, loss: Any, own: str, proba: str, labels: Any) -> str:
    apart = graph.add("Sub", own, graph.scaled(proba, 2.0))
    total = graph.row_sums(graph.add("Mul", own, apart))
    return graph.clip(graph.add("Add", total, graph.constant(1.0)), 0.0, np.inf)
