"""Pictures of a risk: how it ranks, whether it is right, what it saves, and where it is large.

Each display has ``from_estimator(estimator, X, y)`` for a fitted risk estimator or `Deferral`,
``from_predictions(…)`` for arrays, and ``plot``, which draws on new axes or on those given as
`ax`. Needs matplotlib, which ``pip install "condrisk[plots]"`` brings along.
"""

from condrisk.plots._calibration import RiskCalibrationDisplay
from condrisk.plots._cost import CostCurveDisplay
from condrisk.plots._coverage import RiskCoverageDisplay
from condrisk.plots._profile import RiskProfileDisplay
from condrisk.plots._routing import RoutingCurveDisplay

__all__ = [
    "CostCurveDisplay",
    "RiskCalibrationDisplay",
    "RiskCoverageDisplay",
    "RiskProfileDisplay",
    "RoutingCurveDisplay",
]
