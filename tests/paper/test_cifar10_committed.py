"""The records of the full run on CIFAR-10 that are part of the repository."""

import json
from pathlib import Path

import pytest

from condrisk.paper import read_records
from condrisk.paper.cifar10._results import HYBRID, KNOWN_METHODS, PLUG_INS, Results, least

RESULTS = Path(__file__).parents[2] / "results" / "cifar10"
PREDICTORS = ("CNN", "ResNet")
COSTS = (0.2, 0.5, 1, 2)
# What a first probe of one seed had reached.
PROBE = {"CNN": (0.135, 0.274, 0.435, 0.603), "ResNet": (0.099, 0.196, 0.300, 0.409)}


@pytest.fixture(scope="module")
def results():
    return Results(read_records(RESULTS / "records.jsonl"))


def test_run_is_complete(results):
    assert results.seeds == tuple(range(3, 13))
    for predictor in PREDICTORS:
        assert results.methods(predictor) == KNOWN_METHODS
        for method in KNOWN_METHODS:
            assert len(results.values("risk_l2", predictor, method)) == 10


@pytest.mark.parametrize(
    ("network", "accuracy"),
    [
        ("predictor CNN", 0.77),
        ("predictor ResNet", 0.85),
        ("probability EffNet", 0.95),
        ("probability ResNet-9", 0.92),
    ],
)
def test_accuracy(results, network, accuracy):
    assert results.mean("accuracy", "networks", network) >= accuracy


@pytest.mark.parametrize(("predictor", "limit"), [("CNN", 0.13), ("ResNet", 0.17)])
def test_least_absolute_error(results, predictor, limit):
    best = least(results, predictor, KNOWN_METHODS, "risk_l1")
    assert results.mean("risk_l1", predictor, best) <= limit


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_hybrid_is_at_most_the_best_plug_in(results, predictor):
    for quantity, cost in (("risk_l2", None), *(("loss", cost) for cost in COSTS)):
        best = least(results, predictor, PLUG_INS, quantity, cost)
        hybrid = results.mean(quantity, predictor, HYBRID, cost)
        assert hybrid <= results.mean(quantity, predictor, best, cost)
    assert abs(results.relative_bias(predictor, HYBRID).mean) < 0.03


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_deferral_loss_is_below_the_probe(results, predictor):
    for cost, limit in zip(COSTS, PROBE[predictor], strict=True):
        assert results.mean("loss", predictor, HYBRID, cost) <= limit


def test_speed():
    record = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))
    assert record["whole_seeds"][1]["seconds"] < 120
    assert record["seed_s"]["plain"] >= 5 * record["seed_s"]["ours"]
    assert all(0 < line["busy"] <= 1 for line in record["networks"])
