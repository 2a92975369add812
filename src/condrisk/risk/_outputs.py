"""Targets of several columns: numbers, or labels that are there or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from condrisk.losses import Task


def has_several_outputs(y: Any) -> bool:
    """Tell whether a target has several columns; a single one counts as none."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # lists of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1


def check_outputs(y: Any, X: Any, task: Task | None) -> NDArray[Any]:
    """Return a target of several columns, checked; those of a classifier must be indicators."""
    if sparse.issparse(y):
        y = y.toarray()
    numbers = [np.float64, np.float32] if task == "regression" else None
    y = check_array(y, dtype=numbers, input_name="y")
    if len(y) != _num_samples(X):
        rows = getattr(X, "shape", None) or np.asarray(X).shape
        raise ValueError(
            f"y must have a row for each row of X, got the shapes {y.shape} for y and {rows} for X."
        )
    if task != "classification":
        return y
    if not np.isin(y, (0, 1)).all():
        raise ValueError(
            "y with several columns of classes must hold 0 and 1 alone, a column for each label "
            "that a row may have. For other classes fit one risk estimator for each column."
        )
    return y.astype(np.int64)


def check_n_outputs(y: NDArray[Any], expected: int | None) -> None:
    """Raise if a target has not as many columns as the one that was fitted on."""
    n_outputs = y.shape[1] if y.ndim == 2 else 1
    if expected is not None and n_outputs != expected:
        shape = (len(y), expected) if expected > 1 else (len(y),)
        raise ValueError(
            f"y must have the shape {shape}, with the columns that fit was given, "
            f"got the shape {y.shape}."
        )


def check_given_outputs(
    prediction: NDArray[Any], shape: tuple[int, int], task: Task | None
) -> NDArray[Any]:
    """Validate the responses of an external predictor to rows that have several targets."""
    if prediction.shape != shape:
        raise ValueError(
            f"prediction must have the shape {shape}, a column for each of y, "
            f"got the shape {prediction.shape}."
        )
    if task == "classification":
        known = prediction.dtype.kind in "biuf"
        if not known or prediction.min() < 0 or prediction.max() > 1:
            raise ValueError(
                "prediction must hold labels, 0 and 1, or the chance of each label, from 0 to 1."
            )
    return prediction
