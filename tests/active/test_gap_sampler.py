"""`RiskSampler(by="gap")`: what labels can mend, and no coins."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import PlugInRisk, RegressionRisk
from condrisk.active import RiskSampler
from condrisk.learners import DistributionRegressor

SIZE = 40


def mean_of(X):
    return np.where(X[:, 0] > 0, 0.0, 2 * np.cos(2 * X[:, 1]))


def world(n_rows, seed):
    """Return rows of which half have coins for targets, and the other half no noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    return X, np.where(X[:, 0] > 0, 2.5 * rng.choice([-1.0, 1.0], n_rows), mean_of(X))


X, Y = world(400, seed=0)
POOL, _ = world(600, seed=1)
COIN = POOL[:, 0] > 0


@pytest.fixture(scope="module")
def line():
    """Return the risk of a line, which misses that the mean is bent."""
    return PlugInRisk(LinearRegression(), random_state=0).fit(X, Y)


def chosen_by(risk, by, pool=POOL, diversity=None):
    sampler = RiskSampler(
        FrozenEstimator(risk), by=by, batch_size=SIZE, diversity=diversity, random_state=0
    )
    return sampler.fit(X, Y).query(pool)


@pytest.mark.parametrize("diversity", [None, "k-center", "proportional"])
def test_coins_are_left_alone_and_the_error_of_the_predictor_is_found(line, diversity):
    by_gap, by_risk = (chosen_by(line, by, diversity=diversity) for by in ("gap", "risk"))
    few = {None: 0.05, "k-center": 0.1, "proportional": 0.3}[diversity]
    assert COIN[by_risk].mean() > 0.65
    assert COIN[by_gap].mean() < few
    off = (line.predict(POOL) - mean_of(POOL)) ** 2
    assert off[by_gap].mean() > 1.5 * off.mean() > off[by_risk].mean()


def test_it_is_the_gap_and_the_squared_deviation_of_the_models_from_their_mixture(line):
    law, uncertainty = line.distribution_.predict_parts(POOL)
    expected = (line.predict(POOL) - law.mean) ** 2 + uncertainty[:, 0] ** 2
    assert uncertainty.shape[1] > 1  # deviations of Gaussian processes, which are not in it
    assert chosen_by(line, "gap").tolist() == np.argsort(-expected)[:SIZE].tolist()


def test_where_both_models_are_equally_ignorant_disagreement_tells():
    known = (X[:, 0] < 0) & (X[:, 1] < 0)
    law = DistributionRegressor(variance=LinearRegression(), random_state=0)
    law.fit(X[known], Y[known])
    risk = PlugInRisk(FrozenEstimator(law.mean_), distribution=FrozenEstimator(law))
    pool = POOL[~COIN]
    assert np.abs(risk.fit(X[known], Y[known]).decompose_risk(pool).gap).max() < 1e-9
    assert (pool[:, 1] > 0).mean() < 0.55
    assert (pool[chosen_by(risk, "gap", pool), 1] > 0).mean() > 0.7


def test_without_a_disagreement_in_units_of_the_loss_it_is_the_gap_alone(line):
    near = DistributionRegressor(KNeighborsRegressor(7), LinearRegression(), random_state=0)
    no_stack = PlugInRisk(LinearRegression(), distribution=near).fit(X, Y)
    frozen = FrozenEstimator(line.distribution_)
    other = PlugInRisk(LinearRegression(), loss="absolute_error", distribution=frozen).fit(X, Y)
    for risk in (no_stack, other):
        gap = risk.decompose_risk(POOL).gap
        assert chosen_by(risk, "gap").tolist() == np.argsort(-gap)[:SIZE].tolist()


def test_in_a_pipeline_and_in_chunks(line):
    risk = make_pipeline(StandardScaler(with_mean=False, with_std=False), line)
    sampler = RiskSampler(FrozenEstimator(risk), by="gap", batch_size=SIZE, random_state=0)
    risk[0].fit(X)
    sampler.fit(X, Y)
    assert sampler.query(POOL).tolist() == chosen_by(line, "gap", diversity="k-center").tolist()
    assert sampler.query_chunks([POOL[:250], POOL[250:]]).tolist() == sampler.query(POOL).tolist()


def test_a_risk_without_parts_is_named():
    risk = RegressionRisk(LinearRegression())
    with pytest.raises(TypeError, match="risk must have decompose_risk"):
        RiskSampler(risk, by="gap").fit(X, Y)
    with pytest.raises(ValueError, match="'by' parameter"):
        RiskSampler(risk, by="floor").fit(X, Y)
