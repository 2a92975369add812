"""The estimators that scikit-learn's checks and our own run over, and why some checks must fail."""

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import AutoRisk, BudgetRule, Deferral, HybridRisk, PlugInRisk, RegressionRisk

_FOLDS = {"cv": 3, "random_state": 0}
_SCALED = make_pipeline(StandardScaler(), LogisticRegression())

# One for each way through the code: the two tasks, random and composed predictors, each option.
RISKS = {
    "regression-linear": RegressionRisk(LinearRegression(), regressor=Ridge(), **_FOLDS),
    "regression-pipeline": RegressionRisk(
        make_pipeline(StandardScaler(), LinearRegression()), regressor=Ridge(), **_FOLDS
    ),
    "regression-forest-classifier": RegressionRisk(
        RandomForestClassifier(n_estimators=5), regressor=Ridge(), **_FOLDS
    ),
    "regression-default": RegressionRisk(LinearRegression(), **_FOLDS),
    "regression-x+response": RegressionRisk(
        LogisticRegression(), loss="log_loss", regressor=Ridge(), features="x+response", **_FOLDS
    ),
    "plugin-linear": PlugInRisk(LogisticRegression(), calibration=None, **_FOLDS),
    "plugin-temperature": PlugInRisk(LogisticRegression(), loss="log_loss", **_FOLDS),
    "plugin-other-sigmoid": PlugInRisk(
        LogisticRegression(), loss="brier", probability=_SCALED, calibration="sigmoid", **_FOLDS
    ),
    "hybrid-linear": HybridRisk(LogisticRegression(), regressor=Ridge(), **_FOLDS),
    "hybrid-two": HybridRisk(
        LogisticRegression(),
        loss="log_loss",
        probability=[_SCALED, LogisticRegression(C=0.1)],
        regressor=Ridge(),
        features="plug-in+x",
        **_FOLDS,
    ),
    # Without time there are one model and one forest: what is checked here is the same for more.
    "auto": AutoRisk(task="regression", time_budget=0, **_FOLDS),
    "auto-linear": AutoRisk(LinearRegression(), time_budget=0, **_FOLDS),
    "auto-linear-classifier": AutoRisk(LogisticRegression(), time_budget=0, **_FOLDS),
}

# What a Deferral adds does not depend on which risk estimator it carries, but on its task.
DEFERRALS = {
    "deferral-regression": Deferral(RISKS["regression-linear"], cost=0.5),
    "deferral-plugin": Deferral(RISKS["plugin-linear"], cost=0.5),
    "deferral-budget": Deferral(RISKS["regression-linear"], cost=0.5, rule=BudgetRule(0.3)),
}

ESTIMATORS = RISKS | DEFERRALS
# The default regressor has these checks to itself, and the automatic risk of a regressor is checked
# with the one that it builds.
CHECKED = {
    name: estimator
    for name, estimator in ESTIMATORS.items()
    if name not in ("regression-default", "auto-linear")
}

BOOTSTRAP = (
    "a forest draws bootstrap samples of rows, so weights and repeats differ: scikit-learn's own "
    "forests are exempt from this check for the same reason"
)

FOLDS = "the stack draws its folds by rows, so weights and repeats differ"


def expected_failed_checks(estimator):
    """Return the checks that may fail, each with its reason."""
    risk = getattr(estimator, "risk", estimator)
    if isinstance(risk, AutoRisk) and risk.predictor is None:
        return {
            "check_sample_weight_equivalence_on_dense_data": FOLDS,
            "check_sample_weight_equivalence_on_sparse_data": FOLDS,
        }
    if isinstance(risk.predictor, RandomForestClassifier):
        return {
            "check_sample_weight_equivalence_on_dense_data": BOOTSTRAP,
            "check_sample_weight_equivalence_on_sparse_data": BOOTSTRAP,
        }
    return {}
