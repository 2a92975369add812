"""The page of claims about CIFAR-10: computed, and its verdicts turn when the records do."""

import re

import numpy as np
import pytest
from cifar10_claims_page import (
    BEATEN,
    BEST,
    BETTER,
    CHOICE,
    FOLLOWS,
    KINDS,
    REPRESENTATIONS,
    STRENGTH,
    TEMPERATURE,
    TITLES,
    WORKS,
    change,
    row,
    sections,
    verdict,
)
from fake_cifar10_records import METHODS, each, fake_records
from scipy import stats

from condrisk.paper._page import FAILS, HOLDS, PARTLY
from condrisk.paper.cifar10._claims import claims_page
from condrisk.paper.cifar10._claims._beaten import paper_best
from condrisk.paper.cifar10._claims._common import (
    OPEN,
    REFUTED,
    count_sentence,
    difference,
    verdict_of_tests,
)
from condrisk.paper.cifar10._claims._probabilities import correlations
from condrisk.paper.cifar10._paper import COSTS
from condrisk.paper.cifar10._results import Results, paired_values

# -- the parts ------------------------------------------------------------------------------------


def test_judge():
    lower = paired_values(dict(enumerate([1.0, 1.1, 0.9])), dict(enumerate([2.0, 2.1, 2.0])))
    higher = lower._replace(mean=-lower.mean)
    neither = lower._replace(p=0.3)
    alone = paired_values({0: 1.0}, {0: 2.0})
    assert verdict_of_tests([lower] * 9 + [higher]) == HOLDS
    assert verdict_of_tests([lower] * 8 + [higher] * 2) == PARTLY
    assert verdict_of_tests([lower, neither]) == FAILS
    assert verdict_of_tests([neither]) == FAILS
    assert verdict_of_tests([higher] * 9 + [lower]) == REFUTED
    assert verdict_of_tests([higher] * 8 + [neither] * 2) == FAILS
    assert verdict_of_tests([alone]) == OPEN


def test_verdicts_are_corrected_for_the_number_of_comparisons():
    lower = paired_values(dict(enumerate([1.0, 1.1, 0.9])), dict(enumerate([2.0, 2.1, 2.0])))
    alone = lower._replace(p=0.02)
    assert verdict_of_tests([alone]) == HOLDS
    assert verdict_of_tests([alone] * 5) == FAILS  # 5 · 0.02 = 0.1
    assert "0 for it, 0 against it, 5 not told" in count_sentence("All", [alone] * 5)


def test_difference_as_a_word():
    found = paired_values(dict(enumerate([1.0, 1.1, 0.9])), dict(enumerate([2.0, 2.1, 2.0])))
    assert difference(found) == "**-1.033 ± 0.033** (3:0, p = 0.001)"
    assert difference(found._replace(mean=1.0333)) == "+1.033 ± 0.033 (3:0, p = 0.001)"
    assert difference(found._replace(p=1e-5), 1) == "**-1.0 ± 0.0** (3:0, p < 0.001)"
    assert difference(paired_values({0: 1.0}, {0: 2.0})) == "-1.000 (1:0)"
    assert difference(None) == "–"


@pytest.mark.parametrize(
    ("predictor", "losses"),
    [("CNN", (0.15, 0.32, 0.51, 0.70)), ("ResNet", (0.13, 0.26, 0.42, 0.57))],
)
def test_the_papers_best(predictor, losses):
    found = [paper_best("table6", "loss", predictor, cost)[1].mean for cost in COSTS]
    assert found == list(losses)
    table = {"CNN": "table1", "ResNet": "table2"}[predictor]
    best = {"CNN": 0.28, "ResNet": 0.36}[predictor]
    assert paper_best(table, "risk_l1", predictor, None) == ("p EffNet", (best, None, 0.005))


def test_correlations_are_scipys(seed):
    records = fake_records(seed, noise=0.3)
    found = correlations(Results(records), "CNN", list(METHODS), "risk_l2", "1")
    assert list(found) == [0, 1, 2, 3, 4]
    for fold, value in found.items():
        chosen = [each(records, set="CNN", fold=fold, method=m)[0] for m in METHODS]
        a, b = [r["risk_l2"] for r in chosen], [r["costs"]["1"]["loss"] for r in chosen]
        assert value == pytest.approx(stats.spearmanr(a, b).statistic)


# -- the page -------------------------------------------------------------------------------------


def test_the_page_has_every_section():
    assert list(sections(fake_records())) == TITLES


def test_every_section_but_the_count_ends_in_a_verdict():
    for title, text in sections(fake_records()).items():
        words = "|".join((HOLDS, PARTLY, FAILS, REFUTED))
        assert title == BEATEN or re.search(rf"\*\*({words})\*\*", text), title


def test_rows_of_tables_are_as_long_as_their_headers():
    blocks = re.findall(r"(?:^\|.*\|\n)+", claims_page(fake_records()), flags=re.MULTILINE)
    assert len(blocks) > 15
    for block in blocks:
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_each_p_against_each_g(seed):
    records = fake_records(seed)
    text = sections(records)[KINDS]
    ours, theirs = (
        np.array([r["risk_l2"] for r in each(records, set="ResNet", method=m)])
        for m in ("p ResNet-9", "g EffNet")
    )
    d = ours - theirs
    mean = f"**{d.mean():+.3f} ± {stats.sem(d):.3f}** (5:0, p < 0.001)"
    (line,) = [x for x in text.split("| L², predictor ResNet |")[1].splitlines() if "ResNet-9" in x]
    assert line.split(" | ")[3] == mean
    assert "it is so in 20 of 24 comparisons" in text


def test_calibration_against_regression_turns():
    # L²: the probabilities of the CNN lose against all five regressions, the others win.
    text = sections(fake_records(noise=1e-4))[KINDS]
    assert verdict(text, "By L², predictor CNN,") == (PARTLY, (20, 15, 5))
    better = change(fake_records(noise=1e-4), "p CNN", -1.0)
    text = sections(better)[KINDS]
    assert verdict(text, "By L², predictor CNN,") == (HOLDS, (20, 20, 0))
    assert verdict(text, "By L², predictor ResNet,") == (HOLDS, (20, 20, 0))
    worse = fake_records(noise=1e-4)
    for method in ("p CNN", "p ResNet", "p EffNet", "p ResNet-9"):
        change(worse, method, 5.0, predictors=["CNN"])
    text = sections(worse)[KINDS]
    assert verdict(text, "By L², predictor CNN,") == (REFUTED, (20, 0, 20))
    # In L¹, the CNN for probabilities beats the CNN from scratch, and so do the other two.
    start = "With the same network for both, predictor CNN,"
    assert verdict(text, start) == (FAILS, (6, 3, 3))


def test_regression_against_no_estimate_turns():
    text = sections(fake_records(noise=1e-4))[WORKS]
    # Of the CNN: 0.2 and 0.5 are more than any regression pays, and 1 and 2 more than never.
    head = ["L² minus constant", *(f"L2D, c={c} minus always" for c in ("0.2", "0.5"))]
    assert row(text, "predictor CNN")[:3] == head
    assert row(text, "predictor CNN")[3] == "L2D, c=1 minus never"
    assert verdict(text, "By L², predictor CNN,") == (HOLDS, (5, 5, 0))
    worse = fake_records(noise=1e-4)
    for method in ("g CNN", "g ResNet", "g EffNet"):
        change(worse, method, 1.0, predictors=["CNN"])
    text = sections(worse)[WORKS]
    assert verdict(text, "By L², predictor CNN,") == (FAILS, (5, 2, 3))
    assert verdict(text, "By L², predictor ResNet,") == (HOLDS, (5, 5, 0))


def test_the_order_of_methods_turns_with_the_measure():
    records = fake_records(noise=1e-4)
    for record in each(records, set="CNN"):
        record["risk_l2"] = 2 * record["risk_l1"]
    text = sections(records)[CHOICE]
    assert row(text, "CNN")[2:] == ["1.00", "0 of 90", "91"]  # two have the same L¹
    assert verdict(text, "For L, predictor CNN,")[0] == FAILS
    for record in each(records, set="CNN", method="p CNN"):  # the worst but one in L¹
        record["risk_l2"] = 1e-3
    text = sections(records)[CHOICE]
    assert row(text, "CNN")[:2] == ["p EffNet", "p CNN"]
    assert verdict(text, "For L, predictor CNN,")[0] == HOLDS


def test_better_probabilities_turn():
    text = sections(fake_records(noise=1e-4))[BETTER]
    assert "own log loss: CNN, ResNet, EffNet." in text
    assert "it is so in 15 of 24 comparisons" in text
    assert verdict(text, "For the errors, predictor CNN,") == (HOLDS, (4, 4, 0))
    assert verdict(text, "For the losses of learning to defer, predictor CNN,") == (
        HOLDS,
        (8, 8, 0),
    )
    worse = change(fake_records(noise=1e-4), "p EffNet", 3.0, predictors=["ResNet"])
    text = sections(worse)[BETTER]
    assert verdict(text, "For the errors, predictor CNN,") == (HOLDS, (4, 4, 0))
    assert verdict(text, "For the errors, predictor ResNet,") == (PARTLY, (4, 3, 1))


def test_the_order_is_that_of_the_log_loss():
    records = fake_records(noise=1e-4)
    for record in each(records, set="networks", method="probability CNN"):
        record["log_loss"] = 0.01
    text = sections(records)[BETTER]
    assert "own log loss: ResNet, EffNet, CNN." in text
    # From EfficientNet to the CNN all errors rise.
    assert verdict(text, "For the errors, predictor CNN,") == (FAILS, (4, 2, 2))


def test_representations_turn():
    text = sections(fake_records(noise=1e-4))[REPRESENTATIONS]
    assert "it is so in 7 of 8 comparisons" in text
    # L¹ of the predictor's own representation is above that of the ResNet from scratch.
    assert verdict(text, "Predictor CNN:") == (HOLDS, (12, 11, 1))
    assert verdict(text, "With the same network for both, predictor CNN,") == (HOLDS, (4, 4, 0))
    records = fake_records(noise=1e-4)
    for method in ("g of own representation", "g of EffNet representation"):
        change(records, method, 2.0)
        change(records, method, 2.0, quantity="risk_l1")
    assert verdict(sections(records)[REPRESENTATIONS], "Predictor CNN:") == (REFUTED, (12, 0, 12))


def test_strength_turns():
    text = sections(fake_records(noise=1e-4))[STRENGTH]
    assert verdict(text, "For the better predictor") == (HOLDS, (10, 10, 0))
    # In L¹, the ResNet from scratch is better than EfficientNet.
    start = "For the larger network, step by step, predictor CNN,"
    assert verdict(text, start) == (PARTLY, (4, 3, 1))
    alone = sections(fake_records(predictors=["CNN"], noise=1e-4))[STRENGTH]
    assert "For the better predictor" not in alone


def test_best_of_all_turns():
    text = sections(fake_records(noise=1e-4))[BEST]
    assert verdict(text, "By L¹, predictor CNN,") == (HOLDS, (5, 5, 0))
    assert verdict(text, "By L², predictor CNN,") == (PARTLY, (5, 4, 1))
    text = sections(change(fake_records(noise=1e-4), "p EffNet, scaled", 1.0))[BEST]
    assert verdict(text, "By L², predictor CNN,") == (HOLDS, (5, 5, 0))


def test_deferral_turns():
    text = sections(fake_records())[FOLLOWS]
    assert verdict(text, "By L², predictor CNN,") == (HOLDS, (4, 4, 0))
    records = fake_records()
    for record in records:
        if record["set"] == "CNN":  # the larger the error, the lower the loss
            for price in record["costs"].values():
                price["loss"] = 1.0 / record["risk_l2"]
    text = sections(records)[FOLLOWS]
    assert verdict(text, "By L², predictor CNN,") == (REFUTED, (4, 0, 4))
    assert verdict(text, "By L², predictor ResNet,") == (HOLDS, (4, 4, 0))
    assert row(text, "predictor CNN, 16 methods") == [f"c={cost}" for cost in COSTS]
    assert "| with L² | -1.000 | -1.000 | -1.000 | -1.000 |" in text


# -- what is missing ------------------------------------------------------------------------------


def test_one_seed_is_not_judged():
    found = sections(fake_records(seeds=[2]))
    assert list(found) == TITLES
    for title in (KINDS, BETTER, REPRESENTATIONS, STRENGTH, BEST, FOLLOWS):
        assert f"**{OPEN}**" in found[title]
        assert not re.search(rf"\*\*({HOLDS}|{PARTLY}|{FAILS}|{REFUTED})\*\*", found[title])


def test_incomplete_records():
    with pytest.raises(ValueError, match="records must have at least one"):
        claims_page([])
    assert list(sections(fake_records(predictors=[]))) == [BEATEN]
    found = sections(fake_records(predictors=["CNN"], methods=["p CNN", "p CNN, scaled"]))
    assert list(found) == [TEMPERATURE, CHOICE, BEATEN]
    without = [r for r in fake_records() if r["set"] != "networks"]
    assert list(sections(without)) == TITLES
    some = [r for r in fake_records() if not (r["method"] == "p EffNet" and r["fold"] > 0)]
    assert list(sections(some)) == TITLES
    one_by_one = fake_records(seeds=range(3))
    for record in list(one_by_one)[::7]:
        one_by_one.remove(record)
    claims_page(one_by_one)
