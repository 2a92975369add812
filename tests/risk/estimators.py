"""The estimators that scikit-learn's checks and our own run over, and why some checks must fail."""

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import AutoRisk, BudgetRule, Deferral, HybridRisk, PlugInRisk, RegressionRisk

REGRESSORS = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(n_estimators=5),
    "pipeline": make_pipeline(StandardScaler(), LinearRegression()),
}
CLASSIFIERS = {
    "linear": LogisticRegression(),
    "forest": RandomForestClassifier(n_estimators=5),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}

_FOLDS = {"cv": 3, "random_state": 0}

RISKS = {
    **{
        f"regression-{name}": RegressionRisk(predictor, regressor=Ridge(), **_FOLDS)
        for name, predictor in REGRESSORS.items()
    },
    **{
        f"regression-{name}-classifier": RegressionRisk(predictor, regressor=Ridge(), **_FOLDS)
        for name, predictor in CLASSIFIERS.items()
    },
    "regression-default": RegressionRisk(LinearRegression(), **_FOLDS),
    "regression-x+response": RegressionRisk(
        LogisticRegression(), loss="log_loss", regressor=Ridge(), features="x+response", **_FOLDS
    ),
    **{f"plugin-{name}": PlugInRisk(model, **_FOLDS) for name, model in CLASSIFIERS.items()},
    "plugin-temperature": PlugInRisk(
        LogisticRegression(), loss="log_loss", calibration="temperature", **_FOLDS
    ),
    "plugin-other-sigmoid": PlugInRisk(
        LogisticRegression(),
        loss="brier",
        probability=make_pipeline(StandardScaler(), LogisticRegression()),
        calibration="sigmoid",
        **_FOLDS,
    ),
}

RISKS |= {
    "hybrid-linear": HybridRisk(LogisticRegression(), regressor=Ridge(), **_FOLDS),
    "hybrid-two": HybridRisk(
        LogisticRegression(),
        loss="log_loss",
        probability=[
            make_pipeline(StandardScaler(), LogisticRegression()),
            LogisticRegression(C=0.1),
        ],
        regressor=Ridge(),
        features="plug-in+x",
        **_FOLDS,
    ),
}

# Without time there are one model and one forest: what is checked here is the same for more.
RISKS |= {
    "auto": AutoRisk(task="regression", time_budget=0, **_FOLDS),
    "auto-linear": AutoRisk(LinearRegression(), time_budget=0, **_FOLDS),
    "auto-linear-classifier": AutoRisk(LogisticRegression(), time_budget=0, **_FOLDS),
}

DEFERRALS = {
    **{f"deferral-{name}": Deferral(risk, cost=0.5) for name, risk in RISKS.items()},
    "deferral-budget": Deferral(RISKS["regression-linear"], cost=0.5, rule=BudgetRule(0.3)),
}

ESTIMATORS = RISKS | DEFERRALS

BOOTSTRAP = (
    "a forest draws bootstrap samples of rows, so weights and repeats differ: scikit-learn's own "
    "forests are exempt from this check for the same reason"
)

FOLDS = "the stack draws its folds by rows, so weights and repeats differ"


def expected_failed_checks(estimator):
    """Return the checks that may fail, each with its reason."""
    risk = getattr(estimator, "risk", estimator)
    parts = (risk.predictor, getattr(risk, "regressor", None))
    if isinstance(risk, AutoRisk) and risk.predictor is None:
        return {"check_sample_weight_equivalence_on_dense_data": FOLDS}
    if any(isinstance(part, RandomForestRegressor | RandomForestClassifier) for part in parts):
        return {
            "check_sample_weight_equivalence_on_dense_data": BOOTSTRAP,
            "check_sample_weight_equivalence_on_sparse_data": BOOTSTRAP,
        }
    return {}
