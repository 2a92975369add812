"""Regression worlds: closed forms against Monte Carlo, quadrature and scipy."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from world_checks import (
    STANDARD_ERRORS,
    Constant,
    assert_conditional_mean_zero,
    assert_mean_zero,
    each_regression_world,
)

from condrisk.datasets import (
    make_heteroscedastic,
    make_hidden_noise,
)
from condrisk.losses import get_loss, huber, pinball, squared_error


@each_regression_world
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("predictor", [LinearRegression(), DecisionTreeRegressor(max_depth=3)])
def test_regression_risk_is_the_mean_loss_of_fresh_rows(make, loss, predictor, seed):
    world = make(60, random_state=seed)
    predictor = predictor.fit(world.X, world.y)  # few rows: far from the mean on purpose
    fresh = world.sample(40_000, random_state=seed + 100)
    realised = get_loss(loss)(fresh.y, predictor.predict(fresh.X))
    assert_conditional_mean_zero(realised - world.risk(predictor, fresh.X, loss=loss), fresh.X)


@each_regression_world
def test_moments_of_fresh_targets(make, seed):
    world = make(40_000, random_state=seed)
    error = world.y - world.mean(world.X)
    assert_conditional_mean_zero(error, world.X)
    assert_conditional_mean_zero(error**2 - world.variance(world.X), world.X)
    # Normal, too: 68.27 % lie within a standard deviation.
    within = np.abs(error) < np.sqrt(world.variance(world.X))
    assert_conditional_mean_zero(within - (norm.cdf(1) - norm.cdf(-1)), world.X)


@each_regression_world
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("value", [-3.0, 0.0, 0.2, 8.0])
def test_regression_risk_is_the_integral_of_loss_times_density(make, loss, value, seed):
    world = make(7, random_state=seed)
    for x in world.X:
        mean, sd = world.mean([x])[0], np.sqrt(world.variance([x])[0])
        y = np.linspace(mean - 12 * sd, mean + 12 * sd, 40_001)
        rows = np.tile(x, (len(y), 1))
        integrand = get_loss(loss)(y, np.full(len(y), value)) * world.density(y, rows)
        expected = np.trapezoid(integrand, y)
        assert world.risk(Constant(value), [x], loss=loss)[0] == pytest.approx(expected, rel=1e-6)


@each_regression_world
def test_density_is_scipys_normal(make, seed):
    world = make(200, random_state=seed)
    expected = norm.pdf(world.y, world.mean(world.X), np.sqrt(world.variance(world.X)))
    np.testing.assert_allclose(world.density(world.y, world.X), expected, rtol=1e-12)


@each_regression_world
def test_squared_error_is_the_default_loss(make):
    world = make(20, random_state=0)
    default = world.risk(Constant(1.5), world.X)
    np.testing.assert_array_equal(default, world.risk(Constant(1.5), world.X, loss="squared_error"))
    np.testing.assert_array_equal(default, world.risk(Constant(1.5), world.X, loss=squared_error))


def test_absolute_risk_far_from_the_mean_and_on_it():
    world = make_heteroscedastic(n_features=1, random_state=0)
    x = np.array([[-40.0], [0.0], [2.0]])
    far = world.risk(Constant(1e6), x, loss="absolute_error")
    np.testing.assert_allclose(far, 1e6 - world.mean(x), rtol=1e-12)
    on = [world.risk(Constant(row[0]), [row], loss="absolute_error")[0] for row in x]
    np.testing.assert_allclose(on, np.sqrt(2 / np.pi * world.variance(x)))


@pytest.mark.parametrize("n_features", [1, 2, 6])
def test_heteroscedastic_variances(n_features, seed):
    exponential = make_heteroscedastic(50, n_features=n_features, random_state=seed)
    X = exponential.X
    np.testing.assert_array_equal(exponential.variance(X), np.exp(X[:, 0]))
    np.testing.assert_allclose(exponential.variance(X) * exponential.variance(-X), 1.0)
    bounded = make_heteroscedastic(
        n_features=n_features, variance="bounded", n_samples=5000, random_state=seed
    )
    variance = bounded.variance(bounded.X)
    assert 0.5 <= variance.min() < 0.51
    assert 1.49 < variance.max() <= 1.5
    np.testing.assert_allclose(variance + bounded.variance(-bounded.X), 2.0)


@pytest.mark.parametrize("make", [make_heteroscedastic, make_hidden_noise])
@pytest.mark.parametrize("n_features", [2, 3, 7])
def test_regression_mean_is_odd_linear_and_has_variance_one(make, n_features, seed):
    world = make(40_000, n_features=n_features, random_state=seed)
    X, mean = world.X, world.mean(world.X)
    np.testing.assert_array_equal(world.mean(-X), -mean)
    np.testing.assert_allclose(world.mean(X + 2 * X[::-1]), mean + 2 * mean[::-1], atol=1e-12)
    assert_mean_zero(mean**2 - 1)


def test_other_features_are_exchangeable(seed):
    world = make_heteroscedastic(100, n_features=5, random_state=seed)
    swapped = world.X[:, [0, 3, 4, 2, 1]]
    np.testing.assert_allclose(world.mean(swapped), world.mean(world.X), atol=1e-14)
    np.testing.assert_array_equal(world.variance(swapped), world.variance(world.X))


def test_linear_regression_is_well_specified(seed):
    world = make_heteroscedastic(20_000, n_features=4, variance="bounded", random_state=seed)
    fitted = LinearRegression().fit(world.X, world.y)
    # The standard error of a coefficient is √1.5 / √n at most.
    assert np.abs(fitted.coef_ - 0.5).max() < STANDARD_ERRORS * np.sqrt(1.5 / 20_000)


def test_hidden_noise_is_of_no_use_to_a_predictor_but_sets_the_risk(seed):
    world = make_hidden_noise(40_000, n_features=4, random_state=seed)
    moved = world.X.copy()
    moved[:, -1] = 3.0
    np.testing.assert_array_equal(world.mean(moved), world.mean(world.X))
    np.testing.assert_allclose(world.variance(moved), 9.25)
    error = world.y - world.mean(world.X)
    last = world.X[:, -1]
    assert_mean_zero(error[:, None] * np.column_stack([last, last**2, np.sin(last)]))
    # Its size is another matter: Cov(error², x²) = Var(x²) = 2.
    assert_mean_zero(error**2 * (last**2 - 1) - 2)


@pytest.mark.parametrize("loss", [pinball(0.3), huber(1.0), lambda y, f: np.abs(y - f)])
def test_regression_risk_without_a_closed_form(loss):
    world = make_heteroscedastic(20, random_state=0)
    with pytest.raises(ValueError, match="loss must be 'squared_error' or 'absolute_error'"):
        world.risk(Constant(0.0), world.X, loss=loss)


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "brier", [[0, 1], [1, 0]]])
def test_regression_risk_with_a_loss_on_classes(loss):
    world = make_heteroscedastic(20, random_state=0)
    with pytest.raises(ValueError, match=r"is for classification.*squared_error.*absolute_error"):
        world.risk(Constant(0.0), world.X, loss=loss)


def test_regression_risk_of_a_bad_predictor():
    world = make_heteroscedastic(20, random_state=0)
    for value in ("text", [1.0, 2.0]):

        class Bad:
            def predict(self, X, value=value):
                return np.array([value] * len(X))

        with pytest.raises(ValueError, match="predictor must predict one number per row"):
            world.risk(Bad(), world.X)
    with pytest.raises(TypeError, match="predictor must have predict"):
        world.risk(object(), world.X)


def test_density_of_the_wrong_length():
    world = make_heteroscedastic(20, random_state=0)
    with pytest.raises(ValueError, match=r"y must have one value per row of X, shape \(20,\)"):
        world.density(world.y[:5], world.X)
