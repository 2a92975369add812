"""What the records of the full study of labels show, and that its page is made of them."""

from pathlib import Path

import pytest
from tools import active_pages

from condrisk.datasets import UCI_NAMES
from condrisk.paper import read_records
from condrisk.paper.active import ActiveConfig
from condrisk.paper.active._results import across_sets, all_comparisons, compare, first_draws
from condrisk.paper.active._settings import MAIN_METHOD, METHODS, SETS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def records():
    return read_records(ROOT / "results" / "active" / "records.jsonl")


def test_the_run_is_complete(records):
    full = ActiveConfig()
    found = {(r["set"], r["fold"], r["method"]) for r in records}
    assert found == {(s, k, m) for s in SETS for k in full.seeds(s) for m in full.methods(s)}
    for record in records:
        assert record["labels"] == full.schedule(record["set"]).labels
        assert len(record["curves"]) == full.draws(record["set"], record["method"])


def test_the_reduction_of_risk_is_better_than_random(records):
    found = compare(records, MAIN_METHOD)
    assert sum(found[name].ratio < 1 for name in UCI_NAMES) >= 6
    assert not any(found[name].verdict == "worse" for name in UCI_NAMES)
    assert across_sets(found)[2] < 1.02
    assert found["cifar10"].verdict == "better"


def test_the_size_of_the_risk_falls_into_the_trap(records):
    share = {
        method: [
            r["share_of_noise"] for r in records if (r["set"], r["method"]) == ("trap", method)
        ]
        for method in METHODS
    }
    mean = {method: sum(values) / len(values) for method, values in share.items()}
    assert mean["risk-k-center"] > 0.8
    assert mean[MAIN_METHOD] < 0.55
    assert compare(records, "risk-k-center")["trap"].verdict == "worse"
    assert compare(records, MAIN_METHOD)["trap"].verdict == "better"


def test_the_gap_is_better_than_the_whole_risk_and_no_better_than_its_reduction(records):
    found = all_comparisons(first_draws(records))
    gap, whole = found["gap"], found["risk-proportional"]
    assert sum(gap[name].ratio < 1 for name in UCI_NAMES) == 7
    assert all(gap[name].ratio < whole[name].ratio for name in UCI_NAMES)
    assert {gap[name].verdict for name in (*UCI_NAMES, "trap")} == {"not proven"}
    low, high = across_sets(gap, found[MAIN_METHOD])[1:3]
    assert low < 1 < high
    coins = [r["share_of_noise"] for r in records if (r["set"], r["method"]) == ("trap", "gap")]
    assert 0.4 < sum(coins) / len(coins) < 0.6


def test_the_page_is_that_of_the_records():
    for name, text in active_pages.pages().items():
        assert (ROOT / "docs" / "active" / name).read_text(encoding="utf-8") == text
    for figure in ("curves.png", "areas.png"):
        assert (ROOT / "docs" / "active" / figure).stat().st_size > 10_000
