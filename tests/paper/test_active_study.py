"""Areas, tests, tables, figures and the page: from made-up records with known answers."""

import numpy as np
import pytest
from scipy import stats

from condrisk.datasets import UCI_NAMES
from condrisk.paper._summary import holm
from condrisk.paper.active._figures import draw_areas, draw_curves
from condrisk.paper.active._page import active_page
from condrisk.paper.active._protocol_page import EXAMPLE
from condrisk.paper.active._results import (
    across_sets,
    area,
    bands,
    compare,
    error_factor,
    labels_needed,
    left_at_the_end,
)
from condrisk.paper.active._settings import METHODS, SETS
from condrisk.paper.active._tables import all_tables
from condrisk.paper.active.report import REPORT

N_SEEDS = 10


def made_up(sets=SETS, ratios=None, spread=0.01):
    """Return records in which each method has a constant share of random's error."""
    rng = np.random.default_rng(0)
    ratios = {"gain": 0.8, "risk-k-center": 1.3} | (ratios or {})
    records = []
    for name in sets:
        for seed in range(N_SEEDS):
            random = np.array([4.0, 2.0, 1.0]) * rng.uniform(0.5, 2)
            for method in METHODS:
                share = ratios.get(method, 1.0) * np.exp(spread * rng.normal())
                errors = random * (1.0 if method == "random" else share)
                record = {"set": name, "fold": seed, "method": method}
                record |= {"labels": [20, 30, 40], "errors": errors.tolist(), "seconds": 0.1}
                record["curves"] = [record["errors"]]
                if name == "trap":
                    record["share_of_noise"] = {"risk-k-center": 0.9}.get(method, 0.5)
                if name == "cifar10":
                    record["embeddings"] = "abc"
                records.append(record)
    return records


def test_area_is_a_mean_error():
    assert area({"labels": [10, 20, 40], "errors": [2.0, 2.0, 2.0]}) == pytest.approx(2)
    assert area({"labels": [10, 20, 40], "errors": [3.0, 1.0, 1.0]}) == pytest.approx(4 / 3)


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.03, 0.5]) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_comparisons_are_paired_and_corrected():
    records = made_up(["energy", "trap"], spread=0.1)
    logs = {}
    for name in ("energy", "trap"):
        by = {
            m: np.array([area(r) for r in records if (r["set"], r["method"]) == (name, m)])
            for m in ("gain", "random")
        }
        logs[name] = np.log(by["gain"] / by["random"])
    found = compare(records, "gain")
    plain = stats.ttest_1samp(logs["trap"], 0.0)
    assert found["trap"].p == pytest.approx(plain.pvalue)
    low, high = plain.confidence_interval()
    assert np.log([found["trap"].low, found["trap"].high]) == pytest.approx([low, high])
    # Nadeau and Bengio: (1/n + 1/9) instead of 1/n.
    uncorrected = stats.ttest_1samp(logs["energy"], 0.0)
    assert found["energy"].p_plain == pytest.approx(uncorrected.pvalue)
    t = uncorrected.statistic / np.sqrt(1 + N_SEEDS / 9)
    assert found["energy"].p == pytest.approx(2 * stats.t.sf(abs(t), N_SEEDS - 1))
    assert error_factor(N_SEEDS) == pytest.approx(np.sqrt(1 + N_SEEDS / 9))
    assert found["energy"].ratio == pytest.approx(np.exp(logs["energy"].mean()))


def test_holm_is_over_the_eight_sets_only():
    found = compare(made_up(spread=0.3), "gain")
    p = [found[name].p for name in UCI_NAMES]
    assert [found[name].p_holm for name in UCI_NAMES] == pytest.approx(holm(p))
    assert found["trap"].p_holm == found["trap"].p
    test = stats.ttest_1samp([np.log(found[name].ratio) for name in UCI_NAMES], 0.0)
    assert across_sets(found)[3] == pytest.approx(test.pvalue)


def test_verdicts():
    records = made_up(["energy"])
    assert compare(records, "gain")["energy"].verdict == "better"
    assert compare(records, "risk-k-center")["energy"].verdict == "worse"
    assert compare(made_up(["energy"], {"gain": 1.0}), "gain")["energy"].verdict == "not proven"
    assert compare(made_up(["energy"], spread=0.0), "core-set")["energy"].p == 1.0


def test_labels_needed_by_straight_lines():
    curves = {"random": [4.0, 2.0, 1.0], "gain": [4.0, 1.5, 0.5], "core-set": [4.0, 3.0, 2.0]}
    records = [
        {"set": "energy", "fold": 0, "method": m, "labels": [20, 30, 40], "errors": e}
        for m, e in curves.items()
    ]
    assert labels_needed(records, "energy", "gain") == pytest.approx(35)
    assert labels_needed(records, "energy", "core-set") is None
    assert labels_needed(records, "energy", "random") == pytest.approx(40)
    assert left_at_the_end(records, "energy") == pytest.approx(0.25)


def test_bands_are_intervals_of_the_mean():
    errors = np.random.default_rng(0).normal(size=(12, 3))
    mean, low, high = bands(errors)
    expected = stats.ttest_1samp(errors, 0.0).confidence_interval()
    assert low == pytest.approx(expected.low)
    assert high == pytest.approx(expected.high)
    assert mean == pytest.approx(errors.mean(axis=0))


def test_page_says_what_the_records_say():
    page = active_page(made_up())
    assert "smaller on 8 of 8 UCI sets, significantly after Holm's correction on 8" in page
    assert "**reached**" in page
    assert "larger area than random choice on 8 of 8 sets (significantly on 8)" in page
    assert "risk 90% of the labels are spent on" in page.replace("\n", " ")
    other = active_page(made_up(ratios={"gain": 1.0, "risk-k-center": 1.0}))
    assert "**not reached**" in other
    assert "sets (significantly on 0)" in other
    assert "A first run" not in page
    assert "A first run" in active_page(made_up(), first=made_up(["energy"]))
    few = active_page(made_up(["energy"]))
    assert "nan" not in few
    assert "CIFAR-10" not in few.split("## Where")[1].split("## Again")[0]
    assert "coins" not in few.split("## Where")[1]


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(0.8, "**It pays** against"), (1.0, "**It is not proven to pay** against")],
)
def test_page_says_whether_the_gap_pays(ratio, verdict):
    page = active_page(made_up(ratios={"gap": ratio, "risk-proportional": 0.9}))
    part = page.split("## Does the gap pay?")[1].split("## ")[0]
    assert verdict in part
    better = 8 if ratio < 1 else 0
    assert f"significantly on {better}" in part
    beside_the_whole_risk = part.split("*estimated risk, in proportion*")[1].split(";")[0]
    assert f"less on {better} of 8 sets" in beside_the_whole_risk
    assert "spends 50% of the labels on noise" in part
    assert f"{ratio:.2f} times the area" in part


def test_tables_and_figures():
    tables = {table.name: table for table in all_tables(made_up())}
    assert set(tables) == {"areas", "tests", "noise"}
    energy = next(row for row in tables["areas"].rows if row[0].text == "energy")
    ratio, mark = energy[5].text.split()
    assert (float(ratio), mark) == (pytest.approx(0.8, abs=0.01), "+")
    assert energy[3].text.endswith("−")
    pytest.importorskip("matplotlib")
    for name in (SETS, ["energy"], ["trap"]):
        assert draw_curves(made_up(name)) is not None
        assert draw_areas(made_up(name)) is not None


def test_report_is_written_once(tmp_path):
    pytest.importorskip("matplotlib")
    records = made_up(["energy", "trap"])
    written = REPORT.write(records, tmp_path)
    here = [path.name for path in written if path.parent == tmp_path]
    assert here == ["README.md", "curves.png", "areas.png"]
    assert tmp_path / "tables" / "areas.tex" in written
    assert all(path.stat().st_size > 100 for path in written)
    before = written[1].stat().st_mtime_ns
    assert REPORT.write(records, tmp_path) == written
    assert written[1].stat().st_mtime_ns == before


def test_the_example_of_the_page_runs():
    session = {}
    exec(compile(EXAMPLE, "example", "exec"), session)
    assert len(set(session["labelled"])) == 50
