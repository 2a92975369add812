"""Estimators of conditional risk: g(x) = E[ℓ(f(X), Y) | X = x]."""

from typing import TYPE_CHECKING

from condrisk._later import import_later
from condrisk._walk import loss_values, predict_risk
from condrisk.risk._base import BaseRisk
from condrisk.risk._loss_regressor import LossRegressor
from condrisk.risk._plugin import PlugInRisk
from condrisk.risk._regression import RegressionRisk

if TYPE_CHECKING:
    from condrisk.risk._auto import AutoRisk
    from condrisk.risk._hybrid import HybridRisk
    from condrisk.risk._mlp import LockstepMLPRegressor
    from condrisk.risk._returning import feedback_weights, refit_risk
    from condrisk.risk._shift import ShiftWeights, effective_sample_size
    from condrisk.risk._stack import StackedClassifier, StackedRegressor
    from condrisk.risk._support import DistanceSupport, ForestSupport


__getattr__ = import_later(
    __name__,
    {
        "AutoRisk": "condrisk.risk._auto",
        "DistanceSupport": "condrisk.risk._support",
        "ForestSupport": "condrisk.risk._support",
        "HybridRisk": "condrisk.risk._hybrid",
        "LockstepMLPRegressor": "condrisk.risk._mlp",
        "ShiftWeights": "condrisk.risk._shift",
        "StackedClassifier": "condrisk.risk._stack",
        "StackedRegressor": "condrisk.risk._stack",
        "effective_sample_size": "condrisk.risk._shift",
        "feedback_weights": "condrisk.risk._returning",
        "refit_risk": "condrisk.risk._returning",
    },
)

__all__ = [
    "AutoRisk",
    "BaseRisk",
    "DistanceSupport",
    "ForestSupport",
    "HybridRisk",
    "LockstepMLPRegressor",
    "LossRegressor",
    "PlugInRisk",
    "RegressionRisk",
    "ShiftWeights",
    "StackedClassifier",
    "StackedRegressor",
    "effective_sample_size",
    "feedback_weights",
    "loss_values",
    "predict_risk",
    "refit_risk",
]


def __dir__() -> list[str]:
    return __all__
