"""What scikit-learn's checks leave out, `predict_risk`, in the same manner over the same list."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import DEFERRALS, ESTIMATORS, RISKS
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from condrisk import RegressionRisk, predict_risk
from condrisk._state import without_training_rows
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.risk import BaseRisk

pytestmark = pytest.mark.filterwarnings("ignore:sample_weight is not used")

every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_risk = pytest.mark.parametrize("name", RISKS)
CLASSIFIERS = [name for name, risk in RISKS.items() if is_classifier(risk)]


def rows_for(estimator, n_samples=120, seed=0):
    """Return rows of a world that suits the estimator."""
    make = make_gaussian_mixture if is_classifier(estimator) else make_heteroscedastic
    world = make(n_samples, n_features=3, random_state=seed)
    return world.X, world.y


@cache
def fitted(name):
    """Return an estimator, fitted once for all tests, with its rows: none of them changes it."""
    estimator = clone(ESTIMATORS[name])
    X, y = rows_for(estimator)
    return estimator.fit(X, y), X, y


@every_estimator
def test_risk_is_one_finite_number_a_row_and_not_below_the_least_loss(name):
    estimator, X, _ = fitted(name)
    far = np.vstack([X, 1e3 * X])
    risk = estimator.predict_risk(far)
    assert risk.shape == (len(far),)
    assert risk.dtype == np.float64
    assert np.isfinite(risk).all()
    assert risk.min() >= 0


@every_estimator
def test_risk_does_not_depend_on_row_order_or_batches(name):
    estimator, X, _ = fitted(name)
    risk = estimator.predict_risk(X)
    order = np.random.default_rng(0).permutation(len(X))
    assert_allclose(estimator.predict_risk(X[order]), risk[order], rtol=1e-10)
    batches = [estimator.predict_risk(X[start : start + 7]) for start in range(0, len(X), 7)]
    assert_allclose(np.concatenate(batches), risk, rtol=1e-10)


@every_estimator
def test_a_clone_fitted_again_gives_the_same_risk(name):
    estimator, X, y = fitted(name)
    assert_array_equal(clone(estimator).fit(X, y).predict_risk(X), estimator.predict_risk(X))


@every_estimator
def test_fitting_again_forgets_the_first_fit(name):
    estimator, X, y = fitted(name)
    again = clone(estimator).fit(X[::2], y[::2]).fit(X, y)
    assert_array_equal(again.predict_risk(X), estimator.predict_risk(X))


@every_risk
def test_the_number_of_jobs_does_not_change_the_risk(name):
    estimator, X, y = fitted(name)
    parallel = clone(estimator).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(parallel.predict_risk(X), estimator.predict_risk(X))


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "forest" not in name])
def test_integer_weights_equal_repeated_rows_when_the_folds_match(name):
    if "default" in name or "auto" in name:
        pytest.skip("the default regressors tune themselves on random parts of the rows")
    X, y = rows_for(ESTIMATORS[name], 90)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    folds = list(KFold(3).split(X))
    folds_of_repeated = [
        tuple(np.flatnonzero(np.isin(repeated, part)) for part in fold) for fold in folds
    ]

    def fit(X, y, cv, **weights):
        estimator = clone(ESTIMATORS[name])
        estimator.set_params(**{"risk__cv" if name in DEFERRALS else "cv": cv})
        for key in estimator.get_params():
            if key.endswith("__tol"):  # both must reach the same optimum, not only come near it
                estimator.set_params(**{key: 1e-10})
        return estimator.fit(X, y, **weights)

    weighted = fit(X, y, folds, sample_weight=weight)
    longer = fit(X[repeated], y[repeated], folds_of_repeated)
    assert_allclose(weighted.predict_risk(X), longer.predict_risk(X), rtol=1e-5, atol=1e-7)


@every_estimator
def test_weights_matter(name):
    estimator, X, y = fitted(name)
    weight = np.where(np.arange(len(y)) < 30, 1000.0, 1.0)
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    assert np.abs(weighted.predict_risk(X) - estimator.predict_risk(X)).max() > 1e-3


@every_estimator
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_feature_names_are_kept_and_checked(name, frame):
    plain, X, y = fitted(name)
    columns = ["a", "b", "c"]
    named = frame(dict(zip(columns, X.T, strict=True)))
    estimator = clone(ESTIMATORS[name]).fit(named, y)
    assert_array_equal(estimator.feature_names_in_, columns)
    assert estimator.n_features_in_ == 3
    assert_allclose(estimator.predict_risk(named), plain.predict_risk(X), rtol=1e-10)
    renamed = frame(dict(zip(["a", "b", "z"], X.T, strict=True)))
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict_risk(renamed)
    with pytest.raises(ValueError, match="feature"):
        plain.predict_risk(X[:, :2])


LABELS = {
    "text": np.array(["no", "perhaps", "yes"]),
    "objects": np.array(["no", "perhaps", "yes"], dtype=object),
    "integers": np.array([-1, 7, 30]),
    "floats": np.array([1.0, 2.0, 4.0]),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_of_every_type_give_the_same_risk(name, kind):
    expected, X, y = fitted(name)
    estimator = clone(ESTIMATORS[name]).fit(X, LABELS[kind][y])
    assert_allclose(estimator.predict_risk(X), expected.predict_risk(X), rtol=1e-10)
    assert_array_equal(estimator.predict(X), LABELS[kind][expected.predict(X)])
    assert_array_equal(estimator.classes_, LABELS[kind])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_boolean_labels_give_the_same_risk(name):
    _, X, y = fitted(name)
    expected = clone(ESTIMATORS[name]).fit(X, np.minimum(y, 1))
    estimator = clone(ESTIMATORS[name]).fit(X, y > 0)
    assert_allclose(estimator.predict_risk(X), expected.predict_risk(X), rtol=1e-10)
    assert estimator.predict(X).dtype == bool


@every_estimator
def test_pickling_keeps_the_risk_and_the_held_out_rows_but_files_do_not(name):
    estimator, X, _ = fitted(name)
    loaded = pickle.loads(pickle.dumps(estimator))
    assert_array_equal(loaded.predict_risk(X), estimator.predict_risk(X))
    inner, copied = (getattr(model, "risk_", model) for model in (estimator, loaded))
    assert len(inner.held_out_.losses) == len(X)
    assert_array_equal(copied.held_out_.risks, inner.held_out_.risks)
    with without_training_rows():
        written = pickle.dumps(estimator)
    bare = pickle.loads(written)
    assert_array_equal(bare.predict_risk(X), estimator.predict_risk(X))
    with pytest.raises(AttributeError, match="model file, which holds no training rows"):
        getattr(bare, "risk_", bare).held_out_  # noqa: B018


@every_estimator
def test_risk_is_found_in_pipelines_and_searches(name):
    X, y = rows_for(ESTIMATORS[name])
    scaled = StandardScaler().fit(X).transform(X)
    expected = clone(ESTIMATORS[name]).fit(scaled, y).predict_risk(scaled)
    pipeline = make_pipeline(StandardScaler(), clone(ESTIMATORS[name])).fit(X, y)
    assert_allclose(predict_risk(pipeline, X), expected, rtol=1e-10)
    key = "risk__cv" if name in DEFERRALS else "cv"
    search = GridSearchCV(clone(ESTIMATORS[name]), {key: [3]}, cv=2).fit(scaled, y)
    assert_allclose(predict_risk(search, scaled), expected, rtol=1e-10)


@every_estimator
def test_the_type_of_the_predictor_is_kept(name):
    estimator = ESTIMATORS[name]
    predictor = getattr(estimator, "risk", estimator).predictor
    if predictor is None:  # it builds a regressor unless the loss is one of classes
        predictor = LinearRegression()
    assert is_classifier(estimator) == is_classifier(predictor)
    assert is_regressor(estimator) == is_regressor(predictor)


@every_estimator
def test_sparse_rows_work_where_the_tag_says_so(name):
    estimator, X, y = fitted(name)
    thin = sparse.csr_array(np.where(np.abs(X) < 0.3, 0.0, X))
    if not get_tags(estimator).input_tags.sparse:
        with pytest.raises((TypeError, ValueError)):
            clone(estimator).fit(thin, y)
        return
    dense = clone(estimator).fit(thin.toarray(), y)
    risk = clone(estimator).fit(thin, y).predict_risk(thin)
    # scikit-learn's trees visit the features of sparse rows in another order.
    tolerance = {"atol": 3.0} if "forest" in name else {"rtol": 1e-6}
    assert_allclose(risk, dense.predict_risk(thin.toarray()), **tolerance)


@pytest.mark.parametrize("name", RISKS)
def test_score_is_minus_the_squared_error_of_the_risk(name):
    estimator, X, y = fitted(name)
    weight = np.random.default_rng(0).random(len(y))
    squared = (estimator.loss_values(X, y) - estimator.predict_risk(X)) ** 2
    assert_allclose(estimator.score(X, y), -squared.mean())
    assert_allclose(
        estimator.score(X, y, sample_weight=weight), -np.average(squared, weights=weight)
    )


@pytest.mark.parametrize("missing", ["_fit", "_risk", "_held_out_risks", "_parts", "_check_parts"])
def test_a_risk_of_ones_own_without_one_of_its_methods_is_refused_when_it_is_made(missing):
    methods = {name: getattr(RegressionRisk, name) for name in BaseRisk.__abstractmethods__}
    type("Whole", (BaseRisk,), methods)()
    methods.pop(missing, None)
    with pytest.raises(TypeError, match=rf"abstract class Own .*{missing}\b"):
        type("Own", (BaseRisk,), methods)()
