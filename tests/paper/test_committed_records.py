"""The records of the full runs that are part of the repository."""

import json
import shutil
import statistics
from pathlib import Path

import pytest
from tools import auto_pages
from tools.auto_settings import settings_of

from condrisk.paper import read_records
from condrisk.paper.rwr import RwRConfig, run_rwr
from condrisk.paper.rwr._claims._benchmarks import tally
from condrisk.paper.rwr._data import PLUG_IN_SETS, SETS
from condrisk.paper.rwr._methods import make_methods, pair_names
from condrisk.paper.rwr._plug_in._names import PLUG_IN_METHODS
from condrisk.paper.rwr._results import DEFAULT, Results, agreement, compare

RESULTS = Path(__file__).parents[2] / "results" / "rwr"
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def runs():
    names = ("paper-sklearn", "paper-fast", "embedded-fast")
    return {name: read_records(RESULTS / name / "records.jsonl") for name in names}


@pytest.mark.parametrize(
    ("run", "methods"),
    [
        ("paper-sklearn", list(make_methods(mlp="fast"))),
        ("embedded-fast", list(make_methods(mlp="fast"))),
        ("paper-fast", pair_names()),
    ],
)
def test_runs_are_complete(runs, run, methods):
    found = {(r["set"], r["fold"], r["method"]) for r in runs[run]}
    assert found == {(s, k, m) for s in SETS for k in range(10) for m in methods}
    assert len(runs[run]) == len(found)


def test_agreement_with_the_paper(runs):
    counts = {kind: n["agree"] for kind, n in agreement(runs["paper-sklearn"]).items()}
    assert counts["calibrator absolute error within 2 %"] >= 126
    assert counts["RwR loss within 2 % + 0.005"] >= 485
    assert counts["RwR loss within two standard errors"] >= 507
    assert counts["human rate within 0.02"] >= 508
    assert counts["SelNet within two standard errors"] >= 24
    assert counts["NN+kNNRej within two standard errors"] >= 24


def test_networks_trained_at_once_change_nothing_beyond_noise(runs):
    for found in compare(runs["paper-sklearn"], runs["paper-fast"]).values():
        assert found["share"] >= 0.95
        assert found["significant"] == 0
        # A run that is off on one side would be larger in far more cells than smaller.
        assert abs(found["larger"] - found["smaller"]) < 2 * (found["cells"] ** 0.5)


def test_the_pairs_against_the_benchmarks(runs):
    """By two standard errors of ten folds, SelNet was at 12 / 16 / 4 and 18 / 12 / 2."""
    results = Results(runs["paper-sklearn"])
    found = {
        (method, rival): tally(results, method, rival, results.paper_sets)[1:]
        for method in ("MLP+RF", "RF+RF")
        for rival in ("NN+kNNRej", "SelNet")
    }
    assert list(found.values()) == [(1, 31, 0), (0, 31, 1), (6, 26, 0), (7, 25, 0)]
    text = " ".join((DOCS / "paper.md").read_text(encoding="utf-8").split())
    assert (
        "Of 32 settings RF+RF is significantly better than NN+kNNRej in 6 and than SelectiveNet in "
        "7, and never worse; MLP+RF in 1 and in 0, and once worse." in text
    )


def test_the_default_against_the_paper(runs):
    """What docs/auto says of it, no better and no worse."""
    results = Results(runs["paper-sklearn"])
    found = settings_of(results)
    assert found.n == 32
    assert found.count(strictly=False) >= 29
    assert found.count(strictly=True) >= 20
    assert found.ratio("best") <= 0.75
    assert found.ratio("best", without="parkinsons") <= 0.851
    for run in ("paper-sklearn", "embedded-fast"):
        assert "significantly worse in **0**" in auto_pages.pairs_text(Results(runs[run]), "")


def test_the_default_against_always_and_never(runs):
    """Most of what it gains is there without a risk, and no gain is one of rounding."""
    records = [r for r in runs["paper-sklearn"] if r["method"] == DEFAULT]
    ratios = []
    for name in Results(records).paper_sets:
        folds = [r for r in records if r["set"] == name]
        never = statistics.fmean(r["predictor_loss"] for r in folds)
        for cost in ("0.2", "0.5", "1", "2"):
            ours = statistics.fmean(r["costs"][cost]["loss"] for r in folds)
            ratios.append(ours / min(float(cost), never))
    found = settings_of(Results(records))
    assert found.ratio("own") == pytest.approx(statistics.fmean(ratios))
    assert found.ratio("own") == pytest.approx(0.935, abs=5e-4)
    assert found.count_own(-1) == sum(ratio <= 0.98 for ratio in ratios) == 9
    assert found.count_own(1) == 0
    assert found.count_trivial() == 24
    assert found.tests().better == ["airfoil at 0.5", "airfoil at 1", "solar at 0.2"]
    page = auto_pages.verdict_text(found, "")
    assert "**Mostly the predictor, less the risk.**" in page
    assert "f on half of the rows" in page
    assert "saves 2% or more in **9 of 32** settings" in page


def test_the_default_on_sets_that_played_no_part():
    records = json.loads((RESULTS.parent / "further_sets.json").read_text())["records"]
    losses = {}
    for record in records:
        key = record["set"], record["cost"]
        losses.setdefault(key, {}).setdefault(record["method"], []).append(record["loss"])
    means = {
        key: {method: sum(folds) / len(folds) for method, folds in methods.items()}
        for key, methods in losses.items()
    }
    good = [found.pop("AutoRisk") <= min(found.values()) * (1 + 1e-9) for found in means.values()]
    assert len(good) == 36
    assert sum(good) >= 0.8 * len(good)
    verdict = auto_pages.further_verdict(records)
    assert f"in **{sum(good)} of 36** settings" in verdict
    assert "worse than always or never deferring in **0** of 72" in verdict


def test_plug_in_risks_are_of_the_predictors_of_the_pairs(runs):
    """The run of plug-in risks is complete, and its predictors are those of the fast networks."""
    records = read_records(RESULTS / "plug-in" / "records.jsonl")
    found = {(r["set"], r["fold"], r["method"]): r["predictor_loss"] for r in records}
    assert len(found) == len(records)
    assert found.keys() == {
        (s, k, m) for s in PLUG_IN_SETS for k in range(10) for m in PLUG_IN_METHODS
    }
    pairs = {
        (r["set"], r["fold"], r["method"].partition("+")[0]): r["predictor_loss"]
        for r in runs["paper-fast"]
    }
    for (name, fold, method), loss in found.items():
        predictor = method.partition("+")[0]
        assert loss == pytest.approx(pairs[name, fold, predictor], rel=1e-9), (name, fold, method)


@pytest.mark.parametrize("run", ["paper-sklearn", "paper-fast", "embedded-fast", "plug-in"])
def test_nothing_is_left_to_do(run, tmp_path, monkeypatch):
    """The committed records are those of the methods as they are now."""
    shutil.copy(RESULTS / run / "records.jsonl", tmp_path)
    monkeypatch.setattr("condrisk.paper.rwr._run.load_set", pytest.fail)
    folds, mlp = ("paper", "fast") if run == "plug-in" else run.split("-")
    methods = pair_names() if run == "paper-fast" else None
    expected = 100 * len(methods or make_methods(mlp="fast"))
    if run == "plug-in":
        expected = 10 * len(PLUG_IN_SETS) * len(PLUG_IN_METHODS)
    seen = []
    records = run_rwr(
        tmp_path,
        config=RwRConfig(folds=folds, mlp=mlp),
        methods=methods,
        plug_in=run == "plug-in",
        progress=lambda done, total, what: seen.append(what),
    )
    assert not seen
    assert len(records) == expected
    assert (tmp_path / "records.jsonl").read_bytes() == (
        RESULTS / run / "records.jsonl"
    ).read_bytes()
