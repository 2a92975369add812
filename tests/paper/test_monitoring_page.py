"""The page beside NannyML: its verdict is of tests over splits and sets, and turns with them."""

import json
import shutil

import numpy as np
import pytest
from scipy import stats
from tools import monitoring_pages


@pytest.fixture
def record():
    path = monitoring_pages.RESULTS / "monitoring.json"
    return json.loads(path.read_text("utf-8"))


def test_p_of_a_set_is_that_of_nadeau_and_bengio_corrected_for_their_number(record):
    share = record["config"]["shares"][-1]
    raw = {}
    for name, lines in monitoring_pages.sets(record).items():
        ours, theirs = (
            [np.mean(np.abs(np.subtract(x["estimated"][who], x["realised"]))) for x in lines]
            for who in ("condrisk", monitoring_pages.theirs(lines))
        )
        d = np.log(np.divide(ours, theirs))
        t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / len(d) + share / (1 - share)))
        raw[name] = 2 * stats.t.sf(abs(t), len(d) - 1)
    found = monitoring_pages.p_values(record)
    least = min(raw, key=raw.get)
    assert found[least] == pytest.approx(min(1.0, len(raw) * raw[least]))
    assert all(found[name] >= p for name, p in raw.items())


def test_the_interval_is_over_sets(record):
    means = [values.mean() for values in monitoring_pages.log_ratios(record).values()]
    found = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert monitoring_pages.pooled(record) == pytest.approx((np.mean(means), *found))


def test_the_verdict_turns(record, monkeypatch, tmp_path):
    assert "Significantly nearer on none" in monitoring_pages.pages()["README.md"]
    shutil.copytree(
        monitoring_pages.RESULTS,
        tmp_path,
        dirs_exist_ok=True,
        ignore=lambda folder, names: [n for n in names if "monitor" not in n and "alarm" not in n],
    )
    for line in record["records"]:
        if line["set"] == "airfoil":
            ours = np.array(line["realised"]) + 0.01 + 0.0001 * line["seed"]
            line["estimated"]["condrisk"] = ours.tolist()
            line["estimated"]["DLE"] = (ours + 5.0).tolist()
    (tmp_path / "monitoring.json").write_text(json.dumps(record), "utf-8")
    monkeypatch.setattr(monitoring_pages, "RESULTS", tmp_path)
    assert "Significantly nearer on 1" in monitoring_pages.pages()["README.md"]
