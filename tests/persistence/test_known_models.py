"""Estimators of scikit-learn that need no trust: fitted in many ways, saved and loaded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import (
    calibration,
    discriminant_analysis,
    dummy,
    ensemble,
    linear_model,
    naive_bayes,
    preprocessing,
    tree,
)
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from condrisk import PlugInRisk, RegressionRisk
from condrisk.persistence import load_model, save_model

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (80, 3))
X[:, 2] = np.arange(80) % 4
Y = X[:, 0] + RNG.uniform(0.1, 1, 80)
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 80)]


def before(*steps, **options):
    """Return ridge regression of what a transformer, or one of columns, makes of the rows."""
    if isinstance(steps[0], tuple):
        steps = [make_column_transformer(*steps, **options)]
    return make_pipeline(*steps, Ridge())


def boosting(**options):
    return ensemble.HistGradientBoostingRegressor(max_iter=3, **options)


def one_hot(**options):
    return preprocessing.OneHotEncoder(handle_unknown="infrequent_if_exist", **options), [2]


REGRESSORS = {
    "lasso": linear_model.Lasso(0.01),
    "elastic net": linear_model.ElasticNetCV(cv=2),
    "lasso, cv": linear_model.LassoCV(cv=2),
    "ard": linear_model.ARDRegression(),
    "bayes": linear_model.BayesianRidge(),
    "gamma": linear_model.GammaRegressor(),
    "poisson": linear_model.PoissonRegressor(),
    "huber": linear_model.HuberRegressor(),
    "quantile": linear_model.QuantileRegressor(),
    "ridge, sag": Ridge(solver="sag"),
    "ridge, cv": linear_model.RidgeCV(),
    "positive": linear_model.LinearRegression(positive=True),
    "target": TransformedTargetRegressor(Ridge(), transformer=preprocessing.StandardScaler()),
    "boosting, absolute": boosting(loss="absolute_error"),
    "boosting, quantile": boosting(loss="quantile", quantile=0.5),
    "boosting, constraints": boosting(monotonic_cst=[1, 0, 0], interaction_cst="no_interactions"),
    "boosting, categories": boosting(categorical_features=np.array([False, False, True])),
    "forest, out of bag": ensemble.RandomForestRegressor(12, oob_score=True),
    "tree": tree.DecisionTreeRegressor(),
    "polynomials": before(preprocessing.PolynomialFeatures((2, 3), include_bias=False)),
    "interactions": before(preprocessing.PolynomialFeatures(3, interaction_only=True)),
    "quantiles": before(preprocessing.QuantileTransformer(n_quantiles=9)),
    "robust": before(preprocessing.RobustScaler(), preprocessing.MaxAbsScaler()),
    "power": before(preprocessing.PowerTransformer(standardize=False)),
    "rare categories": before(
        one_hot(drop="first", max_categories=3), remainder=preprocessing.StandardScaler()
    ),
    "sparse": before(one_hot(min_frequency=25)),
    "ranks": before((preprocessing.OrdinalEncoder(min_frequency=25), [2])),
    "identity": before(preprocessing.FunctionTransformer()),
    "slice": before((preprocessing.StandardScaler(), slice(0, 2))),
    "pandas": before(preprocessing.StandardScaler().set_output(transform="pandas")),
    "constant": dummy.DummyRegressor(strategy="quantile", quantile=0.3),
}
CLASSIFIERS = {
    "discriminant": discriminant_analysis.LinearDiscriminantAnalysis(),
    "discriminant, shrunk": discriminant_analysis.LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage="auto"
    ),
    "naive": naive_bayes.GaussianNB(),
    "logistic, cv": linear_model.LogisticRegressionCV(Cs=2, cv=2),
    "sigmoid": calibration.CalibratedClassifierCV(LogisticRegression(), cv=2),
    "isotonic": calibration.CalibratedClassifierCV(naive_bayes.GaussianNB(), method="isotonic"),
    "constant": dummy.DummyClassifier(),
    "boosting": ensemble.HistGradientBoostingClassifier(max_iter=3, class_weight="balanced"),
    "forest": ensemble.RandomForestClassifier(3, class_weight="balanced"),
    "extra-trees": ensemble.ExtraTreesClassifier(9, bootstrap=True, oob_score=True),
    "tree": tree.DecisionTreeClassifier(max_depth=3),
    "weights": LogisticRegression(class_weight={"a": 1.0, "b": 2.0, "c": 1.0}),
}


def comes_back(risk, path):
    save_model(risk, path, schema=X)
    assert_allclose(load_model(path).predict_risk(X), risk.predict_risk(X))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_come_back(name, tmp_path):
    predictor = REGRESSORS[name]
    risk = RegressionRisk(predictor, regressor=predictor, cv=2, random_state=0)
    comes_back(risk.fit(X, Y), tmp_path / "model.skops")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_come_back(name, tmp_path):
    risk = PlugInRisk(CLASSIFIERS[name], cv=2, random_state=0)
    comes_back(risk.fit(X, LABELS), tmp_path / "model.skops")
