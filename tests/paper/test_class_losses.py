"""Other losses and Platt scaling: the verdicts come from the record and turn with it."""

import copy
import json

import numpy as np
import pytest
from scipy import stats
from tools import cifar10_losses_page, cifar10_pages
from tools.cifar10_losses_page import (
    CIFAR10,
    SMALL,
    Study,
    claims_section,
    page,
    signs,
    sizes,
    turned,
    verdicts,
)

from condrisk.paper import read_records

# The names of scalings here and in the study.
SCALED = {"": "", ", temperature": ", scaled"}


@pytest.fixture(scope="module")
def record():
    return json.loads(SMALL.read_text("utf-8"))


@pytest.mark.parametrize("path", [CIFAR10, SMALL])
def test_the_record_is_complete(path):
    study = Study(json.loads(path.read_text("utf-8")))
    assert len(study.cells) == 6
    assert len(study.models) == (4 if path == CIFAR10 else 3)
    assert len(study.methods) == 4 * len(study.models) + 3
    for cell in study.cells:
        assert all(len(study.values(cell, m, "L2")) == 10 for m in study.methods)
    text = page()
    assert all(line in text for line in verdicts(study))


def test_the_networks_are_those_of_the_study():
    study = cifar10_losses_page.load(CIFAR10)
    assert not study.record["quick"]
    same = {f"p {m}{s}": f"p {m}{t}" for m in ("CNN", "EffNet") for s, t in SCALED.items()}
    for method, known in {**same, "g, L²": "g CNN", "constant": "constant"}.items():
        for predictor in ("CNN", "ResNet"):
            theirs = [
                r["risk_l2"]
                for r in read_records(cifar10_pages.RESULTS / "records.jsonl")
                if (r["set"], r["method"]) == (predictor, known)
            ]
            ours = study.values((f"CIFAR-10, {predictor}", "log_loss"), method, "L2")
            assert ours.mean() == pytest.approx(np.mean(theirs), rel=0.05)


def test_cifar10_comes_first_on_the_page_and_stands_with_the_claims(record, tmp_path, monkeypatch):
    path = tmp_path / "losses.json"
    monkeypatch.setattr(cifar10_losses_page, "CIFAR10", path)
    large = {**copy.deepcopy(record), "device": "a GPU"}
    names = dict(zip(Study(record).sets, ("CIFAR-10, CNN", "CIFAR-10, ResNet"), strict=True))
    for line in large["records"]:
        line["set"] = names[line["set"]]
    path.write_text(json.dumps(large), "utf-8")
    text = page()
    assert text.index("## CIFAR-10") < text.index("CIFAR-10, ResNet: **holds**")
    assert text.index("CIFAR-10, ResNet, brier") < text.index("## Digits")
    assert "on one a GPU; python" in text
    claims = claims_section()
    # All but that on regression, which the page of claims has.
    assert sum(line in claims for line in verdicts(Study(large))) == 11


def test_temperature_against_platt_is_nadeau_and_bengios_test_with_holms_correction(record):
    study = Study(record)
    p_values = []
    for cell in study.cells:
        for model in study.models:
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
    pairs = [(f"{m}, temperature", f"{m}, Platt") for m in study.models]
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
    assert sizes(study, name) == (0, 3 * 14)
    assert turned(study, name) == (0, 3 * 4 * 10)  # four methods of the network above ten
    for line in changed["records"]:
        if line["loss"] == "brier":
            line["errors"]["p network"][1] /= 4 + 0.01 * line["seed"]
    study = Study(changed)
    assert sizes(study, name)[0] == 2
    # From above ten methods to below them, in two of three pairs of losses.
    assert turned(study, name)[0] == 2 * 10


def test_chance_is_not_significant():
    rng = np.random.default_rng(0)
    assert not any(any(signs(list(rng.normal(size=(12, 10))))) for _ in range(20))
