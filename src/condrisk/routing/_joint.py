"""The losses of all models learnt together: each alone, and how they differ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from condrisk._mixing import convex_shares
from condrisk.routing._forest import JointForest
from condrisk.routing._level import LevelCurve
from condrisk.routing._linear import JointRidge

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Wider rows are reduced to so many components first.
MOST_COLUMNS = 400
# The shares are found on at most so many rows.
MOST_ROWS = 50_000


class JointLosses:
    """Estimates the loss of each model at each row, from losses with gaps.

    Of m models 2m + 1 targets are learnt by the same forest and the same ridge regressions: the
    loss of each, the mean over all of them, and how far each is from that mean. Models tend to fail
    on the same rows. What they have in common is noise for the question which one to ask, and the
    differences, learnt directly, are free of it. Each target is a convex mixture of trees and ridge
    at several strengths and the mean, the one with the least squared
    error on held-out rows. Whether the level and the differences of the final estimate come from
    models learnt alone or from the direct targets, in which shares, is found in the same way. The
    level is calibrated last.

    Parameters
    ----------
    folds : list of (train, held_out)
        Together they hold out each row once.
    grouped : bool
        Whether rows depend on each other, so that trees have to keep to the folds.
    blocks : ndarray of int, shape (n_features,)
        Which columns share a scale.
    seed : int
        For the trees.
    n_jobs : int or None
        How many trees to grow at a time.

    Attributes
    ----------
    level_share, difference_share : float
        The shares of the direct targets.
    """

    def __init__(
        self,
        folds: list[tuple[Rows, Rows]],
        *,
        grouped: bool,
        blocks: NDArray[np.intp],
        seed: int,
        n_jobs: int | None,
    ) -> None:
        self.folds = folds
        self.grouped = grouped
        self.blocks = blocks
        self.seed = seed
        self.n_jobs = n_jobs

    def fit(self, X: Floats, losses: Floats, weight: Floats) -> Floats:
        """Fit on rows of numbers; return the estimates of rows by what has not seen their losses.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows; NaN where a value is missing.
        losses : ndarray of shape (n_rows, n_models)
            Losses; NaN where a model has not answered.
        weight : ndarray of shape (n_rows,)
            Weights.

        Returns
        -------
        ndarray of shape (n_rows, n_models)
            Held-out estimates.
        """
        self._learn_scale(X)
        rows = self._scaled(X)
        known = ~np.isnan(losses)
        self.lowest = np.nanmin(losses, axis=0)
        self.highest = np.nanmax(losses, axis=0)
        filled = self._fill(rows, losses, known, weight)
        target, present = _targets(filled, known)
        ridge, forest = (
            JointRidge(self.folds),
            JointForest(self.seed, self.n_jobs, self.folds if self.grouped else None),
        )
        parts = [
            ridge.fit(rows, target, present, weight),
            forest.fit(rows, target, present, weight),
        ]
        means = np.array(
            [np.average(t[k], weights=weight[k]) for t, k in zip(target.T, present.T, strict=True)]
        )
        table = np.concatenate(
            [*parts, np.broadcast_to(means[:, None], (*target.shape, 1))], axis=2
        )
        shares = self._shares(table, target, present, weight)
        estimates = np.einsum("nts,ts->nt", table, shares)
        merge = self._merge(estimates, target, present, weight)
        # From what each member predicts for each target to the estimate of each model.
        whole = shares[:, :, None] * merge[:, None, :]
        n_ridge = parts[0].shape[2]
        self.ridge = ridge.blend(whole[:, :n_ridge])
        self.forest = forest.blend(whole[:, n_ridge:-1])
        self.base = means @ whole[:, -1]
        del self.folds
        found = estimates @ merge
        m = losses.shape[1]
        level = LevelCurve(self.seed)
        self.level = level.fit(found.mean(axis=1), target[:, m], weight * present[:, m])
        return self._clipped(self.level(found))

    def predict(self, X: Floats) -> Floats:
        """Return the estimated loss of each model at each row, (n_rows, n_models)."""
        rows = self._scaled(X)
        found = self.base + self.ridge.predict(rows) + self.forest.predict(rows)
        return self._clipped(self.level(found))

    # -- rows ---------------------------------------------------------------------------------

    def _learn_scale(self, X: Floats) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value
            self.median = np.nan_to_num(np.nanmedian(X, axis=0))
        full = self._filled_rows(X)
        with np.errstate(over="ignore"):
            self.centre, spread = full.mean(axis=0), full.std(axis=0)
        # Columns of one block keep their proportions: the widest of them gets a spread of one.
        widest = np.zeros(self.blocks.max() + 1)
        np.maximum.at(widest, self.blocks, spread)
        scale = widest[self.blocks]
        self.scale = np.where((scale > 0) & np.isfinite(scale), scale, 1.0)
        self.axes: Floats | None = None
        if X.shape[1] > MOST_COLUMNS:
            n = min(MOST_COLUMNS, len(X))
            solver = PCA(n, svd_solver="randomized", random_state=0)
            with np.errstate(invalid="ignore", divide="ignore"):
                self.axes = solver.fit((full - self.centre) / self.scale).components_

    def _filled_rows(self, X: Floats) -> Floats:
        missing = np.isnan(X)
        return np.where(missing, self.median, X) if missing.any() else X

    def _scaled(self, X: Floats) -> Floats:
        rows = (self._filled_rows(X) - self.centre) / self.scale
        return rows if self.axes is None else rows @ self.axes.T

    # -- targets ------------------------------------------------------------------------------

    def _fill(
        self, rows: Floats, losses: Floats, known: NDArray[np.bool_], weight: Floats
    ) -> Floats:
        """Return the losses with a held-out guess in each gap."""
        if known.all():
            return losses
        blank = np.where(known, losses, 0.0)
        guesses = JointRidge(self.folds).fit(rows, blank, known, weight)
        errors = np.where(known[:, :, None], guesses - blank[:, :, None], 0.0) ** 2
        best = np.argmin(np.einsum("n,nts->ts", weight, errors), axis=1)
        guess = np.take_along_axis(guesses, best[None, :, None], axis=2)[:, :, 0]
        return np.where(known, losses, np.clip(guess, self.lowest, self.highest))

    def _shares(
        self, table: Floats, target: Floats, present: NDArray[np.bool_], weight: Floats
    ) -> Floats:
        """Return the share of each member, for each target, (n_targets, n_members)."""
        found = np.zeros(table.shape[1:])
        for k in range(target.shape[1]):
            rows = np.flatnonzero(present[:, k])
            if len(rows) > MOST_ROWS:
                rows = np.random.default_rng(self.seed).permutation(rows)[:MOST_ROWS]
            scale = float(target[rows, k].std()) or 1.0
            columns, values = table[rows, k] / scale, target[rows, k] / scale
            # Shares are for numbers of one sign: differences are moved, which sums of one undo.
            moved = min(0.0, float(columns.min()), float(values.min()))
            if np.ptp(columns) == 0 and np.ptp(values) == 0:
                found[k, -1] = 1.0
            else:
                found[k] = convex_shares(columns - moved, values - moved, weight[rows])
        return found

    def _merge(
        self, estimates: Floats, target: Floats, present: NDArray[np.bool_], weight: Floats
    ) -> Floats:
        """Return the matrix from the targets to the models, (2m + 1, m)."""
        m = estimates.shape[1] // 2
        alone = np.eye(m)
        mean = np.full((m, m), 1 / m)
        single, level, apart = estimates[:, :m], estimates[:, m], estimates[:, m + 1 :]
        differences = single - single.mean(axis=1, keepdims=True)
        direct = apart - apart.mean(axis=1, keepdims=True)
        self.difference_share = _share(
            differences, direct, target[:, m + 1 :], weight[:, None] * present[:, m + 1 :]
        )
        self.level_share = _share(single.mean(axis=1), level, target[:, m], weight)
        d, s = self.difference_share, self.level_share
        return np.vstack(
            [(1 - s) * mean + (1 - d) * (alone - mean), np.full((1, m), s), d * (alone - mean)]
        )

    def _clipped(self, estimates: Floats) -> Floats:
        return np.clip(estimates, self.lowest, self.highest)


def _targets(filled: Floats, known: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the losses, their mean over the models, and how far each is from that; what is known.

    The mean counts as known wherever any of its losses is: the others are filled.
    """
    mean = filled.mean(axis=1, keepdims=True)
    present = np.hstack([known, known.any(axis=1, keepdims=True), known])
    return np.hstack([filled, mean, filled - mean]), present


def _share(first: Floats, second: Floats, target: Floats, weight: Any) -> float:
    """Return the share of the second estimate in the mixture of least squared error."""
    change = second - first
    size = float(np.sum(weight * change**2))
    if size <= np.finfo(float).tiny:
        return 0.0
    return float(np.clip(np.sum(weight * change * (target - first)) / size, 0.0, 1.0))
