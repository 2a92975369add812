"""The defaults for classifiers: the response among the inputs, and a temperature."""

import warnings

import numpy as np
import pytest
from benchmarks.class_defaults import CALIBRATIONS, DRAWS, Study
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from tools.class_defaults_pages import beside_logistic

from condrisk import PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture
from condrisk.metrics import aurc

WORLD = make_gaussian_mixture(300, random_state=0)


class Mean(RegressorMixin, BaseEstimator):
    """Takes whatever rows it is given."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_on_noisy_digits_the_response_is_worth_more_than_the_row():
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=6, size=X.shape)
    f, new = LinearDiscriminantAnalysis(), slice(1200, None)
    default, of_row = (
        RegressionRisk(f, cv=3, random_state=0, **given).fit(X[:1200], y[:1200])
        for given in ({}, {"features": "x"})
    )
    loss = default.loss_values(X[new], y[new])
    ours, theirs = (aurc(loss, risk.predict_risk(X[new])) for risk in (default, of_row))
    assert ours < 0.65 * theirs


TEXTS = [["good", "bad"][k % 2] for k in WORLD.y]
FLAT = make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), -1)), LogisticRegression())


@pytest.mark.parametrize(
    ("predictor", "X", "expected"),
    [
        (LogisticRegression(), WORLD.X, "x+response"),
        (FrozenEstimator(LogisticRegression().fit(WORLD.X, WORLD.y)), WORLD.X, "x+response"),
        (LogisticRegression(), WORLD.X.tolist(), "x+response"),
        (LinearSVC(), WORLD.X, "x"),
        (FLAT, WORLD.X.reshape(300, 2, 1, 1), "x"),
        (make_pipeline(CountVectorizer(), LogisticRegression()), TEXTS, "x"),
        (LinearRegression(), WORLD.X, "x"),
    ],
    ids=["rows", "frozen", "lists", "no probabilities", "images", "texts", "numbers"],
)
def test_what_the_default_regression_is_given(predictor, X, expected):
    risk = RegressionRisk(predictor, regressor=Mean(), cv=2, random_state=0).fit(X, WORLD.y)
    assert risk.features_ == expected
    assert len(risk.predict_risk(X)) == 300


def test_the_default_asks_nothing_of_an_external_predictor():
    labels = LogisticRegression().fit(WORLD.X, WORLD.y).predict(WORLD.X)
    risk = RegressionRisk("precomputed", loss="zero_one", regressor=Ridge())
    risk.fit(WORLD.X, WORLD.y, prediction=labels)
    assert risk.features_ == "x"
    assert len(risk.predict_risk(WORLD.X)) == 300
    assert len(risk.fit(WORLD.X, loss=labels != WORLD.y).predict_risk(WORLD.X)) == 300


def test_losses_of_a_frozen_classifier_are_regressed_on_its_response_too():
    f = FrozenEstimator(GaussianNB().fit(WORLD.X[:100], WORLD.y[:100]))
    X, y = WORLD.X[100:], WORLD.y[100:]
    given = RegressionRisk(f, regressor=Ridge()).fit(X, loss=f.predict(X) != y)
    inputs = np.column_stack([X, f.predict_proba(X)])
    expected = Ridge().fit(inputs, f.predict(X) != y).predict(inputs)
    assert_allclose(given.predict_risk(X), np.maximum(expected, 0))


def test_numbers_beside_text_stay_numbers():
    seen = []

    class Note(Mean):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    words = np.array([[word] for word in TEXTS])
    f = make_pipeline(FunctionTransformer(lambda X: X == "good"), LogisticRegression())
    RegressionRisk(f, regressor=Note(), cv=2, random_state=0).fit(words, WORLD.y)
    assert isinstance(seen[0][0, 1], float)


# -- temperature -----------------------------------------------------------------------------------


def scaled(model, X, y, folds):
    return CalibratedClassifierCV(model, method="temperature", cv=folds, ensemble=False).fit(X, y)


def test_the_default_plug_in_is_the_temperature_of_scikit_learn():
    f = LogisticRegression(C=0.01)
    folds = list(StratifiedKFold(4).split(WORLD.X, WORLD.y))
    proba = scaled(f, WORLD.X, WORLD.y, folds).predict_proba(WORLD.X)
    risk = PlugInRisk(f, cv=folds).fit(WORLD.X, WORLD.y)
    chosen = proba[np.arange(300), risk.predict(WORLD.X)]
    assert_allclose(risk.predict_risk(WORLD.X), 1 - chosen, atol=1e-10)
    raw = PlugInRisk(f, calibration=None, cv=folds).fit(WORLD.X, WORLD.y)
    assert abs(raw.predict_risk(WORLD.X) - risk.predict_risk(WORLD.X)).mean() > 0.05


def test_the_zeros_of_a_forest_do_not_set_its_temperature():
    """One row of a class that no tree voted for makes scikit-learn's temperature far too high."""
    ours, theirs = [], []
    for seed in range(2):
        world = make_gaussian_mixture(400, random_state=seed)
        fresh = world.sample(2000, random_state=seed + 1000).X
        forest = RandomForestClassifier(30, random_state=0)
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(world.X, world.y))
        risk = PlugInRisk(forest, cv=folds).fit(world.X, world.y)
        truth = world.risk(risk.predictor_, fresh).mean()
        ours.append(risk.predict_risk(fresh).mean() / truth - 1)
        proba = scaled(forest, world.X, world.y, folds).predict_proba(fresh)
        theirs.append((1 - proba.max(axis=1)).mean() / truth - 1)
    assert abs(np.mean(ours)) < 0.1
    assert np.mean(theirs) > 0.3


def test_half_of_the_least_positive_probability_stands_for_zero():
    forest = RandomForestClassifier(10, random_state=0).fit(WORLD.X[:100], WORLD.y[:100])
    X, y = WORLD.X[100:], WORLD.y[100:]
    least = forest.predict_proba(X)[forest.predict_proba(X) > 0].min()

    class Lifted(RandomForestClassifier):
        def predict_proba(self, X):
            lifted = np.maximum(forest.predict_proba(X), least / 2)
            return lifted / lifted.sum(axis=1, keepdims=True)

    lifted = Lifted(10, random_state=0).fit(WORLD.X[:100], WORLD.y[:100])
    expected = CalibratedClassifierCV(FrozenEstimator(lifted), method="temperature").fit(X, y)
    risk = PlugInRisk(FrozenEstimator(forest), probability=FrozenEstimator(forest)).fit(X, y)
    chosen = expected.predict_proba(X)[np.arange(200), forest.predict(X)]
    assert_allclose(risk.predict_risk(X), 1 - chosen, atol=1e-8)


@pytest.mark.parametrize("f", [LogisticRegression(), RandomForestClassifier(10, random_state=0)])
def test_where_no_held_out_row_is_wrong_a_risk_is_left(f):
    """The best temperature is zero there: no risk anywhere, and no order of the rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 2)) + 9 * y[:, None]
    risk = PlugInRisk(f, random_state=0).fit(X, y)
    assert risk.held_out_.losses.max() == 0
    assert 0.001 < risk.predict_risk(X).mean() < 0.05
    assert risk.predict_risk([[4.5, 4.5]]) > 2 * risk.predict_risk(X).mean()


@pytest.mark.filterwarnings("ignore:the predictor is worse")
def test_classes_that_a_fold_or_a_frozen_model_does_not_know():
    order = np.argsort(WORLD.y)
    X, y = WORLD.X[order], WORLD.y[order]
    by_class = PlugInRisk(LogisticRegression(), cv=KFold(3)).fit(X, y)
    assert np.isfinite(by_class.predict_risk(X)).all()
    two = FrozenEstimator(LogisticRegression().fit(X[y < 2], y[y < 2]))
    all_rows = PlugInRisk(two, probability=two, loss="brier").fit(X, y)
    known = PlugInRisk(two, probability=two, loss="brier").fit(X[y < 2], y[y < 2])
    assert_allclose(all_rows.predict_risk(X), known.predict_risk(X))


def test_a_model_of_one_class_has_nothing_to_calibrate():
    forest = RandomForestClassifier(3, random_state=0)
    risk = PlugInRisk(forest, cv=2, random_state=0).fit(WORLD.X, np.zeros(300, dtype=int))
    assert_allclose(risk.predict_risk(WORLD.X), 0)


def test_the_docstring_has_the_figures_of_the_record():
    study = Study()
    text = " ".join(PlugInRisk.__doc__.split())
    none, scaled, sigmoid, isotonic = (
        f"{100 * np.abs(study.biases(f'PlugInRisk, {name}')).mean():.0f} %" for name in CALIBRATIONS
    )
    said = f'{scaled} with it, {none} without, {sigmoid} with "sigmoid" and {isotonic} with'
    assert said in text
    low, high = (f"{100 * bound:.0f}" for bound in beside_logistic(study))
    assert f"{low} to {high} % too high" in text
    hybrid = [abs(study.in_world("HybridRisk, forest", n, "logistic")[0]) for n in DRAWS]
    assert f"off by {100 * max(hybrid):.0f} % at most" in text


class LogitInColumn(ClassifierMixin, BaseEstimator):
    """A classifier whose log-odds are the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


@pytest.mark.filterwarnings("ignore:the predictor is worse than a constant")
def test_a_temperature_that_makes_a_rare_class_frequent_is_warned_of():
    rng = np.random.default_rng(0)
    X = -5 + 8 * rng.normal(size=(2000, 1))  # sure, and wrong as often as not
    y = (np.arange(2000) % 100 == 0).astype(int)
    model = FrozenEstimator(LogitInColumn().fit(X, y))
    with pytest.warns(UserWarning, match=r"class 1 is 1\.00% of the rows, but has a probability"):
        PlugInRisk(model, probability=model).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="class 1 is")
        shifted = PlugInRisk(model, probability=model, calibration="sigmoid").fit(X, y)
    assert shifted.predict_risk(X[X[:, 0] < 0]).mean() == pytest.approx(0.01, abs=0.003)
