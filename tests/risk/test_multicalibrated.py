"""`MulticalibratedRisk`: corrected where held-out rows speak clearly, and left alone elsewhere."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from condrisk import BudgetRule, Deferral, RegressionRisk
from condrisk.losses import get_loss
from condrisk.metrics import multicalibration_error, risk_error
from condrisk.persistence import load_model, save_model
from condrisk.risk import MulticalibratedRisk

DRAWN = "rows are kept for the correction at random, so that weights and repeats differ"
CHECKED = MulticalibratedRisk(
    RegressionRisk(LinearRegression(), regressor=Ridge(), cv=2, random_state=0), random_state=0
)


@pytest.mark.filterwarnings("ignore::UserWarning")  # a handful of rows
@parametrize_with_checks(
    [CHECKED],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": DRAWN,
    },
)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


class KnownRisk(BaseEstimator):
    """A risk that is a function of the first column, whatever the truth is."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None, **params):
        self.loss_ = get_loss("squared_error")
        self.n_features_in_ = np.asarray(X).shape[1]
        return self

    def predict(self, X, *, prediction=None):
        return np.zeros(len(np.asarray(X)))

    def predict_risk(self, X, *, prediction=None):
        return self.scale * np.exp(np.asarray(X)[:, 0])

    def loss_values(self, X, y, *, prediction=None):
        return np.asarray(y) ** 2


def world(rng, n, factors=(1.0, 1.0, 1.0)):
    """Return rows whose loss has the mean exp(x₀) times a factor of the class in column 1."""
    X = np.column_stack([rng.normal(0, 0.5, n), rng.integers(3, size=n), rng.random(n)])
    g = np.exp(X[:, 0]) * np.asarray(factors)[X[:, 1].astype(int)]
    return X, np.sqrt(g * rng.exponential(size=n)), g


def frozen(scale=1.0):
    return FrozenEstimator(KnownRisk(scale).fit(np.zeros((2, 3))))


@pytest.mark.parametrize("segments", [[1], None])
def test_a_factor_of_a_segment_is_found(segments):
    rng = np.random.default_rng(0)
    X, y, _ = world(rng, 6000, (1.0, 2.0, 1.0))
    risk = MulticalibratedRisk(frozen(), segments=segments, random_state=0).fit(X, y)
    new, z, g = world(rng, 6000, (1.0, 2.0, 1.0))
    before, after = KnownRisk().predict_risk(new), risk.predict_risk(new)
    assert risk_error(g, after) < 0.15 * risk_error(g, before)
    loss = risk.loss_values(new, z)
    assert multicalibration_error(loss, before, new[:, 1]) > 10
    assert multicalibration_error(loss, after, new[:, 1]) < 6
    assert_allclose(risk.assess(new, z).loss, z**2)


def test_a_right_risk_is_hardly_changed_and_a_wrong_level_is():
    rng = np.random.default_rng(1)
    X, y, _ = world(rng, 3000)
    new, _, g = world(rng, 3000)
    right = MulticalibratedRisk(frozen(), segments=[1, 2]).fit(X, y)
    assert np.sqrt(risk_error(g, right.predict_risk(new))) < 0.1 * g.mean()
    wrong = MulticalibratedRisk(frozen(3.0), segments=[1, 2]).fit(X, y)
    assert np.sqrt(risk_error(g, wrong.predict_risk(new))) < 0.1 * g.mean()
    assert wrong.corrections_[0][0] == "all rows"
    assert abs(wrong.corrections_[0][1] - 1 / 3) < 0.03


def test_rows_that_correct_have_not_been_seen_by_what_is_corrected():
    """A risk that is fitted here gets the rows that are not kept, and rules those that are."""
    rng = np.random.default_rng(2)
    X, y, _ = world(rng, 900)
    inner = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=3, random_state=0)
    risk = MulticalibratedRisk(inner, segments=[1], random_state=0).fit(X, y)
    kept = risk.held_out_.rows
    assert len(kept) == 270
    rest = np.setdiff1d(np.arange(900), kept)
    again = clone(inner).fit(X[rest], y[rest])
    assert_allclose(risk.risk_.predict_risk(X), again.predict_risk(X))
    assert_allclose(risk.held_out_.losses, risk.loss_values(X[kept], y[kept]))
    # Held-out risks are corrected by other rows than their own.
    changed = y.copy()
    changed[kept[0]] += 100.0
    other = MulticalibratedRisk(inner, segments=[1], random_state=0).fit(X, changed)
    assert other.held_out_.risks[0] == risk.held_out_.risks[0]
    assert not np.allclose(other.predict_risk(X), risk.predict_risk(X))


def test_it_carries_rules_pipelines_and_frames_and_can_be_saved(tmp_path):
    rng = np.random.default_rng(3)
    X, y, _ = world(rng, 600, (1.0, 3.0, 1.0))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    inner = make_pipeline(
        StandardScaler(), RegressionRisk(LinearRegression(), regressor=Ridge(), cv=3)
    )
    risk = MulticalibratedRisk(inner, segments=["b"], random_state=0)
    model = Deferral(risk, rule=BudgetRule(0.2)).fit(frame, y)
    assert 0.1 < model.decide(frame).deferred.mean() < 0.3
    assert {name for name, _ in model.risk_.corrections_} <= {"all rows", "b = 0", "b = 1", "b = 2"}
    found = MulticalibratedRisk(clone(inner), random_state=0).fit(X, y)
    save_model(found, tmp_path / "m.skops", schema=X)
    assert_array_equal(load_model(tmp_path / "m.skops").predict_risk(X), found.predict_risk(X))


def test_weights_count_rows():
    rng = np.random.default_rng(4)
    X, y, _ = world(rng, 400, (1.0, 4.0, 1.0))
    count = rng.integers(0, 3, 400)
    weighted = MulticalibratedRisk(frozen(), segments=[1]).fit(X, y, sample_weight=count)
    only = MulticalibratedRisk(frozen(), segments=[1]).fit(
        X[count > 0], y[count > 0], sample_weight=count[count > 0]
    )
    assert_allclose(weighted.predict_risk(X), only.predict_risk(X))


def test_what_is_wrong_is_said():
    X, y, _ = world(np.random.default_rng(5), 50)
    with pytest.raises(ValueError, match="segments: there is no column 'x'"):
        MulticalibratedRisk(frozen(), segments=["x"]).fit(X, y)
    with pytest.raises(ValueError, match="risk must be a risk estimator"):
        MulticalibratedRisk(LinearRegression()).fit(X, y)


def test_probabilities_are_those_of_the_predictor_where_it_has_any():
    X = np.random.default_rng(0).normal(size=(400, 2))
    inner = RegressionRisk(LogisticRegression(), regressor=Ridge(), random_state=0)
    risk = MulticalibratedRisk(inner, segments=[1], random_state=0).fit(X, X[:, 0] > 0)
    assert_array_equal(risk.predict_proba(X), risk.risk_.predict_proba(X))
    assert not hasattr(CHECKED, "predict_proba")


def test_trees_that_find_nothing_change_little():
    """Leaves are judged on rows that have not chosen them: noise in many columns is left alone."""
    away = []
    for k in range(3):
        rng = np.random.default_rng([6, k])
        X, y, _ = world(rng, 800)
        new, _, g = world(rng, 2000)
        X, new = (np.column_stack([rows, rng.normal(size=(len(rows), 10))]) for rows in (X, new))
        risk = FrozenEstimator(KnownRisk().fit(np.zeros((2, 13))))
        found = MulticalibratedRisk(risk, random_state=0).fit(X, y).predict_risk(new)
        level = MulticalibratedRisk(risk, segments=[]).fit(X, y).predict_risk(new)
        away.append(np.sqrt(risk_error(level, found)) / g.mean())
    assert np.mean(away) < 0.2


@pytest.mark.parametrize("segments", [[1], None])
def test_groups_are_never_torn_apart(segments):
    """What is kept, and what corrects held-out risks, shares no group with the rest."""
    rng = np.random.default_rng(7)
    X, y, _ = world(rng, 600, (1.0, 3.0, 1.0))
    groups = np.repeat(np.arange(60), 10)[rng.permutation(600)]
    inner = RegressionRisk(LinearRegression(), regressor=Ridge(), cv=3, random_state=0)
    risk = MulticalibratedRisk(inner, segments=segments, random_state=0)
    risk.fit(X, y, groups=groups)
    held = risk.held_out_
    assert_array_equal(held.groups, groups[held.rows])
    rest = np.setdiff1d(np.arange(600), held.rows)
    assert not set(groups[held.rows]) & set(groups[rest])
    assert 120 < len(held.rows) < 240
    # A group's losses do not reach its own held-out risks, but those of others.
    own = groups == held.groups[0]
    changed = np.where(own, y + 100.0, y)
    other = clone(risk).fit(X, changed, groups=groups).held_out_
    mine = held.groups == held.groups[0]
    assert_allclose(other.risks[mine], held.risks[mine])
    assert not np.allclose(other.risks[~mine], held.risks[~mine])


def test_what_a_group_is_off_by_is_no_evidence_of_a_segment():
    """Rows of a group err together: as many rows as are here look like evidence, groups do not."""
    away = {True: [], False: []}
    for k in range(5):
        rng = np.random.default_rng([8, k])
        X, _, g = world(rng, 1000)
        groups = np.repeat(np.arange(20), 50)
        X[:, 1] = np.repeat(rng.integers(4, size=20), 50)  # a column that says little but the group
        y = np.sqrt(g * rng.exponential(size=20)[groups])
        for told in away:
            risk = MulticalibratedRisk(frozen(), segments=[1])
            risk.fit(X, y, groups=groups if told else None)
            away[told].append(len(risk.corrections_) - 1)
    assert np.mean(away[True]) < 1 < np.mean(away[False])


def test_a_risk_fitted_here_is_learnt_again_from_what_it_remembers():
    """More rows say what a weak g misses; frozen, g has forgotten its own."""
    rng = np.random.default_rng(9)
    X, _, g = world(rng, 1800, (1.0, 3.0, 0.3))
    y = np.sqrt(g * rng.uniform(0.5, 1.5, len(g))) * rng.choice([-1.0, 1.0], len(g))
    known, new = slice(600), slice(600, None)
    zero = DummyRegressor(strategy="constant", constant=0.0)
    inner = RegressionRisk(zero, regressor=Ridge(), random_state=0)
    fitted = MulticalibratedRisk(inner, calibration_size=0.2, random_state=0)
    fitted.fit(X[known], y[known])
    kept = fitted.held_out_.rows
    forgotten = MulticalibratedRisk(FrozenEstimator(fitted.risk_)).fit(X[kept], y[kept])
    error, plain = (risk_error(g[new], risk.predict_risk(X[new])) for risk in (fitted, forgotten))
    assert error < 0.9 * plain


@pytest.mark.parametrize("segments", [[1], None])
def test_a_risk_of_zero_of_rows_that_lose_nothing_stays(segments):
    X = world(np.random.default_rng(10), 100)[0]
    risk = MulticalibratedRisk(frozen(0.0), segments=segments).fit(X, np.zeros(100))
    assert_array_equal(risk.predict_risk(X), 0.0)
    assert_array_equal(risk.held_out_.risks, 0.0)


def test_in_few_rows_no_segments_are_looked_for():
    """Those of a leaf cannot be halved into some that choose it and some that judge it."""
    X, y, _ = world(np.random.default_rng(11), 50, (1.0, 9.0, 1.0))
    few = MulticalibratedRisk(frozen()).fit(X, y)
    level = MulticalibratedRisk(frozen(), segments=[]).fit(X, y)
    assert_allclose(few.predict_risk(X), level.predict_risk(X))
