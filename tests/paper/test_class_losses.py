"""Other losses and Platt scaling: the verdicts come from the record and turn with it."""

import copy
import json

import numpy as np
import pytest
from scipy import stats
from tools.cifar10_losses_page import MODELS, RECORD, Study, page, signs, sizes, turned


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text("utf-8"))


def test_the_record_is_complete(record):
    study = Study(record)
    assert len(study.cells) == 6
    assert len(study.methods) == 12
    assert all(len(study.values(cell, m, "L2")) == 10 for cell in study.cells for m in MODELS)


def test_temperature_against_platt_is_nadeau_and_bengios_test_with_holms_correction(record):
    study = Study(record)
    p_values = []
    for cell in study.cells:
        for model in MODELS:
            d = study.values(cell, f"{model}, temperature", "L2")
            d = d - study.values(cell, f"{model}, Platt", "L2")
            t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 10 + 1 / 9))
            p_values.append(stats.t.cdf(t, 9))
    below = 0
    for rank, p in enumerate(sorted(p_values)):  # step down until the first that fails
        if p * (len(p_values) - rank) >= 0.025:
            break
        below += 1
    assert below >= 15
    pairs = [(f"{m}, temperature", f"{m}, Platt") for m in MODELS]
    assert study.compare(pairs, "L2").below == below
    assert f"by L²: **holds** ({below} for it, 0 against it" in page()


def test_verdicts_turn_with_the_record(record):
    changed = copy.deepcopy(record)
    for line in changed["records"]:
        for method, errors in line["errors"].items():
            errors[1] = line["errors"]["constant"][1] * (2.0 if "network" in method else 1.0)
            errors[1] *= 1 + 1e-3 * line["seed"]
    study = Study(changed)
    name = study.sets[0]
    assert sizes(study, name) == (0, 33)
    assert turned(study, name) == (0, 3 * 3 * 8)  # three methods of the network above eight
    for line in changed["records"]:
        if line["loss"] == "brier":
            line["errors"]["p network"][1] /= 4 + 0.01 * line["seed"]
    study = Study(changed)
    assert sizes(study, name)[0] == 2
    # From above eight methods to below them, in two of three pairs of losses.
    assert turned(study, name)[0] == 2 * 8


def test_chance_is_not_significant():
    rng = np.random.default_rng(0)
    assert not any(any(signs(list(rng.normal(size=(12, 10))))) for _ in range(20))
