"""What every loss offers: a value per example and, for classes, the whole row at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import refuse_gradients

Floats = NDArray[np.float64]
Task = Literal["regression", "classification"]
Response = Literal["predict", "predict_proba"]

# Blocks of this many numbers (2 MiB) stay in a core's cache, so that a second pass over a block is
# cheap and no temporary grows with the number of rows.
_BLOCK = 1 << 18


class Loss(ABC):
    """The cost ℓ(f(x), y) of an answer, example by example.

    A loss is called as scikit-learn's metrics are, truth first: ``loss(y_true, response)``. It
    returns one number per example and leaves weights and averages to the caller.

    Attributes
    ----------
    name : str
        The name it goes by.
    task : {"regression", "classification"} or None
        The kind of target it is meant for; None if it takes either.
    response : {"predict", "predict_proba"}
        The method of the predictor whose answer it scores.
    minimum : float
        The least value it can take; ``-inf`` if there is none.
    maximum : float
        The greatest value it can take; ``inf`` if there is none, or none is known.
    """

    name: str
    task: Task | None
    response: Response
    minimum: float
    maximum: float = np.inf

    @abstractmethod
    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""

    def for_outputs(self, n_outputs: int) -> Loss:
        """Return the loss of examples with so many outputs, or raise where it has none."""
        if n_outputs == 1:
            return self
        raise ValueError(
            f"loss {self.name!r} is for one output, but y has {n_outputs} columns: use a loss that "
            f"condrisk.losses.averaged takes, or make_loss with a function of 2-D arrays."
        )

    def __repr__(self) -> str:
        return self.name

    # Not dataclasses: those would take a good part of the time of `import condrisk`.
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))


class ClassLoss(Loss):
    """A loss on classes: it also knows what every other class would have cost.

    `classes` gives the labels behind the columns of a response or of a probability matrix. A loss
    of labels (`response` "predict") takes labels, one of probabilities takes a matrix.
    """

    task = "classification"

    @abstractmethod
    def rows(self, response: ArrayLike, *, classes: ArrayLike) -> Floats:
        """Return ℓ(f(x), k) for every class k, shape (n_samples, n_classes)."""

    def expected(self, response: ArrayLike, proba: ArrayLike, *, classes: ArrayLike) -> Floats:
        """Return Σₖ ℓ(f(x), k) pₖ(x), shape (n_samples,), without a matrix of losses.

        Each row of `proba` is taken to sum to one.
        """
        p, labels = probabilities(proba, classes, "proba")
        if self.response == "predict_proba":
            f, _ = probabilities(response, labels)
        else:
            f = column(response, "response")
        check_same_length(f, p, "response and proba")
        return self._expected(f, p, labels)

    def _expected(self, response: Any, proba: Any, classes: NDArray[Any]) -> Floats:
        """Return `expected` of checked arrays, here in blocks of rows; most losses know better."""
        out = np.empty(len(proba))
        for block in blocks(*proba.shape):
            rows = self.rows(response[block], classes=classes)
            np.vecdot(rows, proba[block], out=out[block])
        return out


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut `n_rows` into slices small enough that a block of them stays in cache."""
    step = max(1, _BLOCK // max(1, n_columns))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def numbers(values: ArrayLike, name: str) -> Floats:
    """Return `values` as float64, by row or by row and output, or say what is wrong with them."""
    refuse_gradients(**{name: values})
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers for this loss: {error}.") from None
    return outputs(array, name)


def outputs(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as an array by row, or by row and output; a single column is flattened."""
    refuse_gradients(**{name: values})
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2):
        raise ValueError(
            f"{name} must have one value per row, or one per row and output, "
            f"got shape {array.shape}."
        )
    return array


def column(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as a one-dimensional array; a single column is flattened."""
    array = outputs(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one value per row, got shape {array.shape}.")
    return array


def check_same_shape(
    first: NDArray[Any], second: NDArray[Any], names: str = "y_true and response"
) -> None:
    """Raise if two arrays do not have a value for each other."""
    if first.ndim == second.ndim == 1:
        check_same_length(first, second, names)
    elif first.shape != second.shape:
        raise ValueError(f"{names} must have the same shape, got {first.shape} and {second.shape}.")


def check_same_length(
    first: NDArray[Any], second: NDArray[Any], names: str = "y_true and response"
) -> None:
    """Raise if two arrays do not have a row for each other."""
    if len(first) != len(second):
        raise ValueError(f"{names} must have the same length, got {len(first)} and {len(second)}.")


def check_same_kind(
    first: NDArray[Any], second: NDArray[Any], names: str = "y_true and response"
) -> None:
    """Raise if one array holds text and the other numbers: no two labels would ever be equal."""
    if (first.dtype.kind in "biuf") != (second.dtype.kind in "biuf"):
        raise ValueError(
            f"{names} must be both text or both numbers, "
            f"got the dtypes {first.dtype} and {second.dtype}."
        )


def probabilities(
    values: ArrayLike, classes: ArrayLike | None, name: str = "response"
) -> tuple[Any, NDArray[Any]]:
    """Return a probability matrix and the labels of its columns, checked against each other."""
    refuse_gradients(**{name: values})
    proba = np.asarray(values)
    if proba.ndim != 2:
        raise ValueError(
            f"{name} must be a matrix of probabilities, one column per class, "
            f"got shape {proba.shape}."
        )
    labels = np.arange(proba.shape[1]) if classes is None else np.asarray(classes)
    if len(labels) != proba.shape[1]:
        raise ValueError(
            f"{name} has {proba.shape[1]} columns of probabilities, "
            f"but there are {len(labels)} classes."
        )
    return proba, labels


def encode(labels: ArrayLike, classes: ArrayLike) -> NDArray[np.intp]:
    """Return the position of each label in `classes`, -1 where it is not among them.

    Examples
    --------
    >>> from condrisk.losses import encode
    >>> encode(["b", "a", "z"], ["b", "a"])
    array([ 0,  1, -1])
    """
    labels, classes = np.asarray(labels), np.asarray(classes)
    if _are_positions(labels, classes):
        codes = labels.astype(np.intp)
        return np.where((codes >= 0) & (codes < len(classes)), codes, -1)
    check_same_kind(labels, classes, "labels and classes")
    if labels.dtype.kind not in "biufU" or classes.dtype.kind not in "biufU":
        # Objects need not have an order, and Python finds them sooner than a search would.
        position = {label: k for k, label in enumerate(classes.tolist())}
        return np.fromiter(map(position.get, labels.tolist(), repeat(-1)), np.intp, len(labels))
    order = np.argsort(classes)
    found = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[found] == labels, found, -1)


def _are_positions(labels: NDArray[Any], classes: NDArray[Any]) -> bool:
    """Tell whether the classes are 0, 1, 2, … so that a label is its own position."""
    whole = labels.dtype.kind in "iu" and classes.dtype.kind in "iu"
    return whole and bool(np.array_equal(classes, np.arange(len(classes))))
