"""Losses under a conditional distribution: their mean, their least mean, their distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._distributions import Conditional
from condrisk._validation import LARGEST_RISK
from condrisk.losses import (
    ClassLoss,
    Loss,
    absolute_error,
    pinball,
    squared_error,
    zero_one,
)

Floats = NDArray[np.float64]

# The best answer is looked for at so many quantiles, then between the neighbours of the best one.
SEARCH_LEVELS = 17
SEARCH_STEPS = 20
# The square of anything further away would be no number.
LARGEST_GAP = np.sqrt(LARGEST_RISK)
GOLDEN = (np.sqrt(5.0) - 1) / 2


# -- numbers ------------------------------------------------------------------------------------


def losses_at(loss: Loss, response: Floats, points: Floats) -> Floats:
    """Return ℓ(f(x), y) at every point of every row, shape (n_rows, n_points)."""
    repeated = np.repeat(response, points.shape[1])
    return loss(points.ravel(), repeated).reshape(points.shape)


def expected_loss(loss: Loss, response: Floats, law: Conditional) -> Floats:
    """Return ∫ ℓ(f(x), y) p(y | x) dy at each row.

    Parameters
    ----------
    loss : Loss
        A loss of numbers.
    response : ndarray of shape (n_rows,)
        The prediction f(x) of each row.
    law : Conditional
        The distribution of Y at each row.
    """
    if loss == squared_error:
        gap = np.minimum(np.abs(response - law.mean), LARGEST_GAP)
        return gap**2 + law.std**2
    return law.expect(lambda points, rows: losses_at(loss, response[rows], points))


def least_expected_loss(loss: Loss, response: Floats, law: Conditional) -> Floats:
    """Return the least expected loss of any prediction, at most that of `response`."""
    if loss == squared_error:
        return law.std**2
    best = expected_loss(loss, best_prediction(loss, law), law)
    return np.minimum(best, expected_loss(loss, response, law))


def best_prediction(loss: Loss, law: Conditional) -> Floats:
    """Return the prediction of least expected loss at each row.

    The mean, the median and quantiles are the best predictions under the losses made for them. For
    any other loss quantiles are tried, then what lies between the neighbours of the best one: the
    least there is where the expected loss falls and then rises.
    """
    if loss == squared_error:
        return law.mean
    if loss == absolute_error:
        return law.quantiles(0.5)[:, 0]
    if type(loss) is type(pinball(0.5)):
        return law.quantiles(loss.quantile)[:, 0]  # type: ignore[attr-defined]
    return _searched(loss, law)


def _searched(loss: Loss, law: Conditional) -> Floats:
    """Return the best prediction at each row, by a grid and a golden-section search."""
    answers = law.quantiles(np.linspace(0, 1, SEARCH_LEVELS))
    tried = np.column_stack([expected_loss(loss, column, law) for column in answers.T])
    place, rows = tried.argmin(axis=1), np.arange(len(law))
    best, least = answers[rows, place], tried[rows, place]
    low = answers[rows, np.maximum(place - 1, 0)]
    high = answers[rows, np.minimum(place + 1, SEARCH_LEVELS - 1)]
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = expected_loss(loss, left, law), expected_loss(loss, right, law)
    for _ in range(SEARCH_STEPS):
        leftwards = at_left < at_right
        inner, at_inner = np.where(leftwards, left, right), np.where(leftwards, at_left, at_right)
        best, least = np.where(at_inner < least, inner, best), np.minimum(least, at_inner)
        low, high = np.where(leftwards, low, left), np.where(leftwards, right, high)
        new = np.where(leftwards, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        at_new = expected_loss(loss, new, law)
        left, right = np.where(leftwards, new, right), np.where(leftwards, left, new)
        at_left, at_right = (
            np.where(leftwards, at_new, at_right),
            np.where(leftwards, at_left, at_new),
        )
    return best


# -- classes ------------------------------------------------------------------------------------


def class_risk_and_floor(
    loss: Loss, response: Any, proba: Floats, classes: NDArray[Any]
) -> tuple[Floats, Floats]:
    """Return the expected loss of each row, and the least of any answer.

    Of a loss of labels every label is tried. The answer to a loss of probabilities is the
    probabilities themselves, which is best where the loss is proper.
    """
    assert isinstance(loss, ClassLoss)
    risk = loss.expected(response, proba, classes=classes)
    if loss.response == "predict_proba":
        return risk, np.minimum(loss.expected(proba, proba, classes=classes), risk)
    return risk, np.minimum(_expected_costs(loss, proba, classes).min(axis=1), risk)


def best_class(loss: Loss, proba: Floats, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the label of least expected loss at each row; of equals the first.

    For a loss of probabilities, whose best answer is the probabilities, the most probable label.
    """
    if loss == zero_one or loss.response == "predict_proba":
        return classes[proba.argmax(axis=1)]
    assert isinstance(loss, ClassLoss)
    return classes[_expected_costs(loss, proba, classes).argmin(axis=1)]


def _expected_costs(loss: ClassLoss, proba: Floats, classes: NDArray[Any]) -> Floats:
    """Return what each answer would cost at each row, shape (n_rows, n_classes)."""
    return proba @ loss.rows(classes, classes=classes).T


def class_loss_points(
    loss: Loss, response: Any, proba: Floats, classes: NDArray[Any]
) -> tuple[slice, Floats, Floats]:
    """Return all rows, what each class would cost them, and the probabilities of the classes."""
    assert isinstance(loss, ClassLoss)
    return slice(None), loss.rows(response, classes=classes), proba


# -- the distribution of the loss -----------------------------------------------------------------


def exceedance(losses: Floats, weights: Floats, threshold: Floats) -> Floats:
    """Return P(loss > threshold) at each row, of losses with weights in each row."""
    above = losses > threshold[:, None]
    return np.minimum((above * weights).sum(axis=1), 1.0)


def loss_quantiles(losses: Floats, weights: Floats, levels: Floats) -> Floats:
    """Return inf{t : P(loss ≤ t) ≥ q} at each row, of losses with weights in each row."""
    order = np.argsort(losses, axis=1)
    ordered = np.take_along_axis(losses, order, axis=1)
    below = np.cumsum(np.take_along_axis(np.broadcast_to(weights, losses.shape), order, 1), axis=1)
    below /= below[:, -1:]
    # A level that a sum of weights reaches, rounding aside, is reached; a point without weight
    # is none.
    places = (below[:, :, None] < levels - 1e-12).sum(axis=1)
    first = (below > 0).argmax(axis=1)
    places = np.maximum(np.minimum(places, losses.shape[1] - 1), first[:, None])
    return np.take_along_axis(ordered, places, axis=1)
