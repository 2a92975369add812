"""Plug-in risks of the paper's predictors, and the same forest on both sides of the contrast.

The distribution of Y given x does not depend on the predictor. So it is fitted once on the rows
that the paper's split leaves for the risk, and serves all predictors (`SharedDistribution`).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from condrisk.learners import DistributionRegressor
from condrisk.paper.rwr._fingerprint import fingerprint
from condrisk.paper.rwr._methods import MLP, SEED, PaperSplit, make_model, make_pair
from condrisk.paper.rwr._plug_in._names import (
    FOREST,
    FOREST_ON_MORE,
    FOREST_PLUG_IN,
    HYBRID,
    PLUG_IN,
    PLUG_IN_METHODS,
)
from condrisk.risk import HybridRisk, PlugInRisk

Floats = NDArray[np.float64]

# What was fitted last, by settings and rows: a fold has two distributions.
_N_KEPT = 2
_kept: dict[str, dict[str, Any]] = {}


class SharedDistribution(DistributionRegressor):
    """A `DistributionRegressor` that is not fitted again on the rows that it was fitted on last."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit it, or take over what an equal one was fitted to."""
        key = fingerprint((self, X, y, sample_weight, groups))
        if key not in _kept:
            super().fit(X, y, sample_weight, groups=groups)
            while len(_kept) >= _N_KEPT:
                del _kept[next(iter(_kept))]
            _kept[key] = dict(vars(self))
        self.__dict__.update(_kept[key])
        return self


class InformedRegressionRisk(BaseEstimator):
    """Losses regressed on the row x, the prediction f, the mean m and (f − m)².

    Parameters
    ----------
    predictor : FrozenEstimator
        The fitted regressor whose squared error is wanted; the study fits and freezes it.
    distribution : DistributionRegressor
        Whose mean m is; held-out answers on the rows of the fit.
    regressor : regressor
        What learns the losses.
    cv : cross-validation splitter or None, default=None
        How the study splits the rows between predictor and risk.
    """

    def __init__(
        self, predictor: Any, *, distribution: Any, regressor: Any, cv: Any = None
    ) -> None:
        self.predictor = predictor
        self.distribution = distribution
        self.regressor = regressor
        self.cv = cv

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Fit the distribution, then the losses, on rows that the predictor has not seen."""
        self.distribution_ = clone(self.distribution).fit(X, y, groups=groups)
        f = self.predict(X)
        inputs = _informed(X, f, self.distribution_.held_out_.mean)
        self.regressor_ = clone(self.regressor).fit(inputs, (y - f) ** 2)
        return self

    def predict(self, X: Any) -> Floats:
        """Return what the predictor says."""
        return self.predictor.predict(X)

    def predict_risk(self, X: Any) -> Floats:
        """Return the squared error to expect."""
        return self.regressor_.predict(_informed(X, self.predict(X), self.distribution_.predict(X)))

    def loss_values(self, X: Any, y: Any) -> Floats:
        """Return the squared errors."""
        return (y - self.predict(X)) ** 2


def _informed(X: Floats, f: Floats, m: Floats) -> Floats:
    return np.column_stack([X, f, m, (f - m) ** 2])


def make_plug_in_methods(*, mlp: MLP) -> dict[str, Any]:
    """Return what the page compares, not fitted: the paper's pairs with a forest, then ours."""
    return {name: _make_method(name, mlp=mlp) for name in PLUG_IN_METHODS}


def _make_method(name: str, *, mlp: MLP) -> Any:
    model, calibrator = name.split("+")
    if calibrator == FOREST:
        return make_pair(name, mlp=mlp)
    predictor, split = make_model(model, mlp=mlp), PaperSplit()
    forest = make_model(FOREST, mlp=mlp)
    forests = SharedDistribution(forest, forest, random_state=SEED)
    if calibrator == FOREST_ON_MORE:
        return InformedRegressionRisk(predictor, distribution=forests, regressor=forest, cv=split)
    kind = {PLUG_IN: PlugInRisk, FOREST_PLUG_IN: PlugInRisk, HYBRID: HybridRisk}[calibrator]
    return kind(
        predictor,
        loss="squared_error",
        distribution=(
            forests if calibrator == FOREST_PLUG_IN else SharedDistribution(random_state=SEED)
        ),
        cv=split,
        refit=False,
        random_state=SEED,
    )
