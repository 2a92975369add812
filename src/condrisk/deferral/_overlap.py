"""Was the expert asked everywhere? The part of the identification that data can speak to."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from condrisk._crossfit import Job, cross_fit, make_splits, mean_by_row, seeded
from condrisk._validation import check_vector

# A leaf is expected to hold so many deferred rows, if rows are picked blindly: one
# without any then means something.
DEFERRED_PER_LEAF = 5
FEWEST_PER_LEAF = 10
# With fewer rows deferred, or not deferred, nothing can be said of where.
FEWEST_ROWS = 20
# On few rows the threads of boosting wait for each other, badly so on a busy machine.
FEW_ROWS = 20_000
N_FOLDS = 3


class Overlap(NamedTuple):
    """What is known about where rows were deferred.

    Attributes
    ----------
    source : {"all deferred", "given", "estimated", "not checked"}
        Where the propensities come from. They are not checked where nothing tells which rows were
        deferred, or where those, or the others, are fewer than 20.
    rate : float or None
        The mean propensity: the share of all rows that are deferred.
    least : float or None
        The least propensity.
    outside : float or None
        The share of rows whose propensity is below the floor.
    rows : ndarray
        The positions of those rows among the rows of fit.
    """

    source: str
    rate: float | None
    least: float | None
    outside: float | None
    rows: NDArray[np.intp]


NOT_CHECKED = Overlap("not checked", None, None, None, np.empty(0, dtype=np.intp))


def judge(
    propensity: NDArray[np.float64], *, weight: NDArray[Any] | None, floor: float, source: str
) -> Overlap:
    """Compare the propensity of each row with the floor, a share of their mean."""
    rate = float(np.average(propensity, weights=weight))
    outside = propensity < floor * rate
    share = float(np.average(outside, weights=weight))
    return Overlap(source, rate, float(propensity.min()), share, np.flatnonzero(outside))


def check_propensity(propensity: ArrayLike, deferred: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return known propensities as numbers from 0 to 1, positive where the row was deferred."""
    values = check_vector(propensity, "propensity")
    if len(values) != len(deferred):
        raise ValueError(
            f"propensity must have one value for each of the {len(deferred)} rows, "
            f"got {len(values)}."
        )
    if values.min() < 0 or values.max() > 1:
        raise ValueError("propensity must hold probabilities, from 0 to 1.")
    if (values[deferred] <= 0).any():
        raise ValueError("propensity must be positive on the deferred rows.")
    return values


def default_model(deferred: NDArray[np.bool_]) -> Any:
    """Return boosted trees whose leaves can tell a low propensity from none.

    Stopping early would stop before the propensity of a region that was never deferred has
    come down to nothing; small trees do not take chance for such a region.
    """
    leaf = max(FEWEST_PER_LEAF, ceil(DEFERRED_PER_LEAF / deferred.mean()))
    return HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, min_samples_leaf=leaf, early_stopping=False
    )


def estimate_propensity(
    model: Any, X: Any, deferred: NDArray[np.bool_], random_state: Any
) -> tuple[Any, NDArray[np.float64]]:
    """Return the fitted model of P(deferred | x), and its estimate of each row without that row."""
    target = deferred.astype(np.intp)
    model = seeded(default_model(deferred) if model is None else model, random_state)
    splits = make_splits(
        N_FOLDS, X, target, classifier=True, groups=None, random_state=random_state
    )
    jobs = [Job(model, {}, ("predict_proba",))]
    with threadpool_limits(1 if len(target) < FEW_ROWS else None, user_api="openmp"):
        held_out = cross_fit(jobs, X, target, splits, classes=np.array([0, 1]), n_jobs=None)
        fitted = clone(model).fit(X, target)
    proba = held_out.responses[0]["predict_proba"][:, 1]
    return fitted, mean_by_row(proba, held_out.rows, len(target))
