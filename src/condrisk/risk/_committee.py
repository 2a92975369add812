"""Several regressions of losses, averaged by how well they do on rows they have not seen."""

from __future__ import annotations

import time
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from condrisk._budget import MANY_ROWS, Clock
from condrisk._crossfit import Split
from condrisk._forests import grow_on_folds, predict_unseen, within_float32
from condrisk._mixing import convex_shares
from condrisk._progress import announce
from condrisk.learners import LossRegressor
from condrisk.risk._correction import followed

Floats = NDArray[np.float64]

N_TREES = 80
# Under the noise of realised losses a leaf of one row learns that row; five average a little.
LEAF_ROWS = 5
# Each split looks at so large a share of the features, so that the trees differ.
FEATURES_TRIED = 0.5
# Fewer rows than this teach nothing but their mean.
FEWEST_ROWS = 20
# On no more rows than this a forest on the row alone is tried too: other inputs mislead more there.
FEW_ROWS = 300
# What probabilities of two models say is hard to beat by regressing noisy losses.
BASE = "hybrid"
# The least base, in mean losses, as the square of the unit of an error.
LEAST_BASE = 0.05


class Trees:
    """A forest on the losses, which estimates each training row by the trees without it.

    Parameters
    ----------
    kind : type
        The class of the forest.
    seed : int
        Its seed.
    n_jobs : int or None
        How many trees to grow at a time.
    """

    def __init__(self, kind: type, seed: int, n_jobs: int | None) -> None:
        self._kind, self._seed, self._n_jobs = kind, seed, n_jobs

    def fit(self, X: Floats, z: Floats, weight: Floats | None, folds: list[Split] | None) -> Self:
        """Grow the forest; rows are held out by these folds, or else out of bag."""
        self._forest, self.held_out = self._grow(X, z, weight, folds)
        return self

    def predict(self, X: Floats) -> Floats:
        """Estimate the mean loss at each row."""
        return self._forest.predict(within_float32(X))

    def _grow(
        self, X: Floats, target: Floats, weight: Floats | None, folds: list[Split] | None
    ) -> tuple[Any, Floats]:
        X = within_float32(X)
        forest = self._kind(
            N_TREES,
            min_samples_leaf=LEAF_ROWS,
            max_features=FEATURES_TRIED,
            bootstrap=True,
            oob_score=True,
            n_jobs=self._n_jobs,
            random_state=self._seed,
        )
        if folds is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a row that every tree has seen
                forest.fit(X, target, sample_weight=weight)
            held_out = forest.oob_prediction_
            del forest.oob_prediction_
        else:
            forest, seen = grow_on_folds(forest, X, target, weight, folds)
            held_out = predict_unseen(forest, X, seen)
        forest.n_jobs = None  # threads would add up in varying order
        return forest, np.where(np.isfinite(held_out), held_out, target.mean())


class RootTrees(Trees):
    """Forests on the roots of the losses: E z = (E √z)² + Var √z, and roots have lighter tails."""

    def fit(self, X: Floats, z: Floats, weight: Floats | None, folds: list[Split] | None) -> Self:
        """Grow one forest on roots, and one on their squared deviations from it."""
        root = np.sqrt(z)
        self._roots, mean = self._grow(X, root, weight, folds)
        self._variances, variance = self._grow(X, (root - mean) ** 2, weight, folds)
        self.held_out = mean**2 + variance
        return self

    def predict(self, X: Floats) -> Floats:
        """Estimate the mean loss at each row."""
        X = within_float32(X)
        return self._roots.predict(X) ** 2 + self._variances.predict(X)


# In this order a budget is spent; with how many times the seconds of the first each takes at most.
TIMES = {
    "extra-trees": 1.0,
    "extra-trees on roots": 3.0,
    "forest on the row": 4.0,
    "forest on roots": 8.0,
}
MEMBERS: dict[str, tuple[type[Trees], type]] = {
    "extra-trees": (Trees, ExtraTreesRegressor),
    "forest on roots": (RootTrees, RandomForestRegressor),
    "extra-trees on roots": (RootTrees, ExtraTreesRegressor),
}


class ManyRows(Trees):
    """A `LossRegressor`, for more rows than forests are worth growing on."""

    def __init__(self, seed: int, n_jobs: int | None) -> None:
        self._seed, self._n_jobs = seed, n_jobs

    def fit(self, X: Floats, z: Floats, weight: Floats | None, folds: list[Split] | None) -> Self:
        """Fit it; what it says of rows that it was not judged on is NaN."""
        groups = None
        if folds is not None:
            groups = np.empty(len(z), dtype=np.intp)
            for k, (_, own) in enumerate(folds):
                groups[own] = k
        model = LossRegressor(n_jobs=self._n_jobs, random_state=self._seed)
        self._model = model.fit(X, z, weight, groups=groups)
        self.held_out = model.held_out_
        del model.held_out_
        return self

    def predict(self, X: Floats) -> Floats:
        """Estimate the mean loss at each row."""
        return self._model.predict(X)


class RowTrees(Trees):
    """A forest that sees the row, and none of the inputs made from predictions.

    Parameters
    ----------
    n_columns : int
        How many of the inputs are the row: the first ones.
    seed, n_jobs
        As for `Trees`.
    """

    def __init__(self, n_columns: int, seed: int, n_jobs: int | None) -> None:
        super().__init__(RandomForestRegressor, seed, n_jobs)
        self._n_columns = n_columns

    def fit(self, X: Floats, z: Floats, weight: Floats | None, folds: list[Split] | None) -> Self:
        """Grow the forest on the first columns."""
        return super().fit(X[:, : self._n_columns], z, weight, folds)

    def predict(self, X: Floats) -> Floats:
        """Estimate the mean loss at each row."""
        return super().predict(X[:, : self._n_columns])


class RiskCommittee:
    """The convex mixture of several regressions of the loss, and of estimates at hand.

    It has the least squared error on held-out rows. Beside the plug-in risk of a pool of two
    models, "hybrid", a candidate has a share only as far as its gain is sure.

    Parameters
    ----------
    seed : int
        For the trees.
    n_jobs : int or None
        How many trees to grow at a time.

    Attributes
    ----------
    shares : dict of str to float
        The share of each candidate, the mean among them.
    rows : ndarray of int, shape (n_judged,)
        The rows that candidates are judged on: all, or of many at most 50,000.
    held_out : dict of str to ndarray of shape (n_judged,)
        What each candidate says of each of them without having seen its loss.
    seconds : dict of str to float
        What each regression took; zero for those that there was no time for.
    """

    def __init__(self, seed: int, n_jobs: int | None) -> None:
        self._seed, self._n_jobs = seed, n_jobs

    def fit(
        self,
        X: Floats,
        loss: Floats,
        weight: Floats | None,
        at_hand: dict[str, Floats],
        *,
        n_columns: int,
        folds: list[Split] | None,
        least: float,
        clock: Clock,
    ) -> Self:
        """Fit the regressions and find the shares.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_inputs)
            Inputs of the risk.
        loss : ndarray of shape (n_rows,)
            Losses of rows that the predictor was not fitted on.
        weight : ndarray of shape (n_rows,) or None
            Their weights.
        at_hand : dict of str to ndarray of shape (n_rows,)
            Estimates that were made without these losses, such as plug-in risks.
        n_columns : int
            How many of the inputs, the first ones, are the row itself.
        folds : list of (train, test) or None
            How rows that depend on each other are held out; None: out of bag, one by one.
        least : float
            No loss is below this.
        clock : Clock
            The time left; the first regression is fitted whatever it is.
        """
        self._least, self._mean = least, float(np.average(loss, weights=weight))
        # Losses of mean one: their unit must not matter. Rounded, so that losses in other units
        # give the same splits, not nearly the same.
        self._scale = (self._mean - least) or 1.0
        z = ((loss - least) / self._scale).astype(np.float32).astype(np.float64)
        self._members: dict[str, Trees] = {}
        self.seconds: dict[str, float] = {}
        if len(z) >= FEWEST_ROWS and np.ptp(z) > 0:
            self._fit_members(X, z, weight, n_columns, folds, clock)
        table = {name: member.held_out for name, member in self._members.items()}
        for name, estimate in at_hand.items():
            table[name] = (estimate - least) / self._scale
        known = np.isfinite(np.column_stack([*table.values(), z])).all(axis=1)
        self.rows = np.flatnonzero(known)
        table = {name: column[known] for name, column in table.items()}
        self._mix(table, z[known], np.ones(len(self.rows)) if weight is None else weight[known])
        for member in self._members.values():
            del member.held_out
        return self

    def _fit_members(
        self,
        X: Floats,
        z: Floats,
        weight: Floats | None,
        n_columns: int,
        folds: list[Split] | None,
        clock: Clock,
    ) -> None:
        members = {name: kind(of, self._seed, self._n_jobs) for name, (kind, of) in MEMBERS.items()}
        if len(z) <= FEW_ROWS:
            members["forest on the row"] = RowTrees(n_columns, self._seed, self._n_jobs)
        if len(z) > MANY_ROWS:
            members = {"regression": ManyRows(self._seed, self._n_jobs)}
        self.seconds = dict.fromkeys(members, 0.0)
        first = 0.0
        for name in sorted(members, key=lambda name: TIMES.get(name, 1.0)):
            start = time.perf_counter()
            if first and not clock.allows(first * TIMES[name]):
                break
            announce(f"risk: {name}")
            members[name].fit(X, z, weight, folds)
            self.seconds[name] = time.perf_counter() - start
            first = first or self.seconds[name]
        self._members = {name: members[name] for name in members if self.seconds[name]}

    def _mix(self, table: dict[str, Floats], z: Floats, weight: Floats) -> None:
        table = {**table, "mean": np.ones(len(z))}
        columns = np.column_stack(list(table.values()))
        if BASE in table:
            shares = self._shares_beside_base(columns, list(table).index(BASE), z, weight)
        else:
            # Where losses are large they vary more: such rows say less about the shares.
            shares = convex_shares(columns, z, weight / np.maximum(columns.mean(axis=1), 1e-3))
        self.shares = dict(zip(table, shares.tolist(), strict=True))
        self.held_out = {
            name: self._least + self._scale * column for name, column in table.items()
        } | {"mixture": self._least + self._scale * (columns @ shares)}

    def _shares_beside_base(self, columns: Floats, k: int, z: Floats, weight: Floats) -> Floats:
        """Return shares of candidates beside a base, which they have to beat surely."""
        base = columns[:, k]
        unit = np.sqrt(np.maximum(base, LEAST_BASE))
        away = (np.delete(columns, k, axis=1) - base[:, None]) / unit[:, None]
        others = followed(away, (z - base) / unit, weight)
        return np.insert(others, k, 1.0 - others.sum())

    def keep(self, name: str) -> None:
        """Use one candidate in place of the mixture."""
        self.shares = {other: float(other == name) for other in self.shares}

    def __getstate__(self) -> dict[str, Any]:
        used = {name: member for name, member in self._members.items() if self.shares[name] > 0}
        return {**vars(self), "_members": used}

    def predict(self, X: Floats, at_hand: dict[str, Floats]) -> Floats:
        """Estimate the mean loss at each row."""
        mixture = np.full(len(X), self.shares["mean"])
        for name, share in self.shares.items():
            if share > 0 and name in self._members:
                mixture += share * self._members[name].predict(X)
            elif share > 0 and name in at_hand:
                mixture += share * (at_hand[name] - self._least) / self._scale
        return self._least + self._scale * mixture
