"""`RiskSampler`: the riskiest rows, apart from each other, from pools of any size."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import RegressionRisk
from condrisk.active import RiskSampler, k_center

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = X[:, 0] + RNG.normal(size=400) * np.exp(X[:, 1])


class FirstColumn(BaseEstimator):
    """A risk that is the first column."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict_risk(self, X):
        return np.asarray(X)[:, 0]


def risk_of_lines():
    forest = RandomForestRegressor(20, min_samples_leaf=5)
    return RegressionRisk(LinearRegression(), regressor=forest, random_state=0)


def sampler(**options):
    return RiskSampler(FirstColumn(), **{"random_state": 0} | options).fit(X[:5], Y[:5])


def test_without_diversity_the_riskiest_come_first():
    pool = RNG.permutation(300)[:, None] * np.ones((1, 3))
    chosen = sampler(diversity=None, batch_size=4).query(pool)
    assert pool[chosen, 0].tolist() == [299, 298, 297, 296]


def test_k_center_chooses_among_the_riskiest_only_and_as_k_center_does():
    chosen = sampler(batch_size=6, oversample=4).query(X)
    riskiest = np.argsort(-X[:, 0])[:24]
    assert set(chosen) <= set(riskiest)
    assert chosen.tolist() == riskiest[k_center(X[riskiest], 6, labelled=X[:5])].tolist()
    plain = sampler(batch_size=6, diversity=None).query(X)
    spread = [np.linalg.norm(X[c][:, None] - X[c][None], axis=2).sum() for c in (chosen, plain)]
    assert spread[0] > spread[1]


def test_space_is_where_distances_are_measured():
    stretched = X * [1.0, 1.0, 1e6]
    options = {"batch_size": 6, "random_state": 0}
    plain = RiskSampler(FirstColumn(), space=StandardScaler(), **options).fit(X[:50], Y[:50])
    other = RiskSampler(FirstColumn(), space=StandardScaler(), **options)
    other.fit(stretched[:50], Y[:50])
    assert plain.query(X).tolist() == other.query(stretched).tolist()
    other = RiskSampler(FirstColumn(), **options).fit(stretched[:50], Y[:50])
    assert plain.query(X).tolist() != other.query(stretched).tolist()


def test_draws_are_in_proportion_to_the_risk():
    pool = np.array([[1.0], [2.0], [5.0], [0.0]])
    counts = np.zeros(4)
    one = RiskSampler(FirstColumn(), batch_size=1, diversity="proportional").fit(pool, [0] * 4)
    rng = np.random.RandomState(0)
    for _ in range(4000):
        counts[one._query([pool], 1, rng)] += 1
    assert counts[3] == 0
    # Three standard errors of a share of one half are 0.024.
    assert np.abs(counts / 4000 - [1 / 8, 2 / 8, 5 / 8, 0]).max() < 0.03


def test_rows_of_equal_risk_are_taken_at_random():
    pool = np.ones((1000, 3))
    first = sampler(batch_size=10, diversity=None).query(pool)
    second = sampler(batch_size=10, diversity=None, random_state=1).query(pool)
    assert len(set(first)) == 10
    assert first.max() > 100
    assert first.tolist() != second.tolist()
    assert first.tolist() == sampler(batch_size=10, diversity=None).query(pool).tolist()


@pytest.mark.parametrize("diversity", ["k-center", "proportional", None])
@pytest.mark.parametrize("size", [1, 7, 150])
def test_chunks_give_the_same_as_the_whole(diversity, size):
    pool = np.abs(X).round(1)  # with ties
    one = sampler(batch_size=8, diversity=diversity)
    chunks = (pool[k : k + size] for k in range(0, len(pool), size))
    assert one.query_chunks(chunks).tolist() == one.query(pool).tolist()


def test_a_pool_in_chunks_is_let_go():
    one = sampler(batch_size=3)
    seen = []

    def chunks():
        for _ in range(50):
            chunk = RNG.normal(size=(200, 3))
            seen.append(chunk[:, 0].max())
            yield chunk

    chosen = one.query_chunks(chunks())
    assert len(seen) == 50
    assert chosen.max() < 50 * 200
    assert one.query_chunks([X[:0], X, X[:0]]).tolist() == one.query(X).tolist()


def test_a_real_risk_in_a_pipeline_and_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    risk = make_pipeline(StandardScaler(), risk_of_lines())
    one = RiskSampler(risk, batch_size=10, diversity=None, random_state=0)
    chosen = one.fit(frame[:200], Y[:200]).query(frame[200:])
    assert X[200:][chosen, 1].mean() > 1  # where σ = exp(x₂) is large
    halves = [frame[200:300], frame[300:]]
    assert one.query_chunks(halves).tolist() == chosen.tolist()
    k_centre = clone(one).set_params(diversity="k-center").fit(frame[:200], Y[:200])
    assert k_centre.query_chunks(halves).tolist() == k_centre.query(frame[200:]).tolist()


def test_a_plain_loop_learns():
    one = RiskSampler(risk_of_lines(), batch_size=20, random_state=0)
    labelled, pool = list(range(30)), np.arange(30, 400)
    for _ in range(3):
        new = pool[one.fit(X[labelled], Y[labelled]).query(X[pool])]
        labelled, pool = [*labelled, *new], np.setdiff1d(pool, new)
    assert len(set(labelled)) == 90
    assert one.risk_.predict(X).shape == (400,)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"diversity": "clusters"}, ValueError, "diversity"),
        ({"oversample": 0}, ValueError, "oversample"),
        ({"space": 3}, ValueError, "space"),
        ({"risk": LinearRegression()}, TypeError, "risk must have predict_risk"),
    ],
)
def test_bad_parameters_are_named(options, error, words):
    with pytest.raises(error, match=words):
        RiskSampler(**{"risk": FirstColumn()} | options).fit(X, Y)


def test_bad_pools_are_named():
    with pytest.raises(ValueError, match="batch_size must be at most"):
        sampler().query(X[:4])
    with pytest.raises(ValueError, match="batch_size must be at most"):
        sampler().query_chunks([X[:4], X[:3]])
    with pytest.raises(ValueError, match="no rows"):
        sampler().query_chunks([])
    with pytest.raises(ValueError, match="not negative"):
        sampler(diversity="proportional").query(X)
    spoilt = X.copy()
    spoilt[7, 0] = np.nan
    with pytest.raises(ValueError, match="risk must be finite"):
        sampler().query(spoilt)
