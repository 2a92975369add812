"""Rules that turn a risk into a decision, and the model that carries them."""

from typing import TYPE_CHECKING

from condrisk._later import import_later
from condrisk.deferral._decision import Decision
from condrisk.deferral._deferral import Deferral
from condrisk.deferral._rules import BudgetRule, CostRule

if TYPE_CHECKING:
    from condrisk.deferral._cascade import Cascade
    from condrisk.deferral._cascade_decision import CascadeDecision
    from condrisk.deferral._expert import ExpertRule, ExpertStream
    from condrisk.deferral._expert_risk import ExpertRisk, denoised_risk
    from condrisk.deferral._exploring import ExploringRule
    from condrisk.deferral._rate_control import RateControlRule
    from condrisk.deferral._risk_control import RiskControlRule
    from condrisk.deferral._support_rule import SupportRule


__getattr__ = import_later(
    __name__,
    {
        "Cascade": "condrisk.deferral._cascade",
        "CascadeDecision": "condrisk.deferral._cascade_decision",
        "ExpertRisk": "condrisk.deferral._expert_risk",
        "ExpertRule": "condrisk.deferral._expert",
        "ExpertStream": "condrisk.deferral._expert",
        "ExploringRule": "condrisk.deferral._exploring",
        "RateControlRule": "condrisk.deferral._rate_control",
        "RiskControlRule": "condrisk.deferral._risk_control",
        "SupportRule": "condrisk.deferral._support_rule",
        "denoised_risk": "condrisk.deferral._expert_risk",
    },
)

__all__ = [
    "BudgetRule",
    "Cascade",
    "CascadeDecision",
    "CostRule",
    "Decision",
    "Deferral",
    "ExpertRisk",
    "ExpertRule",
    "ExpertStream",
    "ExploringRule",
    "RateControlRule",
    "RiskControlRule",
    "SupportRule",
    "denoised_risk",
]


def __dir__() -> list[str]:
    return __all__
