"""The predictor in a graph: each of its responses is added once, when it is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from condrisk.app.export._decisions import decision_responses, is_decision
from condrisk.app.export._graph import Graph, Rows, numeric
from condrisk.app.export._models import add_classifier, add_regressor, add_scores
from condrisk.app.export._stacks import is_stack, stack_responses
from condrisk.losses import encode


class Predictor:
    """The responses of a fitted model to the rows of a graph.

    Parameters
    ----------
    graph : Graph
        What they are added to.
    model : estimator
        The fitted model.
    X : Rows
        What it gets.

    Attributes
    ----------
    classes : ndarray or None
        Its labels, for classifiers.
    is_given : bool
        Whether the responses stand in a column instead.
    """

    is_given = False

    def __init__(self, graph: Graph, model: Any, X: Rows) -> None:
        self._graph, self._model, self._X = graph, model, X
        # CatBoost's regressors have empty classes_.
        self.classes = model.classes_ if is_classifier(model) else None
        self._known: dict[str, str] = {}

    def number(self) -> str:
        """Return the prediction of a regressor, as a column."""
        return self._get("predict", add_regressor)

    def proba(self) -> str:
        """Return class probabilities, a column for each class."""
        return self._get("predict_proba", add_classifier)

    def scores(self) -> str:
        """Return the decision function; one column for two classes."""
        return self._get("decision_function", add_scores)

    def uncertainty(self) -> str:
        """Return how far the models of a stack disagree, and their own deviations."""
        return self._get("uncertainty", None)

    def codes(self) -> str:
        """Return the position of the predicted label, shape (n_rows,)."""
        return self._get("codes", lambda *_: self._add_codes())

    def risk(self) -> str:
        """Return the expected loss of a decision under its own distribution."""
        return self._get("risk", None)

    def _add_codes(self) -> str:
        graph = self._graph
        if hasattr(self._model, "predict_proba"):
            return graph.add("ArgMax", self.proba(), axis=1, keepdims=0)
        scores = self.scores()
        if self.classes is not None and len(self.classes) > 2:
            return graph.add("ArgMax", scores, axis=1, keepdims=0)
        positive = graph.add("Greater", scores, graph.constant(0.0))
        code = graph.add("Cast", positive, to=graph.onnx.TensorProto.INT64)
        return graph.add("Reshape", code, graph.constant([-1], np.int64))

    def _get(self, method: str, add: Any) -> str:
        if method not in self._known and is_stack(self._model):  # all at once
            self._known |= stack_responses(self._graph, self._model, self._X)
        if method not in self._known and is_decision(self._model):
            self._known |= decision_responses(self._graph, self._model, self._X)
        if method not in self._known:
            self._known[method] = add(self._graph, self._model, self._X)
        return self._known[method]


class GivenPredictor(Predictor):
    """The responses of an external predictor, which stand in a column of the table.

    Parameters
    ----------
    graph : Graph
        What they are added to.
    column : str
        The input that holds them: text or numbers.
    classes : ndarray or None
        The labels, for classes.
    texts : dict of str to int or None
        Where it holds text: the position of the label that each text stands for.
    """

    is_given = True

    def __init__(
        self, graph: Graph, column: str, *, classes: Any = None, texts: dict[str, int] | None = None
    ) -> None:
        self._graph, self._column, self._texts = graph, column, texts
        self._model, self._X = None, numeric(column, 1)
        self.classes = classes
        self._known = {"predict": column}

    def _add_codes(self) -> str:
        graph = self._graph
        if self._texts is not None:
            codes = add_text_codes(graph, self._column, self._texts, default=-1.0)
            whole = graph.add("Cast", codes, to=graph.onnx.TensorProto.INT64)
            return graph.add("Reshape", whole, graph.constant([-1], np.int64))
        labels = graph.constant(np.asarray(self.classes, dtype=np.float64).reshape(1, -1))
        same = graph.as_double(graph.add("Equal", self._column, labels))
        return graph.add("ArgMax", same, axis=1, keepdims=0)


def add_text_codes(graph: Graph, column: str, codes: dict[str, int], *, default: float) -> str:
    """Return the code of each text of a column, and the default for any other text."""
    from_array = graph.onnx.numpy_helper.from_array
    return graph.add(
        "LabelEncoder",
        column,
        domain="ai.onnx.ml",
        keys_tensor=graph.text_tensor("keys", codes),
        values_tensor=from_array(np.array([*codes.values()], dtype=np.float64), "values"),
        default_tensor=from_array(np.array([default]), "default"),
    )


def align(graph: Graph, proba: str, known: Any, labels: Any) -> str:
    """Return probabilities with a column for each label, zero where a model does not know it."""
    if np.array_equal(known, labels):
        return proba
    places = encode(labels, known)
    if (places < 0).any():
        zero = graph.scaled(graph.columns(proba, [0]), 0.0)
        proba = graph.join([proba, zero])
        places = np.where(places < 0, len(np.asarray(known)), places)
    return graph.columns(proba, places)
