"""scikit-learn's calibration of probabilities as nodes of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph, Rows
from condrisk.app.export._predictor import Predictor, align
from condrisk.app.export._registry import CLASSIFIERS

# What scikit-learn adds to a probability before it takes the logarithm.
LOG_SHIFT = 1e-12


def add_calibrated(graph: Graph, calibrated: Any, scores: str, method: str) -> str:
    """Return calibrated probabilities of scores, a column for each class.

    Parameters
    ----------
    graph : Graph
        What they are added to.
    calibrated : sklearn.calibration._CalibratedClassifier
        Fitted calibrators, one for each class or one for all.
    scores : str
        A column for each class, or one of the second class's scores for two classes.
    method : {"decision_function", "predict_proba"}
        What the scores are.
    """
    n_classes = len(calibrated.classes)
    if calibrated.method == "temperature":
        beta = float(calibrated.calibrators[0].beta_)
        return graph.add("Softmax", graph.scaled(_logits(graph, scores, method), beta), axis=1)
    if n_classes == 2:
        if method == "predict_proba":
            scores = graph.columns(scores, [1])
        positive = _calibrate(graph, calibrated.calibrators[0], scores)
        return graph.join([graph.add("Sub", graph.constant(1.0), positive), positive])
    parts = [
        _calibrate(graph, calibrator, graph.columns(scores, [k]))
        for k, calibrator in enumerate(calibrated.calibrators)
    ]
    raw = graph.join(parts)
    total = graph.row_sums(raw)
    none = graph.add("Equal", total, graph.constant(0.0))
    one = graph.add("Where", none, graph.constant(1.0), total)
    return graph.add("Where", none, graph.constant(1 / n_classes), graph.add("Div", raw, one))


def _logits(graph: Graph, scores: str, method: str) -> str:
    if method == "predict_proba":
        return graph.add("Log", graph.add("Add", scores, graph.constant(LOG_SHIFT)))
    return scores


def _calibrate(graph: Graph, calibrator: Any, scores: str) -> str:
    """Return what one calibrator makes of a column of scores."""
    if hasattr(calibrator, "a_"):
        raw = graph.add(
            "Add", graph.scaled(scores, float(calibrator.a_)), graph.constant(float(calibrator.b_))
        )
        return graph.add("Sigmoid", graph.add("Neg", raw))
    if hasattr(calibrator, "X_thresholds_"):
        return _interpolated(graph, calibrator, scores)
    raise ExportError(f"the calibration {type(calibrator).__name__} cannot be converted to ONNX.")


def _interpolated(graph: Graph, calibrator: Any, x: str) -> str:
    """Return an isotonic regression: straight lines between thresholds, flat beyond them."""
    knots = np.asarray(calibrator.X_thresholds_, dtype=np.float64)
    values = np.asarray(calibrator.y_thresholds_, dtype=np.float64)
    if len(knots) == 1:
        return graph.add("Add", graph.scaled(x, 0.0), graph.constant(float(values[0])))
    x = graph.clip(x, float(knots[0]), float(knots[-1]))
    above = graph.as_double(graph.add("Greater", x, graph.constant(knots[1:-1].reshape(1, -1))))
    place = graph.add("Cast", graph.row_sums(above), to=graph.onnx.TensorProto.INT64)
    place = graph.add("Reshape", place, graph.constant([-1], np.int64))

    def at(table: Any) -> str:
        return graph.add("Gather", graph.constant(np.reshape(table, (-1, 1))), place, axis=0)

    run = graph.add("Sub", x, at(knots[:-1]))
    slope = np.diff(values) / np.diff(knots)
    return graph.add("Add", graph.add("Mul", run, at(slope)), at(values[:-1]))


@CLASSIFIERS.register(CalibratedClassifierCV)
def _calibrated_classifier(graph: Graph, model: Any, X: Rows) -> str:
    """Return the mean over the calibrated classifiers of a CalibratedClassifierCV."""
    parts = []
    for part in model.calibrated_classifiers_:
        method = method_of(part.estimator)
        inner = Predictor(graph, part.estimator, X)
        scores = inner.proba() if method == "predict_proba" else inner.scores()
        if method == "decision_function" and len(part.classes) == 2:
            scores = _two_sided(graph, part, scores)
        proba = add_calibrated(graph, part, scores, method)
        parts.append(align(graph, proba, part.classes, model.classes_))
    return graph.scaled(graph.total(parts), 1 / len(parts))


def calibrated_scores(graph: Graph, calibrator: Any, predictor: Predictor, method: str) -> str:
    """Return the probabilities that a calibrator makes of a model's scores, as PlugInRisk does."""
    (part,) = calibrator.calibrated_classifiers_
    scores = predictor.proba() if method == "predict_proba" else predictor.scores()
    if method == "decision_function" and len(part.classes) == 2:
        scores = _two_sided(graph, part, scores)
    if part.estimator.floor:
        scores = graph.clip(scores, part.estimator.floor, np.inf)
        scores = graph.add("Div", scores, graph.row_sums(scores))
    return add_calibrated(graph, part, scores, method)


def _two_sided(graph: Graph, part: Any, scores: str) -> str:
    """Return (−x, x) where temperature scaling takes the decision function of two classes."""
    if part.method != "temperature":
        return scores
    return graph.join([graph.add("Neg", scores), scores])


def method_of(model: Any) -> str:
    """Return the response that scikit-learn calibrates."""
    has = hasattr(model, "decision_function")
    return "decision_function" if has else "predict_proba"
