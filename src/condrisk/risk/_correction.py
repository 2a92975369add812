"""What realised losses say about a plug-in risk: corrections, as large as the evidence for them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from condrisk._budget import MANY_ROWS, ROWS_PER_TREE
from condrisk._crossfit import Split
from condrisk._forests import grow_on_folds, predict_unseen, within_float32
from condrisk._mixing import convex_shares
from condrisk._progress import announce

Floats = NDArray[np.float64]

N_TREES = 100
LEAF_ROWS = 10
FEATURES_TRIED = 0.5
# Fewer rows than this correct nothing.
FEWEST_ROWS = 50
# A plug-in risk below this share of the mean loss counts as this much, where it divides.
LEAST_SHARE = 0.01
# Relative errors of the plug-in beyond this quantile count as that.
CAPPED_AT = 0.995


class Correction:
    """An estimate of E[z − plug-in | x] from rows that the plug-in has not seen.

    With the plug-in (f − m)² + v of squared error, z − plug-in has the conditional mean
    2(m − f)(μ − m) + (μ − m)² + σ² − v: what the errors of m and v leave. Two models learn it in
    units of the plug-in, so that rows of large loss do not decide alone: a line in the share of
    (f − m)² in it, and extra-trees. How far either is followed is found on rows that it has not
    seen, and shrunk by how sure the gain is.

    Parameters
    ----------
    seed : int
        For the trees.
    n_jobs : int or None
        How many trees to grow at a time.

    Attributes
    ----------
    shares : ndarray of shape (2,)
        How far the line and the trees are followed.
    held_out : ndarray of shape (n_rows,)
        The correction of each row by models that had not seen its loss.
    """

    def __init__(self, seed: int, n_jobs: int | None) -> None:
        self._seed, self._n_jobs = seed, n_jobs

    def fit(
        self,
        inputs: Floats,
        share: Floats,
        plug_in: Floats,
        loss: Floats,
        weight: Floats | None,
        folds: list[Split],
    ) -> Self:
        """Learn the correction.

        Parameters
        ----------
        inputs : ndarray of shape (n_rows, n_inputs)
            What the trees see.
        share : ndarray of shape (n_rows,)
            (f − m)² / ((f − m)² + v), the input of the line.
        plug_in, loss : ndarray of shape (n_rows,)
            Plug-in risks that have not seen the losses, and the losses.
        weight : ndarray of shape (n_rows,) or None
            Weights of the rows.
        folds : list of (train, test)
            How rows are held out.
        """
        self.shares, self.held_out = np.zeros(2), np.zeros(len(loss))
        weight = np.ones(len(loss)) if weight is None else weight
        mean = float(np.average(np.abs(loss), weights=weight))
        self._least = LEAST_SHARE * mean
        if len(loss) < FEWEST_ROWS or not folds or mean == 0:
            return self
        unit = np.maximum(np.abs(plug_in), self._least)
        self._largest = float(unit.max())
        # Weighted by the unit, a constant that is right on average is right in relative terms.
        weight = weight * unit / unit.mean()
        error = _capped((loss - plug_in) / unit, weight)
        announce("risk: correction by realised losses")
        rows = _for_trees(inputs, share)
        line = self._fit_line(share, error, weight, folds)
        trees = self._fit_trees(rows, error, weight, folds)
        found = np.column_stack([line, trees])
        self.shares = followed(found, error, weight)
        self.held_out = unit * (found @ self.shares)
        return self

    def predict(self, inputs: Floats, share: Floats, plug_in: Floats) -> Floats:
        """Return the correction at each row."""
        if not self.shares.any():
            return np.zeros(len(plug_in))
        # A plug-in risk higher than ever is lowered by no more than the highest one was: that f was
        # right wherever the mean was not says nothing of predictions that are further off.
        unit = np.clip(np.abs(plug_in), self._least, self._largest)
        found = np.zeros(len(plug_in))
        if self.shares[0]:
            found += self.shares[0] * (self._line[0] + self._line[1] * share)
        if self.shares[1]:
            found += self.shares[1] * self._forest.predict(_for_trees(inputs, share))
        return unit * found

    def _fit_line(self, share: Floats, error: Floats, weight: Floats, folds: list[Split]) -> Floats:
        table = np.column_stack([np.ones(len(share)), share])
        held_out = np.empty(len(share))
        for others, own in folds:
            held_out[own] = table[own] @ _least_squares(
                table[others], error[others], weight[others]
            )
        self._line = _least_squares(table, error, weight)
        return held_out

    def _fit_trees(self, rows: Floats, error: Floats, weight: Floats, folds: list[Split]) -> Floats:
        forest: Any = ExtraTreesRegressor(
            N_TREES,
            min_samples_leaf=LEAF_ROWS,
            max_features=FEATURES_TRIED,
            bootstrap=len(error) > MANY_ROWS,
            max_samples=ROWS_PER_TREE if len(error) > MANY_ROWS else None,
            n_jobs=self._n_jobs,
            random_state=self._seed,
        )
        self._forest, seen = grow_on_folds(forest, rows, error, weight, folds)
        self._forest.n_jobs = None  # threads would add up in varying order
        return np.nan_to_num(predict_unseen(self._forest, rows, seen))


def followed(found: Floats, error: Floats, weight: Floats) -> Floats:
    """Return how far to follow each correction: shares of sum one at most, shrunk.

    The gain of the best shares in squared error has a standard error; gain and shares are
    multiplied by 1 − 1/t², nothing where it is not even one standard error.
    """
    table = np.column_stack([found, np.zeros(len(error))])
    shares = convex_shares(table, error, weight)[:-1]
    gain = error**2 - (error - found @ shares) ** 2
    mean = float(np.average(gain, weights=weight))
    spread = float(np.sqrt(np.average((gain - mean) ** 2, weights=weight) / len(gain)))
    if mean <= spread:
        return np.zeros(found.shape[1])
    return shares * (1 - (spread / mean) ** 2)


def _for_trees(inputs: Floats, share: Floats) -> Floats:
    """Return the inputs of the trees, which take no number that float32 has not."""
    return within_float32(np.column_stack([inputs, share]))


def _capped(error: Floats, weight: Floats) -> Floats:
    """Return errors with the largest lowered, and all moved up to keep their mean."""
    lowered = np.minimum(error, np.quantile(error, CAPPED_AT))
    return lowered + np.average(error - lowered, weights=weight)


def _least_squares(table: Floats, target: Floats, weight: Floats) -> Floats:
    root = np.sqrt(weight)[:, None]
    # A little ridge: without any gap the line has no slope.
    normal = (table * root).T @ (table * root) + 1e-3 * weight.sum() * np.eye(table.shape[1])
    return np.linalg.solve(normal, table.T @ (weight * target))
