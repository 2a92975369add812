"""Corrections of a risk by held-out losses: its level, and its mean within segments."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.tree import DecisionTreeRegressor

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Isotonic regression counts for n / (n + this) beside the line, which has one number to learn.
ROWS_OF_LINE = 300
# A given segment is corrected where its mean is so many standard errors off.
CLEAR = 2.0
# No more corrections than this: segments overlap, and one may undo another.
MOST_STEPS = 50
# Trees that look for segments, how deep, and how far each correction is followed.
N_TREES, MAX_DEPTH, RATE = 100, 3, 0.1
# A leaf has at least so many of the rows that look for it, and these share of all of them.
LEAF_ROWS, LEAF_SHARE = 15, 1 / 30
# A risk below this share of the mean counts as this much, where it divides.
LEAST_SHARE = 0.01


class Level:
    """A monotone function of the risk: isotonic regression and a line through 0, mixed."""

    def fit(self, risk: Floats, loss: Floats, weight: Floats) -> Self:
        """Learn it from held-out losses."""
        total = float(weight @ risk)
        self.factor = float(weight @ loss) / total if total > 0 else 1.0
        self.share, self.steps = 0.0, None
        n = int((weight > 0).sum())
        if n > 1 and np.ptp(risk[weight > 0]) > 0:
            self.share = n / (n + ROWS_OF_LINE)
            self.steps = IsotonicRegression(out_of_bounds="clip").fit(risk, loss, weight)
        return self

    def predict(self, risk: Floats) -> Floats:
        """Return the corrected risks."""
        line = self.factor * risk
        if self.steps is None:
            return line
        return self.share * self.steps.predict(risk) + (1 - self.share) * line


class GivenSegments:
    """Factors of given segments, which may overlap: the clearest first, as long as one is clear.

    Its inputs are flags of shape (n_segments, n_rows).
    """

    def fit(self, risk: Floats, loss: Floats, flags: Flags, weight: Floats) -> Self:
        """Learn the level, then the factors."""
        self.level = Level().fit(risk, loss, weight)
        risk = self.level.predict(risk)
        self.steps: list[tuple[int, float]] = []
        while len(self.steps) < MOST_STEPS and len(flags):
            residual = weight * (loss - risk)
            total, error = flags @ residual, np.sqrt(flags @ residual**2)
            z = np.divide(total, error, out=np.zeros_like(total), where=error > 0)
            k = int(np.argmax(np.abs(z)))
            of_risk = float(flags[k] @ (weight * risk))
            if abs(z[k]) < CLEAR or of_risk <= 0:
                break
            factor = max(1 + (1 - 1 / z[k] ** 2) * float(total[k]) / of_risk, 0.0)
            self.steps.append((k, factor))
            risk = np.where(flags[k], factor * risk, risk)
        return self

    def apply(self, risk: Floats, flags: Flags) -> Floats:
        """Return the corrected risks."""
        risk = self.level.predict(risk)
        for k, factor in self.steps:
            risk = np.where(flags[k], factor * risk, risk)
        return risk


class FoundSegments:
    """Factors of the leaves of shallow trees, each grown on one half of the rows.

    The other half tells how far the leaves are off. Its inputs are numbers of shape
    (n_rows, n_columns); the risk is one more column.
    """

    def fit(self, risk: Floats, loss: Floats, numbers: Floats, weight: Floats) -> Self:
        """Learn the level, then the factors."""
        self.level = Level().fit(risk, loss, weight)
        risk = self.level.predict(risk)
        self.least = LEAST_SHARE * float(np.average(np.abs(risk), weights=weight))
        columns = np.column_stack([numbers, risk]).astype(np.float32)
        self.trees: list[DecisionTreeRegressor] = []
        self.factors: list[Floats] = []
        draws, n = np.random.RandomState(0), len(risk)
        leaf = max(LEAF_ROWS, round(LEAF_SHARE * n / 2))
        if self.least <= 0 or n < 4 * leaf:
            return self
        for _ in range(N_TREES):
            looking = np.zeros(n, dtype=bool)
            looking[draws.permutation(n)[: n // 2]] = True
            unit = np.maximum(risk, self.least)
            tree = DecisionTreeRegressor(max_depth=MAX_DEPTH, min_samples_leaf=leaf, random_state=0)
            own = weight * unit * looking
            tree.fit(columns[looking], ((loss - risk) / unit)[looking], own[looking])
            leaves = tree.apply(columns)
            factor = _factors(leaves, tree.tree_.node_count, loss, risk, weight * ~looking)
            risk = risk * factor[leaves]
            self.trees.append(tree)
            self.factors.append(factor)
        return self

    def apply(self, risk: Floats, numbers: Floats) -> Floats:
        """Return the corrected risks."""
        risk = self.level.predict(risk)
        columns = np.column_stack([numbers, risk]).astype(np.float32)
        for tree, factor in zip(self.trees, self.factors, strict=True):
            risk = risk * factor[tree.apply(columns)]
        return risk


def _factors(
    leaves: NDArray[np.intp], n_nodes: int, loss: Floats, risk: Floats, weight: Floats
) -> Floats:
    """Return the factor of each leaf, as large as the evidence for it."""
    residual = weight * (loss - risk)
    total = np.bincount(leaves, residual, n_nodes)
    noise = np.bincount(leaves, residual**2, n_nodes)
    of_risk = np.bincount(leaves, weight * risk, n_nodes)
    clear = (total**2 > noise) & (of_risk > 0)
    away = np.where(clear, total - noise / np.where(clear, total, 1.0), 0.0)
    step = np.divide(away, of_risk, out=np.zeros_like(away), where=of_risk > 0)
    return np.maximum(1 + RATE * step, 0.0)
