"""The page beside NannyML: its verdict is a test over splits, and turns with the record."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tools import monitoring_pages

NEIGHBOURS = Path(__file__).parents[2] / "docs" / "neighbours.md"


@pytest.fixture
def record():
    return json.loads(monitoring_pages.RECORD.read_text("utf-8"))


def test_no_set_tells_the_two_apart(record):
    raw = {}
    for name, d in monitoring_pages.differences(record).items():
        # Six splits that share rows: 30 % of all are drawn from, the rest is learnt from.
        t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 6 + 0.3 / 0.7))
        raw[name] = 2 * stats.t.sf(abs(t), 5)
    assert min(raw.values()) > 0.05  # so that no correction for the number of sets is needed
    found = monitoring_pages.p_values(record)
    assert all(found[name] >= p for name, p in raw.items())
    assert "nearer than NannyML on none and significantly farther on none" in _page()
    text = " ".join(NEIGHBOURS.read_text("utf-8").split())
    assert "on none of the eleven sets is the difference significant" in text


def test_the_verdict_turns(record, monkeypatch, tmp_path):
    for line in record["records"]:
        if line["set"] == "airfoil":
            ours = np.array(line["realised"]) + 0.01 * line["seed"]
            line["estimated"]["condrisk"] = ours.tolist()
            line["estimated"]["DLE"] = (ours + 5.0).tolist()
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record), "utf-8")
    monkeypatch.setattr(monitoring_pages, "RECORD", path)
    assert "nearer than NannyML on 1 and significantly farther on none" in _page()


def _page():
    return monitoring_pages.pages()["README.md"]
