"""Tests, exact at every number of rows, of the hypothesis that a mean loss is too large."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtri

Floats = NDArray[np.float64]

# How often a bet is reconsidered. More often towards the end, where it matters most.
_N_BLOCKS = 32
# No bet may cost more than this share of the capital: one loss must not end the game.
_CAUTION = 0.9
# Aim a little beyond the goal, since bets are not reconsidered at every row.
_BEYOND = 1.05
# The guess of the variance that came from other rows counts as this many rows.
_N_GUESSED = 10


def binomial_p_values(successes: ArrayLike, n: ArrayLike, share: float) -> Floats:
    """Return P(Binomial(n, share) <= successes), by which a chance of `share` or more is judged.

    Examples
    --------
    >>> from condrisk.inference._tests import binomial_p_values
    >>> binomial_p_values([0, 1, 2], [2, 2, 2], 0.5)
    array([0.25, 0.75, 1.  ])
    """
    k, rows = np.broadcast_arrays(np.asarray(successes, float), np.asarray(n, float))
    if share <= 0:
        return np.ones(k.shape)
    below = k < rows  # all successes: nothing speaks against a large chance
    return np.where(below, betainc(np.where(below, rows - k, 1.0), k + 1.0, 1.0 - share), 1.0)


def binomial_upper(successes: int, n: int, delta: float) -> float:
    """Return the chance that is exceeded with probability `delta` at most (Clopper, Pearson)."""
    return 1.0 if successes >= n else float(betaincinv(successes + 1, n - successes, 1 - delta))


def betting_p_values(
    gains: Floats, *, worst: ArrayLike, n_rows: ArrayLike, spread: ArrayLike, delta: float
) -> Floats:
    """Return p-values of the hypotheses that the expected gains are zero or less.

    The p-value is 1 / max_t K_t with the capital K_t = ∏ (1 + ν_i x_i), whose bets ν_i in
    [0, 1/worst] depend on earlier rows only: under the hypothesis K is a nonnegative
    supermartingale that begins at 1, so that it ever reaches 1/δ with probability δ at most
    (Ville). That holds whatever the bets are; how often the test rejects what is false depends
    on them. These aim at a capital of 1/δ at the last row and no later: with a share q of the goal
    reached and m rows of variance v to come, the bet that most likely gets there is
    φ(Φ⁻¹(q)) / (q √(m v)) (Browne, 1999, in continuous time). Its power tends to that of the best
    test at level δ, which bets with another aim do not reach.

    Parameters
    ----------
    gains : ndarray of shape (n_tests, n_all)
        Gains x_i in random order, one line for each test; 0 in rows that do not take part.
    worst : float or array-like of shape (n_tests,)
        No gain can be below minus this.
    n_rows : array-like of shape (n_tests,)
        How many rows take part.
    spread : array-like of shape (n_tests,)
        A guess of the mean square of the gains, from other rows.
    delta : float
        The level at which the tests are meant to decide.

    Returns
    -------
    ndarray of shape (n_tests,)
        In (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.inference._tests import betting_p_values
    >>> gains = 0.2 - (np.random.default_rng(0).random((1, 500)) < 0.1)
    >>> bool(betting_p_values(gains, worst=0.8, n_rows=[500], spread=[0.1], delta=0.1)[0] <= 0.1)
    True
    """
    n_tests, n_all = gains.shape
    most = _CAUTION / np.broadcast_to(np.asarray(worst, float), n_tests)
    n_rows = np.asarray(n_rows, float)
    squares = _N_GUESSED * np.asarray(spread, float)
    log_goal = np.log(_BEYOND / delta)
    capital, peak = np.zeros(n_tests), np.zeros(n_tests)
    cuts = np.unique(n_all - (n_all * np.linspace(1, 0, _N_BLOCKS + 1) ** 2).astype(int))
    for start, stop in pairwise(cuts):
        part = gains[:, start:stop]
        seen = n_rows * (start / n_all)
        bets = _bets(capital - log_goal, squares / (_N_GUESSED + seen), n_rows - seen)
        path = part * np.minimum(bets, most)[:, None]
        np.cumsum(np.log1p(path, out=path), axis=1, out=path)
        peak = np.maximum(peak, capital + path.max(axis=1))
        capital = capital + path[:, -1]
        squares = squares + np.vecdot(part, part)
    return np.exp(-peak)


def _bets(log_share: Floats, variance: Floats, n_left: Floats) -> Floats:
    """Return φ(Φ⁻¹(q)) / (q √(m v)), and no bet where the goal has been reached."""
    share = np.exp(np.minimum(log_share, 0.0))
    quantile = ndtri(np.clip(share, 1e-300, 1 - 1e-12))
    density = np.exp(-0.5 * quantile**2) / np.sqrt(2 * np.pi)
    scale = np.maximum(share, 1e-300) * np.sqrt(np.maximum(variance * n_left, 1e-300))
    return np.where(share < 1, density / scale, 0.0)
