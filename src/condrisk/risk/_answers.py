"""What a predictor says of some rows, each response asked for at most once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._crossfit import HeldOut, answer
from condrisk.losses import encode


class Answers:
    """The responses of a fitted predictor on the rows `X`."""

    def __init__(self, predictor: Any, X: Any) -> None:
        self._predictor = predictor
        self._X = X
        self._known: dict[str, NDArray[Any]] = {}

    def get(self, response: str) -> NDArray[Any]:
        """Return the response, asking the predictor the first time only."""
        if response not in self._known:
            self._known[response] = answer(self._predictor, self._X, response)
        return self._known[response]


class GivenAnswers(Answers):
    """The responses of a predictor that lives elsewhere, as the user gave them.

    Parameters
    ----------
    prediction : ndarray
        Labels or numbers, shape (n_samples,), or class probabilities, shape
        (n_samples, n_classes).
    classes : ndarray or None
        The labels of the columns; None for regression.
    """

    def __init__(self, prediction: NDArray[Any], classes: NDArray[Any] | None) -> None:
        self._prediction = prediction
        self._classes = classes

    def get(self, response: str) -> NDArray[Any]:
        """Return the response as far as it can be told from what was given."""
        if response == "predict" and self._prediction.ndim == 2 and self._classes is not None:
            return self._classes[np.argmax(self._prediction, axis=1)]
        if response == "predict_proba" and self._prediction.ndim == 1:
            raise ValueError(
                "prediction must be class probabilities, one column per class, for this loss or "
                "these features; got one value per row."
            )
        return self._prediction


def one_held_out(rows: NDArray[np.intp], answers: Answers, responses: set[str]) -> HeldOut:
    """Return answers on rows that were all held out at once."""
    known = {name: answers.get(name) for name in sorted(responses)}
    return HeldOut(rows, np.zeros(len(rows), dtype=np.intp), 1, (known,))


def check_prediction(prediction: Any, n_rows: int, classes: NDArray[Any] | None) -> NDArray[Any]:
    """Validate the responses that a user gives for a predictor that lives elsewhere."""
    if prediction is None:
        raise ValueError(
            "prediction must be given because predictor is None: pass what the predictor that "
            "lives elsewhere says of each row, as prediction=."
        )
    array = np.asarray(prediction)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape[:1] != (n_rows,) or array.ndim not in (1, 2):
        raise ValueError(
            f"prediction must have one row for each of the {n_rows} rows of X, "
            f"got shape {array.shape}."
        )
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError("prediction contains NaN or infinity; every row needs a finite value.")
    if array.ndim == 2:
        _check_proba(array, classes)
    elif classes is not None and (encode(array, classes) < 0).all():
        raise ValueError(
            f"prediction holds none of the classes {classes.tolist()[:10]}: "
            f"give labels of y, or a matrix of class probabilities."
        )
    return array


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
