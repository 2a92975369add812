"""Plug-in risks of the paper's predictors: what they are, how they are compared, what is said."""

import re
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
from fake_records import fake_records
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from typer.testing import CliRunner

from condrisk import HybridRisk, PlugInRisk
from condrisk.app.cli import app
from condrisk.datasets import make_heteroscedastic
from condrisk.learners import DistributionRegressor
from condrisk.paper.rwr import PaperSplit, register_method
from condrisk.paper.rwr._fitting import Rows, fit_methods
from condrisk.paper.rwr._methods import make_model
from condrisk.paper.rwr._paper import MODELS
from condrisk.paper.rwr._plug_in import _methods
from condrisk.paper.rwr._plug_in._contrast import contrast
from condrisk.paper.rwr._plug_in._methods import SharedDistribution, make_plug_in_methods
from condrisk.paper.rwr._plug_in._names import PLUG_IN_METHODS
from condrisk.paper.rwr._plug_in._page import plug_in_page
from condrisk.paper.rwr._results import Results
from condrisk.paper.rwr._tables import all_tables

SETS = ("energy", "forest", "parkinsons", "parkinsons-by-patient")


# -- the methods ---------------------------------------------------------------------------------


def quick(name):
    """Return a method of the study with small forests, and lines in place of the stack."""
    method = make_plug_in_methods(mlp="fast")[name]
    few = {key: 5 for key in method.get_params() if key.endswith("n_estimators")}
    lines = {}
    if name.endswith(("+PlugIn", "+Hybrid")):
        lines = {"distribution__mean": Ridge(), "distribution__variance": Ridge()}
    return method.set_params(**few, **lines)


@pytest.fixture
def rows():
    world = make_heteroscedastic(240, random_state=0)
    return Rows(world.X[:200], world.y[:200], np.arange(200) // 4), world.X[200:]


@pytest.fixture
def fits(monkeypatch):
    """Return a list that grows by one with each distribution that is really fitted."""
    found, original = [], DistributionRegressor.fit

    @wraps(original)  # groups are given to what names them
    def counted(self, *args, **kwargs):
        found.append(self.mean)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(DistributionRegressor, "fit", counted)
    monkeypatch.setattr(_methods, "_kept", {})
    return found


@pytest.mark.parametrize("grouped", [False, True])
def test_risks_are_those_of_the_library_and_each_distribution_is_fitted_once(rows, fits, grouped):
    rows, X = rows if grouped else (rows[0]._replace(groups=None), rows[1])
    names = [name for name in PLUG_IN_METHODS if name.partition("+")[0] in ("LR", "RF")]
    fitted = {f.name: f.model for f in fit_methods({n: quick(n) for n in names}, rows)}
    assert len(fits) == 2  # the default's and the forests', for two predictors and three methods
    [(first, second)] = PaperSplit().split(rows.X, rows.y, rows.groups)
    held_out = rows.take(second)
    for name in names:
        calibrator = name.partition("+")[2]
        kind = {"PlugIn": PlugInRisk, "Hybrid": HybridRisk, "RF plug-in": PlugInRisk}
        if calibrator not in kind:
            continue
        f = quick(name).predictor.fit(rows.X[first], rows.y[first])
        law = DistributionRegressor(**quick(name).distribution.get_params(deep=False))
        alone = kind[calibrator](FrozenEstimator(f), distribution=law, random_state=42)
        alone.fit(held_out.X, held_out.y, groups=held_out.groups)
        np.testing.assert_array_equal(
            fitted[name].predict_risk(X), alone.predict_risk(X), err_msg=name
        )


def test_the_informed_forest_sees_x_f_m_and_their_distance(rows):
    rows, X = rows
    [model] = [f.model for f in fit_methods({"a": quick("LR+RF on x, f, m")}, rows)]
    [(first, second)] = PaperSplit().split(rows.X, rows.y, rows.groups)
    held_out = rows.take(second)
    line = make_model("LR", mlp="fast").fit(rows.X[first], rows.y[first])
    forest = RandomForestRegressor(5, random_state=42)
    law = DistributionRegressor(forest, forest, random_state=42)
    law.fit(held_out.X, held_out.y, groups=held_out.groups)

    def inputs(X, m):
        f = line.predict(X)
        return np.column_stack([X, f, m, (f - m) ** 2])

    losses = (held_out.y - line.predict(held_out.X)) ** 2
    forest.fit(inputs(held_out.X, law.held_out_.mean), losses)
    expected = forest.predict(inputs(X, law.predict(X)))
    np.testing.assert_allclose(model.predict_risk(X), expected)


def test_other_rows_groups_and_settings_are_fitted_anew(rows, fits):
    X, y, groups = rows[0]
    whole = SharedDistribution(Ridge(), Ridge(), random_state=0).fit(X, y)
    again = SharedDistribution(Ridge(), Ridge(), random_state=0).fit(X.copy(), y.copy())
    np.testing.assert_array_equal(again.predict_std(X), whole.predict_std(X))
    assert len(fits) == 1
    SharedDistribution(Ridge(), Ridge(), random_state=0).fit(X[:100], y[:100])
    SharedDistribution(Ridge(), Ridge(), random_state=0).fit(X, y, groups=groups)
    SharedDistribution(Ridge(9.0), Ridge(), random_state=0).fit(X, y)
    assert len(fits) == 4


def test_names_of_ours_are_taken():
    with pytest.raises(ValueError, match="is taken"):
        register_method("MLP+PlugIn")


# -- the contrasts -------------------------------------------------------------------------------


def with_ratio(records, method, ratio, against):
    """Make the squared error and deferral loss of a method a multiple of another one's."""
    other = {(r["set"], r["fold"]): r for r in records if r["method"] == against}
    for record in records:
        if record["method"] == method:
            theirs = other[record["set"], record["fold"]]
            record["risk_l2"] = ratio * theirs["risk_l2"]
    return records


@pytest.fixture
def records():
    made = fake_records(sets=SETS, methods=PLUG_IN_METHODS)
    for record in made:
        record["seconds"] = {"predictor": 0.5, "risk": 6.0, "predict": 0.1}
    for model in MODELS:
        for calibrator in ("RF plug-in", "RF on x, f, m", "PlugIn", "Hybrid"):
            with_ratio(made, f"{model}+{calibrator}", 1.0, f"{model}+RF")
    return made


def test_a_contrast_has_ratios_and_corrected_tests(records):
    with_ratio(records, "LR+PlugIn", 0.5, "LR+RF")
    with_ratio(records, "RF+PlugIn", 3.0, "RF+RF")
    found = contrast(Results(records), "PlugIn", "RF", "risk_l2")
    assert len(found.cells) == len(SETS) * len(MODELS)
    assert {(c.set, c.predictor) for c in found.lower} == {(name, "LR") for name in SETS}
    assert {(c.set, c.predictor) for c in found.higher} == {(name, "RF") for name in SETS}
    assert found.ratio("LR") == pytest.approx(0.5)
    assert found.ratio() == pytest.approx(1.5**0.25)


def each_of(records, name, predictor):
    return [r for r in records if r["set"] == name and r["method"].startswith(f"{predictor}+")]


def test_one_small_p_among_many_cells_is_not_significant(records):
    rng = np.random.default_rng(0)
    own = {r["fold"]: r for r in records if (r["set"], r["method"]) == ("energy", "LR+PlugIn")}
    for record in own.values():
        record["risk_l2"] -= 1.0 + 1.1 * rng.standard_normal()
    found = contrast(Results(records), "PlugIn", "RF", "risk_l2")
    assert not found.lower
    alone = contrast(Results(each_of(records, "energy", "LR")), "PlugIn", "RF", "risk_l2")
    assert [str(cell) for cell in alone.lower] == ["energy, LR"]


def test_means_leave_out_the_set_that_leaks_and_counts_do_not(records):
    leaking = [r for r in records if r["set"] == "parkinsons"]
    with_ratio(leaking, "LR+PlugIn", 1e-4, "LR+RF")
    found = contrast(Results(records), "PlugIn", "RF", "risk_l2")
    assert found.ratio("LR") == pytest.approx(1)
    assert [str(cell) for cell in found.lower] == ["parkinsons, LR"]


def test_deferral_is_compared_at_every_cost(records):
    found = contrast(Results(records), "PlugIn", "RF", "loss")
    assert len(found.cells) == len(SETS) * len(MODELS) * 4
    assert str(found.cells[1]) == "energy, LR, c = 0.5"


# -- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratios", "answer"),
    [
        ({"LR": 0.5}, "Yes, it does"),
        ({"RF": 3.0}, "No, it does not"),
        ({"LR": 0.5, "RF": 3.0}, "It depends on the set and the predictor"),
        ({}, "There is no difference beyond chance"),
    ],
)
def test_the_verdict_rests_on_the_same_learner(records, ratios, answer):
    for model, ratio in ratios.items():
        with_ratio(records, f"{model}+RF plug-in", ratio, f"{model}+RF")
    for model in MODELS:  # another learner has no say
        with_ratio(records, f"{model}+PlugIn", 0.1, f"{model}+RF")
    page = plug_in_page(records)
    assert page.split("\n\n")[1].startswith(f"**{answer}, with the same learner on both sides.**")
    row = re.search(r"\| RF plug-in \| RF \| squared error of g \| (.*) \|", page)[1].split(" | ")
    assert [float(cell) for cell in row[:4]] == [ratios.get(model, 1.0) for model in MODELS]
    assert row[-2:] == [
        str(len(SETS) * sum((r < 1, r > 1)[k] for r in ratios.values())) for k in (0, 1)
    ]


def test_the_set_that_leaks_has_no_say(records):
    leaking = [r for r in records if r["set"] == "parkinsons"]
    with_ratio(leaking, "LR+RF plug-in", 0.25, "LR+RF")
    answer = plug_in_page(records).split("\n\n")[1]
    assert answer.startswith("**There is no difference beyond chance")
    assert "significantly less in 1 of 16 cells" in answer
    assert "the ratios are LR 0.25, MLP 1.00" in answer
    assert "with it, the first would read “Yes, it does”" in answer


def test_the_page_has_patients_apart_and_the_rules_that_need_no_risk(records):
    page = plug_in_page(records)
    section = page.split("## Patients apart")[1].split("\n## ")[0]
    for label in ("always defer", "never defer", "oracle", "Hybrid"):
        assert f"| {label} |" in section
    rest = [r for r in records if r["set"] != "parkinsons-by-patient"]
    assert "## Patients apart" not in plug_in_page(rest)
    references = page.split("## Beside rules that need no risk")[1].split("\n## ")[0]
    assert references.count(f" of {len(SETS) * len(MODELS) * 4} |") == 3 * 5


def test_the_papers_tables_have_ours_as_columns_and_rows(records):
    tables = {table.name: table for table in all_tables(records)}
    header = [cell.text for cell in tables["table3"].header]
    assert header[-4:] == [
        f"{n}\nours" for n in ("PlugIn", "Hybrid", "RF plug-in", "RF on x, f, m")
    ]
    assert "RF\npaper" in header
    assert all(len(row) == len(header) for row in tables["table3"].rows)
    [group] = [group for group in tables["table4"].groups if group.label == "MLP"]
    assert [row[0].text for row in group.rows][:3] == ["MLP+RF", "MLP+PlugIn", "MLP+Hybrid"]
    assert not any(group.label == "other methods" for group in tables["table4"].groups)
    ours = group.rows[1]
    assert ours[1].text
    assert not ours[2].text  # the paper has no such figure


# -- the command ---------------------------------------------------------------------------------


def test_the_command_runs_it_and_writes_the_page(records, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {}

    def run(folder, **arguments):
        given.update(arguments, folder=folder)
        return records

    monkeypatch.setattr("condrisk.paper.rwr.run_rwr", run)
    monkeypatch.setattr("condrisk.paper._report.find_spec", lambda name: None)  # no pictures
    done = CliRunner().invoke(app, ["reproduce", "rwr", "--folds", "paper", "--plug-in"])
    assert done.exit_code == 0, done.output
    assert given["plug_in"]
    assert given["folder"] == Path("condrisk-rwr-paper-fast-plug-in")
    assert (given["folder"] / "report" / "plug-in.md").read_text() == plug_in_page(records)
