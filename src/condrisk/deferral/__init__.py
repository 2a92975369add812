"""Rules that turn a risk into a decision, and the model that carries them."""

from condrisk.deferral._decision import Decision
from condrisk.deferral._deferral import Deferral
from condrisk.deferral._rules import BudgetRule, CostRule

__all__ = ["BudgetRule", "CostRule", "Decision", "Deferral"]
