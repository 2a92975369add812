"""The models of a stack: each fits, and predicts with a deviation where it has one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from condrisk._budget import ROWS_PER_TREE, TRIAL_ROWS, Clock, timed
from condrisk._crossfit import Split, respond
from condrisk.learners._gaussian_process import GaussianProcess

Floats = NDArray[np.float64]
Prediction = tuple[Floats, Floats | None]

# A Gaussian process on more rows than this is fitted on so many of them: its matrix is n × n.
MOST_PROCESS_ROWS = 6000
# Scores further out than this are as good as infinite, and no length scale fits them.
FAR_OUT = 5.0
# Fewer rows than this take no time that is worth an estimate.
FEWEST_TRIAL_ROWS = 100


class Folds(NamedTuple):
    """The folds of a stack, and whether rows may be left out one by one instead.

    Attributes
    ----------
    splits : list of (train, test)
        Rows of each fold.
    fold : ndarray of shape (n_rows,)
        The fold in which each row is held out.
    leave_one_out : bool
        Whether rows are independent, so that holding out a row by itself is enough.
    """

    splits: list[Split]
    fold: NDArray[np.intp]
    leave_one_out: bool


class Member(Protocol):
    """A model of a stack."""

    def fit(self, X: Floats, y: NDArray[Any], weight: Floats, folds: Folds) -> Prediction:
        """Fit it on weighted rows; return predictions for rows that were held out."""

    def predict(self, X: Floats) -> Prediction:
        """Return predictions, and standard deviations or None."""


Factory = Callable[[int], Member]


class _Filled:
    """Puts the median of a feature where a value is missing."""

    def __init__(self, X: Floats) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a feature without any value
            self._medians = np.nan_to_num(np.nanmedian(X, axis=0))

    def __call__(self, X: Floats) -> Floats:
        missing = np.isnan(X)
        return np.where(missing, self._medians, X) if missing.any() else X


class Averaged:
    """Scikit-learn regressors, one for each fold, fitted on the others; their average predicts.

    As good as one that is fitted on all rows again, or better, and no further fit.

    Parameters
    ----------
    make : callable
        Returns a regressor, given its seed.
    seed : int
        Each fold has a seed of its own.
    """

    def __init__(self, make: Callable[[int], Any], seed: int) -> None:
        self._make, self._seed = make, seed

    def fit(self, X: Floats, y: NDArray[Any], weight: Floats, folds: Folds) -> Prediction:
        """Fit one on the rows outside each fold; weights that are all alike are none."""
        self._fill = _Filled(X)
        X, weighted = self._fill(X), np.ptp(weight) > 0
        self._n_classes = int(y.max()) + 1 if y.dtype.kind == "i" else 0
        self._models, parts = [], []
        for k, (train, test) in enumerate(folds.splits):
            model = self._make((self._seed + k) % 2**31)
            weights = {_weight_name(model): weight[train]} if weighted else {}
            self._models.append(model.fit(X[train], y[train], **weights))
            parts.append(self._respond(model, X[test]))
        del self._make  # it has done its work, and files of models hold no functions
        order = np.argsort(np.concatenate([test for _, test in folds.splits]))
        return np.concatenate(parts)[order], None

    def predict(self, X: Floats) -> Prediction:
        """Return the average prediction; it has no deviations."""
        X = self._fill(X)
        return np.mean([self._respond(model, X) for model in self._models], axis=0), None

    def _respond(self, model: Any, X: Floats) -> Floats:
        return model.predict(X)


class AveragedClasses(Averaged):
    """Scikit-learn classifiers, whose probabilities are averaged."""

    def _respond(self, model: Any, X: Floats) -> Floats:
        # A fold may lack a class that has a single row.
        return respond(model, X, "predict_proba", classes=np.arange(self._n_classes))


class Process:
    """A Gaussian process on the rows and their Yeo-Johnson scores, side by side; no weights.

    Length scales tell the better of the two for each feature.

    Parameters
    ----------
    smoothness : {0.5, 1.5}
        Of its kernel.
    seed : int
        Picks rows.
    """

    def __init__(self, smoothness: float, seed: int) -> None:
        self._smoothness, self._seed = smoothness, seed

    def fit(self, X: Floats, y: NDArray[Any], weight: Floats, folds: Folds) -> Prediction:
        """Fit it on at most `MOST_PROCESS_ROWS` rows; the others are new to it."""
        self._fill = _Filled(X)
        order = np.random.RandomState(self._seed).permutation(len(X))
        known, new = np.sort(order[:MOST_PROCESS_ROWS]), order[MOST_PROCESS_ROWS:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self._scores = PowerTransformer().fit(self._fill(X[known]))
        self._process = GaussianProcess(self._seed, self._smoothness)
        self._process.fit(
            self._seen(X[known]), y[known], folds.fold[known], leave_one_out=folds.leave_one_out
        )
        mean, deviation = np.empty(len(X)), np.empty(len(X))
        mean[known], deviation[known] = self._process.held_out
        del self._process.held_out
        if len(new):
            mean[new], deviation[new] = self.predict(X[new])
        return mean, deviation

    def predict(self, X: Floats) -> Prediction:
        """Return predictions and deviations."""
        return self._process.predict(self._seen(X))

    def _seen(self, X: Floats) -> Floats:
        X = self._fill(X)
        scores = np.nan_to_num(self._scores.transform(X))
        return np.column_stack([X, np.clip(scores, -FAR_OUT, FAR_OUT)])


def _weight_name(model: Any) -> str:
    steps = getattr(model, "steps", None)
    return "sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight"


def _ridge(seed: int) -> Any:
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))


def _trees(seed: int) -> Any:
    return ExtraTreesRegressor(25, random_state=seed)


def _boosting(seed: int) -> Any:
    return HistGradientBoostingRegressor(
        max_iter=300,
        learning_rate=0.2,
        max_leaf_nodes=8,
        min_samples_leaf=5,
        max_features=0.5,
        early_stopping=False,
        random_state=seed,
    )


def _logistic(seed: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _class_trees(seed: int) -> Any:
    return ExtraTreesClassifier(80, min_samples_leaf=2, random_state=seed)


def _class_boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.08, max_leaf_nodes=15, random_state=seed
    )


def _small_trees(seed: int) -> Any:
    return ExtraTreesRegressor(
        25, min_samples_split=10, bootstrap=True, max_samples=ROWS_PER_TREE, random_state=seed
    )


def _small_class_trees(seed: int) -> Any:
    return ExtraTreesClassifier(
        25, min_samples_split=10, bootstrap=True, max_samples=ROWS_PER_TREE, random_state=seed
    )


class Maker(NamedTuple):
    """Makes a model of a stack, and tells what it will take.

    Attributes
    ----------
    make : callable
        Returns the model, given a seed.
    growth : float
        Its time grows as the rows to this power, or less.
    folds : bool
        Whether it is fitted once for each fold.
    """

    make: Factory
    growth: float
    folds: bool = True

    def ends_in_time(
        self, clock: Clock, X: Floats, y: NDArray[Any], weight: Floats, folds: Folds, seed: int
    ) -> bool:
        """Tell whether there is time to fit it, by what a fold of few rows takes."""
        if not clock.limited or not clock.left():
            return not clock.limited
        n, n_folds = len(y), len(folds.splits)
        rows = np.random.RandomState(seed).permutation(n)[: min(TRIAL_ROWS, n // 4)]
        if len(rows) < FEWEST_TRIAL_ROWS:
            return True
        fold = np.arange(len(rows)) % n_folds
        split = np.flatnonzero(fold > 0), np.flatnonzero(fold == 0)
        few = Folds([split], fold, folds.leave_one_out)
        took = timed(lambda: self.make(seed).fit(X[rows], y[rows], weight[rows], few))
        used = n if self.folds else min(n, MOST_PROCESS_ROWS)
        times = n_folds if self.folds else 1
        return clock.allows(took * times * (used / len(rows)) ** self.growth)


_RIDGE, _BOOSTING = Maker(partial(Averaged, _ridge), 1.0), Maker(partial(Averaged, _boosting), 0.6)
_LOGISTIC = Maker(partial(AveragedClasses, _logistic), 1.0)
_CLASS_BOOSTING = Maker(partial(AveragedClasses, _class_boosting), 0.6)
REGRESSORS = {
    "ridge": _RIDGE,
    "trees": Maker(partial(Averaged, _trees), 1.1),
    "boosting": _BOOSTING,
    "process": Maker(partial(Process, 1.5), 2.0, folds=False),
    "rough process": Maker(partial(Process, 0.5), 2.0, folds=False),
}
CLASSIFIERS = {
    "logistic": _LOGISTIC,
    "trees": Maker(partial(AveragedClasses, _class_trees), 1.1),
    "boosting": _CLASS_BOOSTING,
}
# For many rows: trees on some of them each, and no processes, which cannot use them.
MANY_ROWS_REGRESSORS = {
    "ridge": _RIDGE,
    "trees": Maker(partial(Averaged, _small_trees), 0.6),
    "boosting": _BOOSTING,
}
MANY_ROWS_CLASSIFIERS = {
    "logistic": _LOGISTIC,
    "trees": Maker(partial(AveragedClasses, _small_class_trees), 0.6),
    "boosting": _CLASS_BOOSTING,
}
# In this order a budget is spent: first what is fast, then what is strong.
SPENDING = ("ridge", "logistic", "boosting", "trees", "process", "rough process")
