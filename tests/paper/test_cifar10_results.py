"""Records of CIFAR-10 found by predictor and method, and methods paired over seeds."""

import numpy as np
import pytest
from fake_cifar10_records import METHODS, each, fake_records
from scipy import stats

from condrisk.paper.cifar10._paper import COSTS, PREDICTORS
from condrisk.paper.cifar10._results import KNOWN_METHODS, Results, least, paired, paired_values


def column(records, quantity, cost=None):
    found = sorted(records, key=lambda record: record["fold"])
    return np.array([r["costs"][cost]["loss"] if cost else r[quantity] for r in found])


def test_summary_is_mean_and_standard_error(seed):
    records = fake_records(seed, seeds=range(7))
    results = Results(reversed(records))
    for quantity, cost in (("risk_l2", None), ("loss", "0.5")):
        values = column(each(records, set="ResNet", method="p EffNet"), quantity, cost)
        found = results.summary(quantity, "ResNet", "p EffNet", cost, table="table2")
        assert found.mean == pytest.approx(values.mean())
        assert found.se == pytest.approx(stats.sem(values))
        assert found.n_folds == 7
    assert results.summary("risk_l2", "ResNet", "p EffNet", table="table2").paper.mean == 1.40
    assert results.summary("risk_l2", "ResNet", "p EffNet").paper is None


def test_the_same_method_has_other_figures_in_another_table():
    results = Results(fake_records())
    found = [results.summary("risk_l1", "CNN", "p CNN", table=t) for t in ("table1", "table6")]
    assert [summary.paper.mean for summary in found] == [0.96, 0.76]
    assert found[0].mean == found[1].mean


def test_order_of_methods_predictors_and_seeds():
    records = fake_records(seeds=(3, 1))
    extra = {**each(records, set="CNN", fold=1, method="Hybrid")[0], "method": "new"}
    results = Results([extra, *reversed(records)])
    assert results.predictors == PREDICTORS
    assert results.methods("CNN") == (*KNOWN_METHODS, "new")
    assert set(results.methods("ResNet")) == set(METHODS)
    assert results.seeds == (1, 3)


def test_references_follow_from_any_method():
    records = fake_records()
    results = Results(records)
    one = each(records, set="CNN", method="Hybrid")
    assert results.values("loss", "CNN", "always", 0.5) == dict.fromkeys(range(5), 0.5)
    never = results.values("loss", "CNN", "never", 0.5)
    assert never == {record["fold"]: record["predictor_loss"] for record in one}
    oracle = results.values("loss", "CNN", "oracle", "0.5")
    assert oracle == {record["fold"]: record["costs"]["0.5"]["oracle"] for record in one}
    assert results.values("risk_l1", "CNN", "oracle") == {}
    assert results.predictor_loss("CNN").mean == pytest.approx(np.mean(list(never.values())))
    assert results.predictor_loss("CNN", table="table1").paper.mean == 1.30


def test_what_is_missing_is_none():
    results = Results(fake_records(predictors=["CNN"], methods=["p CNN"]))
    assert results.summary("risk_l1", "ResNet", "p CNN") is None
    assert results.mean("risk_l1", "CNN", "Hybrid") is None
    assert results.relative_bias("CNN", "Hybrid") is None
    assert results.predictor_loss("ResNet") is None
    assert paired(results, "CNN", "p CNN", "Hybrid", "risk_l1") is None
    assert least(results, "CNN", ["Hybrid"], "risk_l1") is None
    with pytest.raises(ValueError, match="cost must be given"):
        results.values("loss", "CNN", "p CNN")


def test_a_record_twice_is_refused():
    records = fake_records(seeds=[0])
    with pytest.raises(ValueError, match="fold 0, method 'p CNN' twice"):
        Results([*records, each(records, set="CNN", method="p CNN")[0]])


# -- pairs ----------------------------------------------------------------------------------------


def test_paired_is_nadeau_and_bengios_t_test(seed):
    records = fake_records(seed, seeds=range(6), noise=0.2)
    results = Results(records)
    for quantity, cost in (("risk_l1", None), ("risk_l2", None), *(("loss", c) for c in COSTS)):
        a, b = (
            column(each(records, set="CNN", method=method), quantity, cost)
            for method in ("Hybrid", "p EffNet")
        )
        found = paired(results, "CNN", "Hybrid", "p EffNet", quantity, cost)
        assert found.mean == pytest.approx((a - b).mean())
        assert found.se == pytest.approx(stats.sem(a - b))
        # Their formula: the variance of differences times 1/n plus images tested over learnt from.
        t = (a - b).mean() / np.sqrt((a - b).var(ddof=1) * (1 / 6 + 6000 / 54000))
        assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 5))
        assert found.p > stats.ttest_rel(a, b).pvalue
        assert (found.less, found.more) == ((a < b).sum(), (a > b).sum())
        other = paired(results, "CNN", "p EffNet", "Hybrid", quantity, cost)
        assert (other.mean, other.se, other.p) == pytest.approx((-found.mean, found.se, found.p))
        assert (other.less, other.more) == (found.more, found.less)


def test_pairs_are_of_the_seeds_that_both_have():
    found = paired_values({0: 1.0, 1: 2.0, 2: 9.0}, {1: 2.5, 0: 1.4, 3: -9.0})
    assert found[:3] == pytest.approx((-0.45, 0.05, 2))
    assert (found.less, found.more) == (2, 0)
    assert paired_values({0: 1.0}, {1: 1.0}) is None


def test_rounding_is_no_difference():
    found = paired_values({0: 0.1 + 0.2, 1: 0.5}, {0: 0.3, 1: 0.5})
    assert found == (0.0, 0.0, 2, 1.0, 0, 0)
    assert not found.is_less
    assert not found.is_more


def test_seeds_that_agree_leave_no_doubt():
    found = paired_values({0: 1.0, 1: 1.0}, {0: 2.0, 1: 2.0})
    assert (found.mean, found.se, found.p) == (-1.0, 0.0, 0.0)
    assert found.is_less


def test_one_seed_tells_nothing():
    found = paired_values({0: 1.0}, {0: 2.0})
    assert found == (-1.0, None, 1, None, 1, 0)
    assert not any([found.is_less, found.is_more, found.by_two_se(), found.by_two_se(-1)])


def test_significance_and_two_standard_errors_are_not_the_same():
    # t = -2.2 with two degrees of freedom: beyond two standard errors, p = 0.16 and more.
    x = np.array([-1.0, 0.0, 1.0])
    shift = 2.2 * stats.sem(x)
    found = paired_values(dict(enumerate(x - shift)), dict.fromkeys(range(3), 0.0))
    assert found.p == pytest.approx(2 * stats.t.cdf(-2.2 / np.sqrt(1 + 3 / 9), 2))
    assert found.by_two_se()
    assert not found.by_two_se(-1)
    assert not found.is_less


def test_least():
    results = Results(fake_records(noise=0.0))
    assert least(results, "CNN", KNOWN_METHODS, "risk_l1") == "p EffNet"
    assert least(results, "CNN", KNOWN_METHODS, "risk_l2") == "Hybrid"
    assert least(results, "ResNet", ["p CNN", "g CNN", "missing"], "loss", 2) == "g CNN"


# -- bias -----------------------------------------------------------------------------------------


def test_relative_bias_is_a_ratio_of_means(seed):
    records = fake_records(seed, seeds=range(6), noise=0.3)
    chosen = each(records, set="CNN", method="p CNN")
    bias, loss = column(chosen, "risk_bias"), column(chosen, "predictor_loss")
    found = Results(records).relative_bias("CNN", "p CNN")
    assert found.mean == pytest.approx(bias.sum() / loss.sum())
    # The jackknife knows nothing of the formula.
    left_out = (bias.sum() - bias) / (loss.sum() - loss)
    jackknife = np.sqrt(5 / 6 * ((left_out - left_out.mean()) ** 2).sum())
    assert found.se == pytest.approx(jackknife, rel=0.05)


def test_bias_in_proportion_to_the_loss_has_no_spread():
    records = fake_records(noise=0.0)
    for record in each(records, set="CNN", method="Hybrid"):
        record["risk_bias"] = 0.02 * record["predictor_loss"]
    found = Results(records).relative_bias("CNN", "Hybrid")
    assert found.mean == pytest.approx(0.02)
    assert found.se == pytest.approx(0.0, abs=1e-12)
    one = Results(fake_records(seeds=[0])).relative_bias("CNN", "Hybrid")
    assert one.se is None
