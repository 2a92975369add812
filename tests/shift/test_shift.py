"""Weights for another population."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from condrisk import BudgetRule, Deferral, RegressionRisk
from condrisk.datasets import make_heteroscedastic
from condrisk.metrics import deferral_loss
from condrisk.shift import ShiftWeights, effective_sample_size
from condrisk.shift._weights import _pool

FAST = LogisticRegression()


def two_populations(seed, shift, n=2000, d=2):
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    X_target[:, 0] += shift
    return X, X_target


def true_ratio(X, shift):
    return np.exp(shift * X[:, 0] - shift**2 / 2)


def test_effective_sample_size_by_hand():
    assert effective_sample_size([2.0, 2.0, 0.0]) == 2.0
    assert_allclose(effective_sample_size([3.0, 1.0]), 16 / 10)
    assert_allclose(effective_sample_size([1e-200, 1e-200]), 2.0)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        effective_sample_size([1.0, -1.0])


def test_weights_are_the_ratio_of_the_densities(seed):
    X, X_target = two_populations(seed, 1.0, n=4000)
    shift = ShiftWeights(FAST, random_state=0).fit(X, X_target)
    ratio = true_ratio(X, 1.0)
    assert_allclose(shift.weight_.mean(), 1.0)
    assert np.corrcoef(shift.weight_, ratio)[0, 1] > 0.98
    assert_allclose(shift.effective_size_, effective_sample_size(ratio), rtol=0.3)
    fresh = two_populations(seed + 100, 0)[0]
    assert np.corrcoef(shift.predict(fresh), true_ratio(fresh, 1.0))[0, 1] > 0.98
    assert_allclose(shift.predict(fresh).mean(), 1.0, atol=0.2)


def test_unequal_numbers_of_rows_do_not_matter(seed):
    X, X_target = two_populations(seed, 0.5, n=3000)
    many = ShiftWeights(FAST, random_state=0).fit(X, X_target).weight_
    few = ShiftWeights(FAST, random_state=0).fit(X, X_target[:600])
    assert np.corrcoef(many, few.weight_)[0, 1] > 0.95
    assert few.coverage_ > 0.95
    # The ratio itself, before it is scaled, decides what is clipped.
    narrow = ShiftWeights(FAST, clip=1.5, random_state=0).fit(X, X_target[:600])
    ratio = true_ratio(X, 0.5)
    assert_allclose(narrow.clipped_, np.mean(ratio > 1.5), atol=0.06)
    assert_allclose(narrow.coverage_, np.minimum(ratio, 1.5).mean(), atol=0.06)


def test_no_shift_costs_nothing(seed):
    X, X_target = two_populations(seed, 0.0)
    shift = ShiftWeights(random_state=0).fit(X, X_target)
    assert shift.effective_size_ > 0.9 * len(X)
    assert abs(shift.auc_ - 0.5) < 0.06
    assert shift.coverage_ > 0.99


def test_a_classifier_that_is_wrong_more_often_than_not_is_left_out():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 500)
    good, contrary = kind + rng.normal(size=1000), -kind + rng.normal(size=1000)
    assert _pool(np.column_stack([contrary, good]), kind)[1] == [1]
    assert _pool(contrary[:, None], kind) == (None, [])

    class Contrary(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

    X, X_target = two_populations(0, 1.0, n=300)
    shift = ShiftWeights(Contrary(), random_state=0).fit(X, X_target)
    assert_array_equal(shift.weight_, np.ones(300))
    assert_array_equal(shift.predict(X), np.ones(300))
    assert shift.auc_ == 0.5


def test_a_shift_that_no_line_shows_is_found_by_the_default(seed):
    """The target is narrower: logistic regression on x sees nothing."""
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(3000, 2)), rng.normal(size=(3000, 2)) * [0.5, 1.0]
    ratio = 2 * np.exp(-1.5 * X[:, 0] ** 2)
    pooled = ShiftWeights(random_state=0).fit(X, X_target).weight_
    assert np.corrcoef(pooled, ratio)[0, 1] > 0.8
    linear = ShiftWeights(FAST, random_state=0).fit(X, X_target)
    assert linear.effective_size_ > 0.95 * len(X)


class Boasting(LogisticRegression):
    """Twice as sure as it should be."""

    def predict_proba(self, X):
        chance = expit(2 * self.decision_function(X))
        return np.column_stack([1 - chance, chance])


def test_a_classifier_that_overstates_is_calibrated(seed):
    X, X_target = two_populations(seed, 1.0)
    modest = ShiftWeights(FAST, random_state=0).fit(X, X_target).weight_
    boasting = ShiftWeights(Boasting(), random_state=0).fit(X, X_target).weight_
    assert_allclose(boasting, modest, rtol=0.1, atol=0.05)


def test_a_classifier_that_knows_its_rows_by_heart_is_asked_about_others(seed):
    """One neighbour: on its own rows the chance of a target row is 0, and all weights alike."""
    X, X_target = two_populations(seed, 1.5)
    shift = ShiftWeights(KNeighborsClassifier(1), random_state=0).fit(X, X_target)
    high = X[:, 0] > 1.5
    assert shift.weight_[high].mean() > 2 * shift.weight_[~high].mean()


def test_weights_are_clipped_and_that_is_reported():
    X, X_target = two_populations(0, 1.5)
    shift = ShiftWeights(FAST, clip=3.0, random_state=0).fit(X, X_target)
    free = ShiftWeights(FAST, random_state=0).fit(X, X_target)
    assert shift.clipped_ == pytest.approx(np.mean(shift.weight_ == shift.weight_.max()))
    assert 0.05 < shift.clipped_ < 0.3
    assert shift.weight_.max() <= 3.0 / np.minimum(true_ratio(X, 1.5), 3.0).mean() * 1.2
    assert shift.effective_size_ > free.effective_size_
    # E min(w, 3) over calibration rows: what a clipped weight can stand for.
    expected = np.minimum(true_ratio(X, 1.5), 3.0).mean()
    assert_allclose(shift.coverage_, expected, atol=0.06)
    assert free.coverage_ > shift.coverage_


@pytest.mark.parametrize("classifier", [None, FAST])
def test_the_hopeless_is_refused_with_what_was_found(classifier, seed):
    X, X_target = two_populations(seed, 8.0, n=600)
    with pytest.raises(ValueError, match=r"X cannot stand for X_target.*AUC of [01]\.\d+"):
        ShiftWeights(classifier, random_state=0).fit(X, X_target)


def test_too_few_effective_rows_are_refused():
    X, X_target = two_populations(0, 1.5)
    with pytest.raises(ValueError, match="min_effective=1500"):
        ShiftWeights(FAST, min_effective=1500, random_state=0).fit(X, X_target)
    with pytest.raises(ValueError, match=r"min_coverage=0\.95"):
        ShiftWeights(FAST, clip=1.5, min_coverage=0.95, random_state=0).fit(X, X_target)


def test_risk_rule_score_and_metric_take_the_weights(seed):
    """A budget fitted with the weights is met in the target population, one without is not."""
    world = make_heteroscedastic(4000, n_features=2, random_state=seed)
    target = world.sample(4000, random_state=seed + 100).X
    target[:, 0] += 1.0
    shift = ShiftWeights(FAST, random_state=0).fit(world.X, target)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), clip=False, random_state=0)
    model = Deferral(risk, cost=2.0, rule=BudgetRule(0.2))
    weighted = clone(model).fit(world.X, world.y, sample_weight=shift.weight_)
    plain = clone(model).fit(world.X, world.y)
    assert abs(weighted.defer(target).mean() - 0.2) < 0.08
    assert plain.defer(target).mean() > 0.4
    fresh = world.sample(4000, random_state=seed + 200)
    weight = shift.predict(fresh.X)
    loss, estimate = weighted.loss_values(fresh.X, fresh.y), weighted.predict_risk(fresh.X)
    assert deferral_loss(loss, estimate, 2.0, sample_weight=weight) > deferral_loss(
        loss, estimate, 2.0
    )
    assert np.isfinite(weighted.score(fresh.X, fresh.y, sample_weight=weight))


def test_same_seed_same_weights_and_frames_and_gaps_go_in():
    X, X_target = two_populations(0, 0.5, n=300)
    X[::7, 1] = np.nan
    names = {"columns": ["a", "b"]}
    one = ShiftWeights(random_state=0).fit(
        pd.DataFrame(X, **names), pd.DataFrame(X_target, **names)
    )
    two = ShiftWeights(random_state=0).fit(X, X_target)
    assert_array_equal(one.weight_, two.weight_)
    assert list(one.feature_names_in_) == ["a", "b"]


def test_it_says_what_is_wrong():
    X, X_target = two_populations(0, 0.5, n=100)
    with pytest.raises(ValueError, match="X_target has 1 features, but X has 2"):
        ShiftWeights().fit(X, X_target[:, :1])
    with pytest.raises(ValueError, match="X and X_target must have at least a row for each"):
        ShiftWeights().fit(X, X_target[:3])
    with pytest.raises(ValueError, match="'classifier' parameter of ShiftWeights"):
        ShiftWeights(LinearRegression()).fit(X, X_target)
    with pytest.raises(ValueError, match="'clip' parameter of ShiftWeights"):
        ShiftWeights(clip=0.5).fit(X, X_target)
    with pytest.raises(ValueError, match="X_target contains infinity"):
        ShiftWeights().fit(X, np.where(X_target == X_target.max(), np.inf, X_target))
