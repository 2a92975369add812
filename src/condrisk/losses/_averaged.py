"""The mean of a loss over several outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk.losses._base import Floats, Loss, check_same_shape, outputs


class AveragedLoss(Loss):
    """The mean of a loss over the outputs of each example; see `averaged`.

    The expectation of the mean is the mean of the expectations: whatever is known of each output by
    itself will do, however the outputs depend on each other.

    Parameters
    ----------
    loss : Loss
        The loss of one output.
    weights : array-like of shape (n_outputs,), optional
        How much each output counts; all the same if not given.
    """

    response = "predict"

    def __init__(self, loss: Loss, weights: ArrayLike | None = None) -> None:
        if loss.response != "predict":
            raise ValueError(
                f"averaged takes losses of predictions, and {loss.name!r} is one of class "
                f"probabilities: use 'hamming', or a loss of your own by make_loss."
            )
        self.loss = loss
        self.weights = None if weights is None else _checked(weights)
        self.name = "hamming" if loss.name == "zero_one" else loss.name
        self.task = loss.task
        self.minimum, self.maximum = loss.minimum, loss.maximum

    def __repr__(self) -> str:
        if self.weights is None:
            return "hamming" if self.name == "hamming" else f"averaged({self.loss!r})"
        return f"averaged({self.loss!r}, weights={list(self.weights)})"

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""
        y_true, response = outputs(y_true, "y_true"), outputs(response, "response")
        check_same_shape(y_true, response)
        columns = zip(_columns(y_true), _columns(response), strict=True)
        return self.mean([self.loss(y, f) for y, f in columns])

    def mean(self, columns: Sequence[Floats]) -> Floats:
        """Return the mean of what belongs to each output, by its weight."""
        weights = self._weights(len(columns))
        total = sum(weight * column for weight, column in zip(weights, columns, strict=True))
        return np.asarray(total / sum(weights))

    def for_outputs(self, n_outputs: int) -> Loss:
        """Return the loss of examples with so many outputs; of one it is the loss of that one."""
        self._weights(n_outputs)
        return self.loss if n_outputs == 1 else self

    def _weights(self, n_outputs: int) -> tuple[float, ...]:
        if self.weights is None:
            return (1.0,) * n_outputs
        if len(self.weights) != n_outputs:
            raise ValueError(
                f"loss: averaged has {len(self.weights)} weights, but y has {n_outputs} "
                f"column{'s' if n_outputs > 1 else ''}: give one weight for each."
            )
        return self.weights


def _columns(values: NDArray[Any]) -> NDArray[Any]:
    return values.T if values.ndim == 2 else values[None]


def _checked(weights: ArrayLike) -> tuple[float, ...]:
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    usable = values.ndim == 1 and np.isfinite(values).all()
    if not usable or (values < 0).any() or not values.sum() > 0:
        raise ValueError(
            f"weights must be a number for each output, none negative and not all zero; "
            f"got {weights!r}."
        )
    return tuple(values.tolist())
