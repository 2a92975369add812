"""An interval for the mean expectation of rows that need not have the same distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from condrisk.inference._mean import MeanInterval, describe

Floats = NDArray[np.float64]

# Bets of different sizes, each this many times the one before; the smallest is the best one for
# rows at the two ends of the range, and has the largest share of the capital.
_N_BETS, _RATIO = 8, 3.0
# No bet may cost more than this share of the capital.
_CAUTION = 0.9
# Limits are found by halving, to this many binary digits.
_HALVINGS = 26
# So many factors can be multiplied without an overflow.
_BLOCK = 64


def constant_bets_interval(
    x: Floats, *, confidence: float, lower: float = 0.0, upper: float = 1.0
) -> MeanInterval:
    """Return an interval for the mean of the expectations of independent rows.

    Unlike `betting_interval` it holds for rows of different distributions, such as losses given
    their inputs. The price is a half-width that tends to about √(2 ln(1/δ)) standard errors where
    that one's tends to Φ⁻¹(1 − δ), at the level δ of each side.

    Parameters
    ----------
    x : ndarray of shape (n_rows,) or (n_samples, n_rows)
        Independent rows, or several such samples.
    confidence : float
        How often, at least, the interval has the mean of the rows' expectations in it.
    lower, upper : float
        No row can be smaller or larger.

    Returns
    -------
    MeanInterval
        The mean over the rows, and the limits.

    Notes
    -----
    A lower limit has refuted a mean m of expectations μᵢ if Σₖ wₖ ∏ᵢ (1 + λₖ (xᵢ − m)) reaches
    1/δ, for bets λₖ and shares wₖ fixed before any row is seen. The rows are independent, so the
    expectation of each product is ∏ᵢ (1 + λₖ (μᵢ − m)). A geometric mean is at most the
    arithmetic one: this is at most (1 + λₖ (μ̄ − m))ⁿ, which is 1 for m = μ̄. By Markov's
    inequality m = μ̄ is refuted with probability δ at most. Bets that follow earlier rows, as those
    of `betting_interval` do, have no such bound unless all μᵢ are equal. With λₖ cut at 0.9/m each
    factor falls in m, so what is refuted is an interval, and halving finds its end.
    """
    unit = np.atleast_2d((x - lower) / (upper - lower))
    level = (1 - confidence) / 2
    low, high = _lower_limits(unit, level), 1.0 - _lower_limits(1.0 - unit, level)
    if x.ndim == 1:
        [low], [high] = low, high
    return describe(x, lower + (upper - lower) * low, lower + (upper - lower) * high)


def _lower_limits(samples: Floats, level: float) -> Floats:
    """Return, for each sample in [0, 1], the least mean that has not been refuted."""
    log_goal = -math.log(level)
    least = math.sqrt(8 * log_goal / samples.shape[1])
    bets = least * _RATIO ** np.arange(_N_BETS)
    shares = 1 / np.arange(1, _N_BETS + 1)
    log_shares = np.log(shares / shares.sum())
    low, high = np.zeros(len(samples)), samples.mean(axis=1)  # the mean is never refuted
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        capital = [
            share + _log_growth(samples, middle, bet)
            for share, bet in zip(log_shares, bets, strict=True)
        ]
        refuted = np.logaddexp.reduce(capital, axis=0) >= log_goal
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def _log_growth(samples: Floats, means: Floats, bet: float) -> Floats:
    """Return the logarithm of ∏ (1 + λ (x − m)) of each sample, with λ cut for its mean."""
    cut = np.minimum(bet, _CAUTION / np.maximum(means, 1e-12))[:, None]
    factors = 1.0 + cut * (samples - means[:, None])
    starts = np.arange(0, samples.shape[1], _BLOCK)
    return np.log(np.multiply.reduceat(factors, starts, axis=1)).sum(axis=1)
