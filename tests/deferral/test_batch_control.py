"""`BatchControlRule`: a guarantee for the rows of one batch, whatever they are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binom, hypergeom
from sklearn.base import clone

from condrisk.deferral import BatchControlRule

TESTS = [
    {"test": "hypergeometric"},
    {"test": "betting"},
    {"test": "betting", "sampling": "risk"},
]


def too_often(count, n, chance):
    """Tell whether `count` of `n` contradicts a chance, at a level that never fails by itself."""
    return binom.sf(count - 1, n, chance) < 1e-4


def batches():
    """Return batches that no law has made: risk and loss of each row, fixed."""
    n = 1500
    risk = np.linspace(0.0, 1.0, n)
    rng = np.random.default_rng(7)
    fair = (rng.random(n) < risk).astype(float)
    # All losses where the risk is least, which is as bad as a risk can be.
    misled = np.where(risk < 0.1, 1.0, (rng.random(n) < 0.05).astype(float))
    # No loss at all up to a threshold, and losses only beyond it.
    wall = (risk > 0.25).astype(float)
    tied = (np.floor(8 * risk) / 8, fair)
    return {"fair": (risk, fair), "misled": (risk, misled), "wall": (risk, wall), "tied": tied}


@pytest.mark.parametrize("options", TESTS, ids=str)
@pytest.mark.parametrize("name", ["fair", "misled", "wall", "tied"])
def test_the_loss_left_in_this_batch_is_kept_whatever_the_batch(name, options):
    risk, loss = batches()[name]
    target, runs, broken, kept = 0.1, 40, 0, []
    for k in range(runs):
        rule = BatchControlRule(target, n_labels=100, confidence=0.8, random_state=k, **options)
        rule.start(risk)
        rows = rule.next_rows()
        rule.update(rows, loss[rows])
        broken += loss[rule.kept_].sum() > target * len(risk)
        kept.append(rule.n_kept_)
        assert rule.labels_used_ == 100
        assert not (rule.kept_ & rule.labelled_).any()
        assert_array_equal(rule.kept_, (risk <= rule.threshold_) & ~rule.labelled_)
    assert not too_often(broken, runs, 0.2)
    if name == "fair":
        best = int(np.sum(np.cumsum(loss) <= target * len(risk)))
        assert np.mean(kept) > 0.6 * best


def test_labels_that_find_a_loss_pay_for_more_rows():
    """All rows lose: what is labelled is resolved, and only unlabelled losses are left."""
    rule = BatchControlRule(0.5, n_labels=900, test="hypergeometric", random_state=0)
    rule.fit(np.full(1000, 0.5), lambda rows: np.ones(len(rows)))
    assert (rule.labels_used_, rule.n_kept_) == (900, 100)


def test_hypergeometric_boundary_is_the_largest_that_the_level_allows():
    """Without a way around: the number of labelled losses at the last accepted threshold."""
    risk, n, target, level = np.arange(400.0) / 400, 80, 0.2, 0.1
    rng = np.random.default_rng(3)
    loss = (rng.random(400) < 0.5).astype(float)
    rule = BatchControlRule(target, n_labels=n, test="hypergeometric", random_state=1)
    rule.start(risk)
    rows = rule.next_rows()
    frame = int(np.searchsorted(np.cumsum(risk), 1.3 * target * 400)) + 1
    assert rows.max() < frame
    m = int(target * 400)
    c = max(c for c in range(n) if hypergeom.cdf(c, frame, m + c + 1, n) <= level)
    rule.update(rows, loss[rows])
    labelled_losses = np.sort(rows[loss[rows] > 0])
    assert len(labelled_losses) > c
    assert rule.threshold_ == risk[labelled_losses[c] - 1]


def test_inclusion_probabilities_are_those_that_the_bets_divide_by():
    """The loss left, estimated from the first row drawn, is right on average."""
    rng = np.random.default_rng(0)
    risk = np.sort(rng.random(60))
    loss = (rng.random(60) < risk) * rng.random(60)
    frame = slice(0, 60)
    means = []
    for k in range(1500):
        rule = BatchControlRule(1.0, n_labels=60, sampling="risk", random_state=k).start(risk)
        first = rule.next_rows(1)[0]
        chance = np.maximum(np.sqrt(risk[frame]), 0.2 * np.sqrt(risk[frame]).max())
        means.append(loss[first] * chance.sum() / chance[first])
    assert abs(np.mean(means) - loss.sum()) < 5 * np.std(means) / np.sqrt(len(means))


@pytest.mark.parametrize("seed", range(6))
def test_bets_go_by_what_labels_say_of_a_risk_that_is_too_high(seed):
    """Each row loses a fifth of its risk: all rows are accepted that it could do any harm in."""
    risk = np.linspace(0.0, 1.0, 1500)
    rule = BatchControlRule(0.3, n_labels=40, confidence=0.8, random_state=seed)
    rule.fit(risk, lambda rows: risk[rows] / 5)
    frame = int(np.searchsorted(np.cumsum(risk), 1.3 * 0.3 * 1500)) + 1
    assert rule.n_kept_ == frame - 40


def test_bets_go_by_what_labels_say_of_a_risk_that_is_too_low():
    """By a tenth of the mean loss, bets would be too large: one labelled loss would cost all."""
    risk, loss = batches()["fair"]
    best = int(np.sum(np.cumsum(loss) <= 0.3 * len(risk)))
    kept = []
    for seed in range(6):
        rule = BatchControlRule(0.3, n_labels=300, confidence=0.95, random_state=seed)
        kept.append(rule.fit(risk / 10, lambda rows: loss[rows]).n_kept_)
    assert np.mean(kept) > 0.7 * best


def test_stopping_when_enough_is_kept_does_not_break_it():
    risk, loss = batches()["fair"]
    broken = 0
    for k in range(40):
        rule = BatchControlRule(0.1, n_labels=80, confidence=0.8, random_state=k).start(risk)
        while rule.labels_used_ < 120 and loss[rule.kept_].sum() <= 150:  # a malicious stop
            rows = rule.next_rows(5)
            rule.update(rows, loss[rows])
        broken += loss[rule.kept_].sum() > 150
    assert not too_often(broken, 40, 0.2)


@pytest.mark.parametrize("options", TESTS, ids=str)
def test_losses_and_risks_may_be_measured_in_other_units_and_rows_in_any_order(options):
    risk, loss = batches()["fair"]
    rule = BatchControlRule(0.1, n_labels=150, random_state=0, **options)
    plain = clone(rule).fit(risk, lambda rows: loss[rows])
    scaled = clone(rule).set_params(target=100.0, cap=1000.0)
    scaled.fit(1000 * risk, lambda rows: 1000 * loss[rows])
    assert_array_equal(plain.kept_, scaled.kept_)
    order = np.random.default_rng(1).permutation(len(risk))
    moved = clone(rule).fit(risk[order], lambda rows: loss[order][rows])
    assert_array_equal(moved.kept_, plain.kept_[order])


def test_labels_may_come_in_lots_and_in_any_order():
    risk, loss = batches()["fair"]
    rule = BatchControlRule(0.1, n_labels=150, random_state=0)
    whole = clone(rule).fit(risk, lambda rows: loss[rows])
    lots = clone(rule).start(risk)
    while lots.labels_used_ < 150:
        rows = lots.next_rows(7 if lots.labels_used_ < 147 else 3)
        assert_array_equal(rows, lots.next_rows(50))  # until they have labels
        lots.update(rows[::-1], loss[rows[::-1]])
    assert_array_equal(lots.kept_, whole.kept_)


def test_all_rows_labelled_is_all_resolved():
    risk = np.linspace(0.1, 0.9, 30)
    rule = BatchControlRule(0.1, n_labels=500, random_state=0)
    rule.fit(risk, lambda rows: np.ones(len(rows)))
    assert rule.labelled_.all()
    assert (rule.n_kept_, len(rule.next_rows(5))) == (0, 0)


@pytest.mark.parametrize("cap", [1.0, 5.0])
@pytest.mark.parametrize("test", ["betting", "hypergeometric"])
def test_a_loss_above_the_cap_gives_no_false_guarantee(cap, test):
    """Losses of any size with the default cap: 50 of 50 guarantees were broken."""
    rng = np.random.default_rng(0)
    risk = rng.uniform(0, 10, size=2000)
    loss = risk * rng.exponential(size=2000)
    rule = BatchControlRule(0.5, n_labels=100, cap=cap, test=test, random_state=0)
    with pytest.raises(ValueError, match=rf"loss must not exceed cap={cap:g}, got \d.*Start again"):
        rule.fit(risk, lambda rows: loss[rows])
    assert not rule.labelled_.any()  # nothing was counted
    rule.set_params(cap=loss.max(), target=2.0).fit(risk, lambda rows: loss[rows])
    assert loss[rule.kept_].sum() <= 2.0 * 2000
    assert f"if no loss exceeds {loss.max():g}" in rule.guarantee_


@pytest.mark.parametrize("n", [-3, 5.5, "5", True, np.float64(2)])
def test_rows_to_label_are_a_whole_number(n):
    rule = BatchControlRule(0.1, random_state=0).start(np.linspace(0, 1, 1000))
    with pytest.raises(ValueError, match="n must be a whole number of rows, 0 or more, got"):
        rule.next_rows(n)
    assert len(rule.next_rows(0)) == 0
    assert len(rule.next_rows(np.int64(5))) == 5


def test_losses_in_place_of_a_function_are_refused():
    risk, loss = batches()["fair"]
    with pytest.raises(TypeError, match=r"label must be a function .* got ndarray.*lambda rows"):
        BatchControlRule(0.1).fit(risk, loss)


def test_what_is_wrong_is_said():
    risk, loss = batches()["fair"]
    rule = BatchControlRule(0.1, n_labels=20, random_state=0)
    with pytest.raises(ValueError, match="sampling must be"):
        BatchControlRule(0.1, test="hypergeometric", sampling="risk").start(risk)
    with pytest.raises(ValueError, match="target"):
        BatchControlRule(-0.1).start(risk)
    rule.start(risk)
    rows = rule.next_rows()
    with pytest.raises(ValueError, match="all of them"):
        rule.update(rows[:-1], loss[rows[:-1]])
    with pytest.raises(ValueError, match="loss must not be negative"):
        rule.update(rows, loss[rows] - 1)
    rule.update(rows, loss[rows])
    with pytest.warns(UserWarning, match="no row of the batch can be accepted"):
        clone(rule).set_params(target=0.0005).fit(risk, lambda rows: np.ones(len(rows)))
    assert "this batch" in rule.guarantee_
