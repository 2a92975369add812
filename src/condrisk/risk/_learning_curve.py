"""What a predictor fitted on all rows is expected to lose, from the losses of two cross-fittings.

A cross-fitted predictor has seen fewer rows than the one that is kept, so its held-out losses are
too high for that one, the more so the fewer rows there are (``benchmarks/refit_bias.py``). A second
cross-fitting with other folds gives a second point of the learning curve. A line in one over the
number of rows through both is followed to all rows, as far as the loss falls no faster than that
number itself.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._crossfit import CrossFitted, Job, cross_fit, make_splits, seeded
from condrisk.risk._predictor import Routed

Floats = NDArray[np.float64]

# Half of the rows to fit on are the cheapest second point; where two folds are the first, quarters.
FEW_FOLDS, OTHERWISE = 2, 4
# On more rows than this the two differ by little, and another fit takes long.
MOST_ROWS = 20_000
# Fewer rows than this tell nothing but noise.
FEWEST_ROWS = 40


def second_folds(n_folds: int) -> int:
    """Return the number of folds of the second cross-fitting."""
    return FEW_FOLDS if n_folds > FEW_FOLDS else OTHERWISE


def refit_factor(first: float, second: float, n_folds: int) -> float:
    """Return the mean loss expected of a predictor fitted on all rows, as a share of `first`.

    Parameters
    ----------
    first, second : float
        The mean held-out losses of cross-fittings with `n_folds` and with ``second_folds(n_folds)``
        folds.
    n_folds : int
        The number of folds of the first.

    Returns
    -------
    float
        Between the share of the rows that the folds were fitted on, such as 0.8, and 1; 1 where
        more rows did not help.
    """
    share, other = 1 - 1 / n_folds, 1 - 1 / second_folds(n_folds)
    if first <= 0 or second <= 0 or (second - first) * (share - other) <= 0:
        return 1.0
    line = 1 - (second / first - 1) * (1 / share - 1) / (1 / other - 1 / share)
    # Losses fall faster than one over the number of rows where there are hardly more rows than
    # parameters, and then the curve flattens before it gets to all rows.
    return float(np.clip(line, share, 1.0))


def factor_of_refit(
    risk: Any,
    X: Any,
    y: NDArray[Any],
    loss: Floats,
    fitted: CrossFitted,
    weight: NDArray[Any] | None,
    routed: Routed,
) -> float:
    """Return how much less the predictor that is kept is expected to lose than those of folds.

    One where that cannot be told: nothing was cross-fitted, the folds are the user's own, the loss
    may be negative, or half of the rows are too few for the predictor. One for labels too: of few
    rows only some are wrong, so that the factor, at most one, would mostly be noise, and errors of
    classifiers that have seen half of the rows say too much of a fifth.

    Parameters
    ----------
    risk : BaseRisk
        A risk estimator whose predictor has just been cross-fitted.
    X, y, weight, routed
        What it is fitted on.
    loss : ndarray of shape (n_pairs,)
        The held-out losses.
    fitted : CrossFitted
        What they are losses of.
    """
    known = isinstance(risk.cv, Integral) and risk._has_to_fit_predictor()
    labels = risk._task() == "classification" and risk.loss_.response == "predict"
    if not known or labels or risk.loss_.minimum < 0 or not FEWEST_ROWS <= len(y) <= MOST_ROWS:
        return 1.0
    method = risk.loss_.response
    job = Job(seeded(risk.predictor, risk.random_state), routed["predictor"], (method,))
    try:
        splits = make_splits(
            second_folds(fitted.n_splits),
            X,
            y,
            classifier=risk._task() == "classification",
            groups=routed["splitter"].get("groups"),
            random_state=risk.random_state,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first cross-fitting has said it
            again = cross_fit([job], X, y, splits, classes=risk._classes, n_jobs=risk.n_jobs)
    except ValueError:
        return 1.0
    second = risk._losses(y[again.rows], again.responses[0][method])
    first, last = (
        float(np.average(values, weights=None if weight is None else weight[rows]))
        for values, rows in ((loss, fitted.rows), (second, again.rows))
    )
    return refit_factor(first, last, fitted.n_splits)
