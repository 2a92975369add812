"""Rules that turn a risk into a decision, and the model that carries them."""

from condrisk.deferral._batch_control import BatchControlRule
from condrisk.deferral._cascade import Cascade
from condrisk.deferral._cascade_decision import CascadeDecision
from condrisk.deferral._decision import Decision
from condrisk.deferral._deferral import Deferral
from condrisk.deferral._expert import ExpertRule, ExpertStream
from condrisk.deferral._expert_risk import ExpertRisk, denoised_risk
from condrisk.deferral._exploring import ExploringRule
from condrisk.deferral._rate_control import RateControlRule
from condrisk.deferral._risk_control import RiskControlRule
from condrisk.deferral._rules import BudgetRule, CostRule
from condrisk.deferral._support_rule import SupportRule

__all__ = [
    "BatchControlRule",
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
