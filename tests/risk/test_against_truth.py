"""Estimates against the true risk, on worlds where it is known in closed form."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from condrisk import PlugInRisk, RegressionRisk
from condrisk.datasets import (
    make_gaussian_mixture,
    make_heteroscedastic,
    make_hidden_noise,
    make_separable,
)


def explained(estimate, truth):
    """Return the share of the variance of the true risk that the estimate explains."""
    return 1 - np.mean((estimate - truth) ** 2) / np.var(truth)


def fitted(world, predictor, seed, loss=None):
    return RegressionRisk(predictor, loss=loss, cv=2, random_state=seed).fit(world.X, world.y)


WORLDS = {
    "exponential, d = 5": (make_heteroscedastic, {"n_features": 5, "variance": "exponential"}),
    "bounded, d = 1": (make_heteroscedastic, {"n_features": 1, "variance": "bounded"}),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize(
    ("n_rows", "least"), [(4000, 0.8), pytest.param(20_000, 0.9, marks=pytest.mark.slow)]
)
def test_the_default_regressor_explains_the_risk(name, n_rows, least, seed):
    make, options = WORLDS[name]
    world = make(n_rows, **options, random_state=seed)
    fresh = world.sample(5000, random_state=seed + 1000)
    risk = fitted(world, LinearRegression(), seed)
    truth = world.risk(risk.predictor_, fresh.X)
    assert explained(risk.predict_risk(fresh.X), truth) > least


@pytest.mark.parametrize(
    ("make", "predictor", "loss"),
    [
        (make_heteroscedastic, LinearRegression(), "squared_error"),
        (make_heteroscedastic, LinearRegression(), "absolute_error"),
        (make_hidden_noise, LinearRegression(), "squared_error"),
        (make_gaussian_mixture, DecisionTreeClassifier(max_depth=3), "zero_one"),
        (make_gaussian_mixture, LogisticRegression(), "log_loss"),
    ],
)
@pytest.mark.parametrize(
    ("sizes", "n_seeds"),
    [((100, 1500), 2), pytest.param((200, 1000, 5000), 5, marks=pytest.mark.slow)],
)
def test_the_error_against_the_true_risk_falls_as_rows_grow(make, predictor, loss, sizes, n_seeds):
    errors = []
    for n_rows in sizes:
        of_seeds = []
        for seed in range(n_seeds):
            world = make(n_rows, random_state=seed)
            fresh = world.sample(3000, random_state=seed + 1000)
            risk = fitted(world, predictor, seed, loss)
            truth = world.risk(risk.predictor_, fresh.X, loss=loss)
            of_seeds.append(np.mean((risk.predict_risk(fresh.X) - truth) ** 2) / np.var(truth))
        errors.append(np.mean(of_seeds))
    assert (np.diff(errors) < 0).all()


@pytest.mark.parametrize("loss", ["zero_one", "log_loss", "brier", "matrix"])
def test_a_well_specified_plug_in_is_within_five_percent_at_20_000_rows(loss, seed):
    loss = np.array([[0.0, 1, 5], [2, 0, 1], [9, 3, 0]]) if loss == "matrix" else loss
    world = make_gaussian_mixture(20_000, random_state=seed)
    fresh = world.sample(5000, random_state=seed + 1000)
    predictor = RandomForestClassifier(10, min_samples_leaf=50, random_state=seed)
    risk = PlugInRisk(
        predictor, loss=loss, probability=LogisticRegression(), cv=2, random_state=seed
    ).fit(world.X, world.y)
    truth = world.risk(risk.predictor_, fresh.X, loss=loss)
    assert np.abs(risk.predict_risk(fresh.X) - truth).mean() < 0.05 * truth.mean()


def test_the_plug_in_error_falls_as_rows_grow():
    errors = []
    for n_rows in (200, 1000, 5000):
        of_seeds = []
        for seed in range(5):
            world = make_gaussian_mixture(n_rows, random_state=seed)
            fresh = world.sample(3000, random_state=seed + 1000)
            risk = PlugInRisk(LogisticRegression(), loss="brier", random_state=seed)
            risk.fit(world.X, world.y)
            truth = world.risk(risk.predictor_, fresh.X, loss="brier")
            of_seeds.append(np.mean((risk.predict_risk(fresh.X) - truth) ** 2))
        errors.append(np.mean(of_seeds))
    assert errors[2] < errors[1] < errors[0]


def test_on_separable_classes_the_plug_in_sees_the_errors_of_a_weak_predictor(seed):
    """The paper's third proposition: without noise the risk is 0 where f is right, 1 elsewhere."""
    world = make_separable(5000, random_state=seed)
    fresh = world.sample(3000, random_state=seed + 1000)
    weak = DecisionTreeClassifier(max_depth=1, random_state=seed)
    risk = PlugInRisk(
        weak, probability=LogisticRegression(C=1e4, max_iter=1000), cv=2, random_state=seed
    ).fit(world.X, world.y)
    truth = world.risk(risk.predictor_, fresh.X)
    assert set(np.unique(truth)) <= {0.0, 1.0}
    assert np.abs(risk.predict_risk(fresh.X) - truth).mean() < 0.05


def test_risk_follows_a_feature_that_the_predictor_cannot_use(seed):
    world = make_hidden_noise(5000, random_state=seed)
    fresh = world.sample(3000, random_state=seed + 1000)
    risk = fitted(world, LinearRegression(), seed)
    truth = world.risk(risk.predictor_, fresh.X)
    assert explained(risk.predict_risk(fresh.X), truth) > 0.5
