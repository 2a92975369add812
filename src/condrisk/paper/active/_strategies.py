"""The ways to choose, all of them from the same candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator

from condrisk import PlugInRisk, RegressionRisk
from condrisk.active import GainSampler, RiskSampler, k_center
from condrisk.learners import DistributionRegressor
from condrisk.paper.active._predictor import KernelProcess
from condrisk.paper.active._settings import CANDIDATES, GAP_FOLDS, LEAF, TREES

Floats = NDArray[np.float64]


class LeftOutRisk(BaseEstimator):
    """Risk of a fitted process: its losses on rows left out, regressed by a small forest.

    Squared errors for numbers; for classes the chance of being wrong, from the row and its
    probabilities.
    """

    def __init__(self, process: Any, *, random_state: Any = None) -> None:
        self.process = process
        self.random_state = random_state

    def fit(self, X: Floats, y: NDArray[Any]) -> Self:
        """Regress the losses on rows left out."""
        forest = RandomForestRegressor(TREES, min_samples_leaf=LEAF, random_state=self.random_state)
        classes = self.process.n_classes is not None
        if classes:
            # Losses themselves: a class may be absent from the rows that are labelled.
            wrong = (self.process.left_out_.argmax(axis=1) != y).astype(float)
            inputs = np.hstack([X, self.process.left_out_])
            self.risk_ = RegressionRisk("precomputed", regressor=forest).fit(inputs, loss=wrong)
        else:
            self.risk_ = RegressionRisk("precomputed", regressor=forest, loss="squared_error")
            self.risk_.fit(X, y, prediction=self.process.left_out_)
        return self

    def predict_risk(self, X: Floats) -> Floats:
        """Return the estimated risk of each row."""
        if self.process.n_classes is not None:
            X = np.hstack([X, self.process.response(X)])
        return self.risk_.predict_risk(X)


class BrierRisk(BaseEstimator):
    """The plug-in risk under the Brier score: what a process says about itself."""

    def __init__(self, process: Any) -> None:
        self.process = process

    def fit(self, X: Floats, y: NDArray[Any]) -> Self:
        """Do nothing: there is nothing to learn."""
        self.fitted_ = True
        return self

    def predict_risk(self, X: Floats) -> Floats:
        """Return 1 − Σ p²."""
        return 1.0 - np.square(self.process.response(X)).sum(axis=1)


class Response(RegressorMixin, BaseEstimator):
    """What a fitted process says as a number: for two classes, the probability of the second."""

    def __init__(self, process: Any) -> None:
        self.process = process

    def fit(self, X: Floats, y: NDArray[Any]) -> Self:
        """Do nothing: the process is fitted."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Floats) -> Floats:
        """Return the number."""
        found = self.process.response(X)
        return found if found.ndim == 1 else found[:, 1]


class Round:
    """What is known when rows are to be chosen: labels so far, a fitted process, candidates."""

    def __init__(
        self, X: Floats, y: NDArray[Any], process: KernelProcess, pool: Floats, seed: int
    ) -> None:
        self.X, self.y, self.process, self.pool, self.seed = X, y, process, pool, seed

    @property
    def frozen(self) -> Any:
        """The fitted process, for samplers that would fit it again."""
        return FrozenEstimator(self.process)

    @property
    def squared_risk(self) -> Any:
        """An estimate of the risk on the scale of the process: squared error, or Brier score."""
        if self.process.n_classes is None:
            return LeftOutRisk(self.process, random_state=self.seed)
        return BrierRisk(self.process)


def _random(state: Round, batch: int) -> NDArray[np.intp]:
    rng = np.random.default_rng(state.seed)
    return rng.choice(len(state.pool), batch, replace=False)


def _core_set(state: Round, batch: int) -> NDArray[np.intp]:
    return k_center(state.pool, batch, labelled=state.X)


def _uncertainty(state: Round, batch: int) -> NDArray[np.intp]:
    if state.process.n_classes is None:
        value = state.process.variance(state.pool)
    else:
        proba = state.process.response(state.pool)
        value = -(proba * np.log(proba)).sum(axis=1)
    return np.argsort(-value, kind="stable")[:batch]


def _risk(diversity: Any) -> Callable[[Round, int], NDArray[np.intp]]:
    def choose(state: Round, batch: int) -> NDArray[np.intp]:
        # A fitted process in it: cloned, it would be fitted no more.
        risk = FrozenEstimator(
            LeftOutRisk(state.process, random_state=state.seed).fit(state.X, state.y)
        )
        sampler = RiskSampler(risk, batch_size=batch, diversity=diversity, random_state=state.seed)
        return sampler.fit(state.X, state.y).query(state.pool)

    return choose


def _gain(split: Any) -> Callable[[Round, int], NDArray[np.intp]]:
    def choose(state: Round, batch: int) -> NDArray[np.intp]:
        options: dict[str, Any] = {}
        if split is not None:
            risk = state.squared_risk.fit(state.X, state.y)
            options = {"risk": FrozenEstimator(risk), "split": split}
        sampler = GainSampler(
            state.frozen,
            batch_size=batch,
            max_candidates=CANDIDATES,
            random_state=state.seed,
            **options,
        )
        return sampler.fit(state.X, state.y).query(state.pool)

    return choose


def _gap(state: Round, batch: int) -> NDArray[np.intp]:
    # The variance is in the floor only, which this choice leaves out: any will do.
    law = DistributionRegressor(variance=DummyRegressor(), cv=GAP_FOLDS, random_state=state.seed)
    risk = PlugInRisk(FrozenEstimator(Response(state.process)), distribution=law)
    sampler = RiskSampler(
        risk, by="gap", batch_size=batch, diversity="proportional", random_state=state.seed
    )
    return sampler.fit(state.X, state.y.astype(float)).query(state.pool)


STRATEGIES: dict[str, Callable[[Round, int], NDArray[np.intp]]] = {
    "random": _random,
    "core-set": _core_set,
    "uncertainty": _uncertainty,
    "risk-k-center": _risk("k-center"),
    "risk-proportional": _risk("proportional"),
    "gain": _gain(None),
    "gain-excess": _gain("excess"),
    "gain-share": _gain("share"),
    "gap": _gap,
}
