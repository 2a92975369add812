"""The prediction of least expected loss, against closed forms and brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk import AutoRisk, huber, make_loss, pinball
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.learners import (
    BayesDecision,
    DistributionRegressor,
    StackedClassifier,
    StackedRegressor,
)
from condrisk.losses import get_loss

COSTS = np.array([[0.0, 1.0, 4.0], [50.0, 0.0, 2.0], [3.0, 7.0, 0.0]])


CHECKED = [
    BayesDecision(LogisticRegression()),
    BayesDecision(DistributionRegressor(LinearRegression(), DummyRegressor(), random_state=0)),
]


@parametrize_with_checks(CHECKED)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def classes():
    return make_gaussian_mixture(300, n_classes=3, random_state=0)


class Normal(RegressorMixin, BaseEstimator):
    """Answers a normal distribution whose mean and deviation are two columns of the row."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X, return_std=False):
        X = np.asarray(X)
        return (X[:, 0], X[:, 1]) if return_std else X[:, 0]


ROWS = np.array([[0.0, 1.0], [-3.0, 0.2], [100.0, 30.0]])
ANSWERS = [
    ("squared_error", 0.0),
    ("absolute_error", 0.0),
    (pinball(0.9), stats.norm.ppf(0.9)),
    (huber(0.5), 0.0),
]


@pytest.mark.parametrize(("loss", "score"), ANSWERS)
def test_best_numbers_of_a_normal_distribution(loss, score):
    model = BayesDecision(Normal(), loss=loss).fit(ROWS, ROWS[:, 0])
    assert_allclose(model.predict(ROWS), ROWS[:, 0] + score * ROWS[:, 1], atol=0.02 * 30)
    assert_allclose(model.predict(ROWS[:2]), ROWS[:2, 0] + score * ROWS[:2, 1], atol=0.01)


def test_a_loss_without_closed_form_is_searched():
    """Too low costs three times the square: the best number is an expectile."""
    loss = make_loss(lambda y, f: np.where(y > f, 3.0, 1.0) * (y - f) ** 2)
    noise = stats.norm()

    def slope(f):  # of the expected loss, by the normal's partial moments
        above = noise.pdf(f) - f * noise.sf(f)
        below = noise.pdf(f) + f * noise.cdf(f)
        return below - 3 * above

    expectile = optimize.brentq(slope, -3, 3)
    found = BayesDecision(Normal(), loss=loss).fit(ROWS, ROWS[:, 0]).predict(ROWS)
    assert_allclose((found - ROWS[:, 0]) / ROWS[:, 1], expectile, atol=0.005)


def test_many_rows_are_the_same_as_few():
    rows = np.column_stack([np.linspace(-1, 1, 4100), np.full(4100, 0.5)])
    model = BayesDecision(Normal(), loss=pinball(0.2)).fit(rows, rows[:, 0])
    assert_array_equal(model.predict(rows)[-3:], model.predict(rows[-3:]))


def test_of_all_labels_the_cheapest_is_predicted(classes):
    model = BayesDecision(LogisticRegression(), loss=COSTS).fit(classes.X, classes.y)
    proba = LogisticRegression().fit(classes.X, classes.y).predict_proba(classes.X)
    assert_allclose(model.predict_proba(classes.X), proba)
    expected = [[row @ COSTS[:, k] for k in range(3)] for row in proba]  # C[true, predicted]
    assert_array_equal(model.predict(classes.X), np.argmin(expected, axis=1))
    assert (model.predict(classes.X) != proba.argmax(axis=1)).any()


@pytest.mark.parametrize("loss", [None, "zero_one", "log_loss", "brier"])
def test_where_the_most_probable_label_is_best_it_is_predicted(classes, loss):
    labels = np.array(["a", "b", "c"])[classes.y]
    model = BayesDecision(LogisticRegression(), loss=loss).fit(classes.X, labels)
    plain = LogisticRegression().fit(classes.X, labels)
    assert_array_equal(model.predict(classes.X), plain.predict(classes.X))


def test_a_frozen_model_is_not_fitted_again(classes):
    plain = LogisticRegression().fit(classes.X, classes.y)
    frozen = BayesDecision(FrozenEstimator(plain), loss=COSTS).fit(classes.X[:20], classes.y[:20])
    again = BayesDecision(LogisticRegression(), loss=COSTS).fit(classes.X, classes.y)
    assert_array_equal(frozen.predict(classes.X), again.predict(classes.X))


def test_weights_reach_the_model():
    y = np.array([0, 0, 0, 1])
    model = BayesDecision(DummyClassifier()).fit(np.zeros((4, 1)), y, sample_weight=[1, 1, 1, 9])
    assert_allclose(model.predict_proba([[0.0]]), [[0.25, 0.75]])


@pytest.mark.parametrize("loss", ["log_loss", "zero_one"])
def test_its_score_is_minus_the_mean_loss(classes, loss):
    model = BayesDecision(LogisticRegression(), loss=loss).fit(classes.X, classes.y)
    plain = LogisticRegression().fit(classes.X, classes.y)
    proba = plain.predict_proba(classes.X)
    values = {
        "log_loss": -np.log(proba[np.arange(300), classes.y]),
        "zero_one": plain.predict(classes.X) != classes.y,
    }
    weight = np.arange(300.0)
    expected = -np.average(values[loss], weights=weight)
    assert model.score(classes.X, classes.y, sample_weight=weight) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "loss", "message"),
    [
        (LinearRegression(), None, "model must answer a distribution.*DistributionRegressor"),
        (RidgeClassifier(), None, "model must have predict_proba"),
        (LogisticRegression(), pinball(0.5), "is for regression"),
        (LogisticRegression(), np.eye(2), "3 classes"),
    ],
)
def test_what_cannot_decide_is_refused(classes, model, loss, message):
    with pytest.raises(ValueError, match=message):
        BayesDecision(model, loss=loss).fit(classes.X, classes.y)


# -- in AutoRisk -----------------------------------------------------------------------------------


def test_a_built_classifier_heeds_the_costs(classes):
    fresh = classes.sample(4000, random_state=1)
    model = AutoRisk(loss=COSTS, random_state=0).fit(classes.X, classes.y)
    stack = StackedClassifier(random_state=0).fit(classes.X, classes.y)
    own = model.loss_values(fresh.X, fresh.y).mean()
    assert own < 0.8 * get_loss(COSTS)(fresh.y, stack.predict(fresh.X), classes=[0, 1, 2]).mean()
    assert_array_equal(model.predict(fresh.X), model.predictor_.predict(fresh.X))
    # The risk is that of these predictions, learnt from held-out ones.
    held_out = get_loss(COSTS)(classes.y, model.predictor_.held_out_.responses["predict"])
    assert_allclose(model.held_out_.losses, held_out)
    assert model.predict_risk(fresh.X).mean() == pytest.approx(own, rel=0.3)


def test_a_built_regressor_predicts_the_quantile_that_the_loss_asks_for():
    world = make_heteroscedastic(400, random_state=0)
    fresh = world.sample(4000, random_state=1)
    model = AutoRisk(loss=pinball(0.9), random_state=0).fit(world.X, world.y)
    assert abs(np.mean(fresh.y <= model.predict(fresh.X)) - 0.9) < 0.05
    own = model.loss_values(fresh.X, fresh.y).mean()
    mean = StackedRegressor(random_state=0).fit(world.X, world.y).predict(fresh.X)
    assert own < 0.7 * pinball(0.9)(fresh.y, mean).mean()
    assert model.predict_risk(fresh.X).mean() == pytest.approx(own, rel=0.2)
    assert isinstance(model.predictor_.model_, DistributionRegressor)
    parts = model.decompose_risk(fresh.X[:50])
    assert_allclose(parts.gap, 0, atol=1e-9)  # nothing is better under its own distribution
