"""Means, standard errors, differences from the paper, and comparisons of runs."""

import math
import statistics

import numpy as np
import pytest
from fake_records import ALL_METHODS, fake_records
from scipy import stats

from condrisk.paper._summary import PaperValue, Summary, mean_and_se, paired_tests, worse_p
from condrisk.paper.rwr._paper import COSTS, PAIRS, SETS
from condrisk.paper.rwr._results import Results, agreement, compare, two_errors

PAPER = PaperValue(0.50, None, 0.005)


def test_summary_is_the_mean_over_folds_with_its_standard_error(seed):
    records = fake_records(seed, sets=["energy"], methods=["MLP+RF"], n_folds=7)
    values = [record["costs"]["0.5"]["loss"] for record in records]
    summary = Results(records).summary("loss", "energy", "MLP+RF", 0.5)
    assert summary.mean == pytest.approx(statistics.fmean(values))
    assert summary.se == pytest.approx(statistics.stdev(values) / math.sqrt(7))
    assert summary.n_folds == 7
    assert summary.paper == (0.46, 0.04, 0.005)
    assert summary.difference == pytest.approx(statistics.fmean(values) - 0.46)


def test_rmse_is_the_root_in_each_fold():
    records = fake_records(sets=["energy"], methods=["MLP+RF"], n_folds=3)
    for record, error in zip(records, [1.0, 4.0, 16.0], strict=True):
        record["risk_l2"] = error
    assert Results(records).mean("risk_rmse", "energy", "MLP+RF") == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    ("mean", "se", "expected"),
    [
        (0.525, 0.01, 2.0),
        (0.475, 0.01, -2.0),
        (0.505, 0.01, 0.0),  # rounding explains it
        (0.4951, 0.0, 0.0),
        (0.50, 0.0, 0.0),
        (0.51, 0.0, math.inf),
        (0.49, 0.0, -math.inf),
    ],
)
def test_difference_in_standard_errors(mean, se, expected):
    assert Summary(mean, se, 10, PAPER).in_se == pytest.approx(expected)


def test_no_difference_without_a_published_figure_or_without_a_second_fold():
    assert Summary(0.5, 0.1, 10).in_se is None
    assert Summary(0.5, 0.1, 10).difference is None
    assert Summary(0.5, None, 1, PAPER).in_se is None


@pytest.mark.parametrize("n_rows", [3, 77, 104])
def test_folds_that_agree_have_no_error_at_all(n_rows):
    """A mean of many 0.2 is 0.2 but for rounding, which is not the same in every fold."""
    values = [0.2, float(np.mean([0.2] * n_rows)), sum([0.2] * n_rows) / n_rows]
    mean, se = mean_and_se(values)
    assert (mean, se) == (0.2, 0.0)
    assert mean_and_se([0.0, 0.0]) == (0.0, 0.0)


def test_one_fold_has_no_standard_error():
    assert mean_and_se([0.3]) == (0.3, None)


def test_r2_is_pooled_over_folds(seed):
    rng = np.random.default_rng(seed)
    risk, loss = rng.exponential(size=(2, 5, 40))
    records = [
        {
            "set": "wine",
            "fold": fold,
            "method": "RF+RF",
            "risk_l2": np.mean((g - z) ** 2),
            "loss_variance": np.var(z),
        }
        for fold, (g, z) in enumerate(zip(risk, loss, strict=True))
    ]
    residual = ((risk - loss) ** 2).sum()
    total = ((loss - loss.mean(axis=1, keepdims=True)) ** 2).sum()
    assert Results(records).r2("wine", "RF+RF") == pytest.approx(1 - residual / total)
    assert Results(records).r2("wine", "RF+LR") is None
    for record in records:
        record["loss_variance"] = 0.0
    assert Results(records).r2("wine", "RF+RF") is None


def test_a_predictor_is_found_by_the_pair_with_most_folds():
    records = fake_records(sets=["energy"], methods=["MLP+LR"], n_folds=2)
    more = fake_records(1, sets=["energy"], methods=["MLP+RF"], n_folds=4)
    results = Results(records + more)
    expected = statistics.fmean(record["predictor_loss"] for record in more)
    assert results.mean("predictor_loss", "energy", "MLP") == pytest.approx(expected)
    assert results.summary("predictor_loss", "energy", "LR") is None


def test_missing_values_are_left_out():
    records = fake_records(sets=["energy"], methods=["MLP+RF"], n_folds=3)
    records[0]["risk_l1"] = None
    del records[1]["costs"]["2"]
    results = Results(records)
    assert results.values("risk_l1", "energy", "MLP+RF").keys() == {1, 2}
    assert results.values("loss", "energy", "MLP+RF", 2).keys() == {0, 2}
    assert results.summary("risk_l1", "energy", "SelNet") is None


def test_known_sets_and_methods_come_in_the_order_of_the_paper():
    records = fake_records(
        sets=["wine-quality", "parkinsons", "concrete"],
        methods=["mine", "SelNet", "NN+kernel", "RF+RF", "LR+LR"],
        n_folds=1,
    )
    results = Results(records)
    assert results.sets == ("concrete", "parkinsons", "wine-quality")
    assert results.paper_sets == ("concrete", "parkinsons")
    assert results.methods == ("LR+LR", "RF+RF", "SelNet", "NN+kernel", "mine")
    assert results.new_methods == ("mine",)


def test_a_record_given_twice_is_an_error():
    records = fake_records(sets=["energy"], methods=["MLP+RF"], n_folds=1)
    with pytest.raises(ValueError, match=r"set 'energy', fold 0, method 'MLP\+RF' twice"):
        Results(records * 2)


def test_a_loss_needs_its_cost():
    results = Results(fake_records(sets=["energy"], methods=["MLP+RF"], n_folds=1))
    with pytest.raises(ValueError, match="cost must be given"):
        results.summary("loss", "energy", "MLP+RF")


# -- agreement ------------------------------------------------------------------------------------


def test_the_papers_own_figures_agree_in_every_cell():
    counts = agreement(fake_records(noise=0.0, n_folds=2))
    cells = [128, 512, 512, 512, 32, 32]
    assert [count["cells"] for count in counts.values()] == cells
    assert [count["agree"] for count in counts.values()] == cells


def test_each_count_answers_to_its_own_figure():
    records = fake_records(noise=0.0, n_folds=2)
    for record in records:
        if (record["set"], record["method"]) == ("concrete", "LR+LR"):
            record["risk_l1"] *= 1.021
            record["costs"]["0.2"]["loss"] += 0.02 * 1.31 + 0.0051
            record["costs"]["0.5"]["rate"] -= 0.021
        if (record["set"], record["method"]) == ("wine", "SelNet"):
            record["costs"]["1"]["loss"] += 0.006
        if (record["set"], record["method"]) == ("wine", "NN+kNNRej"):
            record["costs"]["1"]["loss"] -= 0.004  # rounding explains it
    missing = [n["cells"] - n["agree"] for n in agreement(records).values()]
    assert missing == [1, 1, 1, 1, 1, 0]


def test_tolerances_include_their_ends():
    records = fake_records(noise=0.0, n_folds=2)
    for record in records:
        if record["method"] in PAIRS:
            record["risk_l1"] *= 1.02
            for cell in record["costs"].values():
                cell["loss"] = 1.02 * cell["loss"] + 0.005
                cell["rate"] -= 0.02
    counts = agreement(records)
    for kind in (
        "calibrator absolute error within 2 %",
        "RwR loss within 2 % + 0.005",
        "human rate within 0.02",
    ):
        assert counts[kind]["agree"] == counts[kind]["cells"]


def test_agreement_of_few_records():
    counts = agreement(fake_records(sets=["energy"], methods=["MLP+RF"], n_folds=1))
    assert counts["RwR loss within 2 % + 0.005"]["cells"] == 4
    assert counts["RwR loss within two standard errors"]["cells"] == 0  # one fold has no error
    assert all(count == {"agree": 0, "cells": 0} for count in agreement([]).values())


# -- two runs -------------------------------------------------------------------------------------


def changed(records, change):
    return [
        {
            **record,
            "risk_l1": None if record["risk_l1"] is None else change(record["risk_l1"]),
            "costs": {
                cost: {**cell, "loss": change(cell["loss"])}
                for cost, cell in record["costs"].items()
            },
        }
        for record in records
    ]


def test_a_run_is_equal_to_itself():
    records = fake_records(n_folds=3)
    report = compare(records, list(reversed(records)))
    for quantity, cells in (("risk_l1", 12 * 8), ("loss", 12 * 8 * 4)):
        assert report[quantity] == {
            "cells": cells,
            "within_one_se": cells,
            "share": 1.0,
            "larger": 0,
            "smaller": 0,
            "ties": cells,
            "significant": 0,
        }


def test_a_run_that_is_always_larger_is_found_out():
    records = fake_records(sets=["energy"], n_folds=10)
    larger = changed(records, lambda value: value * 1.0001)
    for a, b, counts in ((records, larger, (12, 0, 0)), (larger, records, (0, 12, 0))):
        report = compare(a, b)["risk_l1"]
        assert (report["larger"], report["smaller"], report["ties"]) == counts
        assert report["share"] == 1.0
        assert report["significant"] == 12


@pytest.mark.parametrize(("factor", "share"), [(0.99, 1.0), (1.01, 0.0)])
def test_one_standard_error_is_that_of_the_first_run(factor, share):
    spread = {0: 1.0, 1: 2.0, 2: 3.0}
    records = [
        {"set": "energy", "fold": fold, "method": "LR+MLP", "risk_l1": value, "costs": {}}
        for fold, value in spread.items()
    ]
    se = statistics.stdev(spread.values()) / math.sqrt(3)
    other = [{**record, "risk_l1": 2.0 + factor * se} for record in records]
    assert compare(records, other)["risk_l1"]["share"] == share


def test_only_shared_folds_are_compared():
    a = fake_records(sets=["energy"], n_folds=4)
    b = [{**record} for record in a if record["fold"] < 2]
    assert compare(a, b)["loss"]["ties"] == 12 * len(COSTS)
    nothing = compare(a, [])["loss"]
    assert (nothing["cells"], nothing["share"], nothing["significant"]) == (0, 0.0, 0)


# -- the one standard of tests ---------------------------------------------------------------------


def test_p_is_that_of_a_t_test_with_a_larger_error(seed):
    """Nadeau and Bengio: 1/n + n_test/n_train in place of 1/n; without overlap it is scipy's."""
    gaps = np.random.default_rng(seed).normal(0.3, size=10)
    plain = stats.ttest_1samp(gaps, 0.0, alternative="greater")
    assert worse_p(gaps, test_share=0.0) == pytest.approx(plain.pvalue)
    t = plain.statistic / math.sqrt(1 + 10 / 9)
    assert worse_p(gaps, test_share=0.1) == pytest.approx(stats.t.sf(t, 9))
    assert worse_p(-gaps, test_share=0.1) == pytest.approx(stats.t.cdf(t, 9))


def with_t(t, n=10, test_share=0.1):
    """Return losses of ours and theirs whose corrected t is as given."""
    noise = np.linspace(-1, 1, n)
    mean = t * noise.std(ddof=1) * math.sqrt(1 / n + test_share / (1 - test_share))
    return 5 + mean + noise, np.full(n, 5.0)


def test_the_more_cells_the_larger_a_difference_has_to_be():
    """t of 9 degrees: 1.83 is 5 %, 3.25 is 0.5 %, the bound of Holm's for the first of ten."""
    even = {k: with_t(0.0) for k in range(9)}
    for t, alone, among in ((1.7, 0, 0), (2.0, 1, 0), (3.1, 1, 0), (3.4, 1, 1)):
        for sign, side in ((1, "worse"), (-1, "better")):
            cell = {"a": with_t(sign * t)}
            for cells, expected in ((cell, alone), (cell | even, among)):
                found = paired_tests(cells, test_share=0.1)
                assert getattr(found, side) == ["a"] * expected
                assert found.n == len(cells) == len(found.even) + expected


def test_rounding_is_no_difference():
    """A mean of many 0.2 is not 0.2, in every fold alike."""
    almost = [0.19999999999999996] * 10
    assert almost != [0.2] * 10
    assert paired_tests({"a": (almost, [0.2] * 10)}, test_share=0.1).even == ["a"]
    assert paired_tests({"a": ([0.19] * 10, [0.2] * 10)}, test_share=0.1).better == ["a"]


def test_two_standard_errors_as_a_share_of_the_loss():
    records = fake_records(sets=["energy"], methods=["MLP+RF"], n_folds=4)
    losses = {cost: [r["costs"][cost]["loss"] for r in records] for cost in COSTS}
    shares = [statistics.stdev(v) / statistics.fmean(v) for v in losses.values()]  # 2 / √4 = 1
    assert two_errors(records) == pytest.approx(statistics.median(shares))
    assert two_errors(records[:1]) is None


def test_all_methods_of_the_generator_are_known():
    assert Results(fake_records(n_folds=1)).methods == ALL_METHODS
    assert Results(fake_records(n_folds=1)).sets == SETS
