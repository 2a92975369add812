"""Estimators of conditional risk: g(x) = E[ℓ(f(X), Y) | X = x]."""

from condrisk._walk import loss_values, predict_risk
from condrisk.risk._auto import AutoRisk
from condrisk.risk._base import BaseRisk
from condrisk.risk._hybrid import HybridRisk
from condrisk.risk._loss_regressor import LossRegressor
from condrisk.risk._mlp import LockstepMLPRegressor
from condrisk.risk._plugin import PlugInRisk
from condrisk.risk._regression import RegressionRisk
from condrisk.risk._returning import feedback_weights, refit_risk
from condrisk.risk._shift import ShiftWeights, effective_sample_size
from condrisk.risk._stack import StackedClassifier, StackedRegressor
from condrisk.risk._support import DistanceSupport, ForestSupport

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
