"""The risk of a cross-fitted predictor is that of the one that is kept, fitted on all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, ShuffleSplit

from condrisk import RegressionRisk

# Made-up predictors of a constant target are worse than that constant.
pytestmark = pytest.mark.filterwarnings("ignore:the predictor is worse than a constant")

N_ROWS = 240
X, Y = np.arange(N_ROWS, dtype=float)[:, None], np.zeros(N_ROWS)


class Learner(RegressorMixin, BaseEstimator):
    """Its squared error where y = 0 is a known function of the number of rows it was fitted on."""

    def __init__(self, curve=None, fewest=1):
        self.curve = curve
        self.fewest = fewest

    def fit(self, X, y):
        if len(X) < self.fewest:
            raise ValueError("too few rows")
        self.n_rows_ = len(X)
        return self

    def predict(self, X):
        return np.full(len(X), np.sqrt(self.curve(self.n_rows_)))


def risk_of(curve, *, fewest=1, **params):
    predictor = Learner(curve, fewest)
    risk = RegressionRisk(predictor, regressor=DummyRegressor(), random_state=0, **params)
    return risk.fit(X, Y)


CURVES = {
    "falls to a floor": lambda n: 1 + 100 / n,
    "falls as one over the rows": lambda n: 50 / n,
}


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("cv", [4, 5, 10])
def test_known_learning_curves_are_followed_to_all_rows(curve, cv):
    risk = risk_of(curve, cv=cv)
    assert_allclose(risk.predict_risk(X), curve(N_ROWS), rtol=1e-9)
    assert_allclose(risk.held_out_.risks, curve(N_ROWS), rtol=1e-9)
    # The losses that were seen stay as they were.
    assert_allclose(risk.held_out_.losses, curve(N_ROWS * (1 - 1 / cv)), rtol=1e-9)


def test_two_folds_are_compared_with_four():
    curve = CURVES["falls to a floor"]
    assert_allclose(risk_of(curve, cv=2).predict_risk(X), curve(N_ROWS))


@pytest.mark.parametrize(("cv", "fitted"), [(2, (120, 180)), (5, (192, 120))])
def test_the_second_cross_fitting_has_two_folds_or_four(cv, fitted):
    """Its predictors see half of the rows, or three quarters: with any other number they fail."""
    curve = CURVES["falls to a floor"]

    def only_there(n):
        return curve(n) if n in (*fitted, N_ROWS) else 1e6

    assert_allclose(risk_of(only_there, cv=cv).predict_risk(X), curve(N_ROWS))


def test_a_steep_or_a_rising_curve_is_not_trusted():
    assert risk_of(lambda n: 1.0).refit_factor_ == 1
    assert risk_of(lambda n: n / 100).refit_factor_ == 1
    assert risk_of(lambda n: 1e9 / n**5).refit_factor_ == 0.8  # five folds: as one over the rows


def test_a_line_with_hardly_more_rows_than_columns_is_not_followed_too_far():
    def curve(n):  # of least squares with 100 columns and normal noise
        return 1 + 100 / (n - 101)

    assert_allclose(risk_of(curve).predict_risk(X), curve(N_ROWS), rtol=0.05)


@pytest.mark.parametrize(
    "params",
    [
        {"cv": KFold(5)},
        {"cv": ShuffleSplit(1, random_state=0), "refit": False},
        {"fewest": N_ROWS // 2 + 1},
    ],
    ids=["own folds", "not fitted again", "half are too few"],
)
def test_where_it_cannot_be_told_the_losses_are_taken_as_they_are(params):
    risk = risk_of(CURVES["falls to a floor"], **params)
    assert risk.refit_factor_ == 1
    assert_allclose(risk.predict_risk(X), risk.held_out_.losses.mean())


def test_a_frozen_predictor_loses_what_it_loses():
    frozen = FrozenEstimator(Learner(lambda n: 1 + 10 / n).fit(X[:10], Y[:10]))
    risk = RegressionRisk(frozen, regressor=DummyRegressor()).fit(X, Y)
    assert_allclose(risk.predict_risk(X), 2)


def test_weights_count_in_both_cross_fittings():
    """Rows without weight lose a lot, always: they must not pull the two means together."""

    class Halves(Learner):
        def predict(self, X):
            return np.where(np.asarray(X)[:, 0] < N_ROWS / 2, super().predict(X), 9.0)

    curve = CURVES["falls to a floor"]
    weight = (X[:, 0] < N_ROWS / 2).astype(float)
    risk = RegressionRisk(Halves(lambda n: curve(n)), regressor=DummyRegressor(), random_state=0)
    with pytest.warns(UserWarning, match="sample_weight is not used by the predictor"):
        risk.fit(X, Y, sample_weight=weight)
    assert_allclose(risk.predict_risk(X), curve(N_ROWS))


class Labels(ClassifierMixin, BaseEstimator):
    """Wrong on a share of the rows, which falls with the number of rows it was fitted on."""

    def fit(self, X, y):
        self.classes_, self.n_rows_ = np.array([0, 1]), len(X)
        return self

    def predict_proba(self, X):
        wrong = np.asarray(X)[:, 0] % 20 < 1 + 400 / self.n_rows_
        return np.column_stack([~wrong, wrong]) * 0.8 + 0.1

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


@pytest.mark.parametrize(("loss", "followed"), [("zero_one", False), ("brier", True)])
def test_wrong_labels_of_few_rows_are_not_followed(loss, followed):
    """Which are wrong is mostly luck; a loss of probabilities says more."""
    risk = RegressionRisk(Labels(), loss=loss, regressor=DummyRegressor(), random_state=0)
    labels = np.where(X[:, 0] % 20 == 19, 1, 0)
    risk.fit(X, labels)
    assert (risk.refit_factor_ < 1) == followed
    if not followed:
        assert_allclose(risk.predict_risk(X), risk.held_out_.losses.mean())
