"""The view of a risk as a regressor, in the hands of tools that know regressors only."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import check_is_fitted

from condrisk import AutoRisk, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic

WORLD = make_heteroscedastic(300, random_state=0)
NAMES = list("abcde")
FRAME = pd.DataFrame(WORLD.X, columns=NAMES)
CLASSES = make_gaussian_mixture(200, random_state=0)
RISK = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0).fit(FRAME, WORLD.y)


@pytest.mark.parametrize(
    ("risk", "X"),
    [
        (RISK, FRAME),
        (PlugInRisk(LogisticRegression()).fit(CLASSES.X, CLASSES.y), CLASSES.X),
        (
            AutoRisk(LogisticRegression(), time_budget=0, random_state=0).fit(CLASSES.X, CLASSES.y),
            CLASSES.X,
        ),
    ],
    ids=["regression", "plug-in", "auto"],
)
def test_it_predicts_the_risk_whatever_the_predictor_is(risk, X):
    view = risk.as_regressor()
    assert is_regressor(view)
    assert not is_classifier(view)
    assert_array_equal(view.predict(X), risk.predict_risk(X))
    assert view.n_features_in_ == X.shape[1]
    assert_array_equal(pickle.loads(pickle.dumps(view)).predict(X), risk.predict_risk(X))


def test_partial_dependence_is_that_of_the_risk():
    found = partial_dependence(RISK.as_regressor(), FRAME, ["a"], grid_resolution=5)
    for at, average in zip(found["grid_values"][0], found["average"][0], strict=True):
        assert_allclose(average, RISK.predict_risk(FRAME.assign(a=at)).mean())


def test_importance_is_judged_by_losses():
    view, losses = RISK.as_regressor(), RISK.loss_values(FRAME, WORLD.y)
    assert_allclose(view.score(FRAME, losses), r2_score(losses, RISK.predict_risk(FRAME)))
    found = permutation_importance(view, FRAME, losses, n_repeats=3, random_state=0)
    assert NAMES[found.importances_mean.argmax()] == "a"  # σ²(x) = exp(x₁)


def test_shap_takes_the_names_from_a_copy_and_gives_arrays():
    view = RISK.as_regressor()
    without = copy.deepcopy(view)
    without.predict.__self__.feature_names_in_ = None
    assert_array_equal(without.predict(FRAME.to_numpy()), RISK.predict_risk(FRAME))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        view.predict(FRAME.to_numpy())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("kind", ["Explainer", "KernelExplainer"])
def test_shap_explains_the_risk(kind):
    shap = pytest.importorskip("shap", reason="shap, numba and llvmlite are not installed")
    explainer = getattr(shap, kind)(RISK.as_regressor().predict, FRAME[:30])
    found = explainer(FRAME[:3])
    total = found.values.sum(axis=1) + found.base_values
    assert_allclose(total, RISK.predict_risk(FRAME[:3]))


def test_it_stays_as_fitted():
    view = RISK.as_regressor()
    check_is_fitted(view)
    assert clone(view) is view
    losses = RISK.loss_values(FRAME, WORLD.y)
    assert_array_equal(cross_val_predict(view, FRAME, 0 * losses), RISK.predict_risk(FRAME))
    assert_array_equal(view.feature_names_in_, NAMES)
    with pytest.raises(ValueError, match="feature names"):
        view.predict(FRAME[NAMES[::-1]])


def test_only_what_is_fitted_has_a_risk_to_show():
    with pytest.raises(NotFittedError):
        RegressionRisk(LinearRegression()).as_regressor()
    unnamed = RegressionRisk(LinearRegression(), regressor=Ridge()).fit(WORLD.X, WORLD.y)
    assert not hasattr(unnamed.as_regressor(), "feature_names_in_")
    assert np.isfinite(unnamed.as_regressor().predict(WORLD.X)).all()
