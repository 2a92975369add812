"""Which thresholds to try, in which order: what tests on other rows are likely to show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condrisk.deferral._controlled import Floats, Pairs

# Below this predicted z-score a test is hopeless; thresholds beyond it are tried in larger steps.
_HOPELESS = -4.0
# Predicted z-scores that differ by less than so many standard errors are as good as each other.
_AS_GOOD = 0.5


def until_failure(p_values: Floats, delta: float) -> Floats:
    """Return the p-values up to the first that fails, NaN after it."""
    failed = ~(p_values <= delta)
    n_reached = int(np.argmax(failed)) + 1 if failed.any() else len(p_values)
    return np.where(np.arange(len(p_values)) < n_reached, p_values, np.nan)


def z_scores(design: Pairs, target: float, n_calibration: float, all_count: bool) -> Floats:
    """Return what z-score to expect if the rows up to each one, sorted by risk, were accepted.

    As if the worst row of all had been accepted too: a few rows without a loss are no proof.
    """
    gains = design.gains(target)
    worst = min(0.0, float(gains.min()))
    total, squares = np.cumsum(gains) + worst, np.cumsum(gains**2) + worst**2
    if all_count:  # deferred rows gain the whole target
        deferred = design._replace(loss=np.zeros_like(design.loss)).gains(target)
        total += deferred.sum() - np.cumsum(deferred)
        squares += (deferred**2).sum() - np.cumsum(deferred**2)
        squares = np.maximum(squares - total**2 / len(total), worst**2)
    scores = np.divide(total, np.sqrt(squares), out=np.zeros_like(total), where=squares > 0)
    scores *= np.sqrt(n_calibration / len(gains))
    # Rows of equal risk are accepted together.
    scores[:-1][design.risk[:-1] == design.risk[1:]] = -np.inf
    return scores


def mean_squares(design: Pairs, target: float, all_count: bool) -> Floats:
    """Return the mean square of the gains of a test, if the rows up to each one are accepted."""
    squares = np.cumsum(design.gains(target) ** 2)
    if not all_count:
        return squares / np.arange(1, len(squares) + 1)
    deferred = design._replace(loss=np.zeros_like(design.loss)).gains(target) ** 2
    return (squares + deferred.sum() - np.cumsum(deferred)) / len(squares)


def to_try(risk: Floats, scores: Floats, n_calibration: float, n_thresholds: int) -> Floats:
    """Return thresholds upwards from the start; the last accepts everything.

    The start is that of the greatest score, or a later one whose score is as good as that: from
    there fewer tests have to be passed. Thresholds are close together where tests may go either
    way. Those beyond cost nothing: they are reached only if all before them pass.
    """
    standard_error = np.sqrt(n_calibration / len(risk))
    start = int(np.flatnonzero(scores >= scores.max() - _AS_GOOD * standard_error)[-1])
    end = max(start, int(np.flatnonzero(scores >= _HOPELESS).max(initial=start)))
    fine = np.linspace(start, end, n_thresholds)
    beyond = np.linspace(end, len(risk) - 1, max(2, n_thresholds // 4))
    rows: NDArray[np.intp] = np.concatenate([fine, beyond]).round().astype(np.intp)
    return np.append(np.unique(risk[rows]), np.inf)
