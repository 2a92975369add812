"""Tests and intervals for a mean of bounded rows by betting, aimed at the level."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from condrisk._validation import check_confidence
from condrisk.inference._mean import MeanInterval, check_samples, describe

Floats = NDArray[np.float64]

# How often a bet is reconsidered. More often towards the end, where it matters most.
_N_BLOCKS = 32
# The same for one mean or a cell of them, where capital is only looked at between blocks.
_N_SHORT_BLOCKS = 96
# No bet may cost more than this share of the capital: one loss must not end the game.
_CAUTION = 0.9
# Aim a little beyond the goal, since bets are not reconsidered at every row.
_BEYOND = 1.05
# The guess of the variance that came from other rows counts as this many rows.
_N_GUESSED = 10
# Without such a guess: two rows at the ends of the range, with the mean in question.
_N_IMAGINED = 2
# Cells of means in an interval: this many per range, and these standard errors from the mean. They
# are dense where a limit is likely to be, far enough out for a bad start.
_N_WIDE = 16
_STANDARD_ERRORS = -2.0 + 2.0 * np.sinh(np.linspace(-3.35, 2.85, 48))
# The share of the rows (1/8) from which the cells are placed.
_PLACING = 8
# The cell with the limit is divided by eight, four times.
_PARTS, _PASSES = 8, 4
# The longest block of rows whose product cannot underflow.
_LONGEST = 256
# How many numbers are held at once: small enough for a cache, large enough for numpy.
_AT_ONCE = 2**17


def betting_p_values(
    gains: Floats, *, worst: ArrayLike, n_rows: ArrayLike, spread: ArrayLike, level: float
) -> Floats:
    """Return p-values of the hypotheses that the expected gains are zero or less.

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
    level : float
        The level at which the tests are meant to decide.

    Returns
    -------
    ndarray of shape (n_tests,)
        In (0, 1].

    Notes
    -----
    The p-value is 1 / max_t K_t with the capital K_t = ∏ (1 + ν_i x_i), whose bets ν_i in
    [0, 1/worst] depend on earlier rows only: under the hypothesis K is a nonnegative
    supermartingale that begins at 1, so that it ever reaches 1/δ with probability δ at most
    (Ville). That holds whatever the bets are; how often the test rejects what is false depends
    on them. These aim at a capital of 1/δ at the last row and no later: with a share q of the goal
    reached and m rows of variance v to come, the bet that most likely gets there is
    φ(Φ⁻¹(q)) / (q √(m v)) (Browne, 1999, in continuous time). Its power tends to that of the best
    test at level δ, which bets with another aim do not reach.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.inference import betting_p_values
    >>> gains = 0.2 - (np.random.default_rng(0).random((1, 500)) < 0.1)
    >>> bool(betting_p_values(gains, worst=0.8, n_rows=[500], spread=[0.1], level=0.1)[0] <= 0.1)
    True
    """
    n_tests, n_all = gains.shape
    most = _CAUTION / np.broadcast_to(np.asarray(worst, float), n_tests)
    rows = np.asarray(n_rows, float)
    cuts = _late_cuts(n_all, _N_BLOCKS)
    squares = [_N_GUESSED * np.asarray(spread, float)]
    for start, stop in pairwise(cuts):
        squares.append(squares[-1] + np.vecdot(gains[:, start:stop], gains[:, start:stop]))
    log_goal = np.log(_BEYOND / level)

    def bets(block: int, capital: Floats) -> Floats:
        seen = rows * (cuts[block] / n_all)
        variance = squares[block] / (_N_GUESSED + seen)
        return np.minimum(_aimed_bets(capital - log_goal, variance, rows - seen), most)

    def growth(start: int, stop: int, bet: Floats) -> tuple[Floats, Floats]:
        path = gains[:, start:stop] * bet[:, None]
        np.cumsum(np.log1p(path, out=path), axis=1, out=path)
        return path[:, -1], path.max(axis=1)

    return np.exp(-_log_peak(cuts, growth, bets, (n_tests,)))


def betting_p_value(
    x: ArrayLike,
    *,
    mean: float,
    upper: float,
    lower: float = 0.0,
    level: float = 0.05,
    random_state: Any = 0,
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
    level : float, default=0.05
        The level at which the test is meant to decide: its power is greatest there. The p-value
        is valid at every level.
    random_state : None, int or numpy.random.Generator, default=0
        The rows are taken in random order, so that a sorted table does no harm.

    Returns
    -------
    float
        In (0, 1]. If the hypothesis is true it is at most p with probability at most p. It is
        seldom much less than `level`: bets end once the goal has been reached.

    See Also
    --------
    betting_p_values : Many tests at once, with the Notes on the bets.

    Notes
    -----
    As there are no other rows to guess the variance from, it is that of the rows before each bet
    and of two imagined ones, which lie at the ends of the range and have the mean in question.

    Examples
    --------
    >>> from condrisk.inference import betting_p_value
    >>> betting_p_value([0.0] * 95 + [1.0] * 5, mean=0.2, upper=1.0)
    0.03...
    >>> betting_p_value([0.0] * 70 + [1.0] * 30, mean=0.2, upper=1.0)
    1.0
    """
    check_confidence(level, "level")
    rows, scale = check_samples(x, lower=lower, upper=upper)
    if rows.ndim != 1:
        raise ValueError(f"x must be one sample of shape (n_rows,), got shape {rows.shape}")
    if not lower < mean < upper:
        raise ValueError(f"mean must lie between lower={lower} and upper={upper}, got {mean!r}")
    rows = np.random.default_rng(random_state).permutation(rows)
    game = _Game((upper - rows[None]) / scale, level)
    candidate = np.full((1, 1), (upper - mean) / scale)
    peak = game.log_peak(candidate, lambda block, capital: game.bets(block, capital, candidate))
    return math.exp(-peak[0, 0])


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
    its width tends to that of the normal approximation.

    Parameters
    ----------
    x : array-like of shape (n_rows,) or (n_samples, n_rows)
        Independent rows of one distribution; or several such samples.
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
        The mean over the rows, and the limits.

    See Also
    --------
    binomial_interval : The exact one for rows of two values.

    Notes
    -----
    Rows are scaled to [0, 1]. Each side has the means that the test of `betting_p_value`, aimed at
    half of the probability of error, does not refute; the interval is their hull. A bet depends on
    the capital and so on the mean m that is tested, and nothing says that smaller means are
    refuted whenever a larger one is: dividing an interval could miss some that are not. Hence
    the bets are the same for all m in a cell: all of [0, 1] during the first eighth of the
    rows, which then fix the cells of the remaining ones, narrow ones around both limits. With
    bets λ_i that do not depend on m, each factor 1 + min(λ_i, 0.9/m)(x_i − m) falls in m, and the
    means that are refuted in a cell are an interval from its lower end on. So every cell is
    looked at, and the first that has not been refuted is divided. Whichever cell has the true mean
    in it, the capital against that mean is a martingale: no coverage is lost.
    If all means are refuted (then the interval is in error), the two ends change places.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.inference import betting_interval
    >>> x = np.random.default_rng(1).uniform(0, 0.2, size=500)
    >>> betting_interval(x, upper=1.0)
    MeanInterval(estimate=0.098..., lower=0.09..., upper=0.10...)
    """
    check_confidence(confidence)
    rows, scale = check_samples(x, lower=lower, upper=upper)
    order = np.random.default_rng(random_state).permutation(rows.shape[-1])
    unit = np.atleast_2d((rows - lower) / scale)[:, order]
    level = (1 - confidence) / 2
    low, high = _least_means(unit, level), 1.0 - _least_means(1.0 - unit, level)
    low, high = np.minimum(low, high), np.maximum(low, high)
    if rows.ndim == 1:
        [low], [high] = low, high
    return describe(rows, lower + scale * low, lower + scale * high)


# -- bets and capital ------------------------------------------------------------------------------


def _log_peak(
    cuts: NDArray[np.intp],
    growth: Callable[[int, int, Floats], tuple[Floats, Floats]],
    bets: Callable[[int, Floats], Floats],
    shape: tuple[int, ...],
) -> Floats:
    """Return the logarithm of the greatest capital, which begins at 1, on the way.

    `bets(block, capital)` are made once for all rows of a block, knowing the logarithm of the
    capital before it; `growth(start, stop, bets)` is what the rows make of it: at the end of the
    block, and at best.
    """
    capital, peak = np.zeros(shape), np.zeros(shape)
    for block, (start, stop) in enumerate(pairwise(cuts)):
        end, best = growth(start, stop, bets(block, capital))
        peak = np.maximum(peak, capital + best)
        capital = capital + end
    return peak


def _aimed_bets(log_share: Floats, variance: Floats, n_left: Floats | float) -> Floats:
    """Return φ(Φ⁻¹(q)) / (q √(m v)), and no bet where the goal has been reached."""
    share = np.exp(np.minimum(log_share, 0.0))
    quantile = ndtri(np.clip(share, 1e-300, 1 - 1e-12))
    density = np.exp(-0.5 * quantile**2) / np.sqrt(2 * np.pi)
    scale = np.maximum(share, 1e-300) * np.sqrt(np.maximum(variance * n_left, 1e-300))
    return np.where(share < 1, density / scale, 0.0)


def _late_cuts(n: int, n_blocks: int) -> NDArray[np.intp]:
    """Return where blocks begin and end: ever shorter ones, down to single rows."""
    return np.unique(n - (n * np.linspace(1, 0, n_blocks + 1) ** 2).astype(int))


class _Game:
    """Bets on more than a mean, against candidates for the mean of each sample in [0, 1]."""

    def __init__(self, samples: Floats, level: float) -> None:
        self.samples, n = samples, samples.shape[1]
        # Blocks are short at the start too, where the variance has yet to be learnt.
        early = 2 ** np.arange(1, max(1, (n // 16).bit_length()))
        long = np.arange(0, n, _LONGEST)
        self.cuts = np.unique(np.concatenate([_late_cuts(n, _N_SHORT_BLOCKS), early, long]))
        self.seen = self.cuts[:-1]
        before = ((0, 0), (1, 0))
        self._sums, self._squares = (
            np.pad(np.cumsum(rows, axis=1), before)[:, self.seen] for rows in (samples, samples**2)
        )
        # With few rows, capital comes in large steps: aim further.
        self._log_aim = math.log((1 + 4 / math.sqrt(n)) / level)

    def moments(self, block: int, means: ArrayLike) -> tuple[Floats, Floats]:
        """Return mean and variance of the rows before a block, and of those imagined."""
        imagined = _N_IMAGINED * np.asarray(means)
        n = _N_IMAGINED + self.seen[block]
        mean = (self._sums[:, [block]] + imagined) / n
        square = (self._squares[:, [block]] + imagined) / n
        return mean, np.maximum(square - mean**2, 1e-12)

    def bets(self, block: int, log_capital: ArrayLike, means: ArrayLike) -> Floats:
        """Return the bets that aim at the goal, with this capital against these means."""
        _, variance = self.moments(block, means)
        n_left = self.samples.shape[1] - self.seen[block]
        return _aimed_bets(np.asarray(log_capital) - self._log_aim, variance, n_left)

    def log_peak(self, means: Floats, bets: Callable[[int, Floats], Floats]) -> Floats:
        """Return the logarithm of the greatest capital against means, (n_samples, n_means)."""
        most = _CAUTION / np.maximum(means, 1e-12)

        def growth(start: int, stop: int, bet: Floats) -> tuple[Floats, Floats]:
            factors = self.samples.T[start:stop, :, None] - means
            factors *= np.minimum(bet, most)
            factors += 1.0
            # One logarithm for all rows of a block, of which there are few enough for a float.
            end = np.log(np.multiply.reduce(factors, axis=0))
            return end, end

        return _log_peak(self.cuts, growth, bets, means.shape)


# -- the least mean that is not refuted -----------------------------------------------------------


def _least_means(samples: Floats, level: float) -> Floats:
    """Return, for each sample, the least mean that betting on more than it has not refuted."""
    longest = min(samples.shape[1] // (_N_SHORT_BLOCKS // 2) + 1, _LONGEST)
    together = max(1, _AT_ONCE // (longest * (_N_WIDE + len(_STANDARD_ERRORS))))
    parts = (samples[start : start + together] for start in range(0, len(samples), together))
    return np.concatenate([_least_mean(_Game(part, level), level) for part in parts])


def _least_mean(game: _Game, level: float) -> Floats:
    first = int(np.searchsorted(game.seen[:-1], game.samples.shape[1] // _PLACING))
    ends = _cells(game, first)
    placed: list[Floats] = []

    def bets(block: int, capital: Floats) -> Floats:
        if block < first:  # the same bets against all means, as if no capital had been won or lost
            made = np.broadcast_to(game.bets(block, 0.0, 0.5), capital.shape)
        else:
            made = game.bets(block, capital, ends)
        placed.append(made)
        return made

    log_goal = -math.log(level)
    refuted = game.log_peak(ends, bets) >= log_goal
    everything = refuted.all(axis=1)
    cell = np.where(everything, -1, refuted.argmin(axis=1))[:, None]
    starts = np.pad(ends[:, :-1], ((0, 0), (1, 0)))
    low, high, *in_cell = (np.take_along_axis(a, cell, axis=1) for a in (starts, ends, *placed))
    width = high - low
    for _ in range(_PASSES):
        width = width / _PARTS
        candidates = low + width * np.arange(1, _PARTS)
        refuted = game.log_peak(candidates, lambda block, _: in_cell[block]) >= log_goal
        low = low + width * refuted.sum(axis=1, keepdims=True)
    return np.where(everything, 1.0, low[:, 0])


def _cells(game: _Game, block: int) -> Floats:
    """Return the upper ends of cells of means, which the rows before a block decide on."""
    mean, variance = game.moments(block, 0.5)
    near = mean + np.sqrt(variance / game.samples.shape[1]) * _STANDARD_ERRORS
    wide = np.broadcast_to(np.arange(1, _N_WIDE + 1) / _N_WIDE, (len(near), _N_WIDE))
    return np.sort(np.concatenate([near.clip(0.0, 1.0), wide], axis=1), axis=1)
