"""What the records of the full study of the theory show, and that its pages are made of them."""

from pathlib import Path

import pytest

from condrisk.paper import read_records
from condrisk.paper.theory import COUNTEREXAMPLES
from condrisk.paper.theory.simulations import TheoryConfig
from condrisk.paper.theory.simulations._results import BOUNDS, excess_slope, select
from condrisk.paper.theory.simulations._run import PARTS
from condrisk.paper.theory.simulations._same_learner_page import (
    ROUGH,
    SIMPLE,
    count,
    mean_ratio,
    of_kind,
)
from condrisk.paper.theory.simulations._same_learner_tables import relative_error

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def records():
    return read_records(ROOT / "results" / "theory" / "records.jsonl")


def test_the_run_is_complete(records):
    found = {(r["set"], r["fold"]) for r in records}
    full = TheoryConfig()
    assert found == {(name, fold) for name, part in PARTS.items() for fold in part.folds(full)}
    assert sum({(r["set"], r["fold"], r["method"]): r["seconds"] for r in records}.values()) < 480


def test_no_valid_bound_is_exceeded_more_often_than_it_may(records):
    found = select(records, "excess")
    assert {r["method"] for r in found} == set(BOUNDS)
    for record in found:
        assert record["repetitions"] >= 1000
        for delta, held in record["bounds"].items():
            assert held["p"] > 0.001, (record["method"], record["n"], delta)
    for record in select(records, "plug-in"):
        assert all(record["error"] <= bound + 1e-9 for bound in record["bounds"].values())
    for record in select(records, "rejection"):
        assert record["excess"] <= record["bound"] + 1e-9


def test_every_false_claim_is_seen_to_fail_and_its_repair_to_hold(records):
    found = select(records, "false")
    assert {r["method"] for r in found} == set(COUNTEREXAMPLES)
    for record in found:
        assert record["n_repetitions"] >= 1000
        assert record["p_printed"] < 1e-6, record["method"]
        assert record["p_repaired"] > 0.001, record["method"]


def test_intervals_cover_and_the_normal_approximation_does_not(records):
    found = select(records, "coverage")
    assert {(r["n"], r["repetitions"]) for r in found} == {(200, 2000), (2000, 2000)}
    assert len({r["world"] for r in found}) == 3
    for record in found:
        if record["method"] != "normal":
            assert record["p"] > 0.001
            for name in ("error", "realised", "difference"):
                assert record[name]["covered"] >= record["confidence"] * record["repetitions"]
    normal = [r for r in found if r["method"] == "normal" and r["n"] == 200]
    assert sum(r["p"] < 1e-6 for r in normal) >= 1
    by_key = {(r["world"], r["n"], r["method"]): r["realised"]["width"] for r in found}
    for (world, n, method), width in by_key.items():
        if method == "betting":
            assert by_key[world, n, "normal"] < width < by_key[world, n, "bernstein"]


def test_rates(records):
    assert -1.05 < excess_slope(records, "squared_error").value < -0.95
    assert -0.55 < excess_slope(records, "plug_in").value < -0.45


def test_calibration_has_no_gap_where_regression_has_one(records):
    for record in select(records, "separable", world="cantor"):
        if record["method"] == "regression on x":
            assert record["error"] > record["limit"]
        else:
            assert record["error"] < 0.05 * record["limit"]


def test_where_the_plug_in_risk_of_a_regressor_wins_and_where_it_loses(records):
    """Every sentence of the page that is not a figure."""
    found = select(records, "same-learner")
    pair = ("plug-in", "losses on x")
    rough, simple = (of_kind(found, "splines", kind) for kind in (ROUGH, SIMPLE))
    better, worse = count(rough, *pair)
    assert better > 0.8 * len(rough)
    assert worse == 0
    ratios = [mean_ratio([r for r in rough if r["n"] == n], *pair) for n in (200, 800, 3200)]
    assert ratios == sorted(ratios, reverse=True)
    assert sum(count(simple, *pair)) < 0.5 * len(simple)
    assert 0.8 < mean_ratio(simple, *pair) < 1.25
    exact = [r for r in found if r["method"] == "the mean"]
    assert count(exact, *pair)[0] == 0
    for record in exact:  # nothing to win
        if record["noise"] == "homoscedastic":
            names = ("losses on x", "losses on x, f, m", "plug-in", "corrected")
            assert min(relative_error(record, name) for name in names) > 1
    others = of_kind(found, "forest", ("the mean", *SIMPLE, "boosting"))
    assert count(others, *pair)[0] == 0
    assert count(of_kind(found, "forest", ["nearest neighbour"]), *pair)[0] > 6
    forest, splines = ([r for r in found if r["learner"] == k] for k in ("forest", "splines"))
    assert mean_ratio(rough, *pair) < mean_ratio(rough, "plug-in", "losses on x, f, m") < 0.6
    assert mean_ratio(forest, "corrected", "plug-in") < 0.8
    assert 1 < mean_ratio(splines, "corrected", "plug-in") < 1.25
    for record in found:
        pairs = zip(record["absolute"], record["bound"], strict=True)
        assert all(absolute <= bound for absolute, bound in pairs)
