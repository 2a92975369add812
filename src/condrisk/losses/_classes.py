"""Losses on classes, each with the whole row ℓ(f(x), ·) and its expectation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk.losses._base import (
    ClassLoss,
    Floats,
    blocks,
    check_same_kind,
    check_same_length,
    check_same_shape,
    column,
    encode,
    outputs,
    probabilities,
)

#: Log loss takes every probability as at least this: 2⁻⁵², float64's spacing at one.
LOG_LOSS_FLOOR = float(np.finfo(np.float64).eps)
_LOG_FLOOR = float(np.log(LOG_LOSS_FLOOR))


class ZeroOne(ClassLoss):
    """1 where the label is wrong: its expectation is the chance of being wrong.

    Of several labels, 1 where any of them is.
    """

    name = "zero_one"
    response = "predict"
    minimum = 0.0
    maximum = 1.0

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""
        y_true, response = outputs(y_true, "y_true"), outputs(response, "response")
        check_same_shape(y_true, response)
        check_same_kind(y_true, response)
        wrong = np.asarray(y_true != response, dtype=np.float64)
        return wrong if wrong.ndim == 1 else wrong.max(axis=1)

    def for_outputs(self, n_outputs: int) -> ClassLoss:
        """Return the loss of examples with so many labels."""
        return self

    def rows(self, response: ArrayLike, *, classes: ArrayLike) -> Floats:
        """Return ℓ(f(x), k) for every class k, shape (n_samples, n_classes)."""
        codes = encode(column(response, "response"), classes)
        return (codes[:, None] != np.arange(len(np.asarray(classes)))).astype(np.float64)

    def _expected(self, response: Any, proba: Any, classes: NDArray[Any]) -> Floats:
        """Return 1 − p(f(x)), one look-up a row instead of a sum over classes."""
        codes = encode(response, classes)
        chosen = proba[np.arange(len(codes)), codes].astype(np.float64)
        chosen[codes < 0] = 0.0
        # Rounding may have lifted a probability above one.
        return np.maximum(np.subtract(1.0, chosen, out=chosen), 0.0, out=chosen)


class LogLoss(ClassLoss):
    """−log f(x)ᵧ, with every probability taken as at least `LOG_LOSS_FLOOR`.

    The floor is the same for float32 and float64, and all arithmetic is float64. So the loss is
    finite, at most 36.04, and equal to scikit-learn's for float64. A class that the predictor
    has never seen has probability zero and costs that maximum.
    """

    name = "log_loss"
    response = "predict_proba"
    minimum = 0.0
    maximum = -_LOG_FLOOR

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""
        return _minus_log(_probability_of(y_true, response, classes))

    def rows(self, response: ArrayLike, *, classes: ArrayLike) -> Floats:
        """Return ℓ(f(x), k) for every class k, shape (n_samples, n_classes)."""
        proba, _ = probabilities(response, classes)
        return _minus_log(proba)

    def _expected(self, response: Any, proba: Any, classes: NDArray[Any]) -> Floats:
        """Return −Σₖ pₖ log f(x)ₖ, in blocks of rows through one buffer."""
        out, buffer = np.empty(len(proba)), np.empty((0, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            for block in blocks(*proba.shape):
                f = response[block]
                if len(buffer) < len(f):
                    buffer = np.empty(f.shape)
                logs = np.log(f, out=buffer[: len(f)], dtype=np.float64)
                # A block that needs no floor skips a pass over it: looking is cheaper than
                # writing, most of all at what is in cache. NaN fails the comparison too.
                if not logs.min() >= _LOG_FLOOR:
                    np.maximum(logs, _LOG_FLOOR, out=logs)
                np.vecdot(logs, proba[block], out=out[block])
        # Rounding may have lifted a probability above one.
        return np.maximum(np.negative(out, out=out), 0.0, out=out)


class Brier(ClassLoss):
    """Σₖ (f(x)ₖ − 1{y = k})², from 0 to 2: in the binary case twice the squared error of f(x)₁.

    A class that the predictor has never seen has probability zero and costs 1 + Σₖ f(x)ₖ².
    """

    name = "brier"
    response = "predict_proba"
    minimum = 0.0
    maximum = 2.0

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""
        chosen = _probability_of(y_true, response, classes)
        return _row_products(response, response) + 1.0 - 2.0 * chosen

    def rows(self, response: ArrayLike, *, classes: ArrayLike) -> Floats:
        """Return ℓ(f(x), k) for every class k, shape (n_samples, n_classes)."""
        proba, _ = probabilities(response, classes)
        return (_row_products(proba, proba) + 1.0)[:, None] - 2.0 * proba

    def _expected(self, response: Any, proba: Any, classes: NDArray[Any]) -> Floats:
        """Return 1 + Σₖ f(x)ₖ (f(x)ₖ − 2pₖ): two products a row, no matrix of losses."""
        out = np.empty(len(proba))
        for block in blocks(*proba.shape):
            f = response[block]
            out[block] = _row_products(f, f) - 2.0 * _row_products(f, proba[block])
        out += 1.0
        return np.maximum(out, 0.0, out=out)


class CostMatrix(ClassLoss):
    """C[true, predicted], in the order of the predictor's `classes_`, or with labels of its own.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        What it costs to predict the class of the column when that of the row is true. A pandas
        frame is read by its labels, in whatever order they stand, unless it has none.

    Examples
    --------
    >>> from condrisk.losses import CostMatrix
    >>> loss = CostMatrix([[0, 1], [10, 0]])  # missing a "yes" costs ten times a false alarm
    >>> loss(["no", "yes"], ["yes", "no"], classes=["no", "yes"])
    array([ 1., 10.])
    """

    name = "cost_matrix"
    response = "predict"

    def __init__(self, matrix: ArrayLike) -> None:
        self.labels, matrix = _labels_of(matrix)
        try:
            self.matrix = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"loss must be a cost matrix of numbers: {error}") from None
        shape = self.matrix.shape
        if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
            raise ValueError(
                f"loss must be a square cost matrix C[true, predicted], got shape {shape}."
            )
        if not np.isfinite(self.matrix).all():
            raise ValueError("loss must be a cost matrix of finite numbers, got NaN or infinity.")
        self.minimum, self.maximum = float(self.matrix.min()), float(self.matrix.max())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CostMatrix)
            and np.array_equal(self.matrix, other.matrix)
            and np.array_equal(np.asarray(self.labels), np.asarray(other.labels))
        )

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""
        if classes is None:
            classes = np.arange(len(self.matrix)) if self.labels is None else self.labels
        matrix = self._in_order_of(classes)
        true = _codes(column(y_true, "y_true"), classes)
        predicted = _codes(column(response, "response"), classes)
        check_same_length(true, predicted)
        return matrix[true, predicted]

    def rows(self, response: ArrayLike, *, classes: ArrayLike) -> Floats:
        """Return ℓ(f(x), k) for every class k, shape (n_samples, n_classes)."""
        return self._in_order_of(classes).T[_codes(column(response, "response"), classes)]

    def _expected(self, response: Any, proba: Any, classes: NDArray[Any]) -> Floats:
        """Return Σₖ C[k, f(x)] pₖ(x), in blocks of rows."""
        columns = np.ascontiguousarray(self._in_order_of(classes).T)
        codes = _codes(response, classes)
        out, buffer = np.empty(len(proba)), np.empty((0, 0))
        for block in blocks(*proba.shape):
            mine = codes[block]
            if len(buffer) < len(mine):
                buffer = np.empty((len(mine), len(classes)))
            # No code is out of range; with this mode `take` writes without a copy of its own.
            costs = np.take(columns, mine, axis=0, out=buffer[: len(mine)], mode="clip")
            np.vecdot(costs, proba[block], out=out[block])
        return out

    def check_classes(self, classes: ArrayLike) -> None:
        """Raise if the matrix is not for these classes."""
        self._in_order_of(classes)

    def _in_order_of(self, classes: ArrayLike) -> Floats:
        """Return the costs with rows and columns in the order of `classes`."""
        known = np.asarray(classes)
        if self.labels is not None:
            extra = sorted(set(self.labels.tolist()) - set(known.tolist()), key=str)
            missing = sorted(set(known.tolist()) - set(self.labels.tolist()), key=str)
            if extra or missing:
                raise ValueError(
                    f"loss is a cost matrix with the labels {self.labels.tolist()}, but the "
                    f"classes are {known.tolist()}: "
                    + (f"{extra[0]!r} is no class." if extra else f"{missing[0]!r} has no costs.")
                )
            order = encode(known, self.labels)
            return self.matrix[np.ix_(order, order)]
        if len(self.matrix) != len(known):
            raise ValueError(
                f"loss is a {len(self.matrix)} × {len(self.matrix)} cost matrix, but there are "
                f"{len(known)} classes: it needs a row and a column for each, in sorted order."
            )
        return self.matrix


def _labels_of(matrix: Any) -> tuple[NDArray[Any] | None, Any]:
    """Return the labels of a cost matrix, and the matrix with its columns in their order."""
    if hasattr(matrix, "to_pandas") and hasattr(matrix, "columns"):
        raise ValueError(
            f"loss: a {type(matrix).__module__.split('.')[0]} frame has no labels for its rows; "
            f"give a pandas frame with the classes as index and columns, or an array in the "
            f"sorted order of the classes."
        )
    if not hasattr(matrix, "index") or not hasattr(matrix, "columns"):
        return None, matrix
    true, predicted = matrix.index.tolist(), matrix.columns.tolist()
    if true == predicted == list(range(len(true))):
        return None, matrix  # a frame that was given no labels
    if len(set(true)) < len(true) or sorted(true, key=str) != sorted(predicted, key=str):
        raise ValueError(
            f"loss must be a cost matrix with the same labels for rows (true) and columns "
            f"(predicted), each once; got rows {true} and columns {predicted}."
        )
    return np.asarray(true), matrix.loc[true, true]


def _codes(labels: ArrayLike, classes: ArrayLike) -> NDArray[np.intp]:
    codes = encode(labels, classes)
    if (codes < 0).any():
        unknown = np.asarray(labels)[codes < 0].tolist()[0]
        raise ValueError(f"the cost matrix has no cost for the label {unknown!r}.")
    return codes


def _minus_log(proba: ArrayLike) -> Floats:
    """−log p with the floor, in float64 and without a second temporary."""
    # One is the ceiling, so that a probability that rounding has lifted above it costs nothing.
    values = np.clip(proba, LOG_LOSS_FLOOR, 1.0, dtype=np.float64)
    np.log(values, out=values)
    return np.abs(values, out=values)


def _probability_of(y_true: ArrayLike, response: Any, classes: ArrayLike | None) -> Floats:
    """Return the probability given to the true class, zero for one without a column."""
    proba, labels = probabilities(response, classes)
    codes = encode(column(y_true, "y_true"), labels)
    check_same_length(codes, proba)
    chosen = proba[np.arange(len(codes)), codes].astype(np.float64)
    return np.where(codes < 0, 0.0, chosen)


def _row_products(a: Any, b: Any) -> Floats:
    return np.vecdot(a, b, dtype=np.float64)
