"""Tables, figures and pages of the study of the theory, as the command makes them."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.paper import read_records
from condrisk.paper.theory.simulations._page import EXAMPLE, practitioner_page
from condrisk.paper.theory.simulations._results import bound_slope, excess_slope, log_slope
from condrisk.paper.theory.simulations._run import PARTS
from condrisk.paper.theory.simulations._simulations_page import simulations_page
from condrisk.paper.theory.simulations._tables import all_tables
from condrisk.paper.theory.simulations.report import REPORT

NAMES = [
    "violations",
    "slopes",
    "certain",
    "false",
    "separable",
    "median",
    "coverage",
    "planning",
    "held-out",
    "same-learner",
    "same-learner-errors",
]


def call(folder, *arguments):
    command = ["reproduce", "theory", *arguments, "-o", str(folder)]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "160"})
    return done, re.sub(r"\x1b\[[0-9;]*m", "", done.output)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Return the folder of the quick study, run once as a person would, and what was printed."""
    folder = tmp_path_factory.mktemp("study") / "quick"
    done, shown = call(folder, "--quick", "--n-jobs", "1")
    assert done.exit_code == 0, done.output
    return folder, shown


@pytest.fixture(scope="module")
def records(quick):
    return read_records(quick[0] / "records.jsonl")


def test_the_command_prints_tables_and_a_second_call_the_same(quick):
    folder, shown = quick
    for title in ("Valid bounds", "Printed and false", "risk_error_interval at 95 %"):
        assert title in shown
    assert (folder / "report" / "README.md").read_text().startswith("# ")
    assert (folder / "report" / "excess.png").stat().st_size > 10_000
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert call(folder, "--quick")[1] == shown
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    done, shown = call(folder)
    assert done.exit_code == 2
    assert "another configuration" in " ".join(shown.split())


def texts(table, group, label):
    """Return the cells of a row by their header."""
    (rows,) = [g.rows for g in table.groups if g.label == group]
    (row,) = [row for row in rows if row[0].text == label]
    heads = [cell.text.replace("\n", " ") for cell in table.header]
    return list(zip(heads, (cell.text for cell in row), strict=True))


def test_all_tables_are_there_and_rectangular(records):
    tables = all_tables(records)
    assert [table.name for table in tables] == NAMES
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.header)}


@pytest.mark.parametrize("part", PARTS)
def test_any_part_will_do(records, part):
    some = [r for r in records if r["set"] == part]
    rest = [r for r in records if r["set"] != part]
    for chosen in (some, rest):
        assert all_tables(chosen)
        assert practitioner_page(chosen).startswith("# ")
        assert simulations_page(chosen).startswith("# ")
        assert any(draw(chosen) is not None for draw in REPORT.figures.values()) or part == "false"


def test_figures_in_tables_are_those_of_the_records(records):
    tables = {table.name: table for table in all_tables(records)}
    [record] = [r for r in records if r["method"] == "squared_error" and r.get("n") == 1000]
    row = texts(tables["violations"], "Proposition 1, squared error against g", "1,000")
    assert row[1][1] == f"{record['mean']:.3g}"
    assert row[3] == ("bound δ = 0.05", f"{record['bounds']['0.05']['bound']:.3g}")
    assert row[4] == ("exceeded", "0 of 40")
    [claim] = [r for r in records if r["set"] == "false" and r["method"] == "proposition_1"]
    row = texts(tables["false"], "counterexamples", "proposition 1")
    assert row[4] == ("violated", f"{claim['violations']} of 40")
    assert claim["violations"] == 40


def test_what_exceeds_a_bound_is_counted(records):
    plug_in = [dict(r) for r in records if r["set"] == "plug-in"]
    world = plug_in[0]["world"]
    plug_in[0]["error"] = 3 * plug_in[0]["bounds"]["lipschitz"]
    [table] = all_tables(plug_in)
    found = dict(texts(table, f"plug-in risk: {world}", "(M/2) E‖p_θ − p‖₁"))
    assert found["exceeded"] == "1"
    assert found["largest"] == "3.00"
    found = dict(texts(table, f"plug-in risk: {world}", "M E‖p_θ − p‖₁, as printed"))
    assert found["largest"] == "1.50"


def test_slopes():
    n = np.array([1e3, 1e4, 1e5, 1e6])
    slope = log_slope(n, 7 * n**-0.5 * np.array([1.1, 1.0, 0.9, 1.0]))
    assert slope.low < -0.5 < slope.high
    assert slope.value == pytest.approx(-0.5, abs=0.03)
    assert log_slope(n, [1, 1, 0, 0]) is None


def test_rates_of_the_study(records):
    assert excess_slope(records, "squared_error").value == pytest.approx(-1, abs=0.1)
    assert excess_slope(records, "plug_in").value == pytest.approx(-0.5, abs=0.1)
    assert bound_slope(records, "squared_error").value == pytest.approx(-0.5, abs=0.01)
    assert bound_slope(records, "plug_in").value == pytest.approx(-0.25, abs=0.01)


def test_pages_link_to_what_is_there(records, quick):
    folder = quick[0] / "report"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    written = REPORT.write(records, folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    names = {path.name for path in written if path.parent == folder}
    assert names == {"README.md", "simulations.md", *(f"{name}.png" for name in REPORT.figures)}
    for page in ("README.md", "simulations.md"):
        text = (folder / page).read_text()
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert links
        assert set(links) <= names
        assert "nan" not in text
    for table in NAMES:
        for suffix in (".md", ".tex", ".png"):
            assert (folder / "tables" / f"{table}{suffix}").stat().st_size > 100


def test_the_page_names_every_false_claim(records):
    text = simulations_page(records)
    for record in records:
        if record["set"] == "false":
            assert f"**{record['method'].replace('_', ' ')}**" in text


def test_the_example_of_the_page_runs(capsys):
    exec(EXAMPLE, {})
    shown = capsys.readouterr().out.splitlines()
    upper = float(re.search(r"upper=(-?[\d.e-]+)", shown[0])[1])
    assert upper < 0  # as the comment says: better than the mean loss
    low, high = map(float, shown[1].split())
    assert 0 <= low < high < 0.25


@pytest.mark.parametrize("name", REPORT.figures)
def test_figures_explain_themselves(records, name):
    figure = REPORT.figures[name](records)
    for ax in figure.axes:
        assert ax.get_title(loc="left")
        assert ax.get_xlabel() or ax.get_xticklabels()[0].get_text()
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    assert legends
    assert REPORT.figures[name]([]) is None
