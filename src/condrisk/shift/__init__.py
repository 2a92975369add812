"""Rows unlike those that were learnt from: weights, support, and labels that come back."""

from condrisk.shift._feedback import feedback_weights, refit_risk
from condrisk.shift._support import DistanceSupport, ForestSupport
from condrisk.shift._weights import ShiftWeights, effective_sample_size

__all__ = [
    "DistanceSupport",
    "ForestSupport",
    "ShiftWeights",
    "effective_sample_size",
    "feedback_weights",
    "refit_risk",
]
