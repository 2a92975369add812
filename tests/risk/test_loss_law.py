"""What is said of the loss beyond its mean: parts, exceedance, quantiles, for both tasks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from condrisk import AutoRisk, HybridRisk, PlugInRisk
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic

COSTS = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [20.0, 3.0, 0.0]])  # true, predicted
P = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.34, 0.33, 0.33]])


class Known(ClassifierMixin, BaseEstimator):
    """Has the probabilities P for rows 0, 1 and 2, whatever it is given."""

    classes_ = np.array(["a", "b", "c"])
    n_features_in_ = 1

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return P[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self):
        return True


class Given(Known):
    """Has the same probabilities for every row."""

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def predict_proba(self, X):
        return np.tile(self.probabilities, (len(X), 1))


ROWS = np.arange(3.0)[:, None]
MANY = np.tile(ROWS, (10, 1))
LABELS = np.array(["a", "b", "c"] * 10)


def _plug_in(loss):
    model = FrozenEstimator(Known())
    return PlugInRisk(model, loss=loss, probability=model, calibration=None).fit(MANY, LABELS)


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # its answers ignore the costs
def test_parts_of_a_cost_matrix():
    risk = _plug_in(COSTS)
    floor, gap, correction = risk.decompose_risk(ROWS)
    expected = P @ COSTS  # by answer
    assert_allclose(floor, expected.min(axis=1))
    assert_allclose(floor + gap, expected[np.arange(3), P.argmax(axis=1)])
    assert gap[0] > 1  # "a" is likely, but "c" called "a" costs 20
    assert_allclose(correction, 0)


def test_parts_of_proper_losses_are_entropies():
    floor, gap, _ = _plug_in("log_loss").decompose_risk(ROWS)
    assert_allclose(floor, -(P * np.log(P)).sum(axis=1))
    assert_allclose(gap, 0, atol=1e-12)
    assert_allclose(_plug_in("brier").decompose_risk(ROWS).floor, 1 - (P**2).sum(axis=1))


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # its answers ignore the costs
def test_the_loss_of_classes_has_a_distribution():
    risk = _plug_in(COSTS)
    # Row 0 answers "a": 0 with 0.7, 2 with 0.2, 20 with 0.1.
    thresholds = {0.0: 0.3, 1.9: 0.3, 2.0: 0.1, 20.0: 0.0}
    for threshold, share in thresholds.items():
        assert risk.predict_exceedance(ROWS[:1], threshold)[0] == pytest.approx(share)
    levels = [0.0, 0.7, 0.71, 0.9, 0.95, 1.0]
    assert_allclose(risk.predict_loss_quantiles(ROWS[:1], levels)[0], [0, 0, 2, 2, 20, 20])
    wrong = _plug_in("zero_one")
    assert_allclose(wrong.predict_exceedance(ROWS, 0.0), wrong.predict_risk(ROWS))


@pytest.mark.parametrize("kind", [HybridRisk, AutoRisk])
def test_parts_add_up_for_classes(kind):
    world = make_gaussian_mixture(300, random_state=0)
    risk = kind(LogisticRegression(), random_state=0).fit(world.X, world.y)
    parts = risk.decompose_risk(world.X)
    assert_allclose(sum(parts), risk.predict_risk(world.X))
    assert parts.floor.min() >= 0
    assert parts.gap.min() >= 0
    exceeds = risk.predict_exceedance(world.X, 0.0)
    assert_allclose(exceeds, parts.floor + parts.gap)  # of being wrong


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_exceedance_and_quantiles_are_inverse(data):
    """Of any losses with any probabilities: the costs of answering "a", which is what is said."""
    losses = np.array([data.draw(st.integers(0, 4)) for _ in range(3)], dtype=float)
    raw = np.array([data.draw(st.integers(0, 3)) for _ in range(3)], dtype=float)
    weights = (raw + (raw.sum() == 0)) / (raw + (raw.sum() == 0)).sum()
    said = FrozenEstimator(Given(np.array([1.0, 0.0, 0.0])))
    costs = np.column_stack([losses, losses + 1, losses + 2])
    known = FrozenEstimator(Given(weights))
    risk = PlugInRisk(said, loss=costs, probability=known, calibration=None)
    risk.fit(MANY, LABELS)
    level = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
    quantile = risk.predict_loss_quantiles(ROWS[:1], [level])[0, 0]
    assert quantile in losses[weights > 0]
    assert 1 - risk.predict_exceedance(ROWS[:1], quantile)[0] >= level - 1e-9
    for lower in losses[(losses < quantile) & (weights > 0)]:
        assert 1 - risk.predict_exceedance(ROWS[:1], lower)[0] < level


def test_the_held_out_distribution_has_not_seen_the_row():
    """A distribution that learns rows by heart sees no error of f on them."""

    class ByHeart(KNeighborsRegressor):
        def predict(self, X, return_std=False):
            mean = super().predict(X)
            return (mean, np.full(len(mean), 0.1)) if return_std else mean

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    risk = PlugInRisk(LinearRegression(), distribution=ByHeart(1), random_state=0).fit(X, y)
    own = (risk.predict(X) - y) ** 2 + 0.01
    assert_allclose(risk.predict_risk(X), own)  # in sample m is y
    assert abs(np.corrcoef(risk.held_out_.risks, risk.held_out_.losses)[0, 1]) < 0.3


def test_beyond_what_it_has_seen_a_mixture_is_its_plug_in():
    world = make_heteroscedastic(600, random_state=0)
    risk = AutoRisk("precomputed", loss="squared_error", random_state=0)
    risk.fit(world.X, world.y, prediction=world.mean(world.X))
    assert risk.mixture_.shares["hybrid"] < 0.9  # regressions have a share
    off = world.mean(world.X[:20]) + 100.0
    parts = risk.decompose_risk(world.X[:20], prediction=off)
    assert parts.gap.min() > 9000
    assert (np.abs(parts.correction) < 0.05 * parts.gap).all()
