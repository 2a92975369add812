"""`PlugInRisk`: the sum over classes, calibration, and labels that do not match."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from condrisk import PlugInRisk, make_loss
from condrisk.datasets import make_gaussian_mixture

METHODS = ["temperature", "sigmoid", "isotonic"]
LOSSES = {
    "zero_one": "zero_one",
    "log_loss": "log_loss",
    "brier": "brier",
    "cost_matrix": np.array([[0.0, 1, 5], [2, 0, 1], [9, 3, 0]]),
    "custom": make_loss(lambda y_true, y_pred: 1.0 * np.abs(y_true - y_pred)),
}


# A forest whose probabilities are never zero.
STUMPS = RandomForestClassifier(20, max_depth=1)


class Oracle(ClassifierMixin, BaseEstimator):
    """The world's own probabilities as a classifier."""

    def __init__(self, world):
        self.world = world

    def fit(self, X, y):
        self.classes_ = self.world.classes
        return self

    def predict_proba(self, X):
        return self.world.proba(X)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture
def world():
    return make_gaussian_mixture(400, random_state=0)


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # the tree's log loss
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(random_state=0)])
def test_with_the_true_probabilities_the_risk_is_the_true_one(world, loss, model):
    """Proposition 2 of the paper, numerically."""
    model = clone(model).fit(world.X[:100], world.y[:100])
    risk = PlugInRisk(
        FrozenEstimator(model), loss=LOSSES[loss], probability=Oracle(world), calibration=None
    )
    risk.fit(world.X[100:], world.y[100:])
    truth = world.risk(model, world.X, loss=LOSSES[loss])
    assert_allclose(risk.predict_risk(world.X), truth, rtol=0, atol=1e-12)


def test_the_default_probability_of_a_frozen_predictor_is_a_clone_on_the_rows_given(world):
    model = LogisticRegression(C=0.1).fit(world.X[:100], world.y[:100])
    fresh = world.X[100:], world.y[100:]
    risk = PlugInRisk(FrozenEstimator(model)).fit(*fresh)
    assert_allclose(risk.probability_.coef_, LogisticRegression(C=0.1).fit(*fresh).coef_)
    assert risk.predictor_.estimator is model


def test_the_default_probability_of_an_unfrozen_predictor_is_the_predictor_fitted_once(world):
    class Counting(LogisticRegression):
        fits = 0

        def fit(self, X, y, sample_weight=None):
            Counting.fits += 1
            return super().fit(X, y, sample_weight)

    risk = PlugInRisk(Counting(), cv=3, random_state=0).fit(world.X, world.y)
    assert Counting.fits == 4
    assert risk.probability_ is risk.predictor_
    proba = risk.predict_proba(world.X)
    raw = PlugInRisk(Counting(), calibration=None, cv=3, random_state=0).fit(world.X, world.y)
    assert_allclose(raw.predict_risk(world.X), 1 - proba.max(axis=1))


def test_a_forest_that_judges_itself_on_its_own_rows_is_overconfident(world):
    """What the docstring warns of, so that it stays true."""
    forest = RandomForestClassifier(50, random_state=0)
    risk = PlugInRisk(forest, calibration=None, random_state=0).fit(world.X, world.y)
    fresh = world.sample(2000, random_state=1)
    own_view = risk.predict_risk(world.X).mean()
    assert own_view < 0.7 * (1 - np.mean(risk.predict(fresh.X) == fresh.y))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", [LogisticRegression(C=0.01), STUMPS], ids=str)
def test_calibration_of_a_frozen_model_is_that_of_scikit_learn(world, method, model):
    model = clone(model).set_params(random_state=0).fit(world.X[:150], world.y[:150])
    X, y = world.X[150:], world.y[150:]
    expected = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(X, y)
    risk = PlugInRisk(
        FrozenEstimator(model), probability=FrozenEstimator(model), calibration=method
    ).fit(X, y)
    proba = expected.predict_proba(world.X)
    chosen = proba[np.arange(len(proba)), model.predict(world.X)]
    assert_allclose(risk.predict_risk(world.X), 1 - chosen, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_calibration_of_two_classes_is_that_of_scikit_learn(world, method):
    """There is one score for both of them."""
    X, y = world.X[world.y < 2], world.y[world.y < 2]
    model = FrozenEstimator(LogisticRegression(C=0.01).fit(X[::2], y[::2]))
    expected = CalibratedClassifierCV(model, method=method).fit(X[1::2], y[1::2])
    risk = PlugInRisk(model, probability=model, calibration=method).fit(X[1::2], y[1::2])
    assert risk.held_out_.losses.sum() > 0
    chosen = expected.predict_proba(X)[np.arange(len(X)), model.predict(X)]
    assert_allclose(risk.predict_risk(X), 1 - chosen, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_calibration_by_folds_is_that_of_scikit_learn(world, method):
    model = LogisticRegression(C=0.01)
    folds = list(StratifiedKFold(4).split(world.X, world.y))
    expected = CalibratedClassifierCV(model, method=method, cv=folds, ensemble=False)
    expected.fit(world.X, world.y)
    risk = PlugInRisk(model, calibration=method, cv=folds).fit(world.X, world.y)
    proba = expected.predict_proba(world.X)
    chosen = proba[np.arange(len(proba)), risk.predict(world.X)]
    assert_allclose(risk.predict_risk(world.X), 1 - chosen, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_are_numbers_calibrate_like_any_other(world, method):
    names = np.array([1, 2, 40])
    options = {"calibration": method, "loss": "log_loss", "random_state": 0}
    plain = PlugInRisk(LogisticRegression(C=0.01), **options).fit(world.X, world.y)
    named = PlugInRisk(LogisticRegression(C=0.01), **options).fit(world.X, names[world.y])
    assert_allclose(named.predict_risk(world.X), plain.predict_risk(world.X))


def test_temperature_repairs_probabilities_that_are_too_sure(seed):
    world = make_gaussian_mixture(1000, separation=1.0, random_state=seed)
    fresh = world.sample(3000, random_state=seed + 100)
    model = RandomForestClassifier(30, random_state=seed)
    raw, scaled = (
        PlugInRisk(model, loss="log_loss", calibration=method, random_state=seed)
        .fit(world.X, world.y)
        .score(fresh.X, fresh.y)
        for method in (None, "temperature")
    )
    assert scaled > raw


def test_a_model_without_probabilities_can_be_calibrated(world):
    risk = PlugInRisk(LinearSVC(), calibration="sigmoid", random_state=0).fit(world.X, world.y)
    truth = world.risk(risk.predictor_, world.X)
    assert np.corrcoef(risk.predict_risk(world.X), truth)[0, 1] > 0.9
    binary = PlugInRisk(LinearSVC(), calibration="temperature", random_state=0)
    risk = binary.fit(world.X, world.y > 0).predict_risk(world.X)
    assert ((risk >= 0) & (risk <= 1)).all()


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "brier"])
@pytest.mark.parametrize("unknown", ["ant", "bee", "cat"])
def test_classes_that_only_one_side_knows_are_aligned_by_label(world, loss, unknown):
    names = np.array(["cat", "ant", "bee"])
    y, rows = names[world.y], np.arange(400)
    model = LogisticRegression().fit(world.X[y != unknown], y[y != unknown])
    second = LogisticRegression().fit(world.X, y)
    raw = {"calibration": None}
    risk = PlugInRisk(FrozenEstimator(model), probability=FrozenEstimator(second), loss=loss, **raw)
    risk.fit(world.X, y)
    p = second.predict_proba(world.X)  # ant, bee, cat
    f = np.insert(model.predict_proba(world.X), list(second.classes_).index(unknown), 0.0, axis=1)
    expected = {
        "zero_one": 1 - p[rows, f.argmax(axis=1)],
        "log_loss": -(p * np.log(np.maximum(f, np.finfo(float).eps))).sum(axis=1),
        "brier": (f**2).sum(axis=1) + 1 - 2 * (p * f).sum(axis=1),
    }[loss]
    assert_allclose(risk.predict_risk(world.X), expected)
    assert unknown not in risk.classes_
    # The other way round: a probability model that does not know a class gives it nothing.
    other = PlugInRisk(FrozenEstimator(second), probability=FrozenEstimator(model), **raw)
    other.fit(world.X, y)
    assert_allclose(other.predict_risk(world.X), 1 - f[rows, p.argmax(axis=1)])


def test_one_split_without_refit_gives_the_second_part_to_the_probabilities(world):
    cv = ShuffleSplit(n_splits=1, test_size=4 / 9, random_state=42)
    train, test = next(cv.split(world.X))
    raw = PlugInRisk(LogisticRegression(), calibration=None, cv=cv, refit=False)
    risk = raw.fit(world.X, world.y)
    first = LogisticRegression().fit(world.X[train], world.y[train])
    second = LogisticRegression().fit(world.X[test], world.y[test])
    assert_allclose(risk.predictor_.coef_, first.coef_)
    assert_allclose(risk.probability_.coef_, second.coef_)
    scaled = PlugInRisk(LogisticRegression(), cv=cv, refit=False)
    scaled.fit(world.X, world.y)
    assert scaled.probability_ is scaled.predictor_  # so that the second part is free


def test_out_of_fold_risk_is_calibrated_without_the_fold(world):
    folds = list(KFold(3, shuffle=True, random_state=0).split(world.X))
    model = LogisticRegression(C=0.01)
    risk = PlugInRisk(model, calibration="isotonic", cv=folds).fit(world.X, world.y)
    scores = np.empty((400, 3))
    prediction = np.empty(400, dtype=int)
    for train, test in folds:
        fold = clone(model).fit(world.X[train], world.y[train])
        scores[test], prediction[test] = (
            fold.decision_function(world.X[test]),
            fold.predict(world.X[test]),
        )

    class Given(Oracle):
        def decision_function(self, X):
            return X

    for train, test in folds:
        calibrated = CalibratedClassifierCV(
            FrozenEstimator(Given(world).fit(None, None)), method="isotonic"
        ).fit(scores[train], world.y[train])
        proba = calibrated.predict_proba(scores[test])
        expected = 1 - proba[np.arange(len(test)), prediction[test]]
        assert_allclose(risk.held_out_.risks[test], expected, atol=1e-10)


def test_a_frozen_probability_serves_an_unfrozen_predictor(world):
    second = LogisticRegression().fit(world.X[:200], world.y[:200])
    X, y = world.X[200:], world.y[200:]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    given = {"probability": FrozenEstimator(second), "calibration": None}
    risk = PlugInRisk(tree, cv=3, random_state=0, **given).fit(X, y)
    proba = second.predict_proba(X)
    chosen = proba[np.arange(200), risk.predict(X)]
    assert_allclose(risk.predict_risk(X), 1 - chosen)
    assert np.isfinite(risk.held_out_.risks).all()


def test_a_predictor_that_lives_elsewhere(world):
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(world.X[:100], world.y[:100])
    X, y = world.X[100:], world.y[100:]
    for loss, given in (("brier", model.predict_proba(X)), ("zero_one", model.predict(X))):
        options = {"loss": loss, "probability": LogisticRegression(), "random_state": 0}
        frozen = PlugInRisk(FrozenEstimator(model), **options).fit(X, y)
        elsewhere = PlugInRisk("precomputed", **options).fit(X, y, prediction=given)
        assert_allclose(elsewhere.predict_risk(X, prediction=given), frozen.predict_risk(X))
        with pytest.raises(ValueError, match="prediction must be given"):
            elsewhere.predict_risk(X)
