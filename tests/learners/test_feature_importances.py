"""How far predictions depend on each column: the same figure for models of any kind."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Ridge

from condrisk import Deferral, RegressionRisk
from condrisk.learners import LossRegressor, StackedClassifier, StackedRegressor
from condrisk.persistence import load_model, save_model

QUICK = {"time_budget": 0, "cv": 3, "random_state": 0}


def normal_rows(n_rows, n_columns, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def test_they_are_sobol_indices_of_independent_columns():
    X = normal_rows(600, 3)
    model = StackedRegressor(**QUICK).fit(X, 2 * X[:, 0] + X[:, 1])
    # Of a variance of 4 + 1 + 0.
    assert_allclose(model.feature_importances_, [0.8, 0.2, 0.0], atol=0.04)


def test_noise_that_trees_have_learnt_hardly_counts(seed):
    X = normal_rows(300, 5, seed)
    loss = np.exp(X[:, 0]) * np.random.default_rng(seed + 100).normal(size=300) ** 2
    found = LossRegressor(random_state=seed).fit(X, loss).feature_importances_
    impurity = ExtraTreesRegressor(random_state=seed).fit(X, loss).feature_importances_
    assert found[0] > impurity[0] + 0.1
    assert found.sum() == pytest.approx(1)


def test_a_column_of_a_frame_has_one_whatever_it_is_encoded_by():
    rng = np.random.default_rng(0)
    kind = rng.choice(["calm", "noisy", "wild"], 400)
    frame = pd.DataFrame(
        {
            "same": np.ones(400),
            "kind": kind,
            "note": [f"seen by {k % 31} on day {k}" for k in range(400)],
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(900, size=400), "D"),
        }
    )
    y = pd.Series(kind).map({"calm": 0.0, "noisy": 2.0, "wild": 5.0}) + 0.1 * rng.normal(size=400)
    for model in (StackedRegressor(**QUICK).fit(frame, y), LossRegressor().fit(frame, y)):
        assert model.feature_importances_.shape == model.feature_names_in_.shape == (4,)
        assert model.feature_importances_[0] == 0
        assert model.feature_importances_[1] > 0.8
    classifier = StackedClassifier(**QUICK).fit(frame, kind)
    assert classifier.feature_importances_.argmax() == 1
    selected = SelectFromModel(LossRegressor(), threshold="mean").fit(frame, y)
    assert selected.get_feature_names_out().tolist() == ["kind"]


def test_a_mean_depends_on_nothing():
    X = normal_rows(30, 2)
    assert_array_equal(LossRegressor().fit(X, np.ones(30)).feature_importances_, [0, 0])


def test_sparse_rows_have_them_where_columns_are_not_mixed():
    X = sparse.random_array((200, 60), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = X.toarray()[:, 0]
    few = LossRegressor(random_state=0).fit(X[:, :5], y)
    assert few.feature_importances_.argmax() == 0
    many = LossRegressor(random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="sparse rows are encoded by components"):
        _ = many.feature_importances_


def test_a_later_fit_is_asked_anew():
    X = normal_rows(200, 2)
    model = StackedRegressor(**QUICK)
    assert model.fit(X, X[:, 0]).feature_importances_.argmax() == 0
    assert model.fit(X, X[:, 1]).feature_importances_.argmax() == 1
    changed = model.feature_importances_
    changed[:] = 7
    assert model.feature_importances_[1] == pytest.approx(1, abs=0.01)
    with pytest.raises(NotFittedError):
        _ = LossRegressor().feature_importances_


def test_model_files_hold_the_figures_but_not_the_rows(tmp_path):
    X = normal_rows(100, 2)
    risk = RegressionRisk(Ridge(), regressor=StackedRegressor(**QUICK), cv=2, random_state=0)
    model = Deferral(risk, cost=1.0).fit(X, X[:, 0] ** 2)

    def saved():
        save_model(model, tmp_path / "m.skops", schema=X)
        return load_model(tmp_path / "m.skops").risk_.regressor_

    with pytest.raises(AttributeError, match="model file, which holds no training rows"):
        _ = saved().feature_importances_
    copy = pickle.loads(pickle.dumps(model)).risk_.regressor_
    found = model.risk_.regressor_.feature_importances_
    assert_array_equal(copy.feature_importances_, found)
    assert_array_equal(saved().feature_importances_, found)
    assert not hasattr(saved(), "_sample")
