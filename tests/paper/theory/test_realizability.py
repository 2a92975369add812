"""The distance of a class from the truth, where it is known otherwise."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from condrisk.datasets import (
    make_gaussian_mixture,
    make_heteroscedastic,
    make_hidden_noise,
    make_separable,
)
from condrisk.paper.theory import realizability_gap


def logistic():
    return LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000)


def constant(*values):
    return lambda X: np.tile(values, (len(X), 1))


class TestProbabilities:
    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_logistic_regression_contains_the_mixture(self, n_classes, seed):
        world = make_gaussian_mixture(n_classes=n_classes, random_state=seed)
        gap = realizability_gap(world, logistic(), n_samples=2000, random_state=seed)
        assert gap.value < 1e-3
        assert (gap.target, gap.nearest, gap.n_samples) == ("p", 0, 2000)

    def test_a_class_without_the_second_feature_does_not(self, seed):
        world = make_gaussian_mixture(n_classes=4, random_state=seed)

        class FirstFeature:
            def fit(self, X, y, sample_weight):
                self.model = logistic().fit(X[:, :1], y, sample_weight=sample_weight)
                return self

            def predict_proba(self, X):
                return self.model.predict_proba(X[:, :1])

        gap = realizability_gap(world, FirstFeature(), n_samples=2000, random_state=seed)
        assert gap.value > 0.2
        assert gap.value > 20 * gap.standard_error > 0

    def test_constants_on_separable_classes(self):
        # Weak realizability as printed: each p(· | x) is a constant vector of the list.
        world = make_separable(n_classes=3, random_state=0)
        corners = [constant(*row) for row in np.eye(3)]
        gap = realizability_gap(world, corners, random_state=0)
        # The distance is 2 where the class is another one: two thirds of the rows.
        assert abs(gap.value - 4 / 3) < 5 * gap.standard_error

    def test_the_nearest_of_a_list(self, seed):
        world = make_gaussian_mixture(n_classes=2, priors=[0.8, 0.2], separation=0.0)
        members = [constant(0.5, 0.5), constant(0.7, 0.3), world.proba, constant(0.9, 0.1)]
        gap = realizability_gap(world, members, n_samples=100, random_state=seed)
        assert (gap.nearest, gap.value, gap.standard_error) == (2, 0.0, 0.0)
        gap = realizability_gap(world, members[:2], n_samples=100, random_state=seed)
        assert gap.nearest == 1
        assert gap.value == pytest.approx(0.2)

    def test_mean_and_standard_error_are_those_of_fresh_rows(self):
        world = make_gaussian_mixture(random_state=0)
        third = constant(1 / 3, 1 / 3, 1 / 3)
        gap = realizability_gap(world, [third], n_samples=20_000, random_state=1)
        rows = world.sample(200_000, random_state=2).X
        distance = np.abs(world.proba(rows) - 1 / 3).sum(axis=1)
        assert abs(gap.value - distance.mean()) < 5 * gap.standard_error
        assert gap.standard_error == pytest.approx(distance.std() / np.sqrt(20_000), rel=0.05)

    def test_an_estimator_is_not_touched(self):
        model = logistic()
        realizability_gap(make_gaussian_mixture(random_state=0), model, n_samples=200)
        assert not hasattr(model, "coef_")


class TestRisks:
    def test_quadratic_functions_contain_the_risk_of_hidden_noise(self, seed):
        # A constant predictor: g = (mean − 1)² + ¼ + x_d², a polynomial of degree two.
        world = make_hidden_noise(random_state=seed)
        predictor = DummyRegressor(strategy="constant", constant=1.0).fit(world.X, world.y)
        quadratic = make_pipeline(PolynomialFeatures(2), LinearRegression())
        gap = realizability_gap(world, quadratic, predictor=predictor, n_samples=1000)
        assert gap.target == "g"
        assert gap.value < 1e-8
        gap = realizability_gap(world, LinearRegression(), predictor=predictor, n_samples=1000)
        assert gap.value > 10 * gap.standard_error > 0

    def test_list_of_risks(self):
        world = make_heteroscedastic(variance="bounded", random_state=0)
        predictor = LinearRegression().fit(world.X, world.y)
        members = [lambda X: np.ones(len(X)), lambda X: world.risk(predictor, X)]
        gap = realizability_gap(world, members, predictor=predictor, n_samples=500)
        assert (gap.nearest, gap.value) == (1, 0.0)

    def test_loss_is_used(self):
        world = make_gaussian_mixture(n_classes=2, random_state=0)
        predictor = logistic().fit(world.X, world.y)
        costs = [[0, 3], [1, 0]]
        members = [lambda X: world.risk(predictor, X, loss=costs)]
        gap = realizability_gap(world, members, predictor=predictor, loss=costs, n_samples=100)
        assert gap.value == 0.0
        assert realizability_gap(world, members, predictor=predictor, n_samples=100).value > 0.01


class TestBadArguments:
    world = make_gaussian_mixture(10, random_state=0)

    def test_a_regression_world_needs_a_predictor(self):
        with pytest.raises(ValueError, match="predictor must be given"):
            realizability_gap(make_hidden_noise(10), [lambda X: X[:, 0]])

    @pytest.mark.parametrize(
        ("members", "error", "message"),
        [
            ([], ValueError, "members is empty"),
            (3, TypeError, "members must be a list of functions or an estimator"),
            ([3], TypeError, "members must be functions or fitted models"),
            ([lambda X: X], ValueError, r"shape \(20, 3\) for 20 rows, got \(20, 2\)"),
        ],
    )
    def test_members(self, members, error, message):
        with pytest.raises(error, match=message):
            realizability_gap(self.world, members, n_samples=20)

    def test_world_and_count(self):
        with pytest.raises(TypeError, match="world must be what a make_"):
            realizability_gap("moons", [constant(1.0)])
        with pytest.raises(ValueError, match="n_samples must be at least 2"):
            realizability_gap(self.world, [constant(1.0)], n_samples=1)
