"""A sequential two-sample test of means: evidence that new rows have a larger one, at any time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

Floats = NDArray[np.float64]

# The share of the stake on a change from the first row on; the rest is for quicker bets, which
# also begin anew at later chunks.
PATIENT = 0.9
# The quicker bets, in units of 1/(σ√n), and the tilt of the reference that goes with them.
QUICK, TILT = (4.0, 12.0, 36.0), 2.0
# Means are tested in cells, which are narrow around zero: there a mean excess is likely to be.
_SIDE = np.geomspace(1e-3, 1.0, 72)
MEANS = np.concatenate([-_SIDE[::-1], [0.0], _SIDE])
# No bet may cost more than this share of the capital.
CAUTION = 0.9
# Before any row is seen: so many imagined ones, and their spread.
N_IMAGINED, SPREAD = 4, 0.3
# The bets on the reference are reconsidered so many times.
N_BLOCKS = 100
# How soon the patient bet is: where its boundary begins, in standard errors of the reference.
INTERCEPT = 1.3
# Scores are spread over a grid, which is dense around zero.
HALF_GRID = 256


@dataclass
class Stake:
    """Bets that began at the same chunk: their capital at both ends of each cell of means."""

    began: int
    share: float
    log_capital: Floats  # (n_kinds, n_cells, 2): bets of the reference and of new rows together


class TwoSampleTest:
    """Evidence against "some mean is that of the reference, and at least that of the new rows".

    Parameters
    ----------
    reference : ndarray of shape (n_rows,)
        Scores of the reference, at most 1, in random order.
    low : float
        The least score that counts; smaller ones are taken as this. Fixed before any row is seen.
    level : float
        The largest probability of ever taking equal means for different ones.

    Attributes
    ----------
    evidence : float
        The least over all means of the largest capital so far: at 1/level, all are refuted.
    threshold : float
        1/level.

    Notes
    -----
    Scores v lie in [a, 1]; smaller ones count as a. Let m be any mean.

    * If the mean of the reference is m, then R(m) = ∏ (1 + νᵢ (m − vᵢ)) over its rows has
      expectation 1, as long as the bet νᵢ ≥ 0 depends on earlier rows only and no factor can be
      negative. It is large if the mean of the reference is smaller than m.
    * If in addition each new row has, given the earlier ones, a mean of m at most, then
      Nₜ(m) = ∏ (1 + λ (vₛ − m)) over the new rows s ≤ t is a nonnegative supermartingale that
      begins at 1, for a bet λ ≥ 0 that depends on the reference alone. It is large if the mean of
      the new rows is larger than m.

    So R(m)·Nₜ(m) is a nonnegative supermartingale under every common mean m, and so is any mixture
    of such products over bets and over the chunk in which betting on new rows begins. By Ville's
    inequality max_{s≤t} of it ever reaches 1/level with probability `level` at most, at the true m.
    The alarm needs that for *every* m: its probability is no larger, whatever m is. That is exact
    for all numbers of rows and all distributions of the scores in [a, 1].

    The bets decide on the power alone. If the reference ends A(m) = √n (m − v̄)/σ standard errors
    below m, it is to have a capital of min(1, exp(2aA − 2ab))/level; the patient bet on new rows,
    λ = 2 (b − A)/(σ√n), then reaches 1/level for every m at once, where the difference of the two
    means exceeds σ (b/√n + a√n/t) after t rows. With a = b that is O'Brien and Fleming's test of
    two samples, whose information nt/(n + t) a reference of n rows bounds by n; here a is a little
    less, to be sooner, and b follows from the level. This has nine tenths of the stake. Quicker
    bets have the rest; they also begin anew with later chunks, the c-th with weight 1/(c(c + 1)),
    by which a change after a long quiet time is still found. Of those begun so many are kept that
    their ages grow geometrically; what is dropped is lost, which no inequality minds.

    Means are looked at in cells with the same bets. Within one, the logarithm of each product is
    concave in m, so that its least value is at an end of the cell. The logarithm of a factor is
    concave in v too: each score is divided between its neighbours on a grid, in proportion, which
    keeps its mean and can only lower the capital. A chunk is then a histogram, however many rows
    it has and in whatever order.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.app.monitor import TwoSampleTest
    >>> rng = np.random.default_rng(0)
    >>> test = TwoSampleTest((rng.random(500) < 0.1) - 0.1, low=-0.5, level=0.05)
    >>> same, worse = ((rng.random(2000) < share) - 0.1 for share in (0.1, 0.2))
    >>> bool(test.update(test.gain_of(same)) < test.threshold)
    True
    >>> bool(test.update(test.gain_of(worse)) >= test.threshold)
    True
    """

    def __init__(self, reference: Floats, *, low: float, level: float) -> None:
        self.low, self.threshold = low, 1 / level
        # A score at the least one is divided between its neighbours on the grid too.
        self._least = float(_GRID[np.searchsorted(_GRID, low, side="right") - 1])
        marks = np.unique(MEANS.clip(low, 1.0))
        self.ends = np.column_stack([marks[:-1], marks[1:]])
        self.middle = self.ends.mean(axis=1)
        first, self.bets = self._reference_bets(np.maximum(reference, low), level)
        self._table = self._log_factors()
        shares = np.log([PATIENT, *np.full(len(QUICK), (1 - PATIENT) / len(QUICK))])
        self._first = first + shares[:, None, None]
        self._best = np.full(len(self.ends), -np.inf)
        self._stakes: list[Stake] = []
        self._n_chunks = 0
        self._note()

    @property
    def evidence(self) -> float:
        """The least over all means of the largest capital so far, at most 1e300."""
        return math.exp(min(float(self._best.min()), 690.0))

    def update(self, gain: Floats) -> float:
        """Take in a chunk, as `gain_of` sums it up, and return the evidence after it."""
        self._n_chunks += 1
        c = self._n_chunks
        self._stakes = [stake for stake in self._stakes if stake.began == 1 or _is_young(stake, c)]
        share = math.log(1 / (c * (c + 1)))
        fresh = self._first + share
        if c == 1:
            fresh[0] = self._first[0]  # the patient bet is on the first chunk alone
        else:
            fresh[0] = -np.inf
        self._stakes.append(Stake(c, share, fresh))
        for stake in self._stakes:
            stake.log_capital = stake.log_capital + gain
        self._note()
        return self.evidence

    def gain_of(self, scores: Floats) -> Floats:
        """Return the logarithm of what each bet makes of its stake; that of parts adds up."""
        return np.asarray(self._table @ _histogram(np.maximum(scores, self.low)))

    # -- state -------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what has changed since the first row, as plain data."""
        stakes = [[s.began, s.share, s.log_capital.tolist()] for s in self._stakes]
        return {"chunks": self._n_chunks, "best": self._best.tolist(), "stakes": stakes}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned, of the same reference."""
        self._n_chunks, self._best = int(state["chunks"]), np.array(state["best"], dtype=float)
        self._stakes = [Stake(b, s, np.array(x, dtype=float)) for b, s, x in state["stakes"]]

    # -- inside ------------------------------------------------------------------------------------

    def _note(self) -> None:
        """Keep the largest capital so far in each cell, at its worse end bet by bet."""
        parts = [stake.log_capital.min(axis=2) for stake in self._stakes]
        rest = self._first[1:].min(axis=2) - math.log(self._n_chunks + 1)  # not staked yet
        if not self._stakes:
            parts.append(self._first[:1].min(axis=2))
        total = np.logaddexp.reduce(np.concatenate([*parts, rest]), axis=0)
        self._best = np.maximum(self._best, total)

    def _reference_bets(self, rows: Floats, level: float) -> tuple[Floats, Floats]:
        """Return the capital that the reference makes, by kind of bet, and the bets on new rows."""
        n, cells = len(rows), len(self.ends)
        plan = _Plan(level * PATIENT)
        patient, quick = np.zeros((cells, 2)), np.zeros((cells, 2))  # at both ends
        most = CAUTION / np.maximum(1.0 - self.ends[:, 0], 1e-9)
        seen = _Seen()
        size = max(1, n // N_BLOCKS)
        for start in range(0, n, size):
            part = rows[start : start + size]
            unit = seen.spread(self.middle) * math.sqrt(n)
            bet = np.minimum(plan.bets(patient[:, 0], 1 - start / n) / unit, most)
            patient += np.log1p(bet[:, None, None] * (self.ends[:, :, None] - part)).sum(axis=2)
            bet = np.minimum(TILT / unit, most)
            quick += np.log1p(bet[:, None, None] * (self.ends[:, :, None] - part)).sum(axis=2)
            seen.add(part)
        unit = seen.spread(self.middle) * math.sqrt(n)
        missing = np.maximum(plan.log_goal - patient.min(axis=1), 0.2)
        bets = np.stack([missing / (INTERCEPT * unit), *(q / unit for q in QUICK)])
        most = CAUTION / np.maximum(self.ends[:, 1] - self._least, 1e-9)
        return np.stack([patient, *[quick] * len(QUICK)]), np.minimum(bets, most)

    def _log_factors(self) -> Floats:
        """Return log(1 + λ (v − m)) for each kind of bet, cell, end and point of the grid."""
        points = np.maximum(_GRID, self._least)
        rise = points[None, None, :] - self.ends[:, :, None]
        return np.log1p(self.bets[:, :, None, None] * rise[None])


class _Seen:
    """What the rows of the reference so far, and imagined ones, say of the spread at a mean."""

    def __init__(self) -> None:
        self._sums = N_IMAGINED * np.array([1.0, 0.0, SPREAD**2, 0.0])

    def add(self, rows: Floats) -> None:
        self._sums += [len(rows), rows.sum(), (rows**2).sum(), (rows**3).sum()]

    def spread(self, means: Floats) -> Floats:
        """Return the spread that rows like these would have if they were tilted to these means."""
        _, mean, square, cube = self._sums / self._sums[0]
        variance = max(square - mean**2, 1e-18)
        third = cube - 3 * mean * square + 2 * mean**3
        tilted = variance + third / variance * (means - mean)
        return np.sqrt(np.clip(tilted, variance / 4, 4 * variance))


class _Plan:
    """How to bet on the reference for a capital of min(1, exp(2aA − 2ab))/level at its end."""

    def __init__(self, level: float) -> None:
        a = INTERCEPT
        self.log_goal = -math.log(level)

        def excess(b: float) -> float:
            return math.exp(2 * a * (a - b)) * float(ndtr(b - 2 * a)) + float(ndtr(-b)) - level

        # A level near one is reached below zero.
        self._b = float(brentq(excess, 0.0 if excess(0.0) > 0 else -12.0, 12.0))
        self._x = np.linspace(-12.0, 12.0, 1201)

    def bets(self, log_capital: Floats, left: float) -> Floats:
        """Return bets per standard error at this capital, with this share of the rows left."""
        a, b, x, w = INTERCEPT, self._b, self._x, max(left, 1e-6)
        log_reached = log_ndtr((x - b) / math.sqrt(w))
        log_rest = 2 * a * (x + a * w - b) + log_ndtr((b - x - 2 * a * w) / math.sqrt(w))
        log_value = np.logaddexp(log_reached, log_rest)
        at = np.interp(log_capital - self.log_goal, log_value, x)
        bet = 2 * a * np.exp(log_rest - log_value)
        return np.where(log_capital < self.log_goal, np.interp(at, x, bet), 0.0)


def _is_young(stake: Stake, chunk: int) -> bool:
    """Tell whether a stake is still kept: so that of those begun, their ages grow geometrically."""
    return chunk - stake.began <= 8 * (stake.began & -stake.began)


# -- a chunk as a histogram -----------------------------------------------------------------------

_STEPS = np.linspace(-1, 1, 2 * HALF_GRID + 1)
_GRID = _STEPS * np.abs(_STEPS)


def _histogram(scores: Floats) -> Floats:
    """Divide each score between its neighbours on the grid, so that the mean is kept."""
    place = np.sqrt(np.abs(scores))
    index = ((np.copysign(place, scores) + 1) * HALF_GRID).astype(np.intp)
    index = np.minimum(index, len(_GRID) - 2)
    below = _GRID[index]
    share = ((scores - below) / (_GRID[index + 1] - below)).clip(0.0, 1.0)
    above = np.bincount(index + 1, weights=share, minlength=len(_GRID))
    return np.bincount(index, minlength=len(_GRID)) - np.append(above[1:], 0.0) + above
