"""Losses on numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from condrisk.losses._averaged import AveragedLoss
from condrisk.losses._base import Floats, Loss, check_same_shape, numbers


class NumericLoss(Loss):
    """A loss that depends on the error y − f(x) alone, with zero as its least value.

    Of several outputs it is the mean.
    """

    task = "regression"
    response = "predict"
    minimum = 0.0

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""
        y_true, response = numbers(y_true, "y_true"), numbers(response, "response")
        check_same_shape(y_true, response)
        values = self.of_error(y_true - response)
        return values if values.ndim == 1 else values.mean(axis=1)

    def for_outputs(self, n_outputs: int) -> Loss:
        """Return the loss of examples with so many outputs: its mean over these."""
        return self if n_outputs == 1 else AveragedLoss(self)

    def of_error(self, error: Floats) -> Floats:
        """Return the loss of each error y − f(x)."""
        raise NotImplementedError


class SquaredError(NumericLoss):
    """(y − f(x))²."""

    name = "squared_error"

    def of_error(self, error: Floats) -> Floats:
        """Return the loss of each error y − f(x)."""
        return error**2


class AbsoluteError(NumericLoss):
    """|y − f(x)|."""

    name = "absolute_error"

    def of_error(self, error: Floats) -> Floats:
        """Return the loss of each error y − f(x)."""
        return np.abs(error)


class Pinball(NumericLoss):
    """q·(y − f(x)) above the prediction, (1 − q)·(f(x) − y) below it."""

    name = "pinball"

    def __init__(self, quantile: float) -> None:
        if not 0 < quantile < 1:
            raise ValueError(f"quantile must lie between 0 and 1, got {quantile}.")
        self.quantile = quantile

    def __repr__(self) -> str:
        return f"pinball({self.quantile})"

    def of_error(self, error: Floats) -> Floats:
        """Return the loss of each error y − f(x)."""
        return np.maximum(self.quantile * error, (self.quantile - 1) * error)


class Huber(NumericLoss):
    """Half the squared error up to `delta`, linear beyond."""

    name = "huber"

    def __init__(self, delta: float) -> None:
        if not 0 < delta < np.inf:
            raise ValueError(f"delta must be a positive number, got {delta}.")
        self.delta = delta

    def __repr__(self) -> str:
        return f"huber({self.delta})"

    def of_error(self, error: Floats) -> Floats:
        """Return the loss of each error y − f(x)."""
        size = np.abs(error)
        return np.where(size <= self.delta, 0.5 * size**2, self.delta * (size - 0.5 * self.delta))


def pinball(quantile: float) -> Loss:
    """Return the loss of a predictor of the `quantile`.

    Parameters
    ----------
    quantile : float
        Between 0 and 1. At 0.5 the loss is half the absolute error.

    Examples
    --------
    >>> from condrisk.losses import pinball
    >>> pinball(0.9)([10.0, 10.0], [8.0, 12.0])
    array([1.8, 0.2])
    """
    return Pinball(quantile)


def huber(delta: float) -> Loss:
    """Return Huber's loss: ½(y − f(x))² up to an error of `delta`, linear beyond.

    Parameters
    ----------
    delta : float
        Positive: the error at which the parabola turns into a line.

    Examples
    --------
    >>> from condrisk.losses import huber
    >>> huber(1.0)([0.0, 0.0], [0.5, 3.0])
    array([0.125, 2.5  ])
    """
    return Huber(delta)
