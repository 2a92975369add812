"""Corrections of a risk by held-out losses, within segments given or found."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from condrisk.risk._level import Level
from condrisk.risk._relearnt import LEAST_SHARE, Known, Relearnt

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A given segment is corrected where its mean is so many standard errors off.
CLEAR = 2.0
# No more corrections than this: segments overlap, and one may undo another.
MOST_STEPS = 50
# Trees that look for segments, how deep, and how far each correction is followed.
N_TREES, MAX_DEPTH, RATE = 100, 3, 0.1
# A leaf has at least so many of the rows that look for it, and these share of all of them.
LEAF_ROWS, LEAF_SHARE = 15, 1 / 30


class GivenSegments:
    """Factors of given segments, which may overlap: the clearest first, as long as one is clear.

    The numbers of its rows are flags, one for each segment.
    """

    def fit(self, own: Known) -> Self:
        """Learn the level, then the factors."""
        flags, loss, weight = own.numbers.T.astype(bool), own.loss, own.weight
        self.level = Level().fit(own.risk, loss, weight)
        risk = self.level.predict(own.risk)
        self.steps: list[tuple[int, float]] = []
        while len(self.steps) < MOST_STEPS and len(flags):
            residual = weight * (loss - risk)
            total, error = flags @ residual, np.sqrt(_noise(residual, flags, own.groups))
            z = np.divide(total, error, out=np.zeros_like(total), where=error > 0)
            k = int(np.argmax(np.abs(z)))
            of_risk = float(flags[k] @ (weight * risk))
            if abs(z[k]) < CLEAR or of_risk <= 0:
                break
            factor = max(1 + (1 - 1 / z[k] ** 2) * float(total[k]) / of_risk, 0.0)
            self.steps.append((k, factor))
            risk = np.where(flags[k], factor * risk, risk)
        return self

    def levelled(self, risk: Floats, flags: Flags) -> Floats:
        """Return the risks before any segment is corrected."""
        return self.level.predict(risk)

    def apply(self, risk: Floats, flags: Flags) -> Floats:
        """Return the corrected risks."""
        risk = self.levelled(risk, flags)
        for k, factor in self.steps:
            risk = np.where(flags[:, k], factor * risk, risk)
        return risk


class FoundSegments:
    """Factors of the leaves of shallow trees, each grown on one half of the rows.

    The other half tells how far the leaves are off. Where the rows that the risk was fitted on are
    known, `past`, it is learnt again from all first. Trees see the risk as one more column.
    """

    def fit(self, own: Known, past: Known | None) -> Self:
        """Learn the risk again, then its level, then the factors."""
        n, loss, weight = len(own.loss), own.loss, own.weight
        leaf = max(LEAF_ROWS, round(LEAF_SHARE * n / 2))
        self.relearnt: Relearnt | None = None
        risk = own.risk
        if past is not None and n >= 4 * leaf:
            self.relearnt = Relearnt()
            risk = self.relearnt.fit(own, past)
        self.level = Level().fit(risk, loss, weight)
        risk = self.level.predict(risk)
        self.least = LEAST_SHARE * float(np.average(np.abs(risk), weights=weight))
        columns = np.column_stack([own.numbers, risk]).astype(np.float32)
        self.trees: list[DecisionTreeRegressor] = []
        self.factors: list[Floats] = []
        draws = np.random.RandomState(0)
        if self.least <= 0 or n < 4 * leaf:
            return self
        for _ in range(N_TREES):
            looking = _half(draws, n, own.groups)
            unit = np.maximum(risk, self.least)
            tree = DecisionTreeRegressor(max_depth=MAX_DEPTH, min_samples_leaf=leaf, random_state=0)
            mass = weight * unit * looking
            tree.fit(columns[looking], ((loss - risk) / unit)[looking], mass[looking])
            leaves = tree.apply(columns)
            flags = leaves == np.arange(tree.tree_.node_count)[:, None]
            factor = _factors(flags, loss, risk, weight * ~looking, own.groups)
            risk = risk * factor[leaves]
            self.trees.append(tree)
            self.factors.append(factor)
        return self

    def levelled(self, risk: Floats, numbers: Floats) -> Floats:
        """Return the risks before any segment is corrected."""
        if self.relearnt is not None:
            risk = self.relearnt.apply(risk, numbers)
        return self.level.predict(risk)

    def apply(self, risk: Floats, numbers: Floats) -> Floats:
        """Return the corrected risks."""
        risk = self.levelled(risk, numbers)
        columns = np.column_stack([numbers, risk]).astype(np.float32)
        for tree, factor in zip(self.trees, self.factors, strict=True):
            risk = risk * factor[tree.apply(columns)]
        return risk


def _half(draws: np.random.RandomState, n: int, groups: NDArray[np.intp] | None) -> Flags:
    """Return a half of the rows, drawn at random; groups are not torn apart."""
    n_units = n if groups is None else int(groups.max()) + 1
    drawn = np.zeros(n_units, dtype=bool)
    drawn[draws.permutation(n_units)[: n_units // 2]] = True
    return drawn if groups is None else drawn[groups]


def _noise(residual: Floats, flags: Flags, groups: NDArray[np.intp] | None) -> Floats:
    """Return the squared standard error of the sum of residuals in each segment.

    Rows of a group err together, so that their sum is what is squared.
    """
    if groups is None:
        return flags @ residual**2
    of_groups = [np.bincount(groups[own], residual[own]) for own in flags]
    return np.array([float(sums @ sums) for sums in of_groups])


def _factors(
    flags: Flags, loss: Floats, risk: Floats, weight: Floats, groups: NDArray[np.intp] | None
) -> Floats:
    """Return the factor of each leaf, as large as the evidence for it."""
    residual = weight * (loss - risk)
    total, noise = flags @ residual, _noise(residual, flags, groups)
    of_risk = flags @ (weight * risk)
    clear = (total**2 > noise) & (of_risk > 0)
    away = np.where(clear, total - noise / np.where(clear, total, 1.0), 0.0)
    step = np.divide(away, of_risk, out=np.zeros_like(away), where=of_risk > 0)
    return np.maximum(1 + RATE * step, 0.0)
