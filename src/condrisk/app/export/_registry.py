"""Which function adds the nodes of which class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from condrisk.app.export._errors import ExportError


class Registry:
    """Functions by the exact class of the part that they add to a graph.

    A subclass may compute something else, so that it is not found. Classes of packages that need
    not be installed go by their full name.

    Parameters
    ----------
    what : str
        What the parts are, for the message about one that is not known.
    hint : str
        What would be possible instead.
    """

    def __init__(self, what: str, hint: str) -> None:
        self._what, self._hint = what, hint
        self._known: dict[type | str, Callable[..., Any]] = {}

    def register(self, *kinds: type | str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that takes a function in for these classes."""

        def take_in(add: Callable[..., Any]) -> Callable[..., Any]:
            self._known |= dict.fromkeys(kinds, add)
            return add

        return take_in

    def get(self, part: Any) -> Callable[..., Any] | None:
        """Return the function of a part; None where there is none."""
        return self._known.get(type(part)) or self._known.get(full_name(part))

    def find(self, part: Any) -> Callable[..., Any]:
        """Return the function of a part, or refuse it by name."""
        found = self.get(part)
        if found is None:
            raise ExportError(
                f"{self._what} {type(part).__name__} cannot be converted to ONNX; {self._hint}"
            )
        return found


def full_name(part: Any) -> str:
    """Return the name of the class of a part, its module included."""
    return f"{type(part).__module__}.{type(part).__qualname__}"


REGRESSORS = Registry(
    "the regressor",
    "linear models, trees, forests, boosting (scikit-learn, LightGBM, XGBoost, CatBoost), "
    "LossRegressor, the stacks of condrisk and what skl2onnx converts can.",
)
CLASSIFIERS = Registry(
    "the classifier",
    "logistic regression, trees, forests, boosting (scikit-learn, LightGBM, XGBoost, CatBoost), "
    "CalibratedClassifierCV, the stacks of condrisk and what skl2onnx converts can.",
)
SCORES = Registry(
    "the decision function of",
    "that of linear classifiers and of boosting by scikit-learn and LightGBM can.",
)
TRANSFORMERS = Registry(
    "the transformer",
    "SimpleImputer, StandardScaler, MinMaxScaler, RobustScaler, PowerTransformer, OneHotEncoder, "
    "OrdinalEncoder, ColumnTransformer and pipelines of these can.",
)
LOSSES = Registry(
    "the expected value of the loss",
    "that of zero_one, log_loss, brier and cost matrices can. Where the loss is a Python function, "
    "use RegressionRisk, which does not need it.",
)
NUMBER_LOSSES = Registry(
    "the expected value of the loss",
    "that of squared_error, absolute_error, pinball and huber can. Where the loss is a Python "
    "function, use RegressionRisk, which does not need it.",
)
RISKS = Registry(
    "the risk estimator",
    "RegressionRisk, PlugInRisk, HybridRisk, AutoRisk and ExpertRisk can.",
)
RULES = Registry(
    "the rule",
    "CostRule, BudgetRule, RiskControlRule, RateControlRule, ExpertRule without capacities and "
    "SupportRule with DistanceSupport can.",
)
