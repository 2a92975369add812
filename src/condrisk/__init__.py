"""Conditional risk of any predictor: the expected loss at this very input, and what to do about it.

`RegressionRisk`, `PlugInRisk`, `HybridRisk` and `AutoRisk` estimate g(x) = E[ℓ(f(X), Y) | X = x]
and add it to a predictor as one more method, `predict_risk`. `Deferral` acts on it: accept the
prediction, or defer to an expert. `condrisk.metrics`, `condrisk.plots` and `condrisk.datasets`
measure it, show it and try it.
"""

from typing import TYPE_CHECKING

from condrisk._later import import_later

if TYPE_CHECKING:
    from condrisk.deferral import (
        BudgetRule,
        CostRule,
        Decision,
        Deferral,
        ExpertRule,
        RiskControlRule,
    )
    from condrisk.losses import huber, make_loss, pinball
    from condrisk.risk import AutoRisk, HybridRisk, PlugInRisk, RegressionRisk, predict_risk

__version__ = "0.1.0"

# Loaded when first used: `condrisk --version` has no use for scikit-learn.
_ROOMS = {
    "condrisk.deferral": (
        "BudgetRule",
        "CostRule",
        "Decision",
        "Deferral",
        "ExpertRule",
        "RiskControlRule",
    ),
    "condrisk.losses": ("huber", "make_loss", "pinball"),
    "condrisk.risk": ("AutoRisk", "HybridRisk", "PlugInRisk", "RegressionRisk", "predict_risk"),
}

__getattr__ = import_later(__name__, {name: room for room in _ROOMS for name in _ROOMS[room]})

__all__ = [
    "AutoRisk",
    "BudgetRule",
    "CostRule",
    "Decision",
    "Deferral",
    "ExpertRule",
    "HybridRisk",
    "PlugInRisk",
    "RegressionRisk",
    "RiskControlRule",
    "huber",
    "make_loss",
    "pinball",
    "predict_risk",
]


def __dir__() -> list[str]:
    return __all__
