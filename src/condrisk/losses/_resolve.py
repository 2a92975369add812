"""From what a user may write as a loss to a `Loss`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk.losses._averaged import AveragedLoss
from condrisk.losses._base import ClassLoss, Floats, Loss, Response, Task
from condrisk.losses._classes import Brier, CostMatrix, LogLoss, ZeroOne
from condrisk.losses._numeric import AbsoluteError, SquaredError
from condrisk.losses._suggest import refuse_metric, suggestion

squared_error = SquaredError()
absolute_error = AbsoluteError()
zero_one = ZeroOne()
log_loss = LogLoss()
brier = Brier()
hamming = AveragedLoss(zero_one)

LOSSES: dict[str, Loss] = {
    loss.name: loss for loss in (squared_error, absolute_error, zero_one, hamming, log_loss, brier)
}
_DEFAULTS: dict[Task, Loss] = {"regression": squared_error, "classification": zero_one}


class CustomLoss(ClassLoss):
    """A user's function as a loss; see `make_loss`."""

    task = None  # type: ignore[assignment]

    def __init__(self, fn: Callable[..., Any], response: Response, minimum: float) -> None:
        self.fn = fn
        self.response = response
        self.minimum = minimum
        self.name = getattr(fn, "__name__", type(fn).__name__)

    def __repr__(self) -> str:
        return f"make_loss({self.name}, response={self.response!r}, minimum={self.minimum})"

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Return the loss of each example, shape (n_samples,)."""
        y_true, response = np.asarray(y_true), np.asarray(response)
        values = np.asarray(self.fn(y_true, response))
        if values.shape != (len(y_true),):
            raise ValueError(
                f"loss {self.name!r} must return one value per example, shape ({len(y_true)},), "
                f"but returned shape {values.shape}."
            )
        return self._checked(values)

    def for_outputs(self, n_outputs: int) -> ClassLoss:
        """Return the loss of examples with so many outputs: the function gets 2-D arrays."""
        return self

    def rows(self, response: ArrayLike, *, classes: ArrayLike) -> Floats:
        """Return ℓ(f(x), k) for every class k, shape (n_samples, n_classes)."""
        response, labels = np.asarray(response), np.asarray(classes)
        return np.column_stack([self(np.full(len(response), k), response) for k in labels])

    def _expected(self, response: Any, proba: Any, classes: NDArray[Any]) -> Floats:
        """Return Σₖ ℓ(f(x), k) pₖ(x) with one call of the function per class."""
        out = np.zeros(len(proba))
        for k, label in enumerate(classes):
            out += self(np.full(len(response), label), response) * proba[:, k]
        return out

    def _checked(self, values: Any) -> Floats:
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"loss {self.name!r} must return numbers, got {values.dtype}."
            ) from None
        if not np.isfinite(values).all():
            raise ValueError(f"loss {self.name!r} returned NaN or infinity; it must be finite.")
        if values.size and values.min() < self.minimum:
            raise ValueError(
                f"loss {self.name!r} returned {values.min():g}, below its minimum "
                f"{self.minimum:g}: give make_loss the right minimum (-numpy.inf if there is none)."
            )
        return values


class PrecomputedLoss(Loss):
    """The loss behind losses that were given to `fit`, of which only the values are known.

    Parameters
    ----------
    least : float
        The least value given. Losses none of which is negative are taken to be at least zero.
    """

    name = "precomputed"
    task = None
    response = "predict"

    def __init__(self, least: float) -> None:
        self.minimum = 0.0 if least >= 0 else -np.inf

    def __call__(
        self, y_true: ArrayLike, response: ArrayLike, *, classes: ArrayLike | None = None
    ) -> Floats:
        """Raise: there is no way from targets to losses."""
        raise ValueError(
            "loss: the losses were given to fit, so none can be computed for other targets. Name "
            "the loss where the risk estimator is made, as in RegressionRisk(…, loss=…)."
        )


def make_loss(
    fn: Callable[..., Any], *, response: Response = "predict", minimum: float = 0.0
) -> Loss:
    """Make a loss of a function.

    Parameters
    ----------
    fn : callable
        ``fn(y_true, response)``, truth first as in scikit-learn's metrics, vectorised: arrays in,
        one finite number per example out. With several outputs the arrays are 2-D.
    response : {"predict", "predict_proba"}
        What of the predictor it scores: its predictions, or its class probabilities (a matrix
        with a column per class, in the order of `classes_`).
    minimum : float
        The least value it can take; estimates of risk are not allowed below it. ``-numpy.inf`` if
        there is none.

    Returns
    -------
    Loss

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.losses import make_loss
    >>> late = make_loss(lambda y_true, y_pred: np.maximum(y_true - y_pred, 0.0))
    >>> late([3.0, 5.0], [4.0, 4.0])
    array([0., 1.])
    """
    if not callable(fn):
        raise TypeError(f"fn must be callable, got {fn!r}.")
    refuse_metric(fn)
    if response not in ("predict", "predict_proba"):
        raise ValueError(f'response must be "predict" or "predict_proba", got {response!r}.')
    if np.isnan(minimum) or minimum == np.inf:
        raise ValueError(f"minimum must be a number below infinity, got {minimum}.")
    return CustomLoss(fn, response, float(minimum))


def averaged(loss: Any, weights: ArrayLike | None = None) -> Loss:
    """Return the mean of a loss over the outputs of each example.

    Parameters
    ----------
    loss : str, Loss, callable or array-like of shape (n_classes, n_classes)
        The loss of one output, as `get_loss` takes it: of predictions, not of probabilities.
    weights : array-like of shape (n_outputs,), optional
        How much each output counts, in proportion; all the same if not given.

    Returns
    -------
    AveragedLoss
        ``averaged("zero_one")`` is the loss of the name "hamming".

    Examples
    --------
    >>> from condrisk.losses import averaged
    >>> loss = averaged("absolute_error", weights=[3, 1])
    >>> loss([[1.0, 10.0], [2.0, 20.0]], [[1.0, 14.0], [4.0, 20.0]])
    array([1. , 1.5])
    """
    return AveragedLoss(get_loss(loss), weights)


def get_loss(loss: Any, *, task: Task | None = None) -> Loss:
    """Return the `Loss` that `loss` stands for.

    Parameters
    ----------
    loss : str, Loss, array-like of shape (n_classes, n_classes), callable or None
        A name, a loss, a cost matrix ``C[true, predicted]``, a function as `make_loss` takes it,
        or None for the default of the task.
    task : {"regression", "classification"}, optional
        If given, a loss for the other task is an error.

    Returns
    -------
    Loss

    Examples
    --------
    >>> from condrisk.losses import get_loss
    >>> get_loss("brier")
    brier
    >>> get_loss(None, task="classification")
    zero_one
    """
    found = _find(loss, task)
    if task is not None and found.task not in (None, task):
        fitting = [name for name, known in LOSSES.items() if known.task == task]
        raise ValueError(
            f"loss {found.name!r} is for {found.task}, but the predictor does {task}: "
            f"use one of {fitting} or make_loss."
        )
    return found


def _find(loss: Any, task: Task | None) -> Loss:
    if isinstance(loss, Loss):
        return loss
    if loss is None:
        if task is None:
            raise ValueError("loss must be given where no predictor tells the task.")
        return _DEFAULTS[task]
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(
                f"loss must be one of {sorted(LOSSES)}, got {loss!r}.{suggestion(loss, LOSSES)}"
            )
        return LOSSES[loss]
    if callable(loss):
        return make_loss(loss)
    if isinstance(loss, np.ndarray | list | tuple) or hasattr(loss, "__array__"):
        return CostMatrix(loss)
    raise TypeError(
        f"loss must be a name, a Loss, a cost matrix or a function, got {type(loss).__name__}."
    )
