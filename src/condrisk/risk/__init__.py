"""Estimators of conditional risk: g(x) = E[ℓ(f(X), Y) | X = x]."""

from condrisk._delegate import loss_values, predict_risk
from condrisk.risk._as_regressor import RiskAsRegressor
from condrisk.risk._auto import AutoRisk
from condrisk.risk._base import BaseRisk
from condrisk.risk._hybrid import HybridRisk
from condrisk.risk._multicalibrated import MulticalibratedRisk
from condrisk.risk._plugin import PlugInRisk
from condrisk.risk._regression import RegressionRisk

__all__ = [
    "AutoRisk",
    "BaseRisk",
    "HybridRisk",
    "MulticalibratedRisk",
    "PlugInRisk",
    "RegressionRisk",
    "RiskAsRegressor",
    "loss_values",
    "predict_risk",
]
