"""Estimators of conditional risk: g(x) = E[ℓ(f(X), Y) | X = x]."""

from condrisk._walk import loss_values, predict_risk
from condrisk.risk._base import BaseRisk
from condrisk.risk._hybrid import HybridRisk
from condrisk.risk._loss_regressor import LossRegressor
from condrisk.risk._mlp import LockstepMLPRegressor
from condrisk.risk._plugin import PlugInRisk
from condrisk.risk._regression import RegressionRisk

__all__ = [
    "BaseRisk",
    "HybridRisk",
    "LockstepMLPRegressor",
    "LossRegressor",
    "PlugInRisk",
    "RegressionRisk",
    "loss_values",
    "predict_risk",
]
