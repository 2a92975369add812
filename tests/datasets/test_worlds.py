"""What all synthetic worlds have in common, and their errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from world_checks import each_world

import condrisk.datasets
from condrisk.datasets import (
    ClassificationWorld,
    RegressionWorld,
    make_gaussian_mixture,
    make_heteroscedastic,
    make_hidden_noise,
    make_separable,
)


@each_world
def test_same_seed_same_world(make, seed):
    first, second = make(random_state=seed), make(random_state=seed)
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    other = make(random_state=seed + 1)
    assert not np.array_equal(first.X, other.X)
    generator = make(random_state=np.random.default_rng(seed))
    np.testing.assert_array_equal(first.X, generator.X)


@each_world
def test_global_random_state_is_neither_used_nor_moved(make):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = make(random_state=3).X
    make()
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    np.testing.assert_array_equal(first, make(random_state=3).X)
    assert not np.array_equal(make().X, make().X)


@each_world
def test_sample_gives_fresh_rows_of_the_same_law(make, seed):
    world = make(30, random_state=seed)
    fresh = world.sample(50, random_state=seed + 100)
    assert type(fresh) is type(world)
    assert (fresh.X.shape, fresh.y.shape) == ((50, world.X.shape[1]), (50,))
    assert fresh.law == world.law
    assert not np.isin(fresh.X, world.X).any()
    again = world.sample(50, random_state=seed + 100)
    np.testing.assert_array_equal(fresh.X, again.X)
    np.testing.assert_array_equal(fresh.y, again.y)
    # From one seed, drawing anew and drawing at once are the same thing.
    np.testing.assert_array_equal(
        make(50, random_state=seed).y, world.sample(50, random_state=seed).y
    )


@each_world
def test_worlds_are_frozen_pickle_and_have_a_short_repr(make):
    world = make(20, random_state=0)
    with pytest.raises(AttributeError):
        world.X = None
    loaded = pickle.loads(pickle.dumps(world))
    np.testing.assert_array_equal(loaded.X, world.X)
    assert loaded.law == world.law
    assert repr(world).startswith(f"{type(world).__name__}(law=")
    assert len(repr(world)) < 200
    assert world == world  # identity: no comparison of arrays
    assert world != loaded


@each_world
@pytest.mark.parametrize("n", [1, 2, 17])
def test_shapes_and_types(make, n):
    world = make(n, random_state=0)
    assert world.X.shape[0] == n
    assert world.X.dtype == np.float64
    assert world.y.shape == (n,)
    assert world.y.dtype.kind == ("f" if isinstance(world, RegressionWorld) else "i")


@pytest.mark.parametrize("make", [make_heteroscedastic, make_hidden_noise])
def test_regression_predictors_of_many_kinds(make):
    world = make(100, n_features=3, random_state=0)
    frame = pd.DataFrame(world.X, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(frame, world.y)
    risk = world.risk(FrozenEstimator(model), frame)  # warnings are errors: the names are kept
    expected = (model.predict(frame) - world.mean(world.X)) ** 2 + world.variance(world.X)
    np.testing.assert_array_equal(risk, expected)
    whole = DummyRegressor(strategy="constant", constant=3).fit(frame, world.y.astype(int))
    np.testing.assert_allclose(
        world.risk(whole, frame), (3 - world.mean(frame)) ** 2 + world.variance(frame)
    )


def test_class_predictor_on_a_frame():
    world = make_gaussian_mixture(100, random_state=0)
    frame = pd.DataFrame(world.X, columns=["a", "b"])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, world.y)
    risk = world.risk(FrozenEstimator(model), frame, loss="log_loss")
    expected = -(np.log(model.predict_proba(frame)) * world.proba(world.X)).sum(axis=1)
    np.testing.assert_allclose(risk, expected)


def test_exports():
    for name in ("make_heteroscedastic", "make_gaussian_mixture", "make_separable"):
        assert name in condrisk.datasets.__all__
    assert {"make_hidden_noise", "RegressionWorld", "ClassificationWorld"} <= set(
        condrisk.datasets.__all__
    )


# Bad input


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (make_heteroscedastic, {"n_samples": 0}, "n_samples must be .* at least 1, got 0"),
        (make_hidden_noise, {"n_samples": 0}, "n_samples must be .* at least 1, got 0"),
        (make_gaussian_mixture, {"n_samples": 0}, "n_samples must be .* at least 1, got 0"),
        (make_separable, {"n_samples": 0}, "n_samples must be .* at least 1, got 0"),
        (make_heteroscedastic, {"n_samples": 10.0}, "n_samples must be an integer"),
        (make_heteroscedastic, {"n_samples": "10"}, "n_samples must be an integer"),
        (make_heteroscedastic, {"n_samples": -5}, "n_samples must be an integer"),
        (make_heteroscedastic, {"n_features": 0}, "n_features must be .* at least 1, got 0"),
        (make_heteroscedastic, {"n_features": 2.5}, "n_features must be an integer"),
        (make_heteroscedastic, {"variance": "cubic"}, "variance must be one of .*'cubic'"),
        (make_heteroscedastic, {"variance": 1.0}, "variance must be one of"),
        (make_hidden_noise, {"n_features": 1}, "n_features must be .* at least 2, got 1"),
        (make_gaussian_mixture, {"n_features": 0}, "n_features must be .* at least 1"),
        (make_gaussian_mixture, {"n_classes": 1}, "n_classes must be .* at least 2, got 1"),
        (make_gaussian_mixture, {"separation": -0.1}, "separation must be .* at least 0, got -0.1"),
        (make_gaussian_mixture, {"separation": np.nan}, "separation must be"),
        (make_gaussian_mixture, {"separation": np.inf}, "separation must be"),
        (make_gaussian_mixture, {"priors": [0.5, 0.5]}, r"priors .* shape \(3,\), got \(2,\)"),
        (make_gaussian_mixture, {"priors": [0.5, 0.5, 0.5]}, "priors must .* sum to one"),
        (make_gaussian_mixture, {"priors": [1.5, -1.0, 0.5]}, "priors must be positive"),
        (make_gaussian_mixture, {"priors": [0.5, 0.5, 0.0]}, "priors must be positive"),
        (make_gaussian_mixture, {"priors": [0.5, 0.5, np.nan]}, "priors must be positive"),
        (make_separable, {"n_classes": 1}, "n_classes must be .* at least 2"),
        (make_separable, {"n_features": 0}, "n_features must be .* at least 1"),
    ],
)
def test_bad_arguments(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@each_world
def test_bad_rows(make):
    world = make(20, random_state=0)
    law = world.proba if isinstance(world, ClassificationWorld) else world.mean
    with pytest.raises(ValueError, match="X must have shape"):
        law(world.X[:, 0])
    with pytest.raises(ValueError, match="X must have shape"):
        law(np.column_stack([world.X, world.X]))
    with pytest.raises(ValueError, match="X must be finite"):
        law(np.full_like(world.X, np.nan))
    with pytest.raises(ValueError, match="n_samples must be an integer"):
        world.sample(0)
