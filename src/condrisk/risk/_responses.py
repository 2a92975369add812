"""Responses of a predictor to some rows, each computed at most once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._crossfit import CrossFitted, respond
from condrisk.losses import Task, encode
from condrisk.risk._outputs import check_given_outputs


class Responses:
    """The responses of a fitted predictor to the rows `X`."""

    def __init__(self, predictor: Any, X: Any) -> None:
        self._predictor = predictor
        self._X = X
        self._known: dict[str, NDArray[Any]] = {}

    def get(self, method: str) -> NDArray[Any]:
        """Return what the method gives, calling it the first time only."""
        if method not in self._known:
            self._known[method] = respond(self._predictor, self._X, method)
        return self._known[method]


class GivenResponses(Responses):
    """The responses of an external predictor, as the user gave them.

    Parameters
    ----------
    prediction : ndarray
        Labels or numbers, shape (n_samples,), or class probabilities, shape
        (n_samples, n_classes). Of several outputs shape (n_samples, n_outputs): numbers, or labels
        or their chances.
    classes : ndarray, list of ndarray or None
        The labels of the columns, of several outputs those of each; None for regression.
    """

    def __init__(
        self, prediction: NDArray[Any], classes: NDArray[Any] | list[NDArray[Any]] | None
    ) -> None:
        self._prediction = prediction
        self._classes = classes

    def get(self, method: str) -> NDArray[Any]:
        """Return the response as far as it can be told from what was given."""
        if isinstance(self._classes, list):
            labels = (self._prediction > 0.5).astype(np.int64)
            return labels if method == "predict" else self._prediction.astype(np.float64)
        if method == "predict" and self._prediction.ndim == 2 and self._classes is not None:
            return self._classes[np.argmax(self._prediction, axis=1)]
        if method == "predict_proba" and self._prediction.ndim == 1:
            raise ValueError(
                "prediction must be class probabilities, one column per class, for this loss or "
                "these features; got one value per row."
            )
        return self._prediction


def held_out_at_once(
    rows: NDArray[np.intp], responses: Responses, methods: set[str]
) -> CrossFitted:
    """Return responses to rows that were all held out at once."""
    known = {name: responses.get(name) for name in sorted(methods)}
    return CrossFitted(rows, np.zeros(len(rows), dtype=np.intp), 1, (known,))


def check_prediction(
    prediction: Any, n_rows: int, classes: Any, n_outputs: int = 1
) -> NDArray[Any]:
    """Validate the responses that a user gives for an external predictor."""
    if prediction is None:
        raise ValueError(
            'prediction must be given because predictor is "precomputed": pass the external '
            "predictor's response to each row as prediction=."
        )
    array = np.asarray(prediction)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if n_outputs > 1:
        task: Task = "regression" if classes is None else "classification"
        return _finite(check_given_outputs(array, (n_rows, n_outputs), task))
    if array.shape[:1] != (n_rows,) or array.ndim not in (1, 2):
        raise ValueError(
            f"prediction must have one row for each of the {n_rows} rows of X, "
            f"got shape {array.shape}."
        )
    _finite(array)
    if array.ndim == 2:
        _check_proba(array, classes)
    return array


def _finite(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError("prediction contains NaN or infinity; every row needs a finite value.")
    return array


def check_some_are_classes(prediction: NDArray[Any], classes: Any) -> None:
    """Refuse labels none of which is a class: they are something else.

    For the rows of a fit only: a single new row may well have a label that is no class.
    """
    one = prediction.ndim == 1 and isinstance(classes, np.ndarray)
    if one and (encode(prediction, classes) < 0).all():
        raise ValueError(
            f"prediction holds none of the classes {classes.tolist()[:10]}: "
            f"give labels of y, a matrix of class probabilities, or, if y holds numbers and no "
            f'classes, a loss such as "squared_error".'
        )


def _check_proba(proba: NDArray[Any], classes: NDArray[Any] | None) -> None:
    if classes is None:
        raise ValueError(
            f"prediction must be one number per row for regression, got shape {proba.shape}."
        )
    if proba.shape[1] != len(classes):
        raise ValueError(
            f"prediction must have a column for each of the {len(classes)} classes of y, in "
            f"sorted order, got {proba.shape[1]} columns."
        )
    sums = proba.sum(axis=1)
    if proba.min() < 0 or np.abs(sums - 1).max() > 1e-3:
        raise ValueError("prediction must hold probabilities: non-negative, each row summing to 1.")
