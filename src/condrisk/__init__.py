"""Conditional risk of any predictor: the expected loss at this very input, and what to do about it.

`RegressionRisk` and `PlugInRisk` estimate g(x) = E[ℓ(f(X), Y) | X = x] and add it to a predictor
as one more method, `predict_risk`. `Deferral` acts on it: accept the prediction, or ask somebody
who knows better. `condrisk.metrics`, `condrisk.plots` and `condrisk.datasets` measure it, show it
and try it.
"""

from typing import TYPE_CHECKING

from condrisk._later import import_later
from condrisk.deferral import BudgetRule, CostRule, Decision, Deferral
from condrisk.losses import huber, make_loss, pinball
from condrisk.risk import PlugInRisk, RegressionRisk, predict_risk

if TYPE_CHECKING:
    from condrisk.deferral import ExpertRule, RiskControlRule
    from condrisk.risk import AutoRisk, HybridRisk

__version__ = "0.1.0.dev0"

__getattr__ = import_later(
    __name__,
    {
        "AutoRisk": "condrisk.risk",
        "ExpertRule": "condrisk.deferral",
        "HybridRisk": "condrisk.risk",
        "RiskControlRule": "condrisk.deferral",
    },
)

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
