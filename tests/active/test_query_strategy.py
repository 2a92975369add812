"""`RiskQueryStrategy`: scikit-activeml's protocol, without it and, where installed, within it."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from condrisk import PlugInRisk, RegressionRisk
from condrisk.active import GainSampler, RiskQueryStrategy, RiskSampler

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
TARGET = X[:, 0] + 0.1 * RNG.normal(size=80)
CLASSES = (X[:, 0] > 0).astype(float)


def half_known(values, n_known=40):
    y = np.array(values, dtype=float)
    y[n_known:] = np.nan
    return y


def strategies():
    risk = RegressionRisk(LinearRegression(), regressor=LinearRegression(), random_state=0)
    forest = RandomForestRegressor(10, random_state=0)
    return [
        RiskSampler(risk),
        RiskSampler(risk, diversity="proportional"),
        RiskSampler(risk, diversity=None),
        GainSampler(forest, noise=0.1),
        GainSampler(forest, noise=0.1, max_candidates=20),
    ]


@pytest.mark.parametrize("sampler", strategies())
def test_choices_have_the_largest_utilities(sampler):
    strategy = RiskQueryStrategy(sampler, random_state=0)
    chosen, worth = strategy.query(X, half_known(TARGET), batch_size=5, return_utilities=True)
    assert worth.shape == (5, 80)
    assert np.isnan(worth[:, :40]).all()  # they have labels
    assert (chosen >= 40).all()
    for step, k in enumerate(chosen):
        assert worth[step, k] == np.nanmax(worth[step])
        assert np.isnan(worth[step, chosen[:step]]).all()
        assert np.isnan(worth[step]).sum() == 40 + step
    again = strategy.query(X, half_known(TARGET), batch_size=5)
    assert again.tolist() == chosen.tolist()
    # The same as the sampler by itself.
    alone = clone(strategy.sampler_).fit(X[:40], TARGET[:40]).query(X[40:], batch_size=5)
    assert (alone + 40).tolist() == chosen.tolist()


@pytest.mark.parametrize("sampler", strategies())
def test_candidates_by_position_and_as_rows(sampler):
    strategy = RiskQueryStrategy(sampler, random_state=0)
    y, where = half_known(TARGET), np.arange(50, 80)
    chosen, worth = strategy.query(X, y, candidates=where, batch_size=3, return_utilities=True)
    assert worth.shape == (3, 80)
    assert np.isfinite(worth[0, where]).all()
    assert np.isnan(worth[0, :50]).all()
    rows, values = strategy.query(X, y, candidates=X[where], batch_size=3, return_utilities=True)
    assert where[rows].tolist() == chosen.tolist()
    assert values.shape == (3, 30)


def test_classes_and_other_marks_for_missing_labels():
    sampler = RiskSampler(PlugInRisk(LogisticRegression(), random_state=0), random_state=0)
    expected = RiskQueryStrategy(sampler).query(X, half_known(CLASSES), batch_size=4)
    words = np.where(CLASSES > 0, "yes", "no").astype(object)
    words[40:] = None
    assert (
        RiskQueryStrategy(sampler, missing_label=None).query(X, words, batch_size=4).tolist()
        == expected.tolist()
    )
    numbers = np.where(np.arange(80) < 40, CLASSES, -1).astype(int)
    assert (
        RiskQueryStrategy(sampler, missing_label=-1).query(X, numbers, batch_size=4).tolist()
        == expected.tolist()
    )


def test_clones_and_pickles():
    strategy = RiskQueryStrategy(strategies()[0], random_state=3)
    assert clone(strategy).get_params()["random_state"] == 3
    assert pickle.loads(pickle.dumps(strategy)).random_state == 3


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        (half_known(TARGET)[:9], {}, "y must have one label for each"),
        (np.full(80, np.nan), {}, "y has no labels"),
        (TARGET, {}, "y has a label for every row"),
        (half_known(TARGET), {"candidates": [1, 99]}, "candidates must be positions"),
        (half_known(TARGET), {"batch_size": 41}, "batch_size must be at most"),
    ],
)
def test_bad_input_is_named(y, options, words):
    with pytest.raises(ValueError, match=words):
        RiskQueryStrategy(strategies()[0]).query(X, y, **options)
    with pytest.raises(TypeError, match="sampler must be"):
        RiskQueryStrategy(LinearRegression()).query(X, half_known(TARGET))


# -- with scikit-activeml ---------------------------------------------------------------------


def test_it_is_one_of_their_strategies():
    base = pytest.importorskip("skactiveml.base")
    assert isinstance(RiskQueryStrategy(None), base.SingleAnnotatorPoolQueryStrategy)
    assert isinstance(RiskQueryStrategy(None), base.QueryStrategy)
    assert isinstance(RiskQueryStrategy(None), BaseEstimator)


def test_in_their_wrapper_and_with_their_labels():
    pool = pytest.importorskip("skactiveml.pool")
    utils = pytest.importorskip("skactiveml.utils")
    sampler = GainSampler(RandomForestClassifier(10, random_state=0))
    strategy = RiskQueryStrategy(sampler, missing_label=utils.MISSING_LABEL, random_state=0)
    wrapper = pool.SubSamplingWrapper(strategy, max_candidates=10, random_state=0)
    y = np.full(80, utils.MISSING_LABEL)
    y[:20] = CLASSES[:20]
    for _ in range(5):
        chosen, worth = wrapper.query(X, y, batch_size=4, return_utilities=True)
        assert worth.shape == (4, 80)
        assert utils.is_unlabeled(y)[chosen].all()
        y[chosen] = CLASSES[chosen]
    assert utils.is_labeled(y).sum() == 40
