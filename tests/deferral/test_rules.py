"""The rules by themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.base import clone

from condrisk import BudgetRule, CostRule

# Few distinct values, so that ties are common.
risks = arrays(float, st.integers(1, 40), elements=st.integers(0, 6).map(lambda k: k / 3))
rates = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0]))


@given(risks, st.floats(0, 3))
def test_cost_rule_accepts_iff_the_risk_is_at_most_the_price(risk, cost):
    assert_array_equal(CostRule().defer(risk, cost=cost), risk > cost)
    assert_array_equal(CostRule().defer(risk, cost=np.full(len(risk), cost)), risk > cost)


@given(risks, rates)
def test_budget_is_never_exceeded_on_the_rows_it_was_fitted_on(risk, rate):
    deferred = BudgetRule(rate).fit(risk, risk).defer(risk)
    assert deferred.sum() <= rate * len(risk) + 1e-9
    assert not deferred.any() or risk[deferred].min() > risk[~deferred].max(initial=-np.inf)


@given(risks, rates)
def test_budget_is_used_as_far_as_ties_allow(risk, rate):
    deferred = BudgetRule(rate).fit(risk, risk).defer(risk)
    if not deferred.all():
        next_block = risk == risk[~deferred].max()
        assert deferred.sum() + next_block.sum() > rate * len(risk) * (1 - 1e-9)


@pytest.mark.parametrize(("rate", "n"), [(0.29, 100), (0.57, 100), (0.07, 100)])
def test_rounding_takes_no_row_from_a_budget(rate, n):
    """0.29 of a hundred rows are 29, though 0.29 * 100 is 28.999…"""
    risk = np.arange(n)
    assert BudgetRule(rate).fit(risk, risk).defer(risk).sum() == round(rate * n)


@pytest.mark.parametrize(("rate", "n", "chance"), [(0.1, 200, 21 / 201), (0.3, 9, 3 / 10)])
def test_a_new_row_is_deferred_with_the_chance_that_is_stated(rate, n, chance):
    """Each of n + 1 rows in turn is the new one: exactly the mean over rows that are alike."""
    risk = np.arange(n + 1.0)
    deferred = [
        BudgetRule(rate).fit(np.delete(risk, k), None).defer(risk[[k]])[0] for k in range(n + 1)
    ]
    assert np.mean(deferred) == pytest.approx(chance)


@given(risks, rates, st.randoms())
def test_integer_weights_equal_repeats(risk, rate, random):
    weight = np.array([random.randint(0, 3) for _ in risk])
    if weight.sum():
        repeated = np.repeat(risk, weight)
        weighted = BudgetRule(rate).fit(risk, risk, sample_weight=weight)
        longer = BudgetRule(rate).fit(repeated, repeated)
        assert_array_equal(weighted.defer(risk), longer.defer(risk))


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.999])
def test_a_constant_risk_defers_none(rate):
    risk = np.full(10, 0.4)
    assert not BudgetRule(rate).fit(risk, risk).defer(risk).any()


def test_the_whole_budget_defers_all():
    risk = np.arange(5.0)
    assert BudgetRule(1).fit(risk, risk).defer([-1.0, 10.0]).all()


def test_rules_clone_and_show_their_parameters():
    assert clone(BudgetRule(0.3)).rate == 0.3
    assert repr(BudgetRule(0.3)) == "BudgetRule(rate=0.3)"


def test_rules_say_what_is_wrong():
    with pytest.raises(ValueError, match="cost must be given"):
        CostRule().defer([1.0])
    with pytest.raises(ValueError, match="'rate' parameter of BudgetRule"):
        BudgetRule(1.1).fit([1.0], [1.0])
    with pytest.raises(ValueError, match="risk must be finite"):
        BudgetRule(0.1).fit([np.nan], [1.0])


def test_a_budget_is_found_on_calibration_rows_where_there_are_some():
    rule = BudgetRule(0.2).fit([9.0, 9.0], [1.0, 1.0], calibration=(np.arange(10), np.zeros(10)))
    assert rule.threshold_ == 7.0
    weighted = (np.arange(10), np.zeros(10), np.append(np.ones(9), 3.0))
    assert BudgetRule(0.25).fit([9.0], [1.0], calibration=weighted).threshold_ == 8.0
    with pytest.raises(ValueError, match="calibration must be a tuple"):
        BudgetRule(0.2).fit([9.0], [1.0], calibration=[1.0])
