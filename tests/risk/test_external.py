"""Predictors of which only the predictions are known: precomputed ones, boosters, own objects."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from condrisk import AutoRisk, Deferral, HybridRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.learners import DistributionRegressor

WORLD = make_heteroscedastic(120, random_state=0)
X, Y = WORLD.X, WORLD.y
CLASSES = make_gaussian_mixture(120, random_state=0)
C, K = CLASSES.X, CLASSES.y
TEXT = np.array(["no", "yes", "maybe", "other"])[K]
QUICK = DistributionRegressor(LinearRegression(), Ridge())


class Half:
    """Has nothing but `predict`."""

    def predict(self, X):
        return X[:, 0] / 2


class Labels:
    """Gives labels of text, by a column."""

    def predict(self, X):
        return np.where(X[:, 0] > 0, "no", "yes")


def numbers(predictor):
    return [
        RegressionRisk(predictor, regressor=Ridge(), random_state=0),
        PlugInRisk(predictor, distribution=QUICK, random_state=0),
        HybridRisk(predictor, distribution=QUICK, regressor=Ridge(), random_state=0),
        AutoRisk(predictor, time_budget=0, random_state=0),
    ]


def classes(predictor):
    return [
        RegressionRisk(predictor, regressor=Ridge(), random_state=0),
        PlugInRisk(predictor, probability=GaussianNB(), random_state=0),
        HybridRisk(predictor, probability=GaussianNB(), random_state=0),
        AutoRisk(predictor, time_budget=0, random_state=0),
    ]


@pytest.mark.parametrize("kind", [RegressionRisk, PlugInRisk, HybridRisk])
def test_the_loss_tells_what_stands_in_for_an_external_predictor(kind):
    numbers, classes = (kind("precomputed", loss=loss) for loss in ("squared_error", "zero_one"))
    assert is_regressor(numbers)
    assert not is_classifier(numbers)
    assert is_classifier(classes)
    assert not is_regressor(classes)
    assert is_classifier(kind(GaussianNB()))


@pytest.mark.parametrize("k", range(4), ids=["regression", "plug-in", "hybrid", "auto"])
def test_the_target_tells_the_task_of_an_external_predictor(k):
    half = Half().predict(X)
    given = numbers("precomputed")[k].fit(X, Y, prediction=half)
    frozen = numbers(FrozenEstimator(Half()))[k].fit(X, Y)
    assert given.loss_.name == frozen.loss_.name == "squared_error"
    assert_array_equal(frozen.predict(X), half)
    assert_allclose(frozen.predict_risk(X), given.predict_risk(X, prediction=half))
    assert_allclose(frozen.loss_values(X, Y), (Y - half) ** 2)


@pytest.mark.filterwarnings("ignore:the predictor is worse than a constant")
@pytest.mark.parametrize("k", range(4), ids=["regression", "plug-in", "hybrid", "auto"])
def test_so_it_does_for_classes(k):
    labels = Labels().predict(C)
    given = classes("precomputed")[k].fit(C, TEXT, prediction=labels)
    frozen = classes(FrozenEstimator(Labels()))[k].fit(C, TEXT)
    assert given.loss_.name == frozen.loss_.name == "zero_one"
    assert_array_equal(frozen.classes_, np.unique(TEXT))
    assert_allclose(frozen.predict_risk(C), given.predict_risk(C, prediction=labels))
    assert_allclose(frozen.loss_values(C, TEXT), labels != TEXT)


def test_probabilities_without_a_loss_are_judged_by_their_label():
    proba = LogisticRegression().fit(C, TEXT).predict_proba(C)
    risk = RegressionRisk("precomputed", regressor=Ridge()).fit(C, TEXT, prediction=proba)
    assert_array_equal(risk.predict(C, prediction=proba), np.unique(TEXT)[proba.argmax(axis=1)])


def test_a_later_fit_asks_the_target_again():
    risk = RegressionRisk("precomputed", regressor=Ridge())
    risk.fit(C, TEXT, prediction=TEXT)
    assert risk.fit(C, Y, prediction=Y / 2).loss_.name == "squared_error"
    risk.fit(C, TEXT, prediction=TEXT)
    assert risk.fit(C, loss=Y**2).loss_.name == "precomputed"


def test_a_booster_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.train(
        {"verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, Y), num_boost_round=5
    )
    model = Deferral(RegressionRisk(FrozenEstimator(booster), regressor=Ridge()), cost=1.0)
    decision = model.fit(X, Y).decide(X)
    assert_array_equal(decision.prediction, booster.predict(X))
    assert decision.risk.shape == (120,)


def test_a_booster_of_two_classes_gives_numbers_that_are_none_of_them():
    lightgbm = pytest.importorskip("lightgbm")
    y = (K > 0).astype(int)
    params = {"verbose": -1, "num_threads": 1, "objective": "binary"}
    booster = lightgbm.train(params, lightgbm.Dataset(C, y), num_boost_round=5)
    with pytest.raises(ValueError, match=r"prediction holds none of the classes \[0, 1\]"):
        RegressionRisk(FrozenEstimator(booster), regressor=Ridge()).fit(C, y)


def test_a_booster_of_xgboost_wants_its_own_container():
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train({"nthread": 1}, xgboost.DMatrix(X, Y), num_boost_round=2)
    with pytest.raises(ValueError, match=r"predictor: Booster\.predict does not take the rows"):
        RegressionRisk(FrozenEstimator(booster), regressor=Ridge()).fit(X, Y)


class NoTags:
    """Has `fit` and `predict` only."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


class NoKind(BaseEstimator, NoTags):
    """An estimator that does not say what it estimates."""


def test_a_frozen_estimator_need_not_say_what_it_estimates():
    risk = RegressionRisk(FrozenEstimator(NoKind()), regressor=Ridge()).fit(X, Y)
    assert_array_equal(risk.predict(X), X[:, 0])


def test_predictors_that_cannot_be_used_say_why():
    with pytest.raises(ValueError, match="NoTags has no __sklearn_tags__: inherit from"):
        RegressionRisk(NoTags()).fit(X, Y)
    for predictor in (NoKind(), FrozenEstimator(KMeans(2, n_init=1).fit(X))):
        with pytest.raises(ValueError, match="predictor must be a classifier or a regressor"):
            RegressionRisk(predictor).fit(X, Y)
    with pytest.raises(ValueError, match=r"probability must be given because .* external"):
        PlugInRisk(FrozenEstimator(Labels())).fit(C, TEXT)


def test_targets_have_to_be_numbers_where_predictions_are():
    risk = RegressionRisk("precomputed", loss="squared_error", regressor=Ridge(), random_state=0)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Input y contains"):
            risk.fit(X, np.full(len(Y), bad), prediction=np.zeros(len(Y)))
