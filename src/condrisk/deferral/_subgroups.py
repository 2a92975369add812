"""One path of rules for many groups at once, fixed before any of them is tested."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from condrisk.deferral._controlled import Floats, Pairs

# The path goes down to this predicted z-score.
_HOPELESS = -2.0
# A group whose best predicted z-score is not so far beyond the level is deferred as a whole: where
# it would stop all others, and where it is hopeless by itself.
_WEAK, _WEAK_APART = 1.5, -1.0
# Starts whose least predicted z-scores differ by less than this are as good as each other.
_AS_GOOD = 0.5


class Paths(NamedTuple):
    """The steps of a path.

    Attributes
    ----------
    thresholds : ndarray of shape (n_steps, n_groups)
        They grow from step to step.
    design : Pairs
        The rows that they were chosen on, sorted by risk.
    """

    thresholds: Floats
    design: Pairs

    def least_score(self, step: int, target: float, all_count: bool) -> float:
        """Return the least predicted z-score of the groups, but for those that are deferred."""
        flags = self.design.flags
        assert flags is not None
        accepted = flags & (self.design.risk <= row_thresholds(self.thresholds[step], flags))
        gains = self.design.gains(target)
        total, squares = accepted @ gains, accepted @ gains**2
        if all_count:
            deferred = self.design._replace(loss=np.zeros_like(gains)).gains(target)
            total = total + (flags & ~accepted) @ deferred
            squares = squares + (flags & ~accepted) @ deferred**2
            squares = squares - total**2 / np.maximum(flags.sum(axis=1), 1)
        worst = min(0.0, float(gains.min()))
        scores = (total + worst) / np.sqrt(np.maximum(squares, 0.0) + worst**2 + 1e-300)
        there = self.thresholds[step] > -np.inf
        return float(scores[there].min()) if there.any() else -np.inf

    def squares(self, step: int, target: float, all_count: bool) -> Floats:
        """Return the mean square of the gains of each group's test, as the design rows have it."""
        flags = self.design.flags
        assert flags is not None
        accepted = flags & (self.design.risk <= row_thresholds(self.thresholds[step], flags))
        squares = self.design.gains(target) ** 2
        total, n_rows = accepted @ squares, accepted.sum(axis=1)
        if all_count:
            loss = np.zeros_like(self.design.loss)
            deferred = self.design._replace(loss=loss).gains(target) ** 2
            total, n_rows = total + (flags & ~accepted) @ deferred, flags.sum(axis=1)
        return total / np.maximum(n_rows, 1)


def row_thresholds(thresholds: Floats, flags: NDArray[np.bool_]) -> Floats:
    """Return the least of the thresholds of the groups of each row; -inf for rows of no group."""
    limits = np.where(flags, thresholds[:, None], np.inf).min(axis=0)
    return np.where(flags.any(axis=0), limits, -np.inf)


def path_of_groups(
    design: Pairs,
    scores: list[Floats],
    *,
    n_steps: int,
    level: float,
    target: float,
    all_count: bool,
) -> Paths:
    """Return a path on which all groups have the same predicted z-score at each step.

    Parameters
    ----------
    design : Pairs
        Rows sorted by risk, with flags of their groups.
    scores : list of ndarray
        For each group, the predicted z-score of accepting its rows up to each one.
    n_steps : int
        How many steps there are.
    level : float
        The level of the tests.
    target, all_count
        What is tested: the target, and whether deferred rows count.
    """
    assert design.flags is not None
    critical = -ndtri(level)
    best = max(float(own.max()) for own in scores if len(own))
    ladder = np.linspace(max(best, critical), _HOPELESS, n_steps)
    thresholds = np.full((n_steps, len(scores)), -np.inf)
    for k, (own, flags) in enumerate(zip(scores, design.flags, strict=True)):
        if not len(own) or own.max() < critical + _WEAK:
            continue
        risk = design.risk[flags]
        start = int(np.argmax(own))
        # The last row from which on no later one has the score that a step asks for.
        best_later = np.maximum.accumulate(own[::-1])[::-1]
        last = np.searchsorted(-best_later[start:], -ladder, side="right") - 1 + start
        # A group joins at the step that asks for no more than its best: weak ones come late.
        joined = ladder <= own.max()
        thresholds[joined, k] = risk[np.maximum(last, start)[joined]]
        thresholds[joined & (last == len(risk) - 1), k] = np.inf
    paths = Paths(np.unique(thresholds, axis=0), design)
    least = [paths.least_score(step, target, all_count) for step in range(len(paths.thresholds))]
    # Rows are accepted by the strictest of their groups, so that early steps may have few rows.
    start = int(np.flatnonzero(np.array(least) >= max(least) - _AS_GOOD)[-1])
    return Paths(paths.thresholds[start:], design)


def paths_apart(
    design: Pairs, scores: list[Floats], thresholds: list[Floats], level: float
) -> Paths:
    """Return the thresholds of disjoint groups, each in its own order, side by side.

    Parameters
    ----------
    design, scores, level
        As for `path_of_groups`.
    thresholds : list of ndarray
        For each group, its thresholds in the order of the tests; the last accepts everything.
    """
    critical = -ndtri(level)
    table = np.full((max(map(len, thresholds)), len(thresholds)), np.inf)
    for k, own in enumerate(thresholds):
        table[: len(own), k] = own
        if not len(scores[k]) or scores[k].max() < critical + _WEAK_APART:
            table[:, k] = -np.inf
    return Paths(table, design)


def passed_together(p_values: Floats, level: float) -> NDArray[np.intp]:
    """Return the last step that each group passes, if a step passes only for all at once.

    Parameters
    ----------
    p_values : ndarray of shape (n_steps, n_groups)
        Those of a step after the first failure may be NaN.
    level : float
        The level of every test.
    """
    fine = np.all(p_values <= level, axis=1)
    last = len(p_values) - 1 if fine.all() else int(np.argmin(fine)) - 1
    return np.full(p_values.shape[1], last)


def passed_apart(p_values: Floats, levels: Floats, ends: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the last step that each of several disjoint groups passes by itself.

    Parameters
    ----------
    p_values : ndarray of shape (n_steps, n_groups)
        P-values of all steps.
    levels : ndarray of shape (n_groups,)
        The level of each group's tests. A group that passes all of its steps needs its level no
        more: the others share it (a graphical procedure of Bretz et al., 2009).
    ends : ndarray of bool, shape (n_groups,)
        Whether a group's level may go to others.
    """
    n_steps, n_groups = p_values.shape
    levels = levels.copy()
    done = np.zeros(n_groups, dtype=bool)
    while True:
        fine = p_values <= levels
        last = np.where(fine.all(axis=0), n_steps, np.argmin(fine, axis=0)) - 1
        finished = (last == n_steps - 1) & ~done & ends
        open_groups = ~(done | finished)
        if not finished.any() or not open_groups.any():
            return last
        levels[open_groups] += levels[finished].sum() / open_groups.sum()
        done |= finished
