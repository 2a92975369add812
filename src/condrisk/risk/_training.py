"""What a risk is fitted on, and as much of it as there is time for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from condrisk._budget import MANY_ROWS, TRIAL_ROWS, Clock, timed
from condrisk._crossfit import CrossFitted
from condrisk.risk._held_out import shuffled
from condrisk.risk._predictor import Routed

Rows = NDArray[np.intp]

# What is always fitted may take this share of a budget; the rest is for what makes it better.
ALWAYS_SHARE = 0.5


class Growth(NamedTuple):
    """How the time of what is always fitted grows: as these powers of the rows, or less.

    Attributes
    ----------
    few, many : float
        Up to `MANY_ROWS` rows, and beyond.
    """

    few: float
    many: float

    def rows_in(self, times: float) -> float:
        """Return how many rows take so many times as long as `TRIAL_ROWS`."""
        until = (MANY_ROWS / TRIAL_ROWS) ** self.few
        if times <= until:
            return float(TRIAL_ROWS * max(times, 1.0) ** (1 / self.few))
        return float(MANY_ROWS * (times / until) ** (1 / self.many))


# Around a predictor that is given, a distribution; a stack that is built here has fewer parts.
GIVEN, BUILT = Growth(0.7, 0.55), Growth(0.9, 0.75)


class Training(NamedTuple):
    """The arguments of `fit`, checked.

    Attributes
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows as they were given, for the predictor.
    encoded : array-like of shape (n_samples, n_numbers)
        The same as numbers, for learners of ours.
    y : ndarray of shape (n_samples,)
        Targets.
    weight : ndarray of shape (n_samples,) or None
        Weights.
    routed : dict of str to dict
        Metadata of each part.
    """

    X: Any
    encoded: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None
    routed: Routed

    def at(self, rows: Rows) -> Training:
        """Return some of the rows."""
        X = _safe_indexing(self.X, rows)
        return Training(
            X,
            X if self.encoded is self.X else _safe_indexing(self.encoded, rows),
            self.y[rows],
            None if self.weight is None else self.weight[rows],
            {
                part: dict(_check_method_params(self.X, params, indices=rows))
                for part, params in self.routed.items()
            },
        )


class Some(NamedTuple):
    """Some of the rows, and of what the predictor says of them."""

    rows: Rows
    training: Training
    fitted: CrossFitted | None


def some_of(training: Training, fitted: CrossFitted | None, pairs: Rows) -> Some:
    """Return some pairs of row and held-out response; rows alone where there are no responses."""
    if fitted is None:
        return Some(pairs, training.at(pairs), None)
    rows, place = np.unique(fitted.rows[pairs], return_inverse=True)
    responses = tuple(
        {name: values[pairs] for name, values in job.items()} for job in fitted.responses
    )
    few = CrossFitted(place.ravel(), fitted.split[pairs], fitted.n_splits, responses)
    return Some(rows, training.at(rows), few)


def as_many_as_fit(
    training: Training,
    fitted: CrossFitted | None,
    clock: Clock,
    fit_least: Callable[[Some], object],
    seed: int,
) -> Some:
    """Return as many rows as there is time for, drawn at random: all where there is no limit.

    Parameters
    ----------
    training : Training
        All rows.
    fitted : CrossFitted or None
        Held-out responses to them, of a predictor that is given.
    clock : Clock
        The time left.
    fit_least : callable
        Fits what is always fitted, on the rows it is given. It is tried on few rows.
    seed : int
        Draws rows.
    """
    n = len(training.y) if fitted is None else len(fitted.rows)
    if not clock.limited or n <= TRIAL_ROWS:
        return Some(np.arange(len(training.y)), training, fitted)
    order = shuffled(n, seed)
    few = some_of(training, fitted, np.sort(order[:TRIAL_ROWS]))
    took = timed(lambda: fit_least(few))
    most = (BUILT if fitted is None else GIVEN).rows_in(ALWAYS_SHARE * clock.left() / took)
    if most >= n:
        return Some(np.arange(len(training.y)), training, fitted)
    return some_of(training, fitted, np.sort(order[: int(most)]))
