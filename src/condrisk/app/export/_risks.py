"""Estimators of conditional risk as nodes of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrisk._validation import LARGEST_RISK
from condrisk.app.export._calibrators import calibrated_scores
from condrisk.app.export._distributions import (
    add_law,
    corrected,
    mixed,
    n_telling_columns,
    telling_columns,
)
from condrisk.app.export._errors import ExportError, refuse_encoder
from condrisk.app.export._graph import Graph, Rows, numeric
from condrisk.app.export._losses import add_expected_loss
from condrisk.app.export._models import add_regressor, without_pipeline
from condrisk.app.export._predictor import Predictor, align
from condrisk.app.export._registry import RISKS
from condrisk.app.export._stacks import add_pool, constant
from condrisk.app.export._trees import averaged
from condrisk.deferral import ExpertRisk
from condrisk.losses import LOG_LOSS_FLOOR
from condrisk.risk import AutoRisk, HybridRisk, PlugInRisk, RegressionRisk


def add_risk(graph: Graph, risk: Any, X: Rows, predictor: Predictor) -> str:
    """Add a risk estimator; return the risks as a column."""
    add = RISKS.find(risk)
    refuse_encoder(risk)
    return add(graph, risk, X, predictor)


def _clipped(graph: Graph, risk: Any, value: str) -> str:
    """Return what a regressor of losses says, if `clip` is set within what the loss can be."""
    value = graph.add("Min", value, graph.constant(LARGEST_RISK))
    if not risk.clip:
        return value
    return graph.clip(value, float(risk.loss_.minimum), float(risk.loss_.maximum))


def _beside(graph: Graph, X: Rows, *more: tuple[str, int]) -> Rows:
    """Return rows with further columns of numbers beside them."""
    width = sum(n for _, n in more)
    return Rows(graph.join([X.name, *(name for name, _ in more)]), X.categories + (None,) * width)


def _needs_probabilities(predictor: Predictor) -> None:
    if predictor.is_given:
        raise ExportError(
            "a risk that depends on probabilities of an external predictor cannot be converted to "
            "ONNX: the table has its labels."
        )


@RISKS.register(RegressionRisk)
def _regression(graph: Graph, risk: Any, X: Rows, predictor: Predictor) -> str:
    if risk._risk_uses_response():
        if predictor.classes is None:
            X = _beside(graph, X, (predictor.number(), 1))
        else:
            _needs_probabilities(predictor)
            X = _beside(graph, X, (predictor.proba(), len(predictor.classes)))
    estimate = graph.scaled(add_regressor(graph, risk.regressor_, X), risk.refit_factor_)
    return _clipped(graph, risk, estimate)


@RISKS.register(ExpertRisk)
def _expert(graph: Graph, risk: Any, X: Rows, predictor: Predictor) -> str:
    inner, X = without_pipeline(graph, risk.risk_, X)
    return denoised(graph, add_risk(graph, inner, X, predictor), risk.noise)


def denoised(graph: Graph, risk: str, noise: float) -> str:
    """Return the chance of being wrong, from that against labels of two classes that flip."""
    if not noise:
        return risk
    less = graph.add("Sub", risk, graph.constant(noise))
    return graph.clip(graph.add("Div", less, graph.constant(1 - 2 * noise)), 0.0, 1.0)


# -- class probabilities --------------------------------------------------------------------------


@RISKS.register(PlugInRisk)
def _plug_in(graph: Graph, risk: Any, X: Rows, predictor: Predictor) -> str:
    if predictor.classes is None:
        value = add_law(graph, risk, X, predictor.number()).risk
        return graph.clip(value, float(risk.loss_.minimum), np.inf)
    model, labels = risk.probability_, risk._labels
    same = model is getattr(risk, "predictor_", None)
    source = predictor if same else Predictor(graph, model, X)
    if risk.calibrator_ is None:
        proba = source.proba()
    else:
        proba = calibrated_scores(graph, risk.calibrator_, source, risk._method)
    proba = align(graph, proba, model.classes_, labels)
    value = add_expected_loss(graph, risk.loss_, predictor, proba, labels)
    return graph.clip(value, float(risk.loss_.minimum), np.inf)


@RISKS.register(HybridRisk)
def _hybrid(graph: Graph, risk: Any, X: Rows, predictor: Predictor) -> str:
    if predictor.classes is None:
        return _clipped(graph, risk, _number_hybrid(graph, risk, X, predictor.number()))
    labels = risk._labels
    members = [
        align(graph, Predictor(graph, model, X).proba(), model.classes_, labels)
        for model in risk.probabilities_
    ]
    own = _own_probabilities(graph, predictor, risk.predictor, labels)
    proba = add_pool(graph, risk.pool_, [*members, *own])
    pooled = add_expected_loss(graph, risk.loss_, predictor, proba, labels)
    pooled = graph.scaled(pooled, risk.scale_)
    if risk.regressor_ is None:
        return _clipped(graph, risk, pooled)
    columns = [(pooled, 1)]
    for member in members:
        plug_in = add_expected_loss(graph, risk.loss_, predictor, member, labels)
        columns += [(plug_in, 1), (_logs(graph, member), len(labels))]
    view = _logs(graph, own[0]) if own else graph.positions(predictor.codes(), len(labels))
    columns.append((view, len(labels)))
    if risk.features == "plug-in":
        name = graph.join([name for name, _ in columns])
        inputs = Rows(name, (None,) * sum(n for _, n in columns))
    else:
        inputs = _beside(graph, X, *columns)
    return _clipped(graph, risk, add_regressor(graph, risk.regressor_, inputs))


def _number_hybrid(graph: Graph, risk: Any, X: Rows, response: str) -> str:
    """Return the plug-in risk of a regressor, corrected by default or by a regressor given."""
    law = add_law(graph, risk, X, response)
    if risk.regressor_ is None:
        return corrected(graph, risk, X, law, response)
    name, width = graph.join(telling_columns(law, response)), n_telling_columns(risk)
    inputs = numeric(name, width)
    if risk.features == "plug-in+x":
        inputs = _beside(graph, X, (name, width))
    return graph.add("Add", law.risk, add_regressor(graph, risk.regressor_, inputs))


def _own_probabilities(graph: Graph, predictor: Predictor, model: Any, labels: Any) -> list[str]:
    """Return the predictor's own probabilities, if it has such."""
    if predictor.is_given or not hasattr(model, "predict_proba"):
        return []
    return [align(graph, predictor.proba(), predictor.classes, labels)]


def _logs(graph: Graph, proba: str) -> str:
    return graph.add("Log", graph.clip(proba, LOG_LOSS_FLOOR, np.inf))


# -- automatic ------------------------------------------------------------------------------------


@RISKS.register(AutoRisk)
def _auto(graph: Graph, risk: Any, X: Rows, predictor: Predictor) -> str:
    if risk.mixture_ is not None:
        return _clipped(graph, risk, _mixture(graph, risk, X, predictor.number()))
    plug_in = _plug_in_risks(graph, risk, X, predictor)
    columns = [X.numbers(risk)]
    if risk._uses_responses:
        columns.append(_feature(graph, risk, predictor))
    columns += plug_in.values()
    if risk.predictor is None:  # a stack
        columns.append(predictor.uncertainty())
    return _clipped(graph, risk, _committee(graph, risk.committee_, graph.join(columns), plug_in))


def _mixture(graph: Graph, risk: Any, X: Rows, response: str) -> str:
    """Return plug-in, hybrid and regressions of the loss, mixed."""
    law = add_law(graph, risk, X, response)
    known = {
        "plug-in": _clipped(graph, risk, law.risk),
        "hybrid": _clipped(graph, risk, corrected(graph, risk, X, law, response)),
    }
    rows = numeric(X.numbers(risk), len(X.categories))
    telling = (graph.join(telling_columns(law, response)), n_telling_columns(risk))
    inputs = {"regression": rows, "regression on distribution": _beside(graph, rows, telling)}
    return mixed(graph, risk.mixture_, known, inputs)


def _feature(graph: Graph, risk: Any, predictor: Predictor) -> str:
    """Return the most telling response that the predictor has."""
    if predictor.classes is None:
        return predictor.number()
    if risk._feature_method() == "predict_proba":
        _needs_probabilities(predictor)
        return predictor.proba()
    return graph.positions(predictor.codes(), len(risk.classes_))


def _plug_in_risks(graph: Graph, risk: Any, X: Rows, predictor: Predictor) -> dict[str, str]:
    """Return estimates by the predictor's probabilities, and by those of a second model too."""
    if risk._decides_numbers():
        return {"plug-in": predictor.risk()}
    if not risk._pools:
        return {}
    own = [predictor.proba()] if risk._feature_method() == "predict_proba" else []
    members = {"plug-in": own, "hybrid": own}
    if "hybrid" in risk._pools:
        model = risk.second_model_
        second = align(graph, Predictor(graph, model, X).proba(), model.classes_, risk.classes_)
        members["hybrid"] = [*own, second]
    found = {}
    for name, pool in risk._pools.items():
        proba = add_pool(graph, pool, members[name])
        found[name] = add_expected_loss(graph, risk.loss_, predictor, proba, risk.classes_)
    return found


def _committee(graph: Graph, committee: Any, X: str, at_hand: dict[str, str]) -> str:
    """Return the convex mixture of regressions of the loss and of estimates at hand."""
    parts = [constant(graph, X, committee.shares["mean"])]
    for name, share in committee.shares.items():
        if share > 0 and name in committee._members:
            parts.append(graph.scaled(_trees(graph, committee._members[name], X), share))
        elif share > 0 and name in at_hand:
            above = graph.add("Sub", at_hand[name], graph.constant(committee._least))
            parts.append(graph.scaled(above, share / committee._scale))
    mixture = graph.scaled(graph.total(parts), committee._scale)
    return graph.add("Add", mixture, graph.constant(committee._least))


def _trees(graph: Graph, member: Any, X: str) -> str:
    """Return what forests on the losses say, or forests on their roots and the deviations."""
    if hasattr(member, "_forest"):
        return averaged(graph, member._forest.estimators_, X, proba=False)
    roots = averaged(graph, member._roots.estimators_, X, proba=False)
    variances = averaged(graph, member._variances.estimators_, X, proba=False)
    return graph.add("Add", graph.add("Mul", roots, roots), variances)
