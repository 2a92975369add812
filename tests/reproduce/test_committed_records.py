"""The records of the full runs that are part of the repository."""

from pathlib import Path

import pytest

from condrisk.reproduce import read_records
from condrisk.reproduce.rwr._data import SETS
from condrisk.reproduce.rwr._methods import make_methods, pair_names
from condrisk.reproduce.rwr._study import agreement, compare

RESULTS = Path(__file__).parents[2] / "results" / "rwr"


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
        assert found["p"] > 0.01
