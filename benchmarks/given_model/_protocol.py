"""The two protocols: who learns from which rows, and which rows are judged.

"cross-fitted"
    A quarter of the rows to test on, by ``train_test_split(test_size=0.25, random_state=split)``.
    Predictor and risk learn from the rest, through five folds.
"paper"
    The paper's ten folds. Of the nine tenths to train on, 5/9 are for the predictor, which is then
    frozen, and 4/9 for its risk.

All predictors have ``random_state=0``. "stack" is `StackedRegressor`, which is also the mean of the
default distribution: there only the variance can help.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from benchmarks.given_model._sets import Data, standardised
from condrisk._crossfit import make_splits
from condrisk.datasets import load_uci
from condrisk.learners import StackedRegressor
from condrisk.paper.rwr import PaperSplit

Floats = NDArray[np.float64]

SEED = 0
N_FOLDS = 5
TEST_SHARE = {"cross-fitted": 0.25, "paper": 0.1}
N_SPLITS = {"cross-fitted": 20, "paper": 10}
PREDICTORS: dict[str, Any] = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(random_state=SEED),
    "boosting": HistGradientBoostingRegressor(random_state=SEED),
    "stack": StackedRegressor(random_state=SEED),
}


class Case(NamedTuple):
    """One split of a set: rows for the risk, rows to test on, and, if frozen, those of f."""

    X: Floats
    y: NDArray[Any]
    X_test: Floats
    y_test: NDArray[Any]
    rows_of_f: tuple[Floats, NDArray[Any]] | None = None


def cross_fitted(data: Data, split: int) -> Case:
    """Return a split of which predictor and risk share the rows to learn from."""
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=TEST_SHARE["cross-fitted"], random_state=split
    )
    return Case(X, y, X_test, y_test)


def paper(name: str, fold: int) -> Case:
    """Return one of the paper's folds."""
    uci = load_uci(name, folds="paper")
    X, y = uci.data, standardised(uci.target)
    train, test = uci.folds[fold]
    [(fit, held_out)] = PaperSplit().split(train)
    own, others = train[fit], train[held_out]
    return Case(X[others], y[others], X[test], y[test], (X[own], y[own]))


class Given:
    """A predictor whose risk is wanted, and what it answers to rows that it was not fitted on.

    Parameters
    ----------
    case : Case
        The split.
    predictor : estimator
        Not fitted.
    """

    def __init__(self, case: Case, predictor: Any) -> None:
        self.case = case
        self._plain = predictor

    @cached_property
    def predictor(self) -> Any:
        """What is given to a risk estimator: to be cross-fitted, or frozen."""
        if self.case.rows_of_f is None:
            return clone(self._plain)
        return FrozenEstimator(clone(self._plain).fit(*self.case.rows_of_f))

    @cached_property
    def held_out(self) -> NDArray[Any]:
        """Predictions of the rows for the risk, on the folds that risk estimators use."""
        X, y = self.case.X, self.case.y
        if self.case.rows_of_f is not None:
            return self.predictor.predict(X)
        found = np.empty(len(y), dtype=y.dtype)
        for train, test in make_splits(
            N_FOLDS, X, y, classifier=False, groups=None, random_state=SEED
        ):
            found[test] = clone(self._plain).fit(X[train], y[train]).predict(X[test])
        return found

    @cached_property
    def test(self) -> NDArray[Any]:
        """Predictions of the rows to test on."""
        if self.case.rows_of_f is not None:
            return self.predictor.predict(self.case.X_test)
        return clone(self._plain).fit(self.case.X, self.case.y).predict(self.case.X_test)
