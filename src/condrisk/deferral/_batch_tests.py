"""How far down the rows of a batch, sorted by risk, labels show that little loss is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import hypergeom

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Thresholds that bets are made on at once.
N_THRESHOLDS = 400
# No bet may cost more than this share of the capital.
CAUTION = 0.9
# Aim a little beyond the goal, since capital comes in steps.
BEYOND = 1.05
# What the risk says of the mean loss counts as this many labels.
N_GUESSED = 10
# After the labels planned, bets aim at so many more, as a share of those used.
FURTHER = 0.25


class HypergeometricTest:
    """The exact test for losses of 0 or 1 and a fixed number of labels, drawn uniformly.

    Parameters
    ----------
    unit : ndarray of shape (n_frame,)
        Risks in units of the greatest loss, increasing.
    ends : ndarray of int
        The numbers of rows that a threshold can accept: ties are together.
    chance : ndarray of shape (n_frame,)
        Not used: all rows have the same.
    allowed : float
        How much loss may be left.
    level : float
        How often, at most, more is.
    n_labels : int
        The number of labels.
    """

    def __init__(
        self,
        unit: Floats,
        ends: Rows,
        chance: Floats,
        allowed: float,
        level: float,
        n_labels: int,
    ) -> None:
        self._ends, self._n_labels = ends, min(n_labels, len(unit))
        self._n_frame, self._lost = len(unit), np.zeros(len(unit))
        self._n_seen = 0
        self._most = self._most_losses(int(np.floor(allowed * (1 + 1e-12))), level)

    def _most_losses(self, left: int, level: float) -> int:
        """Return the largest c with P(H <= c) <= level if there are left + c + 1 losses."""
        c = np.arange(self._n_labels + 1)
        losses = left + c + 1
        possible = losses <= self._n_frame
        chance = np.zeros(len(c))  # more losses than rows: impossible
        chance[possible] = hypergeom.cdf(
            c[possible], self._n_frame, losses[possible], self._n_labels
        )
        return int(np.sum(chance <= level)) - 1  # the chance grows with c

    def add(self, rows: Rows, loss: Floats) -> None:
        """Take labels; losses between 0 and 1 count as 1."""
        self._lost[rows] = loss > 0
        self._n_seen += len(rows)

    def accepted(self) -> int:
        """Return how many rows of least risk can be accepted; none before the last label."""
        if self._n_seen < self._n_labels or self._most < 0:
            return 0
        fine = np.cumsum(self._lost)[self._ends - 1] <= self._most
        return int(self._ends[fine][-1]) if fine.any() else 0


class BettingTest:
    """Bets on the loss that is left, for any losses in [0, 1] and any number of labels.

    Parameters
    ----------
    unit, ends, allowed, level, n_labels
        As for `HypergeometricTest`.
    chance : ndarray of shape (n_frame,)
        In proportion to this, rows are drawn among those that are left.
    """

    def __init__(
        self,
        unit: Floats,
        ends: Rows,
        chance: Floats,
        allowed: float,
        level: float,
        n_labels: int,
    ) -> None:
        grid = np.linspace(0, len(ends) - 1, N_THRESHOLDS).round().astype(np.intp)
        self._ends = ends[np.unique(grid)]
        self._unit, self._chance, self._allowed = unit, chance, allowed
        self._goal, self._aim = -np.log(level), np.log(BEYOND / level)
        self._planned, self._n_seen = n_labels, 0
        self._total = float(chance.sum())
        self._log_capital = np.zeros(len(self._ends))
        self._peak = np.zeros(len(self._ends))
        self._n_left = self._ends.astype(np.float64)
        # Sums over the unlabelled rows up to each threshold, of c, c / p and c² / p.
        tables = (unit, unit / chance, unit**2 / chance)
        self._sums = np.array([np.cumsum(table)[self._ends - 1] for table in tables])
        self._rarest = np.maximum.accumulate(1 / chance)[self._ends - 1]
        # Mean loss, and mean square, per unit of risk: what the risk says, then what labels say.
        guess = N_GUESSED * max(float(np.mean(unit / chance)), 1e-12)
        self._seen = np.array([guess, guess, guess])

    def add(self, rows: Rows, loss: Floats) -> None:
        """Take labels, in the order in which the rows were drawn."""
        for row, own in zip(rows.tolist(), loss.tolist(), strict=True):
            self._add(row, own)

    def accepted(self) -> int:
        """Return how many rows of least risk can be accepted."""
        passed = (self._peak >= self._goal) | (self._n_left <= self._allowed)
        return int(self._ends[passed][-1]) if passed.any() else 0

    def _add(self, row: int, loss: float) -> None:
        inside = self._ends > row
        k, bet, control = self._plan()
        risk, inverse = self._unit[row], self._total / self._chance[row]
        # E of the first part is what the second takes off: mean zero, whatever the risk.
        variate = control * ((risk * inverse if inside[k] else 0.0) - self._sums[0, k])
        estimate = np.where(inside, loss * inverse, 0.0) - variate
        worst = self._total * self._rarest + control * self._sums[0, k] - self._allowed
        bets = np.minimum(bet, CAUTION / np.maximum(worst, 1e-12))
        factor = np.minimum.accumulate(1 + bets * (self._allowed - estimate))
        self._log_capital += np.log(factor)
        self._peak = np.maximum(self._peak, self._log_capital)
        self._forget(row, inside)
        if inside[k]:
            self._seen += np.array([risk, loss, loss**2]) / self._chance[row]

    def _forget(self, row: int, inside: NDArray[np.bool_]) -> None:
        """Take a row out of the sums over unlabelled rows."""
        risk, chance = self._unit[row], self._chance[row]
        own = np.array([risk, risk / chance, risk**2 / chance])
        self._sums = np.where(inside, self._sums - own[:, None], self._sums)
        self._n_left -= inside
        self._total = max(self._total - chance, 1e-12)
        self._n_seen += 1

    def _plan(self) -> tuple[int, float, float]:
        """Return the threshold to bet for, the bet, and how far to follow the control variate.

        The threshold is the last one that, if risk and labels so far are right, has an even
        chance to reach the goal: with a share Φ(y) of it at hand and m labels to come, of mean
        gain d and variance v, the chance is Φ(y + d √(m / v)). The bet is the one that most
        likely gets there (Browne, 1999).
        """
        ratio, square = self._seen[1] / self._seen[0], self._seen[2] / self._seen[0]
        control = min(ratio, 1.0)
        sums = np.maximum(self._sums, 0.0)
        left = ratio * sums[0]
        second = square * sums[1] - (2 * ratio - control) * control * sums[2]
        variance = np.maximum(self._total * second - (left - control * sums[0]) ** 2, 1e-9)
        gain = self._allowed - left
        m = self._planned - self._n_seen
        if m < 1:
            m = max(int(FURTHER * self._n_seen) - (-m) % max(int(FURTHER * self._planned), 1), 1)
        y = ndtri(np.exp(np.minimum(self._log_capital - self._aim, -1e-9)))
        hopeful = y + gain * np.sqrt(m / variance) >= 0
        k = int(np.argmin(hopeful)) - 1 if not hopeful.all() else len(hopeful) - 1
        k = max(k, 0)
        density = np.exp(-0.5 * y[k] ** 2) / np.sqrt(2 * np.pi)
        share = np.exp(min(self._log_capital[k] - self._aim, 0.0))
        if share >= 1:
            return k, 0.0, control
        return k, float(density / (share * np.sqrt(m * (variance[k] + gain[k] ** 2)))), control
