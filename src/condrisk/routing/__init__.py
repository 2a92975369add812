"""Which of several models answers a row: the cheapest that is good enough.

`ModelRouter` learns the expected loss of every model at every row, and takes for each row the
cheapest model that meets a target, the best within a budget, or the one of least risk and cost.
`routing_curve` and `routing_figures` measure it on held-out rows.
"""

from condrisk.routing._curve import RoutingCurve, routing_curve
from condrisk.routing._decision import RoutingDecision
from condrisk.routing._figures import RoutingFigure, RoutingFigures, routing_figures
from condrisk.routing._router import HeldOutRisks, ModelRouter

__all__ = [
    "HeldOutRisks",
    "ModelRouter",
    "RoutingCurve",
    "RoutingDecision",
    "RoutingFigure",
    "RoutingFigures",
    "routing_curve",
    "routing_figures",
]
