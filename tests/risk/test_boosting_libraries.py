"""Boosting libraries as people use them: CatBoost's categories, XGBoost's labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder

from condrisk import AutoRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture

WORLD = make_gaussian_mixture(120, random_state=0)
X, K = WORLD.X, WORLD.y
TEXT = np.array(["no", "yes", "maybe", "other"])[K]
FRAME = pd.DataFrame({"a": X[:, 0], "kind": np.arange(120) % 4})
Y = X[:, 0] + (FRAME["kind"] == 2) * 3.0


@pytest.fixture
def catboost():
    library = pytest.importorskip("catboost")

    def make(**params):
        quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
        return library.CatBoostRegressor(iterations=5, **quiet, **params)

    return make


def make_risk(predictor):
    return RegressionRisk(predictor, regressor=LinearRegression(), cv=2, random_state=0)


@pytest.mark.parametrize("kind", [RegressionRisk, PlugInRisk, AutoRisk])
def test_lists_that_catboost_copies_are_refused_with_advice(kind, catboost):
    predictor = catboost(cat_features=["kind"])
    with pytest.raises(ValueError, match=r"predictor: .* cannot clone CatBoostRegressor") as told:
        kind(predictor).fit(FRAME, Y)
    for way in ("cat_features as a tuple", "fit(X, y, cat_features=…)", "FrozenEstimator"):
        assert way in str(told.value)


def test_the_advice_helps(catboost):
    tuple_risk = make_risk(catboost(cat_features=("kind",))).fit(FRAME, Y)
    told_risk = make_risk(catboost()).fit(FRAME, Y, cat_features=["kind"])
    for risk in (tuple_risk, told_risk):
        assert risk.predictor_.get_cat_feature_indices() == [1]
    frozen = FrozenEstimator(catboost(cat_features=["kind"]).fit(FRAME, Y))
    assert make_risk(frozen).fit(FRAME, Y).predict_risk(FRAME).shape == (120,)


def test_in_a_pipeline_and_as_the_regressor(catboost):
    inside = make_pipeline(catboost(cat_features=["kind"]))
    with pytest.raises(ValueError, match=r"predictor: .* give cat_features as a tuple; fit"):
        make_risk(inside).fit(FRAME, Y)
    risk = RegressionRisk(LinearRegression(), regressor=catboost(cat_features=["kind"]))
    with pytest.raises(ValueError, match="regressor: scikit-learn cannot clone"):
        risk.fit(FRAME, Y)


def test_labels_that_xgboost_refuses():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1)
    said = r"XGBoost takes the labels 0, 1, 2, … only, and y has \['maybe', 'no', 'yes'"
    for risk in (RegressionRisk(model), PlugInRisk(model), AutoRisk(model)):
        with pytest.raises(ValueError, match=said):
            risk.fit(X, TEXT)
    with pytest.raises(ValueError, match=said):
        make_risk(make_pipeline(GridSearchCV(model, {"max_depth": [1]}, cv=2))).fit(X, TEXT)
    with pytest.raises(ValueError, match=r"y has \[1, 2, 3"):
        make_risk(model).fit(X, K + 1)
    make_risk(model).fit(X, LabelEncoder().fit_transform(TEXT))


def test_a_fold_without_a_class_is_another_matter():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1)
    halves = [(np.flatnonzero(K != 1), np.flatnonzero(K == 1))]
    with pytest.raises(ValueError, match="Invalid classes inferred"):
        make_risk(model).set_params(cv=halves).fit(X, K)
