"""Confidence intervals for a mean of bounded rows: by betting, and by Bernstein's inequality."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import check_vector

Floats = NDArray[np.float64]

# No bet may cost more than this share of the capital: one loss must not end the game.
_CAUTION = 0.75
# Each pass divides the bracket by four; ten leave a millionth of the range.
_PARTS, _PASSES = 4, 10
# How many numbers are held at once: small enough for a cache, large enough for numpy.
_BLOCK = 2**17
# Constant bets that are mixed for a p-value, as shares of the largest.
_MIXED_BETS = np.geomspace(0.002, 0.99, 24)


class MeanInterval(NamedTuple):
    """A mean over rows, and limits for the expectation behind it.

    Attributes
    ----------
    estimate : float
        The mean over the rows.
    lower, upper : float
        The limits.
    """

    estimate: float
    lower: float
    upper: float

    @property
    def width(self) -> float:
        """How far the limits are apart."""
        return self.upper - self.lower


def betting_interval(
    x: ArrayLike,
    *,
    confidence: float = 0.95,
    upper: float,
    lower: float = 0.0,
    random_state: Any = 0,
) -> MeanInterval:
    """Return an interval for the mean of bounded independent rows, by betting against means.

    It covers at least as often as it says at every number of rows, without a normal limit, and
    is narrower than empirical Bernstein intervals.

    Parameters
    ----------
    x : array-like of shape (n_rows,)
        Independent rows of one distribution.
    confidence : float, default=0.95
        How often, at least, the interval has the expectation in it.
    upper : float
        No row can be larger. Known beforehand, not the largest row seen.
    lower : float, default=0.0
        No row can be smaller.
    random_state : None, int or numpy.random.Generator, default=0
        The rows are taken in random order, so that a sorted table does no harm.

    Returns
    -------
    MeanInterval
        The mean over the rows, and the limits, to within a millionth of the range outwards.

    Notes
    -----
    Rows are scaled to [0, 1]. Who claims that the mean is m lets us bet: the capital
    K_t(m) = ∏ (1 + min(λ_i, ¾/m)(x_i − m)), with bets λ_i ≥ 0 that depend on earlier rows only, is
    a nonnegative martingale that begins at 1 if m is true. So it ever exceeds 2/δ with
    probability at most δ/2 (Ville), and likewise for the mirrored bet. Each factor falls in m;
    the means that neither bet has refuted by the last row are therefore an interval, and its ends
    are found by division. λ_i = √(2 ln(2/δ) / (n v_i)), v_i the variance of the rows before,
    which is the choice of Waudby-Smith and Ramdas (2024) for a fixed number of rows n.
    If all means are refuted (then the interval is in error, which has probability δ at most), the
    two ends change places.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.inference import betting_interval
    >>> x = np.random.default_rng(1).uniform(0, 0.2, size=500)
    >>> betting_interval(x, upper=1.0)
    MeanInterval(estimate=0.098..., lower=0.091..., upper=0.107...)
    """
    rows, scale = _check_rows(x, confidence=confidence, lower=lower, upper=upper)
    order = np.random.default_rng(random_state).permutation(len(rows))
    low, high = betting_limits(((rows - lower) / scale)[None, order], confidence=confidence)
    return MeanInterval(float(rows.mean()), *_unscale(low, high, lower, scale))


def empirical_bernstein_interval(
    x: ArrayLike, *, confidence: float = 0.95, upper: float, lower: float = 0.0
) -> MeanInterval:
    """Return an interval for the mean of bounded independent rows in closed form.

    Parameters
    ----------
    x : array-like of shape (n_rows,)
        Independent rows of one distribution, at least two.
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
    the unbiased variance V (Maurer and Pontil, 2009, Theorem 4 for each side at δ/2).

    Examples
    --------
    >>> from condrisk.inference import empirical_bernstein_interval
    >>> empirical_bernstein_interval([0.0, 1.0] * 500, upper=1.0)
    MeanInterval(estimate=0.5, lower=0.442..., upper=0.557...)
    """
    rows, scale = _check_rows(x, confidence=confidence, lower=lower, upper=upper)
    low, high = bernstein_limits(((rows - lower) / scale)[None], confidence=confidence)
    return MeanInterval(float(rows.mean()), *_unscale(low, high, lower, scale))


def betting_p_value(
    x: ArrayLike, *, mean: float, upper: float, lower: float = 0.0, random_state: Any = 0
) -> float:
    """Return a p-value of the hypothesis that the expectation is `mean` or more.

    A small one says that the expectation is less: that a risk is under control.

    Parameters
    ----------
    x : array-like of shape (n_rows,)
        Independent rows of one distribution.
    mean : float
        The smallest expectation of the hypothesis, between `lower` and `upper`.
    upper : float
        No row can be larger. Known beforehand, not the largest row seen.
    lower : float, default=0.0
        No row can be smaller.
    random_state : None, int or numpy.random.Generator, default=0
        The rows are taken in random order, so that a sorted table does no harm.

    Returns
    -------
    float
        In (0, 1]. If the hypothesis is true it is at most p with probability at most p.

    Notes
    -----
    1 / max_t K_t, with the capital K_t = ∏ (1 + ν_i (mean − x_i)) and bets ν_i in
    [0, 1/(upper − mean)] that depend on earlier rows only. K_t is the average of the capitals of
    24 constant bets; as the average moves towards those who have won, it is one bet that learns.

    Examples
    --------
    >>> from condrisk.inference import betting_p_value
    >>> betting_p_value([0.0] * 95 + [1.0] * 5, mean=0.2, upper=1.0)
    0.00037...
    >>> betting_p_value([0.0] * 70 + [1.0] * 30, mean=0.2, upper=1.0)
    1.0
    """
    rows, _ = _check_rows(x, confidence=0.5, lower=lower, upper=upper)
    if not lower < mean < upper:
        raise ValueError(f"mean must lie between lower={lower} and upper={upper}, got {mean!r}")
    rows = np.random.default_rng(random_state).permutation(rows)
    bets = _MIXED_BETS[:, None] / (upper - mean)
    capital, peak = np.zeros((len(bets), 1)), 0.0
    for start in range(0, len(rows), _BLOCK // len(bets)):
        part = rows[start : start + _BLOCK // len(bets)]
        capital = capital[:, -1:] + np.cumsum(np.log1p(bets * (mean - part)), axis=1)
        mixed = np.logaddexp.reduce(capital, axis=0) - math.log(len(bets))
        peak = max(peak, float(mixed.max()))
    return math.exp(-peak)


# -- many samples at once, scaled to [0, 1] --------------------------------------------------------


def betting_limits(samples: Floats, *, confidence: float) -> tuple[Floats, Floats]:
    """Return the limits by betting for each row of `samples`, whose values lie in [0, 1]."""
    log_threshold = math.log(2 / (1 - confidence))
    bets = plug_in_bets(samples, log_threshold)
    low = _least_mean_left(samples, bets, log_threshold)
    high = 1.0 - _least_mean_left(1.0 - samples, bets, log_threshold)
    return np.minimum(low, high), np.maximum(low, high)


def bernstein_limits(samples: Floats, *, confidence: float) -> tuple[Floats, Floats]:
    """Return the limits by Bernstein for each row of `samples`, whose values lie in [0, 1]."""
    n = samples.shape[1]
    if n < 2:
        raise ValueError("x must have at least two rows: a variance is needed")
    log_term = math.log(4 / (1 - confidence))
    half = np.sqrt(2 * samples.var(axis=1, ddof=1) * log_term / n) + 7 * log_term / (3 * (n - 1))
    mean = samples.mean(axis=1)
    return np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0)


def plug_in_bets(samples: Floats, log_threshold: float) -> Floats:
    """Return the bet before each value: √(2 ln(2/δ) / (n v)), v the variance of those before it.

    Mean and variance begin at ½ and ¼, as if one value had been seen already.
    """
    n = samples.shape[1]
    seen = np.arange(2, n + 2)
    means = (0.5 + np.cumsum(samples, axis=1)) / seen
    variances = (0.25 + np.cumsum((samples - means) ** 2, axis=1)) / seen
    before = np.concatenate([np.full((len(samples), 1), 0.25), variances[:, :-1]], axis=1)
    return np.sqrt(2 * log_threshold / (n * before))


def _least_mean_left(samples: Floats, bets: Floats, log_threshold: float) -> Floats:
    """Return, for each sample, the least mean that betting on more than it has not refuted."""
    least = np.empty(len(samples))
    n_together = max(1, _BLOCK // (samples.shape[1] * _PARTS))
    for start in range(0, len(samples), n_together):
        part = slice(start, start + n_together)
        least[part] = _divide(samples[part], bets[part], log_threshold)
    return least


def _divide(samples: Floats, bets: Floats, log_threshold: float) -> Floats:
    """Divide brackets: what is at or below the lower end has been refuted, or is zero."""
    low, width = np.zeros(len(samples)), 1.0
    for _ in range(_PASSES):
        width /= _PARTS
        candidates = low[:, None] + width * np.arange(1, _PARTS)
        refuted = _peak_log_capital(samples, bets, candidates) >= log_threshold
        low = low + width * refuted.sum(axis=1)
    return low


def _peak_log_capital(samples: Floats, bets: Floats, candidates: Floats) -> Floats:
    """Return the logarithm of the greatest capital against each candidate, in blocks of rows."""
    most = (_CAUTION / candidates)[:, :, None]
    means = candidates[:, :, None]
    capital = np.zeros((*candidates.shape, 1))
    peak = np.zeros(candidates.shape)
    n_rows = max(1, _BLOCK // candidates.size)
    for start in range(0, samples.shape[1], n_rows):
        part = (slice(None), None, slice(start, start + n_rows))
        gain = np.minimum(bets[part], most)
        gain *= samples[part] - means
        np.log1p(gain, out=gain)
        np.cumsum(gain, axis=2, out=gain)
        gain += capital[:, :, -1:]
        np.maximum(peak, gain.max(axis=2), out=peak)
        capital = gain[:, :, -1:].copy()
    return peak


def _check_rows(
    x: ArrayLike, *, confidence: float, lower: float, upper: float
) -> tuple[Floats, float]:
    """Return the rows, and how far they can be apart."""
    check_confidence(confidence)
    for name, value in (("lower", lower), ("upper", upper)):
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
    if not lower < upper:
        raise ValueError(f"upper must be more than lower, got lower={lower} and upper={upper}")
    rows = check_vector(x, "x")
    check_range(rows, "x", lower, upper)
    return rows, float(upper - lower)


def check_confidence(confidence: float) -> None:
    """Refuse what is not a probability strictly between 0 and 1."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")


def check_range(rows: Floats, name: str, lower: float, upper: float) -> None:
    """Refuse values outside of the range that was promised."""
    if rows.min() < lower or rows.max() > upper:
        raise ValueError(
            f"{name} must lie in [{lower:g}, {upper:g}], got values from {rows.min():g} to "
            f"{rows.max():g}: give bounds that hold for every possible row, or clip the rows"
        )


def _unscale(low: Floats, high: Floats, lower: float, scale: float) -> tuple[float, float]:
    return float(lower + scale * low[0]), float(lower + scale * high[0])
