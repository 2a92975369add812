"""Student's interval for the mean of independent rows, and intervals as plain data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from condrisk.inference import MeanInterval

Floats = NDArray[np.float64]


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
