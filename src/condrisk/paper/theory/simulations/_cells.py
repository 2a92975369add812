"""Worlds of cells: everything about them is known, and a million rows are a few counts.

The input is one of J equally likely cells. The best function of the cell for squared error is the
mean of each cell, for absolute error the median, for the Brier score the frequencies; all three
can be drawn without drawing the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betainc, betaincinv, gammaln

from condrisk.paper.theory.complexity import Complexity

Floats = NDArray[np.float64]

N_CELLS, N_GROUPS, N_CLASSES = 32, 4, 3


@dataclass(frozen=True)
class ClassCells:
    """Cells with K classes: p depends on the group of a cell alone, the predictor on the cell.

    So the probabilities are a simpler function of the input than the risk, which is what the
    paper has in mind for the approach by calibration.

    Attributes
    ----------
    proba : ndarray of shape (n_cells, n_classes)
        p(k | cell).
    loss : ndarray of shape (n_cells, n_classes)
        ℓ(f(cell), k), in [0, 1].
    group : ndarray of shape (n_cells,)
        Cells of one group have the same probabilities.
    """

    proba: Floats
    loss: Floats
    group: NDArray[np.intp]

    @property
    def risk(self) -> Floats:
        """G of each cell."""
        return (self.proba * self.loss).sum(axis=1)

    def draw(self, n: int, repetitions: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how often each class is in each cell, for samples of n rows."""
        joint = self.proba / len(self.proba)
        counts = rng.multinomial(n, joint.ravel(), size=repetitions)
        return counts.reshape(repetitions, *self.proba.shape)

    def cell_means(self, counts: NDArray[np.int64]) -> Floats:
        """Return the mean loss of each cell: least squares. A cell without rows gets the most."""
        rows = counts.sum(axis=2)
        total = (counts * self.loss).sum(axis=2)
        return np.where(rows > 0, total / np.maximum(rows, 1), 1.0)

    def group_frequencies(self, counts: NDArray[np.int64]) -> Floats:
        """Return the frequencies of the classes in the group of each cell: least Brier score."""
        n_groups = self.group.max() + 1
        grouped = np.stack([counts[:, self.group == k].sum(axis=1) for k in range(n_groups)], 1)
        rows = grouped.sum(axis=2, keepdims=True)
        uniform = 1.0 / grouped.shape[2]
        return np.where(rows > 0, grouped / np.maximum(rows, 1), uniform)[:, self.group]


def make_class_cells() -> ClassCells:
    """Return the world of the study: 32 cells in 4 groups, 3 classes, costs in [0, 1]."""
    group = np.arange(N_CELLS) * N_GROUPS // N_CELLS
    by_group = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.05, 0.15, 0.8]])
    costs = np.array([[0.0, 0.5, 1.0], [0.6, 0.0, 0.6], [1.0, 0.5, 0.0]])  # [predicted, true]
    predicted = np.arange(N_CELLS) % N_CLASSES
    return ClassCells(by_group[group], costs[predicted], group)


@dataclass(frozen=True)
class LossCells:
    """Cells whose loss is continuous and skewed, as squared errors are: Beta(½, b) in each."""

    b: Floats

    def draw_medians(
        self, n: int, repetitions: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return how many of n rows are in each cell, and the lower median of their losses.

        The k-th of m uniform numbers is Beta(k, m − k + 1); the quantile function does the rest.
        A cell without rows gets the most that a loss can be.
        """
        rows = rng.multinomial(n, np.full(len(self.b), 1 / len(self.b)), size=repetitions)
        middle = np.maximum((rows + 1) // 2, 1)
        uniform = rng.beta(middle, np.maximum(rows, 1) - middle + 1)
        return rows, np.where(rows > 0, betaincinv(0.5, self.b, uniform), 1.0)

    def realised(self, estimate: Floats) -> Floats:
        """Return E|estimate − z| over the cells."""
        mean = 0.5 / (0.5 + self.b)
        below = betainc(0.5, self.b, estimate)
        mean_below = mean * betainc(1.5, self.b, estimate)
        return (estimate * (2 * below - 1) + mean - 2 * mean_below).mean(axis=-1)

    @property
    def medians(self) -> Floats:
        """The best estimate for absolute error."""
        return betaincinv(0.5, self.b, 0.5)


def make_loss_cells() -> LossCells:
    """Return the world of the study: 32 cells from noisy to nearly certain."""
    return LossCells(np.geomspace(0.5, 8.0, N_CELLS))


@cache
def cell_complexity(n: int, *, n_cells: int) -> Complexity:
    """Return the expected complexity of all functions of the cell into [0, 1], exactly.

    The supremum takes 1 in the cells where the signs add up to more than zero: half the mean of
    Σ_cells |sum of the signs in it| / n, over binomial numbers of rows in a cell.
    """
    law = stats.binom(n, 1 / n_cells)
    rows = np.arange(max(0, law.ppf(1e-15) - 1), law.ppf(1 - 1e-15) + 2)
    mean = float((law.pmf(rows) * mean_absolute_sum(rows)).sum())
    return Complexity(
        value=n_cells * mean / (2 * n), kind="exact", name=f"functions of {n_cells} cells"
    )


def mean_absolute_sum(rows: NDArray[Any]) -> Floats:
    """Return E|σ₁ + … + σₘ| for each number m of random signs."""
    m = np.maximum(rows, 1)
    below = (m - 1) // 2
    log_ways = gammaln(m) - gammaln(below + 1) - gammaln(m - below)
    return np.where(rows > 0, m * np.exp(log_ways - (m - 1) * np.log(2)), 0.0)
