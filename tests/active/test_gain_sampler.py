"""`GainSampler`: its gains against posteriors worked out the long way, and what it avoids."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import RegressionRisk
from condrisk.active import GainSampler, RiskQueryStrategy, split_risk

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(120, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=120)
POOL = RNG.uniform(-2, 2, size=(20, 2))


class Given(BaseEstimator):
    """A model whose posterior, and a risk whose values, are columns of the rows."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def posterior(self, X):
        variance = np.asarray(X)[:, 0]
        return np.diag(variance), np.asarray(X)[:, 1]

    def predict_risk(self, X):
        return np.asarray(X)[:, 2]


class Known(BaseEstimator):
    """A model of a known posterior; the first column of a row is its position."""

    def __init__(self, covariance=None, noise=None):
        self.covariance = covariance
        self.noise = noise

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def posterior(self, X):
        rows = np.asarray(X)[:, 0].astype(int)
        return self.covariance[np.ix_(rows, rows)], self.noise[rows]


def steps(model, pool, n_rows=1, **options):
    """Return the rows that are chosen, and what every row is worth at each step."""
    sampler = GainSampler(FrozenEstimator(model.fit(X, Y)), **options)
    return RiskQueryStrategy(sampler, random_state=0).query(
        X, Y, candidates=pool, batch_size=n_rows, return_utilities=True
    )


def first_gains(covariance, noise):
    """Return Σₓ K(x, c)² / (K(c, c) + s(c)) of each row c."""
    squares, total = (covariance**2).sum(axis=0), covariance.diagonal() + noise
    return np.divide(squares, total, out=np.zeros(len(total)), where=total > 0)


def random_covariance(n, rng):
    root = rng.normal(size=(n, n + 2))
    return root @ root.T / n


def conditioned(K, rows, noise):
    """Return the covariance given labels of some rows, by the textbook."""
    inner = K[np.ix_(rows, rows)] + np.diag(noise[rows])
    return K - K[:, rows] @ np.linalg.solve(inner, K[rows])


@pytest.mark.parametrize("seed", range(5))
def test_gains_are_how_much_the_variances_fall(seed):
    rng = np.random.default_rng(seed)
    K, noise = random_covariance(12, rng), rng.uniform(0.01, 2, size=12)
    chosen, gains = steps(Known(K, noise), np.arange(12.0)[:, None], 5)
    known = []
    for k, found in zip(chosen, gains, strict=True):
        before = np.trace(conditioned(K, known, noise)) if known else np.trace(K)
        others = [c for c in range(12) if c not in known]
        fall = {c: before - np.trace(conditioned(K, [*known, c], noise)) for c in others}
        assert k == max(fall, key=fall.get)
        assert [found[c] for c in others] == pytest.approx(list(fall.values()))
        assert np.isnan(found[known]).all()
        known.append(int(k))


def test_without_noise_and_with_twins_no_two_tell_the_same():
    K = np.kron(random_covariance(4, np.random.default_rng(1)), np.ones((3, 3)))  # each thrice
    chosen, gains = steps(Known(K, np.zeros(12)), np.arange(12.0)[:, None], 6)
    assert sorted(k // 3 for k in chosen[:4]) == [0, 1, 2, 3]
    assert len(set(chosen)) == 6
    assert np.nanmax(gains[4:]) < 1e-6 * gains[0].max()  # nothing is left to learn
    nothing = Known(np.zeros((3, 3)), np.zeros(3))
    assert sorted(steps(nothing, np.arange(3.0)[:, None], 3)[0]) == [0, 1, 2]


def test_noise_is_avoided_and_ignorance_is_sought():
    pool = np.array([[1.0, 0.0, 1.0], [1.0, 9.0, 10.0], [0.5, 0.0, 0.5], [0.0, 5.0, 5.0]])
    chosen = GainSampler(Given(), batch_size=4).fit(pool, None).query(pool)
    # Gains v² / (v + s): 1, 0.1, 0.5 and 0.
    assert chosen.tolist() == [0, 2, 1, 3]


def test_excess_takes_the_risk_beyond_the_variance_for_noise():
    pool = np.array([[1.0, 0.0, 9.0], [1.0, 0.0, 1.5], [0.5, 0.0, 0.1]])
    one = GainSampler(Given(), risk=Given(), batch_size=3).fit(pool, None)
    # v² / max(v, g): 1/9, 2/3, 1/2.
    assert one.query(pool).tolist() == [1, 2, 0]
    _, gains = steps(Given(), pool, risk=Given())
    assert gains[0] == pytest.approx([1 / 9, 2 / 3, 1 / 2])


def test_share_scales_to_the_risk():
    pool = np.array([[1.0, 1.0, 4.0], [1.0, 1.0, 1.0], [3.0, 1.0, 2.0]])
    reducible = split_risk(pool[:, 2], pool[:, 0], noise=pool[:, 1], how="share").reducible
    # At each row covariance and noise add up to the risk: gain = reducible² / risk.
    _, gains = steps(Given(), pool, risk=Given(), split="share")
    assert gains[0] == pytest.approx(reducible**2 / pool[:, 2])


def test_gaussian_process_with_and_without_white_noise():
    kernel = 2.0 * RBF(1.0)
    quiet = GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None, normalize_y=True)
    white = GaussianProcessRegressor(
        kernel + WhiteKernel(0.3), alpha=1e-12, optimizer=None, normalize_y=True
    )
    quiet.fit(X, Y)
    covariance = quiet.predict(POOL, return_cov=True)[1]
    expected = first_gains(covariance, 0.3 * Y.var())
    for process in (quiet, white):
        assert steps(process, POOL)[1][0] == pytest.approx(expected)


def test_members_of_ensembles_vary_together():
    forest = RandomForestRegressor(9, random_state=0).fit(X, Y)
    bagging = BaggingRegressor(Ridge(), n_estimators=7, max_features=0.5, random_state=0).fit(X, Y)
    voting = VotingRegressor([("a", LinearRegression()), ("b", Ridge(10.0))]).fit(X, Y)
    own_features = zip(bagging.estimators_, bagging.estimators_features_, strict=True)
    answers = {
        forest: [tree.predict(POOL) for tree in forest.estimators_],
        bagging: [model.predict(POOL[:, columns]) for model, columns in own_features],
        voting: [model.predict(POOL) for model in voting.estimators_],
    }
    for model, said in answers.items():
        expected = first_gains(np.cov(np.transpose(said), ddof=0), 0.2)
        assert steps(model, POOL, noise=0.2)[1][0] == pytest.approx(expected)


def test_members_of_classifiers_split_the_brier_score():
    rows, labels = make_classification(
        90, n_classes=3, n_informative=4, weights=[0.9, 0.06], random_state=0
    )
    names = np.array(["x", "y", "z"])[labels]
    bagging = BaggingClassifier(LogisticRegression(), n_estimators=9, random_state=0)
    # Of twenty rows some members know two classes only.
    small = BaggingClassifier(LogisticRegression(), n_estimators=9, max_samples=20, random_state=3)
    for model in (RandomForestClassifier(9, random_state=0), bagging, small):
        model.fit(rows, names)
        said = np.zeros((9, 90, 3))
        for member, proba in zip(model.estimators_, said, strict=True):
            proba[:, member.classes_.astype(int)] = member.predict_proba(rows)
        assert said.mean(axis=0) == pytest.approx(model.predict_proba(rows))
        covariance = sum(np.cov(said[:, :, k].T, ddof=0) for k in range(3))
        # What members disagree on, and what each of them is unsure of, add up to the score.
        noise = 1 - np.square(said).sum(axis=2).mean(axis=0)
        sampler = GainSampler(FrozenEstimator(model))
        _, gains = RiskQueryStrategy(sampler, missing_label="").query(
            rows, names, candidates=rows, return_utilities=True
        )
        assert gains[0] == pytest.approx(first_gains(covariance, noise))


def test_chunks_pipelines_and_frozen_models():
    forest = make_pipeline(StandardScaler(), RandomForestRegressor(20, random_state=0))
    one = GainSampler(forest, noise=0.1, batch_size=4, max_candidates=50, random_state=0)
    whole = one.fit(X[:30], Y[:30]).query(X)
    chunks = (X[k : k + 17] for k in range(0, len(X), 17))
    assert one.query_chunks(chunks).tolist() == whole.tolist()
    frozen = GainSampler(FrozenEstimator(one.model_), **_options(one)).fit(X[:30], Y[:30])
    assert frozen.query(X).tolist() == whole.tolist()
    frame = pd.DataFrame(X, columns=["a", "b"])
    one.fit(frame[:30], Y[:30])
    assert one.query_chunks([frame[:50], frame[50:]]).tolist() == whole.tolist()


def _options(sampler):
    params = sampler.get_params(deep=False)
    return {name: value for name, value in params.items() if name != "model"}


def test_candidates_are_a_fair_draw():
    """With no candidate to spare, every row is as likely to be chosen as any other."""
    pool = np.tile([1.0, 1.0, 1.0], (10, 1))
    counts = np.zeros(10)
    rng = np.random.RandomState(0)
    one = GainSampler(Given(), batch_size=2, max_candidates=2, random_state=rng).fit(pool, None)
    for _ in range(2000):
        counts[one.query(pool)] += 1
    assert np.abs(counts / 2000 - 0.2).max() < 0.045  # five standard errors


def test_it_goes_where_nothing_is_known_and_not_where_noise_is():
    """A model with the noise of each row in it: coins on the right, a gap in the middle."""
    rng = np.random.default_rng(2)
    x = np.r_[rng.uniform(-3, -1, 30), rng.uniform(1, 3, 30)][:, None]
    y = np.where(x[:, 0] > 0, rng.normal(scale=2.0, size=60), np.sin(x[:, 0]))
    gp = GaussianProcessRegressor(RBF(0.7), alpha=0.01, optimizer=None)
    risk = RegressionRisk(gp, regressor=RandomForestRegressor(20), random_state=0)
    one = GainSampler(gp, risk=risk, batch_size=5, random_state=0).fit(x, y)
    pool = np.linspace(-3, 3, 241)[:, None]
    chosen = pool[one.query(pool), 0]
    assert (np.abs(chosen[:3]) < 1).all()
    assert (chosen > 1).mean() <= 0.4


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"noise": -1.0}, ValueError, "noise"),
        ({"split": "half"}, ValueError, "split"),
        ({"max_candidates": 0}, ValueError, "max_candidates"),
        ({"risk": LinearRegression()}, TypeError, "risk must have predict_risk"),
        ({}, ValueError, "noise must be given, or risk"),
        (
            {"risk": RegressionRisk(Ridge(), regressor=Ridge()), "split": "share"},
            ValueError,
            "noise must be given with split",
        ),
        ({"model": GradientBoostingRegressor()}, TypeError, "model must say how"),
        ({"noise": 1.0, "batch_size": 500}, ValueError, "batch_size must be at most"),
    ],
)
def test_bad_input_is_named(options, error, words):
    model = RandomForestRegressor(5, random_state=0)
    with pytest.raises(error, match=words):
        GainSampler(**{"model": model} | options).fit(X, Y).query(X)


def test_a_process_of_several_targets_is_refused():
    gp = FrozenEstimator(GaussianProcessRegressor(optimizer=None).fit(X, np.c_[Y, Y]))
    with pytest.raises(ValueError, match="several here"):
        GainSampler(gp).fit(X, Y).query(X)


def test_split_risk():
    risk, variance = RNG.uniform(0, 2, size=(2, 50))
    for how in ("excess", "share"):
        parts = split_risk(risk, variance, noise=0.5, how=how)
        assert parts.reducible + parts.irreducible == pytest.approx(risk)
        assert min(parts.reducible.min(), parts.irreducible.min()) >= 0
    assert split_risk([1.0], [0.0], noise=0.0, how="share").reducible.tolist() == [0.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([-1.0], [1.0]), "risk must not be negative"),
        (([1.0], [-1.0]), "variance must not be negative"),
        (([1.0], [1.0, 2.0]), "same length"),
    ],
)
def test_split_risk_names_what_is_wrong(arguments, words):
    with pytest.raises(ValueError, match=words):
        split_risk(*arguments)
    for options, text in (
        ({"how": "half"}, 'how must be "excess" or "share"'),
        ({"how": "share"}, "noise must be given"),
        ({"how": "share", "noise": [1.0, 2.0]}, "noise must have one value"),
        ({"how": "share", "noise": -1.0}, "noise is a variance"),
    ):
        with pytest.raises(ValueError, match=text):
            split_risk([1.0], [1.0], **options)
