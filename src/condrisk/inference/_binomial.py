"""Exact tests and intervals for the probability behind a count."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv

from condrisk._validation import check_confidence
from condrisk.inference._mean import MeanInterval

Floats = NDArray[np.float64]


def binomial_p_values(successes: ArrayLike, n: ArrayLike, probability: float) -> Floats:
    """Return p-values of the hypotheses that the probability of success is this or more.

    Parameters
    ----------
    successes, n : array-like of int
        Counts of successes and of rows.
    probability : float
        The least probability of the hypothesis.

    Returns
    -------
    ndarray
        P(Binomial(n, probability) <= successes).

    Examples
    --------
    >>> from condrisk.inference import binomial_p_values
    >>> binomial_p_values([0, 1, 2], [2, 2, 2], 0.5)
    array([0.25, 0.75, 1.  ])
    """
    k, rows = np.broadcast_arrays(np.asarray(successes, float), np.asarray(n, float))
    if probability <= 0:
        return np.ones(k.shape)
    below = k < rows  # all successes: nothing speaks against a large probability
    return np.where(below, betainc(np.where(below, rows - k, 1.0), k + 1.0, 1.0 - probability), 1.0)


def binomial_upper(successes: int, n: int, level: float) -> float:
    """Return an upper limit for the probability of success (Clopper and Pearson).

    Parameters
    ----------
    successes, n : int
        Counts of successes and of rows.
    level : float
        How often, at most, the limit is less than the probability.

    Returns
    -------
    float
        The limit: where `binomial_p_values` is `level`.

    Examples
    --------
    >>> from condrisk.inference import binomial_upper
    >>> binomial_upper(0, 100, 0.05)
    0.029...
    """
    return 1.0 if successes >= n else float(betaincinv(successes + 1, n - successes, 1 - level))


def binomial_interval(successes: int, n: int, *, confidence: float = 0.95) -> MeanInterval:
    """Return the interval of Clopper and Pearson for the probability of success.

    Parameters
    ----------
    successes, n : int
        Counts of successes and of rows.
    confidence : float, default=0.95
        How often, at least, the interval has the probability in it.

    Returns
    -------
    MeanInterval
        The share of successes, and the limits, each in error half as often as both.

    Examples
    --------
    >>> from condrisk.inference import binomial_interval
    >>> binomial_interval(3, 100)
    MeanInterval(estimate=0.03, lower=0.006..., upper=0.085...)
    """
    check_confidence(confidence)
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n must be a number of rows, at least 1, got {n!r}")
    if not isinstance(successes, Integral) or not 0 <= successes <= n:
        raise ValueError(f"successes must be a count between 0 and n={n}, got {successes!r}")
    level = (1 - confidence) / 2
    lower = 1 - binomial_upper(n - successes, n, level)
    return MeanInterval(successes / n, lower, binomial_upper(successes, n, level))
