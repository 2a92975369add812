"""A table of bad inputs: each gets its documented error, and the message names the argument."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.svm import LinearSVC

from condrisk import (
    BudgetRule,
    CostRule,
    Deferral,
    PlugInRisk,
    RegressionRisk,
    huber,
    make_loss,
    pinball,
    predict_risk,
)
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.metrics import deferral_loss, risk_error
from condrisk.paper.baselines import KernelRejector

REGRESSION = make_heteroscedastic(60, n_features=2, random_state=0)
CLASSES = make_gaussian_mixture(60, n_features=2, random_state=0)
X, y = REGRESSION.X, REGRESSION.y
C, k = CLASSES.X, CLASSES.y
PROBA = LogisticRegression().fit(C, k).predict_proba(C)


def spoilt(array, value, dtype=float):
    """Return a copy with one bad entry."""
    array = np.array(array, dtype=dtype)
    array[3] = value
    return array


def regression(**options):
    return RegressionRisk(LinearRegression(), **{"regressor": Ridge(), "random_state": 0} | options)


def classification(**options):
    return RegressionRisk(
        LogisticRegression(), **{"regressor": Ridge(), "random_state": 0} | options
    )


def plug_in(**options):
    return PlugInRisk(LogisticRegression(), **{"random_state": 0} | options)


def deferral(**options):
    return Deferral(regression(), **options)


def named(*columns):
    return pl.DataFrame(dict(zip(columns, X.T, strict=True)))


BAD = {
    # rows and targets
    "X with NaN": (lambda: regression().fit(spoilt(X, np.nan), y), ValueError, "X contains NaN"),
    "X with infinity": (lambda: regression().fit(spoilt(X, np.inf), y), ValueError, "X contains"),
    "X empty": (lambda: regression().fit(X[:0], y[:0]), ValueError, "sample"),
    "X of one row": (lambda: regression().fit(X[:1], y[:1]), ValueError, "n_samples=1"),
    "X one-dimensional": (lambda: regression().fit(X[:, 0], y), ValueError, "2D"),
    "X one-dimensional in predict": (
        lambda: regression().fit(X, y).predict_risk(X[0]),
        ValueError,
        "X must have a row per example",
    ),
    "X with a feature missing": (
        lambda: regression().fit(X, y).predict_risk(X[:, :1]),
        ValueError,
        "X has 1 features",
    ),
    "X of text": (lambda: regression().fit(X.astype(str), y), ValueError, "numeric"),
    "y with NaN": (lambda: regression().fit(X, spoilt(y, np.nan)), ValueError, "y contains NaN"),
    "y with infinity": (lambda: regression().fit(X, spoilt(y, np.inf)), ValueError, "y contains"),
    "y missing": (lambda: regression().fit(X, None), ValueError, "requires y"),
    "y too short": (lambda: regression().fit(X, y[:-1]), ValueError, "inconsistent numbers"),
    "y of two outputs after one": (
        lambda: regression().fit(X, y).loss_values(X, np.column_stack([y, y])),
        ValueError,
        r"y must have the shape \(60,\)",
    ),
    "y of text for a regressor": (
        lambda: regression().fit(X, np.repeat("a", 60)),
        ValueError,
        "y must be numbers",
    ),
    "y continuous for a classifier": (
        lambda: classification().fit(C, y),
        ValueError,
        "Unknown label type",
    ),
    "y with NaN for a classifier": (
        lambda: classification().fit(C, spoilt(k, np.nan)),
        ValueError,
        "y contains NaN",
    ),
    "y with a gap among words": (
        lambda: plug_in().fit(C, np.where(k > 0, "a", None)),
        ValueError,
        "y contains missing labels",
    ),
    "y of one class": (lambda: classification().fit(C, np.zeros(60)), ValueError, "class"),
    "y of one class for a plug-in": (lambda: plug_in().fit(C, np.zeros(60)), ValueError, "class"),
    "y in score too short": (
        lambda: regression().fit(X, y).score(X, y[:5]),
        ValueError,
        "inconsistent numbers",
    ),
    "polars with renamed columns": (
        lambda: regression().fit(named("a", "b"), y).predict_risk(named("a", "c")),
        ValueError,
        "feature names",
    ),
    "pandas with columns in another order": (
        lambda: (
            regression()
            .fit(pd.DataFrame(X, columns=["a", "b"]), y)
            .predict_risk(pd.DataFrame(X, columns=["b", "a"]))
        ),
        ValueError,
        "feature names",
    ),
    "a column that the response needs": (
        lambda: regression(features="x+response").fit(named("a", "response"), y),
        ValueError,
        "X has columns named",
    ),
    # weights
    "weights negative": (
        lambda: regression().fit(X, y, sample_weight=spoilt(np.ones(60), -1)),
        ValueError,
        "sample_weight",
    ),
    "weights of the wrong length": (
        lambda: regression().fit(X, y, sample_weight=np.ones(5)),
        ValueError,
        "sample_weight",
    ),
    "weights with NaN": (
        lambda: regression().fit(X, y, sample_weight=spoilt(np.ones(60), np.nan)),
        ValueError,
        "sample_weight|weights",
    ),
    "weights in a deferral score negative": (
        lambda: deferral(cost=1).fit(X, y).score(X, y, sample_weight=-np.ones(60)),
        ValueError,
        "sample_weight",
    ),
    # predictor and parts
    "unfitted risk": (lambda: regression().predict_risk(X), NotFittedError, "not fitted"),
    "unfitted deferral": (lambda: deferral(cost=1).decide(X), NotFittedError, "not fitted"),
    "unfitted rule": (lambda: BudgetRule(0.1).defer([0.1]), NotFittedError, "not fitted"),
    "unfitted frozen predictor": (
        lambda: RegressionRisk(FrozenEstimator(LinearRegression())).fit(X, y),
        NotFittedError,
        "not fitted",
    ),
    "unfitted search": (
        lambda: predict_risk(GridSearchCV(regression(), {}), X),
        AttributeError,
        "fit it first",
    ),
    "an estimator without risk": (
        lambda: predict_risk(LinearRegression().fit(X, y), X),
        AttributeError,
        "estimator: LinearRegression",
    ),
    "a predictor that is neither": (
        lambda: RegressionRisk(KMeans()).fit(X, y),
        ValueError,
        "predictor must be a classifier or a regressor",
    ),
    "a predictor that is no estimator": (
        lambda: RegressionRisk("forest").fit(X, y),
        ValueError,
        "'predictor' parameter",
    ),
    "a calibration for a regressor": (
        lambda: PlugInRisk(LinearRegression(), calibration="sigmoid").fit(X, y),
        ValueError,
        "calibration must not be given for regressors",
    ),
    "a classifier as regressor": (
        lambda: classification(regressor=LogisticRegression()).fit(C, k),
        ValueError,
        "regressor must be a regressor",
    ),
    "no predict_proba under log loss": (
        lambda: RegressionRisk(LinearSVC(), loss="log_loss", regressor=Ridge()).fit(C, k),
        ValueError,
        "loss 'log_loss' needs .*predict_proba.*LinearSVC",
    ),
    "no predict_proba for features": (
        lambda: RegressionRisk(LinearSVC(), features="x+response", regressor=Ridge()).fit(C, k),
        ValueError,
        "features=.x.response. needs .*predict_proba.*LinearSVC",
    ),
    "a probability model without probabilities": (
        lambda: plug_in(probability=LinearSVC(), calibration=None).fit(C, k),
        ValueError,
        "probability must have predict_proba",
    ),
    "no probability model at all": (
        lambda: PlugInRisk("precomputed", loss="brier").fit(C, k, prediction=PROBA),
        ValueError,
        "probability must be given",
    ),
    "calibration unknown": (
        lambda: plug_in(calibration="platt").fit(C, k),
        ValueError,
        "'calibration' parameter",
    ),
    "calibration without a class": (
        lambda: PlugInRisk(
            FrozenEstimator(LogisticRegression().fit(C, k)),
            probability=FrozenEstimator(LogisticRegression().fit(C, k)),
            calibration="sigmoid",
        ).fit(C[k > 0], k[k > 0]),
        ValueError,
        "calibration='sigmoid' needs every class",
    ),
    "features unknown": (
        lambda: regression(features="y").fit(X, y),
        ValueError,
        "'features' parameter",
    ),
    # splits
    "cv of one fold": (lambda: regression(cv=1).fit(X, y), ValueError, "'cv' parameter"),
    "cv with more folds than rows": (
        lambda: regression(cv=61).fit(X, y),
        ValueError,
        "n_splits=61",
    ),
    "cv that trains on what it holds out": (
        lambda: regression(cv=[(np.arange(60), np.arange(30))]).fit(X, y),
        ValueError,
        "cv gives a split that holds out rows it also trains on",
    ),
    "cv without splits": (lambda: regression(cv=[]).fit(X, y), ValueError, "cv gives no split"),
    "cv with an empty part": (
        lambda: regression(cv=[(np.arange(60), np.array([], dtype=int))]).fit(X, y),
        ValueError,
        "cv gives a split without",
    ),
    "cv of text": (lambda: regression(cv="many").fit(X, y), ValueError, "'cv' parameter"),
    "refit=False with five splits": (
        lambda: regression(refit=False).fit(X, y),
        ValueError,
        "refit=False",
    ),
    "groups of the wrong length": (
        lambda: regression().fit(X, y, groups=np.arange(5)),
        ValueError,
        "inconsistent numbers|groups",
    ),
    # losses
    "loss unknown": (lambda: regression(loss="mse").fit(X, y), ValueError, "loss must be one of"),
    "loss of the wrong kind": (
        lambda: regression(loss=3).fit(X, y),
        (ValueError, TypeError),
        "loss",
    ),
    "a numeric loss on a classifier": (
        lambda: classification(loss="squared_error").fit(C, k),
        ValueError,
        "loss 'squared_error' is for regression",
    ),
    "a class loss on a regressor": (
        lambda: regression(loss="log_loss").fit(X, y),
        ValueError,
        "loss 'log_loss' is for classification",
    ),
    "a callable that returns a scalar": (
        lambda: regression(loss=lambda t, p: 1.0).fit(X, y),
        ValueError,
        "loss '<lambda>' must return one value per example",
    ),
    "a callable that returns a wrong shape": (
        lambda: regression(loss=lambda t, p: np.ones((len(t), 2))).fit(X, y),
        ValueError,
        "loss '<lambda>' must return one value per example",
    ),
    "a callable that returns NaN": (
        lambda: regression(loss=lambda t, p: np.full(len(t), np.nan)).fit(X, y),
        ValueError,
        "loss '<lambda>' returned NaN",
    ),
    "a callable that returns text": (
        lambda: regression(loss=lambda t, p: np.full(len(t), "a")).fit(X, y),
        ValueError,
        "loss '<lambda>' must return numbers",
    ),
    "a callable below its minimum": (
        lambda: regression(loss=lambda t, p: np.full(len(t), -1.0)).fit(X, y),
        ValueError,
        "loss '<lambda>' returned -1, below its minimum 0",
    ),
    "a cost matrix of the wrong size": (
        lambda: plug_in(loss=np.eye(2)).fit(C, k),
        ValueError,
        "loss is a 2 × 2 cost matrix, but there are 3 classes",
    ),
    "a cost matrix that is not square": (
        lambda: plug_in(loss=np.ones((3, 2))).fit(C, k),
        ValueError,
        "loss must be a square cost matrix",
    ),
    "a cost matrix with NaN": (
        lambda: plug_in(loss=np.full((3, 3), np.nan)).fit(C, k),
        ValueError,
        "loss must be a cost matrix of finite",
    ),
    "a cost matrix on a regressor": (
        lambda: regression(loss=np.eye(3)).fit(X, y),
        ValueError,
        "is for classification",
    ),
    "a cost matrix and a label without a price": (
        lambda: PlugInRisk(
            FrozenEstimator(LogisticRegression().fit(C[k < 2], k[k < 2])), loss=np.eye(3)
        ).fit(C, k),
        ValueError,
        "cost matrix",
    ),
    "a quantile of one": (lambda: pinball(1.0), ValueError, "quantile must lie between"),
    "a delta of zero": (lambda: huber(0), ValueError, "delta must be a positive"),
    "a loss without a function": (lambda: make_loss("f"), TypeError, "fn must be callable"),
    "a loss of an unknown response": (
        lambda: make_loss(len, response="transform"),
        ValueError,
        "response must be",
    ),
    "a loss with minimum NaN": (
        lambda: make_loss(len, minimum=np.nan),
        ValueError,
        "minimum must be",
    ),
    "a fit parameter for a frozen predictor": (
        lambda: RegressionRisk(FrozenEstimator(LinearRegression().fit(X, y))).fit(X, y, check=1),
        TypeError,
        "fit got .'check'.",
    ),
    # predictions from elsewhere
    "no loss and no predictor": (
        lambda: RegressionRisk("precomputed").fit(X, y.round(), prediction=y),
        ValueError,
        "loss must be given, such as .*y holds whole numbers",
    ),
    "no prediction": (
        lambda: RegressionRisk("precomputed", loss="squared_error").fit(X, y),
        ValueError,
        "prediction must be given",
    ),
    "prediction too short": (
        lambda: RegressionRisk("precomputed", loss="squared_error").fit(X, y, prediction=y[:5]),
        ValueError,
        "prediction must have one row",
    ),
    "prediction with NaN": (
        lambda: RegressionRisk("precomputed", loss="squared_error").fit(
            X, y, prediction=spoilt(y, np.nan)
        ),
        ValueError,
        "prediction contains NaN",
    ),
    "prediction of labels under log loss": (
        lambda: RegressionRisk("precomputed", loss="log_loss").fit(C, k, prediction=k),
        ValueError,
        "prediction must be class probabilities",
    ),
    "prediction with a column too few": (
        lambda: RegressionRisk("precomputed", loss="brier").fit(C, k, prediction=PROBA[:, :2]),
        ValueError,
        "prediction must have a column for each of the 3 classes",
    ),
    "prediction that does not sum to one": (
        lambda: RegressionRisk("precomputed", loss="brier").fit(C, k, prediction=2 * PROBA),
        ValueError,
        "prediction must hold probabilities",
    ),
    "prediction of labels that y does not have": (
        lambda: RegressionRisk("precomputed", loss="zero_one").fit(C, k, prediction=k + 50),
        ValueError,
        "prediction holds none of the classes",
    ),
    "prediction beside a predictor": (
        lambda: regression().fit(X, y, prediction=y),
        ValueError,
        "prediction is only for an external predictor",
    ),
    # deferral
    "cost negative": (lambda: deferral(cost=-1).fit(X, y), ValueError, "cost is a price"),
    "cost NaN": (lambda: deferral(cost=np.nan).fit(X, y), ValueError, "cost must be finite"),
    "cost of text": (lambda: deferral(cost="1").fit(X, y), TypeError, "cost must be made of"),
    "cost a row in the constructor": (
        lambda: deferral(cost=np.ones(60)).fit(X, y),
        ValueError,
        "cost must be one number",
    ),
    "cost of the wrong shape": (
        lambda: deferral().fit(X, y).decide(X, cost=np.ones(5)),
        ValueError,
        "cost and X must have the same length",
    ),
    "cost a row with a negative one": (
        lambda: deferral().fit(X, y).defer(X, cost=spoilt(np.ones(60), -2)),
        ValueError,
        "cost is a price",
    ),
    "cost missing in defer": (
        lambda: deferral().fit(X, y).defer(X),
        ValueError,
        "cost must be given",
    ),
    "cost missing in score": (
        lambda: deferral(rule=BudgetRule(0.1)).fit(X, y).score(X, y),
        ValueError,
        "cost must be given",
    ),
    "budget above one": (
        lambda: deferral(rule=BudgetRule(1.5)).fit(X, y),
        ValueError,
        "'rate' parameter",
    ),
    "budget negative": (lambda: BudgetRule(-0.1).fit([1.0], [1.0]), ValueError, "'rate'"),
    "budget NaN": (lambda: BudgetRule(np.nan).fit([1.0], [1.0]), ValueError, "'rate'"),
    "a rule that is no rule": (
        lambda: deferral(rule="budget").fit(X, y),
        ValueError,
        "'rule' parameter",
    ),
    "a risk that has none": (
        lambda: Deferral(LinearRegression(), cost=1).fit(X, y),
        ValueError,
        "risk must be a risk estimator",
    ),
    "images without a regressor for them": (
        lambda: RegressionRisk(FrozenEstimator(LinearRegression().fit(X, y))).fit(
            np.zeros((5, 2, 2, 3)), np.zeros(5)
        ),
        ValueError,
        "regressor must be given where X has 4 dimensions",
    ),
    "a risk that decides by itself": (
        lambda: Deferral(KernelRejector(LinearRegression()), cost=1).fit(X, y),
        ValueError,
        "KernelRejector decides by itself",
    ),
    "a price without a rule's risk": (
        lambda: CostRule().defer([[0.1]], cost=1),
        ValueError,
        "risk must be one-dimensional",
    ),
    # metrics (each metric has its own table beside its tests)
    "metrics with NaN": (lambda: risk_error([np.nan], [1.0]), ValueError, "loss must be finite"),
    "metrics of two lengths": (
        lambda: deferral_loss([1.0], [1.0, 2.0], 1.0),
        ValueError,
        "risk and loss must have the same length",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_an_error_that_names_the_argument(name):
    act, error, message = BAD[name]
    with pytest.raises(error, match=message):
        act()


def test_the_table_is_long_enough():
    assert len(BAD) >= 40


def test_one_split_is_not_bad_input():
    """The counterpart of the table: what stands beside the refused things works."""
    cv = ShuffleSplit(1, random_state=0)
    assert np.isfinite(regression(cv=cv, refit=False).fit(X, y).predict_risk(X)).all()
