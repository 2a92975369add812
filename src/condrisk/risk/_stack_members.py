"""The models of a stack: each fits, and predicts with a deviation where it has one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol, Self

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

from condrisk.risk._gaussian_process import GaussianProcess

Floats = NDArray[np.float64]
Prediction = tuple[Floats, Floats | None]

# A Gaussian process on more rows than this is fitted on so many of them: its matrix is n × n.
MOST_PROCESS_ROWS = 6000
# Scores further out than this are as good as infinite, and no length scale fits them.
FAR_OUT = 5.0


class Member(Protocol):
    """A model of a stack."""

    def fit(self, X: Floats, y: Floats, weight: Floats) -> Self:
        """Fit it on weighted rows."""

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


class Plain:
    """A scikit-learn regressor.

    Parameters
    ----------
    model : regressor
        What to fit.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def fit(self, X: Floats, y: Floats, weight: Floats) -> Self:
        """Fit it; weights that are all alike are none."""
        self._fill = _Filled(X)
        weights = {} if np.ptp(weight) == 0 else {self._weight_name(): weight}
        self._model.fit(self._fill(X), y, **weights)
        return self

    def predict(self, X: Floats) -> Prediction:
        """Return predictions; it has no deviations."""
        return self._model.predict(self._fill(X)), None

    def _weight_name(self) -> str:
        steps = getattr(self._model, "steps", None)
        return "sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight"


class Probable(Plain):
    """A scikit-learn classifier, which answers with probabilities."""

    def predict(self, X: Floats) -> Prediction:
        """Return class probabilities; it has no deviations."""
        return self._model.predict_proba(self._fill(X)), None


class Process:
    """A Gaussian process on the rows and their Yeo-Johnson scores, side by side; no weights.

    Length scales tell the better of the two for each feature.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def fit(self, X: Floats, y: Floats, weight: Floats) -> Self:
        """Fit it on at most `MOST_PROCESS_ROWS` rows."""
        self._fill = _Filled(X)
        if len(X) > MOST_PROCESS_ROWS:
            rows = np.random.RandomState(self._seed).permutation(len(X))[:MOST_PROCESS_ROWS]
            X, y = X[rows], y[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self._scores = PowerTransformer().fit(self._fill(X))
        self._process = GaussianProcess(self._seed).fit(self._seen(X), y)
        return self

    def predict(self, X: Floats) -> Prediction:
        """Return predictions and deviations."""
        return self._process.predict(self._seen(X))

    def _seen(self, X: Floats) -> Floats:
        X = self._fill(X)
        scores = np.nan_to_num(self._scores.transform(X))
        return np.column_stack([X, np.clip(scores, -FAR_OUT, FAR_OUT)])


def _ridge(seed: int) -> Member:
    return Plain(make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))))


def _trees(seed: int) -> Member:
    return Plain(ExtraTreesRegressor(100, random_state=seed))


def _boosting(seed: int) -> Member:
    return Plain(
        HistGradientBoostingRegressor(
            max_iter=300,
            learning_rate=0.1,
            max_leaf_nodes=8,
            min_samples_leaf=5,
            max_features=0.5,
            early_stopping=False,
            random_state=seed,
        )
    )


def _logistic(seed: int) -> Member:
    return Probable(make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)))


def _class_trees(seed: int) -> Member:
    return Probable(ExtraTreesClassifier(200, min_samples_leaf=2, random_state=seed))


def _class_boosting(seed: int) -> Member:
    return Probable(
        HistGradientBoostingClassifier(
            max_iter=100, learning_rate=0.08, max_leaf_nodes=15, random_state=seed
        )
    )


# In the order in which a budget is spent.
REGRESSORS: dict[str, Factory] = {
    "ridge": _ridge,
    "trees": _trees,
    "boosting": _boosting,
    "process": Process,
}
CLASSIFIERS: dict[str, Factory] = {
    "logistic": _logistic,
    "trees": _class_trees,
    "boosting": _class_boosting,
}
