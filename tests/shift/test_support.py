"""Support: how much calibration data stands behind an estimate."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk import RegressionRisk
from condrisk.learners import LossRegressor
from condrisk.shift import DistanceSupport, ForestSupport


def rows(seed, n=400, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.exp(X[:, 0]) * rng.normal(size=n) ** 2


SUPPORTS = {
    "distance": DistanceSupport(),
    "forest": ForestSupport(),
    "random forest": ForestSupport(RandomForestRegressor(20, random_state=0)),
}


@parametrize_with_checks([DistanceSupport(5), ForestSupport(ExtraTreesRegressor(5), min_rows=5)])
def test_supports_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", SUPPORTS)
@pytest.mark.parametrize("n_features", [1, 2, 5, 20])
def test_out_of_range_rows_have_less_support_than_any_row_of_the_same_law(name, n_features, seed):
    X, loss = rows(seed, n=500, d=n_features)
    support = clone(SUPPORTS[name]).fit(X, loss)
    fresh = rows(seed + 100, d=n_features)[0][:100]
    for feature in (0, n_features - 1):
        for value in (-12.0, 12.0, 1e6, 1e300):
            out = fresh.copy()
            out[:, feature] = value
            assert support.score_samples(out).max() < np.quantile(
                support.score_samples(fresh), 0.02
            )


@pytest.mark.parametrize("name", SUPPORTS)
def test_rows_off_the_diagonal_have_little_support(name, seed):
    """Within the range of each feature, but where no row is."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=600)
    X = np.column_stack([x, x + 0.1 * rng.normal(size=600)])
    support = clone(SUPPORTS[name]).fit(X, x)
    on, off = support.score_samples([[1.0, 1.0], [1.5, -1.5]])
    assert off < on / 10


def test_a_hole_has_little_support_by_distance(seed):
    ring = np.random.default_rng(seed).normal(size=(600, 2))
    ring *= 2 / np.linalg.norm(ring, axis=1, keepdims=True)
    on, within = DistanceSupport().fit(ring).score_samples([[0.0, 2.0], [0.0, 0.0]])
    assert within < on / 100


def test_distance_support_by_hand():
    """Four rows a unit apart, two neighbours: a median distance of 1.5 units to the second."""
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    support = DistanceSupport(2).fit(X)
    scale = 1.5 / 1.349
    assert_allclose(support.usual_distance_, 1.5 / scale)
    near, far = np.array([0.0, 1.0]), np.array([7.0, 8.0])
    expected = [np.exp(-0.5 * (d / 1.5) ** 2).sum() for d in (near, far)]
    assert_allclose(support.score_samples([[0.0], [10.0]]), expected)


def test_distance_support_knows_no_units(seed):
    X, _ = rows(seed)
    fresh, _ = rows(seed + 100)
    scale, shift = np.array([1e-6, 1.0, 1e5]), np.array([3.0, -50.0, 1e6])
    plain = DistanceSupport().fit(X).score_samples(fresh)
    moved = DistanceSupport().fit(X * scale + shift).score_samples(fresh * scale + shift)
    assert_allclose(moved, plain, rtol=1e-6)


def counted(forest, X, fresh, min_rows, margin):
    """Return the support by its definition, one row and one tree at a time."""
    X, fresh = X.astype(np.float32), fresh.astype(np.float32)
    total = np.zeros(len(fresh))
    for tree in forest.estimators_:
        visits = tree.decision_path(X).toarray().astype(bool)
        for k, path in enumerate(tree.decision_path(fresh).toarray().astype(bool)):
            nodes = [v for v in np.flatnonzero(path) if visits[:, v].sum() >= min_rows]
            inside = X[visits[:, min(nodes, key=lambda v: visits[:, v].sum())]]
            low, high = inside.min(axis=0), inside.max(axis=0)
            beyond = np.maximum(low - fresh[k], fresh[k] - high) / (high - low) * (len(inside) - 1)
            total[k] += len(inside) * np.exp(-max(beyond.max(), 0) / margin)
    return total / len(forest.estimators_)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("leaf", [1, 7])
def test_forest_support_is_what_it_is_defined_as(kind, leaf, seed):
    X, loss = rows(seed, n=150)
    fresh = 1.5 * rows(seed + 100, n=30)[0]
    forest = kind(5, min_samples_leaf=leaf, random_state=seed).fit(X, loss)
    support = ForestSupport(FrozenEstimator(forest), min_rows=10, margin=2.0).fit(X)
    assert_allclose(
        support.score_samples(fresh), counted(forest, X, fresh, 10, 2.0), rtol=1e-4, atol=1e-12
    )


def test_every_forest_that_learns_losses_will_do(seed):
    X, loss = rows(seed, n=1000)
    # A step on either side, which no line shows: trees have a share in this one.
    regressor = LossRegressor(random_state=0).fit(X, loss + 20 * (np.abs(X[:, 1]) > 1))
    y = X[:, 0] + loss
    risk = RegressionRisk(
        LinearRegression(), regressor=RandomForestRegressor(10), random_state=0
    ).fit(X, y)
    classifier = RandomForestClassifier(10, random_state=0).fit(X, loss > 1)
    for fitted in (regressor, risk, FrozenEstimator(risk), classifier):
        support = ForestSupport(FrozenEstimator(fitted)).fit(X)
        inside, outside = support.score_samples([[0.0, 0, 0], [9.0, 0, 0]])
        assert inside > 10 > 0.1 > outside


def test_a_frozen_forest_is_not_fitted_again_and_an_open_one_is():
    X, loss = rows(0)
    forest = RandomForestRegressor(5, random_state=0).fit(X, loss)
    frozen = ForestSupport(FrozenEstimator(forest)).fit(X, -loss)
    assert frozen.forest_.estimator is forest
    opened = ForestSupport(forest).fit(X, -loss)
    assert opened.forest_ is not forest
    assert_allclose(opened.forest_.predict(X), -forest.predict(X))


@pytest.mark.parametrize("name", SUPPORTS)
def test_rows_of_weight_zero_are_not_there(name):
    X, loss = rows(0)
    weight = np.random.default_rng(1).integers(0, 2, len(X))
    fresh = rows(1)[0]
    weighted = clone(SUPPORTS[name]).fit(X, loss, sample_weight=weight).score_samples(fresh)
    fewer = clone(SUPPORTS[name]).fit(X[weight > 0], loss[weight > 0]).score_samples(fresh)
    assert_array_equal(weighted, fewer)


@pytest.mark.parametrize("name", SUPPORTS)
def test_more_new_rows_than_are_looked_at_at_once(name):
    X, loss = rows(0, n=300)
    fresh = rows(1, n=4200)[0]
    support = clone(SUPPORTS[name]).fit(X, loss)
    parts = [support.score_samples(part) for part in np.array_split(fresh, 3)]
    assert_array_equal(support.score_samples(fresh), np.concatenate(parts))


def test_of_more_rows_than_enough_some_are_drawn():
    X, loss = rows(0, n=10_050)
    fresh = rows(1, n=300)[0]
    for kind in (DistanceSupport(), ForestSupport(ExtraTreesRegressor(5, random_state=0))):
        seeds = [clone(kind).set_params(random_state=k).fit(X, loss) for k in (0, 0, 1)]
        same, again, other = (support.score_samples(fresh) for support in seeds)
        assert_array_equal(same, again)
        assert (same != other).any()
        assert seeds[0].score_samples(fresh + 12.0).max() < np.quantile(same, 0.02)


@pytest.mark.parametrize("name", SUPPORTS)
def test_repeated_constant_and_missing_values(name):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 300), np.full(300, 7.0), rng.normal(size=300)])
    X[rng.random(300) < 0.2, 2] = np.nan
    loss = rng.exponential(size=300)
    support = clone(SUPPORTS[name]).fit(X, loss)
    known, missing, odd = support.score_samples(
        [[1.0, 7.0, 0.0], [1.0, 7.0, np.nan], [1.0, 7.1, 0.0]]
    )
    assert min(known, missing) > 5
    assert odd < 1e-6
    repeated = np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0)
    support = clone(SUPPORTS[name]).fit(repeated, np.arange(100.0))
    same, other = support.score_samples([[0.0, 1.0], [20.0, 1.0]])
    assert same > 10 * other


def test_supports_pickle_and_take_frames():
    X, loss = rows(0)
    frame = pd.DataFrame(X, columns=list("abc"))
    for support in SUPPORTS.values():
        fitted = clone(support).fit(frame, loss)
        again = pickle.loads(pickle.dumps(fitted))
        assert_array_equal(again.score_samples(frame), fitted.score_samples(frame))
        assert list(fitted.feature_names_in_) == ["a", "b", "c"]


def test_supports_say_what_is_wrong():
    X, loss = rows(0)
    with pytest.raises(ValueError, match="'n_neighbors' parameter"):
        DistanceSupport(0).fit(X)
    with pytest.raises(ValueError, match="X must have at least two rows of positive weight"):
        DistanceSupport().fit(X, sample_weight=np.eye(len(X))[0])
    with pytest.raises(ValueError, match="y must be given"):
        ForestSupport().fit(X)
    with pytest.raises(ValueError, match="forest must be extra-trees"):
        ForestSupport(GradientBoostingRegressor(n_estimators=2)).fit(X, loss)
    with pytest.raises(ValueError, match="forest: RegressionRisk must be fitted and frozen"):
        ForestSupport(RegressionRisk(LinearRegression())).fit(X, loss)
    narrow = RandomForestRegressor(3).fit(X[:, :2], loss)
    with pytest.raises(ValueError, match="X has 3 features, but the forest was fitted on 2"):
        ForestSupport(FrozenEstimator(narrow)).fit(X)
    constant = LossRegressor().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="the trees have no share"):
        ForestSupport(FrozenEstimator(constant)).fit(X)
