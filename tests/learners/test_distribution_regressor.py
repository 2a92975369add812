"""The distribution learner against worlds whose conditional distribution is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk.datasets import make_heteroscedastic
from condrisk.learners import DistributionRegressor

SIMPLE = {"mean": LinearRegression(), "variance": DummyRegressor()}


@parametrize_with_checks([DistributionRegressor(**SIMPLE, random_state=0)])
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def world():
    return make_heteroscedastic(2000, random_state=0)  # σ²(x) = exp(x₁)


@pytest.fixture(scope="module")
def fitted(world):
    return DistributionRegressor(mean=LinearRegression(), random_state=0).fit(world.X, world.y)


def test_mean_and_deviation_of_a_known_world(world, fitted):
    fresh = world.sample(3000, random_state=1)
    true = np.exp(fresh.X[:, 0] / 2)
    assert np.corrcoef(np.log(fitted.predict_std(fresh.X)), np.log(true))[0, 1] > 0.9
    # Standardised by what is predicted, new targets are normal.
    scores = (fresh.y - fitted.predict(fresh.X)) / fitted.predict_std(fresh.X)
    assert abs(scores.std() - 1) < 0.1
    for level in (0.05, 0.5, 0.95):
        below = fresh.y <= fitted.predict_quantiles(fresh.X, [level])[:, 0]
        assert abs(below.mean() - level) < 0.025


def test_homoscedastic_quantiles_are_those_of_the_residuals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = X[:, 0] + rng.standard_t(5, size=4000)
    model = DistributionRegressor(**SIMPLE, random_state=0).fit(X, y)
    levels = np.array([0.01, 0.25, 0.75, 0.99])
    found = model.predict_quantiles([[2.0, 0.0]], levels)[0]
    assert_allclose(found, 2 + stats.t(5).ppf(levels), atol=0.35)


def test_expectations_use_all_residuals(fitted, world):
    rows = world.X[:50]
    mean, std = fitted.predict(rows), fitted.predict_std(rows)
    assert_allclose(fitted.predict_expectation(rows, lambda y: y), mean)
    assert_allclose(fitted.predict_expectation(rows, np.square), mean**2 + std**2)
    highest = mean + std * fitted.residuals_[-1]
    above = fitted.predict_expectation(rows, lambda y: (y >= highest[:, None] - 1e-9).astype(float))
    assert_allclose(above, fitted.residual_weights_[-1])


def test_quantiles_and_expectations_agree(fitted, world):
    rows = world.X[:20]
    quantile = fitted.predict_quantiles(rows, [0.3])
    below = fitted.predict_expectation(rows, lambda y: (y <= quantile).astype(float))
    just_below = fitted.predict_expectation(rows, lambda y: (y < quantile).astype(float))
    assert (below >= 0.3 - 1e-9).all()
    assert (just_below < 0.3).all()


def test_many_residuals_are_merged_in_the_middle_and_not_in_the_tails():
    rng = np.random.default_rng(0)
    X, y = np.zeros((6000, 1)), rng.normal(size=6000)
    model = DistributionRegressor(DummyRegressor(), DummyRegressor(), random_state=0).fit(X, y)
    assert len(model.residuals_) == 1500
    own = np.sort(y - model.held_out_.mean)
    scale = model.held_out_.std[0]
    assert_allclose(np.ptp(model.residuals_[-100:]), np.ptp(own[-100:]) / scale, rtol=0.03)


def test_held_out_answers_have_not_seen_their_row():
    """A mean that learns rows by heart would have no residuals where it has seen them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    model = DistributionRegressor(KNeighborsRegressor(1), DummyRegressor(), random_state=0)
    model.fit(X, y)
    assert_allclose(model.predict(X), y)
    assert np.mean((y - model.held_out_.mean) ** 2) > 1.2
    assert_allclose(model.predict_std(X) ** 2, np.mean((y - model.held_out_.mean) ** 2), rtol=0.05)


@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_the_variance_does_not_shrink_far_from_the_data(world, direction):
    model = DistributionRegressor(random_state=0).fit(world.X[:400], world.y[:400])
    edge = np.zeros((1, 5))
    edge[0, 0] = 1.5 * direction
    far = np.full((1, 5), 1000.0)
    far[0, 0] = 1000.0 * direction
    assert model.predict_std(far)[0] > 0.9 * model.predict_std(edge)[0]


def test_the_variance_is_not_extrapolated():
    """A line through falling variances would be below zero out there."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 1))
    y = (1.5 - X[:, 0]) * rng.normal(size=300)
    model = DistributionRegressor(DummyRegressor(), LinearRegression(), random_state=0).fit(X, y)
    edge, far = model.predict_std([[X.max()], [50.0]])
    assert_allclose(far, edge)
    assert edge > 0.2


def test_weights_groups_and_gaps(world):
    X, y = world.X[:300].copy(), world.y[:300].copy()
    X[::7, 1] = np.nan
    weight = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    y[weight == 0] += 100.0  # ignored, so of no consequence
    groups = np.repeat(np.arange(30), 10)
    model = DistributionRegressor(random_state=0).fit(X, y, weight, groups=groups)
    assert np.isfinite(model.predict_std(X)).all()
    assert len(model.residuals_) == 200
    assert model.predict_std(X).max() < 20
    for group in range(30):
        assert len(np.unique(model.held_out_.fold[groups == group])) == 1


def test_targets_without_noise_have_no_deviation():
    X = np.linspace(0, 1, 60)[:, None]
    model = DistributionRegressor(**SIMPLE).fit(X, np.full(60, 3.0))
    assert_allclose(model.predict_quantiles(X, [0.0, 1.0]), 3.0)


def test_bad_arguments_are_named(fitted, world):
    with pytest.raises(ValueError, match=r"quantiles must lie between 0 and 1, got \[1.5\]"):
        fitted.predict_quantiles(world.X, [1.5])
    with pytest.raises(ValueError, match="function must return one value for each target"):
        fitted.predict_expectation(world.X[:3], np.sum)


def test_weights_reach_the_last_step_of_a_pipeline():
    """Rows of weight zero, far off, would bend the line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y, weight = X[:, 0] + 0.1 * rng.normal(size=200), np.ones(200)
    y[::2], weight[::2] = 50.0, 0.0
    line = make_pipeline(StandardScaler(), LinearRegression())
    model = DistributionRegressor(line, DummyRegressor(), random_state=0).fit(X, y, weight)
    assert_allclose(model.predict(X), X[:, 0], atol=0.1)
    assert model.predict_std(X).max() < 0.2


def test_a_part_that_takes_no_weights_is_named():
    X = np.random.default_rng(0).normal(size=(60, 1))
    model = DistributionRegressor(KNeighborsRegressor(), DummyRegressor())
    with pytest.warns(UserWarning, match="sample_weight is not used by the mean"):
        model.fit(X, X[:, 0], np.arange(1.0, 61))
