"""The tables of CIFAR-10: ours, the paper's and the difference, recomputed from records."""

import re

import numpy as np
import pytest
from fake_cifar10_records import METHODS, each, fake_records
from rich.console import Console
from scipy import stats

from condrisk.paper._cli._terminal import to_terminal
from condrisk.paper._render import to_latex, to_markdown
from condrisk.paper.cifar10._paper import COSTS, PREDICTORS
from condrisk.paper.cifar10._results import KNOWN_METHODS, REFERENCES, Results
from condrisk.paper.cifar10._tables import (
    all_tables,
    hybrid,
    networks,
    table1,
    table2,
    table6,
    temperature,
)

NAMES = ["table1", "table2", "table6", "networks", "temperature", "hybrid"]


def cell(table, group, row, column):
    (found,) = [g for g in table.groups if g.label == group]
    (line,) = [r for r in found.rows if r[0].text == row]
    (k,) = [k for k, head in enumerate(table.header) if head.text.replace("\n", " ") == column]
    return line[k]


def rows_of(table, group):
    (found,) = [g for g in table.groups if g.label == group]
    return [row[0].text for row in found.rows]


def shown(values, decimals=3, factor=1):
    values = factor * np.array(values)
    return f"{values.mean():.{decimals}f} ± {stats.sem(values):.{decimals}f}"


def test_all_tables_and_their_shape():
    tables = all_tables(fake_records())
    assert [table.name for table in tables] == NAMES
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.header)}
        assert "5 seeds" in table.caption
        if table.name != "hybrid":
            assert "Lite0" in table.caption


def test_every_table_can_be_shown():
    for table in all_tables(fake_records(seeds=range(2))):
        assert table.title in to_markdown(table)
        assert r"\end{longtable}" in to_latex(table)
        Console(quiet=True).print(to_terminal(table))


@pytest.mark.parametrize(
    ("build", "predictor", "method", "l1", "l2"),
    [
        (table1, "CNN", "p EffNet, scaled", 1.71, 5.13),
        (table1, "CNN", "p CNN", 0.96, 4.06),
        (table2, "ResNet", "p ResNet", 0.47, 1.92),
    ],
)
def test_errors_beside_the_papers(seed, build, predictor, method, l1, l2):
    records = fake_records(seed, noise=0.05)
    chosen = each(records, set=predictor, method=method)
    table = build(Results(records))
    for label, quantity, paper in (("L1", "risk_l1", l1), ("L2", "risk_l2", l2)):
        values = np.array([record[quantity] for record in chosen])
        get = [cell(table, "calibration-based", method, f"{label} {w}").text for w in WORDS]
        difference = values.mean() - paper
        in_se = np.sign(difference) * (abs(difference) - 0.005) / stats.sem(values)
        assert get[:3] == [shown(values), f"{paper:.2f}", f"{difference:+.3f}"]
        assert float(get[3]) == pytest.approx(in_se, abs=0.51)
    aurc = [record["aurc"] for record in chosen]
    assert cell(table, "calibration-based", method, "AURC ours").text == shown(aurc)


WORDS = ("ours", "paper", "Δ", "Δ/SE")


def test_bias_is_in_per_cent_of_the_mean_loss():
    records = fake_records(noise=0.0)
    for record in each(records, set="CNN", method="Hybrid"):
        record["risk_bias"] = -0.0213 * record["predictor_loss"]
    found = cell(table1(Results(records)), "recalibrated risk", "Hybrid", "bias % ours")
    assert found.text == "-2.1 ± 0.0"


def test_rows_that_the_paper_has_not():
    table = table1(Results(fake_records()))
    labels = [group.label for group in table.groups]
    assert labels[2:] == ["recalibrated risk", "to compare with"]
    assert [row[0].text for row in table.rows] == list(KNOWN_METHODS)
    for row in table.rows:
        if row[0].text in ("Hybrid", "p ResNet-9", "constant", "own entropy"):
            assert row[1].text
            assert not any(cell.text for cell in row[2:5])


def test_the_least_is_bold_among_methods():
    table = table1(Results(fake_records(noise=0.0)))
    bold = {head.text: [r[0].text for r in table.rows if r[k].bold] for k, head in heads(table)}
    assert bold["L1\nours"] == ["p EffNet"]
    assert bold["L2\nours"] == ["Hybrid"]
    records = fake_records(noise=0.0)
    for record in each(records, method="Hybrid"):  # as good as the oracle
        for price in record["costs"].values():
            price["loss"] = price["oracle"]
    both = table6(Results(records))
    for group in both.groups:
        for row in group.rows:
            if row[0].text in REFERENCES:
                assert not any(cell.bold for cell in row)


def heads(table):
    return list(enumerate(table.header))


def test_table_6_has_both_predictors_and_the_references():
    records = fake_records()
    table = table6(Results(records))
    assert [group.label for group in table.groups] == [f"predictor {p}" for p in PREDICTORS]
    for predictor in PREDICTORS:
        group = f"predictor {predictor}"
        assert rows_of(table, group) == [*KNOWN_METHODS, *REFERENCES]
        never = shown([r["predictor_loss"] for r in each(records, set=predictor, method="Hybrid")])
        for cost in COSTS:
            assert cell(table, group, "never", f"c={cost} ours").text == never
            assert cell(table, group, "always", f"c={cost} ours").text == f"{float(cost):.3f}"
    assert cell(table, "predictor CNN", "p ResNet", "c=2 paper").text == "0.70"
    assert cell(table, "predictor ResNet", "p CNN", "error paper").text == "1.48"
    values = [r["costs"]["1"]["loss"] for r in each(records, set="ResNet", method="g CNN")]
    assert cell(table, "predictor ResNet", "g CNN", "c=1 ours").text == shown(values)


def test_networks(seed):
    records = fake_records(seed)
    table = networks(Results(records))
    values = [r["accuracy"] for r in each(records, method="probability EffNet")]
    group = "networks for class probabilities"
    assert cell(table, group, "EffNet", "accuracy % ours").text == shown(values, 2, 100)
    assert cell(table, group, "EffNet", "accuracy % paper").text == "92.39"
    assert cell(table, "predictors", "CNN", "accuracy % paper").text == "77.68"
    assert cell(table, group, "CNN", "accuracy % paper").text == ""
    seconds = [r["seconds"]["fit"] for r in each(records, method="predictor CNN")]
    assert cell(table, "predictors", "CNN", "seconds ours").text == shown(seconds, 1)
    assert "training accuracies" in table.caption


def test_temperature_marks_the_lower_of_two_if_the_seeds_agree():
    records = fake_records(noise=0.0)
    for record in each(records, set="CNN", method="p CNN, scaled"):
        (raw,) = each(records, set="CNN", method="p CNN", fold=record["fold"])
        record["risk_l1"] = raw["risk_l1"] + 0.1 + 0.01 * record["fold"]
        record["risk_l2"] = raw["risk_l2"] - 0.1 - 0.01 * record["fold"]
        record["aurc"] = raw["aurc"] + 0.1 * (-1) ** record["fold"]
    table = temperature(Results(records))
    group = "predictor CNN"
    bold = {
        label: [cell(table, group, "p CNN", f"{label} {way}").bold for way in ("raw", "scaled")]
        for label in ("L1", "L2", "AURC")
    }
    assert bold == {"L1": [True, False], "L2": [False, True], "AURC": [False, False]}
    assert rows_of(table, group) == ["p CNN", "p ResNet", "p EffNet", "p ResNet-9"]


def test_hybrid_minus_every_other_row(seed):
    records = fake_records(seed, noise=0.05)
    table = hybrid(Results(records))
    others = [m for m in KNOWN_METHODS if m != "Hybrid"]
    for predictor in PREDICTORS:
        group = f"predictor {predictor}"
        assert rows_of(table, group) == [*others, *REFERENCES]
        ours = each(records, set=predictor, method="Hybrid")
        for method in others:
            theirs = each(records, set=predictor, method=method)
            d = np.array([a["risk_l2"] - b["risk_l2"] for a, b in zip(ours, theirs, strict=True)])
            found = cell(table, group, method, "L2")
            assert found.text == f"{d.mean():+.4f} ± {stats.sem(d):.4f}"
            assert found.bold == (d.mean() < -2 * stats.sem(d))
    oracle = [cell(table, "predictor CNN", "oracle", f"c={cost}") for cost in COSTS]
    assert all(found.text.startswith("+") and not found.bold for found in oracle)
    assert cell(table, "predictor CNN", "oracle", "L2").text == ""


# -- what is missing ------------------------------------------------------------------------------


def test_one_seed_has_no_spread():
    for table in all_tables(fake_records(seeds=[3])):
        assert "Means over 1 seed." in table.caption
        for row in table.rows:
            assert not any("±" in cell.text for cell in row)
        for k, head in heads(table):
            if head.text.endswith("Δ/SE"):
                assert not any(row[k].text for row in table.rows)


def test_incomplete_records():
    assert all_tables([]) == []
    records = fake_records(predictors=["ResNet"], methods=["p CNN", "g CNN"])
    assert [t.name for t in all_tables(records)] == ["table2", "table6", "networks", "temperature"]
    without = [r for r in fake_records() if r["set"] != "networks" and r["method"] != "Hybrid"]
    assert [t.name for t in all_tables(without)] == ["table1", "table2", "table6", "temperature"]
    some = [r for r in fake_records() if not (r["method"] == "p EffNet" and r["fold"] > 1)]
    assert [t.name for t in all_tables(some)] == NAMES


def test_a_new_method_has_a_row():
    records = fake_records(seeds=[0, 1])
    records += [{**r, "method": "new"} for r in each(records, set="CNN", method="Hybrid")]
    assert "new" in rows_of(table1(Results(records)), "other methods")
    assert "new" in rows_of(table6(Results(records)), "predictor CNN")
    assert "new" in rows_of(hybrid(Results(records)), "predictor CNN")


def test_no_figure_is_lost_between_records_and_markdown():
    text = to_markdown(table1(Results(fake_records(noise=0.0))))
    for method, (l1, *_) in METHODS.items():
        assert re.search(rf"^\| {method} \| \**{l1:.3f}", text, flags=re.MULTILINE)
