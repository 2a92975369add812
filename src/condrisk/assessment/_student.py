"""Intervals for the mean of independent rows, and intervals as plain data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from condrisk.inference import MeanInterval, betting_interval

Floats = NDArray[np.float64]

# Betting looks at each row many times; with more rows than this, Student's interval is as good.
MOST_BETS = 200_000


def are_errors(loss: Floats) -> bool:
    """Tell whether losses are those of right and wrong answers, 0 and 1."""
    return bool(np.isin(loss, (0.0, 1.0)).all())


def difference_interval(
    values: Floats, confidence: float, *, lower: float, upper: float, errors: bool
) -> MeanInterval:
    """Return mean and limits of differences between `lower` and `upper`.

    Student's interval of a few wrong answers is far too short, and of none it has no length. So
    where losses are 0 and 1, the limits are found by betting, which holds for any number of rows.
    """
    if errors and 1 < len(values) <= MOST_BETS and lower < upper:
        return betting_interval(values, confidence=confidence, lower=lower, upper=upper)
    return student_interval(values, confidence)


def student_interval(values: Floats, confidence: float) -> MeanInterval:
    """Return mean and limits; from a single row nothing can be said but the mean."""
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return MeanInterval(mean, -math.inf, math.inf)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return MeanInterval(mean, mean - half, mean + half)


def as_figure(found: MeanInterval) -> dict[str, float]:
    """Return an interval as plain data, as model files and pages hold it."""
    return {"value": found.estimate, "low": found.lower, "high": found.upper}
