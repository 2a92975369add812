"""Intervals for a mean of bounded rows: what they are made of, and Bernstein's in closed form."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import check_confidence, check_vector

Floats = NDArray[np.float64]


class MeanInterval(NamedTuple):
    """A mean over rows, and limits for the expectation behind it.

    Attributes
    ----------
    estimate : float
        The mean over the rows.
    lower, upper : float
        The limits. If several samples were given, all three are arrays.
    """

    estimate: float
    lower: float
    upper: float

    @property
    def width(self) -> float:
        """How far the limits are apart."""
        return self.upper - self.lower


def empirical_bernstein_interval(
    x: ArrayLike, *, confidence: float = 0.95, upper: float, lower: float = 0.0
) -> MeanInterval:
    """Return an interval for the mean of bounded independent rows in closed form.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_samples, n_rows)
        Independent rows of one distribution, at least two; or several such samples.
    confidence : float, default=0.95
        How often, at least, the interval has the expectation in it.
    upper : float
        No row can be larger. Known beforehand, not the largest row seen.
    lower : float, default=0.0
        No row can be smaller.

    Returns
    -------
    MeanInterval
        The mean over the rows, and the limits, cut at `lower` and `upper`.

    Notes
    -----
    The half-width is √(2 V ln(4/δ) / n) + 7 b ln(4/δ) / (3 (n − 1)) with b = upper − lower and
    the unbiased variance V (Maurer and Pontil, 2009, Theorem 4 for each side at δ/2). Rows that are
    independent but of different distributions will do (their Theorem 11): then the interval is
    for the mean of their expectations.

    Examples
    --------
    >>> from condrisk.inference import empirical_bernstein_interval
    >>> empirical_bernstein_interval([0.0, 1.0] * 500, upper=1.0)
    MeanInterval(estimate=0.5, lower=0.442..., upper=0.557...)
    """
    check_confidence(confidence)
    rows, scale = check_samples(x, lower=lower, upper=upper)
    n = rows.shape[-1]
    if n < 2:
        raise ValueError("x must have at least two rows: a variance is needed")
    unit = (rows - lower) / scale
    log_term = math.log(4 / (1 - confidence))
    half = np.sqrt(2 * unit.var(axis=-1, ddof=1) * log_term / n) + 7 * log_term / (3 * (n - 1))
    mean = unit.mean(axis=-1)
    low, high = np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)
    return describe(rows, lower + scale * low, lower + scale * high)


def describe(rows: Floats, low: Any, high: Any) -> MeanInterval:
    """Return the interval with numbers for one sample, with arrays for several."""
    parts = (rows.mean(axis=-1), low, high)
    return MeanInterval(*(float(part) for part in parts) if rows.ndim == 1 else parts)


def check_samples(x: ArrayLike, *, lower: float, upper: float) -> tuple[Floats, float]:
    """Return one sample or several, and how far rows can be apart."""
    for name, value in (("lower", lower), ("upper", upper)):
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
    if not lower < upper:
        raise ValueError(f"upper must be more than lower, got lower={lower} and upper={upper}")
    rows = check_rows(x, "x", lower, upper)
    return rows, float(upper - lower)


def check_rows(x: ArrayLike, name: str, lower: float, upper: float) -> Floats:
    """Return rows of shape (n_rows,) or (n_samples, n_rows), all of them in the range promised."""
    several = isinstance(x, np.ndarray) and x.ndim == 2
    rows = check_vector(np.ravel(x) if several else x, name).reshape(np.shape(x))
    if rows.min() < lower or rows.max() > upper:
        raise ValueError(
            f"{name} must lie in [{lower:g}, {upper:g}], got values from {rows.min():g} to "
            f"{rows.max():g}: give bounds that hold for every possible row, or clip the rows"
        )
    return rows
