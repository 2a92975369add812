"""`RiskControlRule`: the generalized criterion, and guarantees for every group of rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from condrisk import Deferral, PlugInRisk, RegressionRisk
from condrisk.datasets import make_gaussian_mixture
from condrisk.deferral import RiskControlRule


def too_often(count, n, chance):
    """Tell whether `count` of `n` contradicts a chance, at a level that never fails by itself."""
    return binom.sf(count - 1, n, chance) < 1e-4


def pairs(rng, n, kind="0/1"):
    """Return uniform scores and losses with the mean score²."""
    u = rng.random(n)
    if kind == "0/1":
        return u, (rng.random(n) < u**2).astype(float)
    return u, 2 * u**2 * rng.random(n)


# -- the generalized criterion -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["0/1", "uniform", "weighted"])
def test_population_mean_of_loss_times_accepted_is_kept(kind):
    """∫₀ᵗ u² du = t³ / 3 is at most the target up to t = (3 · target)^(1/3)."""
    target, broken, accepted = 0.05, 0, []
    for k in range(150):
        rng = np.random.default_rng([1, k])
        fit, (v, y) = pairs(rng, 1000, kind), pairs(rng, 1000, kind)
        rule = RiskControlRule(target, criterion="generalized", cap=2.0, random_state=k)
        best = (3 * target) ** (1 / 3)
        if kind == "weighted":  # 2u is the density: ∫ 2u·u² = t⁴ / 2
            rule.set_params(max_weight=2.0)
            rule.fit(*fit, sample_weight=2 * fit[0], calibration=(v, y, 2 * v))
            best = (2 * target) ** (1 / 4)
        else:
            rule.set_params(cap=1.0 if kind == "0/1" else 2.0)
            rule.fit(*fit, calibration=(v, y))
        t = min(max(rule.threshold_, 0.0), 1.0)
        broken += t > best
        accepted.append(t / best)
    assert not too_often(broken, 150, 0.1)
    assert np.mean(accepted) > 0.85


def test_the_threshold_is_the_last_that_the_binomial_test_of_all_rows_passes():
    rng = np.random.default_rng(2)
    fit, (v, y) = pairs(rng, 2000), pairs(rng, 800)
    rule = RiskControlRule(0.05, criterion="generalized", cap=1.0, random_state=0)
    rule.fit(*fit, calibration=(v, y))
    passed = [binom.cdf(y[v <= t].sum(), 800, 0.05) <= 0.1 for t in rule.thresholds_]
    assert rule.threshold_ == rule.thresholds_[np.flatnonzero(passed)[-1]]
    assert (np.diff(np.array(passed, int)) <= 0).all()  # monotone: no order could do better


def test_it_is_the_weaker_statement_and_accepts_more():
    rng = np.random.default_rng(3)
    fit, held = pairs(rng, 2000), pairs(rng, 2000)
    rule = RiskControlRule(0.1, cap=1.0, random_state=0)
    strict = clone(rule).fit(*fit, calibration=held)
    weak = clone(rule).set_params(criterion="generalized").fit(*fit, calibration=held)
    assert strict.threshold_ < weak.threshold_
    assert "of accepted rows" in strict.guarantee_
    assert "× accepted over all rows" in weak.guarantee_


def test_where_all_rows_lose_the_same_no_test_is_wasted_on_what_cannot_pass(seed):
    """Three in ten rows may be accepted: of three thresholds, the first is not for none or all."""
    rng = np.random.default_rng(seed)
    ones, rule = np.ones(2000), RiskControlRule(0.3, criterion="generalized", n_thresholds=3)
    rule.set_params(cap=1.0).fit(rng.random(2000), ones, calibration=(rng.random(2000), ones))
    assert 0.1 < rule.threshold_ < 0.3


def test_losses_below_zero_have_no_generalized_mean():
    rule = RiskControlRule(0.1, criterion="generalized", cap=1.0)
    with pytest.raises(ValueError, match="loss must not be negative"):
        rule.fit([0.1, 0.2, 0.3], [-1.0, 0.0, 1.0])


# -- groups --------------------------------------------------------------------------------------

SHARES = np.array([0.6, 0.3, 0.1])


def people(rng, n):
    """Return rows of two columns, and scores and losses: the second class of each loses more."""
    a, b = rng.choice(3, n, p=SHARES), rng.integers(2, size=n)
    u = rng.random(n)
    chance = np.minimum(u**2 * np.array([0.8, 1.6, 1.0])[a] * np.array([0.8, 1.2])[b], 1.0)
    return np.column_stack([a, b]), u, (rng.random(n) < chance).astype(float), chance


def broken_groups(rule, X, u, chance, target, columns, criterion="selective"):
    """Count the groups whose mean in the population is above the target."""
    accepted = ~rule.defer(u, X=X)
    count = 0
    for column in columns:
        for value in np.unique(X[:, column]):
            own = X[:, column] == value
            part = own & accepted
            if not part.any():
                continue
            mean = chance[part].mean()
            if criterion == "generalized":
                mean = (chance * accepted)[own].mean()
            count += mean > target
    return count, accepted.mean()


@pytest.mark.parametrize("criterion", ["selective", "generalized"])
@pytest.mark.parametrize("columns", [[0], [0, 1]])
def test_every_group_keeps_the_target_at_once(columns, criterion):
    target, runs, broken, accepted = 0.12, 40, 0, []
    X_new, u_new, _, chance = people(np.random.default_rng(0), 100_000)
    for k in range(runs):
        rng = np.random.default_rng([4, k])
        (X, u, z, _), (W, v, y, _) = people(rng, 3000), people(rng, 3000)
        rule = RiskControlRule(
            target, criterion=criterion, subgroups=columns, cap=1.0, confidence=0.8, random_state=k
        ).fit(u, z, X=X, calibration=(v, y), X_calibration=W)
        count, share = broken_groups(rule, X_new, u_new, chance, target, columns, criterion)
        broken += count > 0
        accepted.append(share)
    assert not too_often(broken, runs, 0.2)
    assert np.mean(accepted) > 0.35


def test_the_path_of_groups_that_share_rows_starts_where_nothing_is_surer():
    """Up to 0.3 no row loses, deferred rows neither: all gain the same, until the first loss."""
    u = np.repeat((np.arange(100) + 0.5) / 100, 4)
    X = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (100, 1))
    loss = (u > 0.3).astype(float)
    rule = RiskControlRule(0.7, criterion="generalized", subgroups=[0, 1], cap=1.0)
    rule.fit(u, loss, X=X, calibration=(u, loss), X_calibration=X)
    assert_array_equal(rule.thresholds_[0], u[loss == 0].max())
    assert (rule.group_thresholds_ > 0.9).all()


def test_without_groups_the_worse_ones_are_above_the_target():
    """What a guarantee on average allows: the test above is not about nothing."""
    X_new, u_new, _, chance = people(np.random.default_rng(0), 100_000)
    rng = np.random.default_rng(5)
    (_, u, z, _), (_, v, y, _) = people(rng, 3000), people(rng, 3000)
    rule = RiskControlRule(0.12, cap=1.0, random_state=0).fit(u, z, calibration=(v, y))
    count, _ = broken_groups(rule, X_new, u_new, chance, 0.12, [0, 1])
    assert count >= 2


def test_each_group_by_itself_accepts_more_than_all_at_once():
    rng = np.random.default_rng(6)
    (X, u, z, _), (W, v, y, _) = people(rng, 3000), people(rng, 3000)
    rule = RiskControlRule(0.12, subgroups=[0], cap=1.0, random_state=0)
    given = {"X": X, "calibration": (v, y), "X_calibration": W}
    together = clone(rule).fit(u, z, **given)
    alone = clone(rule).set_params(simultaneous=False).fit(u, z, **given)
    assert (alone.group_thresholds_ >= together.group_thresholds_).all()
    assert (alone.group_thresholds_ > together.group_thresholds_).any()
    assert "all at once" in together.guarantee_
    assert "by itself" in alone.guarantee_
    # By itself a group is what a rule of its own is.
    for k in range(3):
        own, held = X[:, 0] == k, W[:, 0] == k
        single = RiskControlRule(0.12, cap=1.0, random_state=0)
        single.fit(u[own], z[own], calibration=(v[held], y[held]))
        assert abs(alone.group_thresholds_[k] - single.threshold_) < 0.03


def test_groups_of_one_column_share_the_level_and_hand_it_on_once_all_is_accepted():
    """Two hard groups have half of it each; beside an easy one, a hard one has all of it."""
    rng = np.random.default_rng(15)
    for easy, level in ((1.0, 0.05), (0.1, 0.1)):
        factor = np.array([1.0, easy])
        X, W = rng.integers(2, size=(2, 3000, 1))
        u, v = rng.random((2, 3000))
        z, y = (rng.random(3000) < factor[g[:, 0]] * s**2 for g, s in ((X, u), (W, v)))
        rule = RiskControlRule(0.1, subgroups=[0], cap=1.0, random_state=0)
        rule.fit(u, z.astype(float), X=X, calibration=(v, y.astype(float)), X_calibration=W)
        last = {at: np.argmin(rule.p_values_[:, 0] <= at) - 1 for at in (0.05, 0.1)}
        assert last[0.05] < last[0.1]  # or the level would not matter here
        assert rule.group_thresholds_[0] == rule.thresholds_[last[level], 0]
        assert (rule.group_thresholds_[1] == np.inf) == (easy < 1)


def test_in_two_columns_a_row_is_accepted_by_the_stricter_of_its_groups():
    rng = np.random.default_rng(7)
    (X, u, z, _), (W, v, y, _) = people(rng, 3000), people(rng, 3000)
    rule = RiskControlRule(0.12, subgroups=[0, 1], cap=1.0, random_state=0)
    rule.fit(u, z, X=X, calibration=(v, y), X_calibration=W)
    limits = dict(zip(rule.group_names_, rule.group_thresholds_, strict=True))
    assert set(limits) == {f"column {c} = {k}" for c in (0, 1) for k in range(3 - c)}
    for row in [[0, 0], [1, 1], [2, 0]]:
        t = min(limits[f"column {c} = {row[c]}"] for c in (0, 1))
        assert_array_equal(rule.defer([t, np.nextafter(t, 2)], X=[row, row]), [False, True])


@pytest.mark.parametrize("columns", [[0], [0, 1]])
def test_groups_with_losses_of_another_size_have_the_same_thresholds(columns):
    rng = np.random.default_rng(13)
    (X, u, z, _), (W, v, y, _) = people(rng, 2000), people(rng, 2000)
    found = [
        RiskControlRule(0.12 * size, subgroups=columns, cap=size, random_state=0)
        .fit(u, size * z, X=X, calibration=(v, size * y), X_calibration=W)
        .p_values_
        for size in (1.0, 4.0)
    ]
    np.testing.assert_allclose(found[0], found[1])


def test_a_step_of_overlapping_groups_passes_only_for_all_of_them():
    """Every p-value again, by counting; then the last step before any group fails."""
    rng = np.random.default_rng(13)
    (X, u, z, _), (W, v, y, _) = people(rng, 3000), people(rng, 3000)
    rule = RiskControlRule(0.12, subgroups=[0, 1], cap=1.0, random_state=0)
    rule.fit(u, z, X=X, calibration=(v, y), X_calibration=W)
    fine = []
    for limits, p_values in zip(rule.thresholds_, rule.p_values_, strict=True):
        of_row = np.minimum(limits[W[:, 0]], limits[3 + W[:, 1]])
        counted = []
        for k in range(5):
            own = W[:, 0] == k if k < 3 else W[:, 1] == k - 3
            part = own & (v <= of_row)
            counted.append(binom.cdf(y[part].sum(), part.sum(), 0.12) if limits[k] > -1 else 0.0)
        fine.append(max(counted) <= 0.1)
        np.testing.assert_allclose(p_values, counted)
        if not fine[-1]:
            break
    assert 1 < len(fine) < len(rule.thresholds_)
    assert sum(counted[k] > 0.1 for k in range(5)) < 5  # some group would have gone on
    assert_array_equal(rule.group_thresholds_, rule.thresholds_[len(fine) - 2])


@pytest.mark.parametrize("columns", [[0], [0, 1]])
def test_groups_that_were_not_seen_and_groups_that_are_too_small_are_deferred(columns):
    rng = np.random.default_rng(8)
    (X, u, z, _), (W, v, y, _) = people(rng, 3000), people(rng, 3000)
    X, W = X.copy(), W.copy()
    X[:4, 0] = W[:4, 0] = 7
    rule = RiskControlRule(0.12, subgroups=columns, cap=1.0, random_state=0)
    rule.fit(u, z, X=X, calibration=(v, y), X_calibration=W)
    assert rule.feasible_
    assert_array_equal(rule.defer([0.0, 0.0, 0.0], X=[[0, 0], [7, 0], [9, 0]]), [0, 1, 1])


def test_frames_text_missing_values_and_columns_by_name():
    rng = np.random.default_rng(9)
    n = 4000
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.random(n)})
    frame.loc[rng.random(n) < 0.1, "sex"] = None
    u, z = pairs(rng, n)
    rule = RiskControlRule(0.15, subgroups=["sex"], cap=1.0, random_state=0).fit(u, z, X=frame)
    assert rule.group_names_ == ["sex = f", "sex = m", "sex = missing"]
    new = pd.DataFrame({"sex": ["f", None, "x"], "age": [0.1] * 3})
    assert_array_equal(rule.defer([0.01] * 3, X=new), [False, False, True])


def test_what_is_wrong_is_said():
    rng = np.random.default_rng(10)
    X, u, z, _ = people(rng, 200)
    rule = RiskControlRule(0.12, subgroups=[0], cap=1.0)
    with pytest.raises(ValueError, match="X="):
        clone(rule).fit(u, z)
    with pytest.raises(ValueError, match="no column 5"):
        clone(rule).set_params(subgroups=[5]).fit(u, z, X=X)
    with pytest.raises(ValueError, match="more than 50"):
        clone(rule).fit(u, z, X=u[:, None])
    with pytest.raises(ValueError, match="single column"):
        clone(rule).set_params(subgroups=[0, 1], simultaneous=False).fit(u, z, X=X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(rule).fit(u, z, X=X)
    fitted = clone(rule).set_params(target=0.5).fit(u, z, X=X)
    with pytest.raises(ValueError, match="X must be given"):
        fitted.defer(u)


def test_deferral_gives_the_rule_its_rows():
    world = make_gaussian_mixture(3, random_state=0)
    rows = world.sample(3000, random_state=1)
    X = np.column_stack([rows.X, np.arange(3000) % 2])
    model = Deferral(
        PlugInRisk(LogisticRegression(), cv=2, random_state=0),
        rule=RiskControlRule(0.2, subgroups=[2], random_state=0),
    ).fit(X, rows.y)
    decision = model.decide(X)
    assert 0 < decision.deferred.mean() < 1
    assert "each of the 2 groups" in decision.guarantee
    kept = "mean loss of accepted rows <= 0.2"
    assert decision.groups == {"column 2 = 0": kept, "column 2 = 1": kept}
    new = X[:3].copy()
    new[:, 2] = 5
    assert model.defer(new).all()
    assert model.set_params(rule=None, cost=1.0).fit(X, rows.y).decide(X).groups is None


def test_bets_in_groups_keep_losses_that_are_not_two_values():
    """Uniform losses in [0, 2u²] in two groups, of which one loses twice as much."""
    broken = 0
    for k in range(15):
        rng = np.random.default_rng([11, k])

        def draw(n, rng=rng):
            group = rng.integers(2, size=n)
            u = rng.random(n)
            return group[:, None], u, 2 * u**2 * (1 + group) * rng.random(n)

        (X, u, z), (W, v, y) = draw(2000), draw(2000)
        rule = RiskControlRule(0.2, subgroups=[0], cap=4.0, confidence=0.8, random_state=k)
        rule.fit(u, z, X=X, calibration=(v, y), X_calibration=W)
        assert rule.test_ == "betting"
        t = np.clip(rule.group_thresholds_, 0, 1)
        broken += (t**2 / 3 * [1, 2] > 0.2).any()  # mean of the accepted: t² (1 + group) / 3
        assert (t > 0.3).all()
    assert not too_often(broken, 15, 0.2)


def test_a_risk_model_of_numbers_takes_groups_too():
    rng = np.random.default_rng(12)
    X = np.column_stack([rng.normal(size=2000), rng.integers(2, size=2000)])
    y = X[:, 0] + rng.normal(size=2000) * np.where(X[:, 1] > 0, 2.0, 0.5)
    risk = RegressionRisk(Ridge(), regressor=Ridge(), loss="absolute_error", cv=3, random_state=0)
    rule = RiskControlRule(0.8, cap=6.0, subgroups=[1], random_state=0)
    deferred = Deferral(risk, rule=rule).fit(X, y).defer(X)
    assert deferred[X[:, 1] > 0].all()
    assert not deferred[X[:, 1] == 0].any()
