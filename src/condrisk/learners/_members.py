"""The members of the default regressor: each learns from the rows and predicts held-out ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk._budget import MANY_ROWS
from condrisk._forests import grow_on_folds

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Trees of a forest; of wide tables fewer, since each takes time in proportion to the columns.
N_TREES, FEWEST_TREES, WIDE = 100, 25, 200
# More rows than this make a tree larger and slower, not better: its leaves are averaged anyway.
ROWS_PER_TREE = 5000
# Among many rows, boosting learns what is finer than leaves of so many rows.
LEAST_LEAF = 9
# A log-linear model has too few numbers to learn for more rows than this to matter.
LINEAR_ROWS = 200_000
# More columns than this, and the matrix of second derivatives would be most of the work: of 20,000
# columns it has 3 GB.
NEWTON_COLUMNS = 1000
# A leaf of boosting holds at least one row in so many, and 20: the mean of 20 losses in a tail is
# mostly that of the largest, and among a million rows there are many such leaves to be found.
LEAVES = 2000


class Forest:
    """Extra-trees that predict at several leaf sizes, so that one forest offers them all.

    The prediction at size s stops at the last node on a row's path that holds at least s rows.
    Leaf size is what matters under noise, and here it costs nothing to try: the trees are grown
    once.

    Parameters
    ----------
    seed : int
        For the trees.
    n_jobs : int or None
        How many trees to grow at a time.
    folds : list of (train, held_out) or None
        Where rows depend on each other: what each tree keeps to. None: rows out of bag are held
        out.
    """

    def __init__(
        self, seed: int, n_jobs: int | None, folds: list[tuple[Rows, Rows]] | None = None
    ) -> None:
        self.seed = seed
        self.n_jobs = n_jobs
        self.folds = folds

    def fit(self, X: Floats, z: Floats, weight: Floats) -> Self:
        """Grow the trees and look up the prediction of every node at every size."""
        # No least leaf size here: an extra-tree gives up on a node, however large, whose one random
        # threshold would leave too few rows on a side.
        n_rows = min(len(z), ROWS_PER_TREE)
        least = LEAST_LEAF if len(z) > MANY_ROWS else 1
        forest = ExtraTreesRegressor(
            max(FEWEST_TREES, N_TREES * WIDE // max(WIDE, X.shape[1])),
            min_samples_split=2 * least,
            bootstrap=True,
            max_samples=n_rows if n_rows < len(z) else None,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )
        if self.folds is None:
            self.forest = forest.fit(X, z, weight)
            self.seen = self.forest.estimators_samples_
            vars(self.forest).pop("_sample_weight", None)  # one for each row: not for model files
        else:
            self.forest, self.seen = grow_on_folds(forest, X, z, weight, self.folds)
        sizes = 3 ** np.arange(1 + int(np.log(max(3, n_rows / 4)) / np.log(3)))
        sizes = sizes[sizes >= least]
        self.values = [_values_by_size(tree.tree_, sizes) for tree in self.forest.estimators_]
        return self

    def held_out(self, X: Floats, rows: Rows) -> Floats:
        """Return the predictions at each size of the trees that have not seen the row."""
        total = np.zeros((len(rows), self.values[0].shape[1]))
        count, unseen = np.zeros(len(rows)), np.empty(len(X), dtype=bool)
        thin = _as_float32(X[rows])
        for tree, values, seen in zip(self.forest.estimators_, self.values, self.seen, strict=True):
            unseen[:] = True
            unseen[seen] = False
            free = np.flatnonzero(unseen[rows])
            total[free] += values[tree.tree_.apply(thin[free])]
            count[free] += 1
        # A row that every tree has seen, which is rare, gets the mean of the losses, which is one.
        return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], 1.0)

    def blend(self, shares: Floats) -> None:
        """Merge the predictions at all sizes into one; forget what only fitting needs."""
        self.values = [values @ shares for values in self.values]
        del self.seen, self.folds

    def predict(self, X: Floats, top: float) -> Floats:
        """Return the share of the prediction that comes from the trees."""
        # A tree does not look at how many columns there are, and a file may hold anything.
        if X.shape[1] != self.forest.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but the forest was fitted on "
                f"{self.forest.n_features_in_}."
            )
        thin, total = _as_float32(X), np.zeros(len(X))
        for tree, values in zip(self.forest.estimators_, self.values, strict=True):
            total += values[tree.tree_.apply(thin)]
        return total / len(self.values)


def _values_by_size(tree: Any, sizes: NDArray[np.intp]) -> Floats:
    """Return, for each node and size, the value of its closest ancestor of that size."""
    values = np.repeat(tree.value[:, 0, :], len(sizes), axis=1)
    level = np.array([0])
    while len(level):
        parents = level[tree.children_left[level] >= 0]
        sides = tree.children_left[parents], tree.children_right[parents]
        for children in sides:
            small = tree.n_node_samples[children][:, None] < sizes
            values[children] = np.where(small, values[parents], values[children])
        level = np.concatenate(sides)
    return values


def _as_float32(X: Floats) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # as good as infinite for a threshold
        return np.ascontiguousarray(X, dtype=np.float32)


class Committee:
    """One model per fold; together they predict, alone each predicts the fold it has not seen.

    Parameters
    ----------
    fit_model : callable
        ``fit_model(X, z, weight, train, held_out, seed)`` returns a fitted regressor.
    folds : list of (train, held_out)
        Index arrays.
    seed : int
        For the models.
    """

    def __init__(
        self, fit_model: Callable[..., Any], folds: list[tuple[Rows, Rows]], seed: int
    ) -> None:
        self.fit_model = fit_model
        self.folds = folds
        self.seed = seed

    def fit(self, X: Floats, z: Floats, weight: Floats) -> Self:
        """Fit a model on the training rows of each fold."""
        self.models = [
            self.fit_model(X, z, weight, train, held_out, self.seed)
            if z[train].any()
            else DummyRegressor().fit(X[train], z[train])  # no loss here, nothing to learn
            for train, held_out in self.folds
        ]
        self.fold_of = np.empty(len(z), dtype=np.intp)
        for k, (_, held_out) in enumerate(self.folds):
            self.fold_of[held_out] = k
        return self

    def held_out(self, X: Floats, rows: Rows) -> Floats:
        """Return the prediction of each row by the model that has not seen it."""
        predictions = np.empty((len(rows), 1))
        for k, model in enumerate(self.models):
            mine = np.flatnonzero(self.fold_of[rows] == k)
            if len(mine):
                predictions[mine, 0] = _finite(model, X[rows[mine]])
        return predictions

    def blend(self, shares: Floats) -> None:
        """Take the share of the prediction; forget what only fitting needs."""
        self.share = float(shares[0])
        del self.folds, self.fold_of
        if not self.share:
            self.models = []

    def predict(self, X: Floats, top: float) -> Floats:
        """Return the share of the prediction that comes from the models."""
        total = np.zeros(len(X))
        for model in self.models:
            total += np.clip(_finite(model, X), 0, top)
        return self.share * total / max(1, len(self.models))


def _finite(model: Any, X: Floats) -> Floats:
    """Return predictions; far from the data a log-linear model may reach infinity."""
    with np.errstate(over="ignore"):
        return np.nan_to_num(model.predict(X))


def fit_boosting(
    X: Floats, z: Floats, weight: Floats, train: Rows, held_out: Rows, seed: int
) -> Any:
    """Fit boosting under the Poisson deviance, stopped early by the rows held out."""
    known = X[train]
    known[:, np.isnan(known).all(axis=0)] = 0.0  # scikit-learn finds no bins for an empty column
    if not z[held_out].any():  # the deviance of rows without any loss cannot tell when to stop
        model = HistGradientBoostingRegressor(loss="poisson", max_iter=30, random_state=seed)
        return model.fit(known, z[train], weight[train])
    model = HistGradientBoostingRegressor(
        loss="poisson",
        max_bins=min(255, max(2, len(train))),  # a column has no more values: room for no more
        max_iter=300,
        min_samples_leaf=max(20, len(train) // LEAVES),
        early_stopping=True,
        random_state=seed,
    )
    weights = {"sample_weight": weight[train], "sample_weight_val": weight[held_out]}
    if np.ptp(weight) == 0:
        weights = {}  # the quantiles of weighted rows are slow to find
    return model.fit(known, z[train], X_val=X[held_out], y_val=z[held_out], **weights)


def fit_log_linear(
    X: Floats, z: Floats, weight: Floats, train: Rows, held_out: Rows, seed: int
) -> Any:
    """Fit a log-linear model under the Poisson deviance."""
    from sklearn.impute import SimpleImputer  # not loaded by `import sklearn.ensemble`

    if len(train) > LINEAR_ROWS:
        train = np.random.default_rng(seed).choice(train, LINEAR_ROWS, replace=False)

    model = make_pipeline(
        SimpleImputer(keep_empty_features=True),
        StandardScaler(),
        PoissonRegressor(
            alpha=0.01, solver="newton-cholesky" if X.shape[1] <= NEWTON_COLUMNS else "lbfgs"
        ),
    )
    with config_context(enable_metadata_routing=False), warnings.catch_warnings():
        # One that has not converged is judged on held-out rows like any other.
        warnings.simplefilter("ignore")
        return model.fit(X[train], z[train], poissonregressor__sample_weight=weight[train])
