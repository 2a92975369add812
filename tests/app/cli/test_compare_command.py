"""`condrisk compare`: two models on the same rows, in words, as JSON and as a page."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import fit_table
from condrisk.app.tables import check_rows
from condrisk.assessment import compare_risks
from saved_models import save_table_model

pytestmark = pytest.mark.usefixtures("quick_fits")


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)], env={"COLUMNS": "200"})


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x, kind = rng.uniform(-1, 1, n), rng.choice(["a", "b"], n)
    y = 4 * x**2 + np.where(kind == "a", 1.5, 0.2) * rng.normal(size=n)
    return pl.DataFrame({"x": x, "kind": kind, "y": y})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    models = {
        name: fit_table(rows(400, 0), target="y", cost=0.5, predictor=name)
        for name in ("linear", "boosting")
    }
    for name, model in models.items():
        save_table_model(model, folder / f"{name}.skops")
    other = rows(400, 0).rename({"y": "z"})
    save_table_model(
        fit_table(other, target="z", cost=0.5, predictor="linear"), folder / "other.skops"
    )
    rows(600, 1).write_csv(folder / "holdout.csv")
    rows(20, 1).drop("y").write_csv(folder / "bare.csv")
    return folder, models


def test_figures_are_those_of_the_rows_and_the_better_model_is_named(place, tmp_path):
    folder, models = place
    paths = (folder / "linear.skops", folder / "boosting.skops", folder / "holdout.csv")
    done = run(*paths, "-o", tmp_path / "c.html", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    held = rows(600, 1)
    pairs = []
    for name in ("linear", "boosting"):
        good = check_rows(models[name].schema, held).good
        loss = models[name].loss_values(good, held["y"])
        pairs.append((loss, models[name].predict_risk(good)))
    losses, risks = zip(*pairs, strict=True)
    wanted = compare_risks(losses, risks)
    assert found["rows"] == 600
    assert found["overall"]["aurc"]["first"] == pytest.approx(wanted.aurc.first)
    assert found["overall"]["upper"] == pytest.approx(wanted.upper.tolist())
    assert found["cost"] == 0.5
    said = " ".join(found["verdict"])
    assert "boosting.skops predicts better" in said
    assert "boosting.skops is cheaper" in said


def test_a_page_needs_nothing_and_the_terminal_says_the_same(place, tmp_path):
    folder, _ = place
    paths = (folder / "linear.skops", folder / "boosting.skops", folder / "holdout.csv")
    done = run(*paths, "-o", tmp_path / "c.html", "--cost", 0.25)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "At a cost of 0.25" in done.output
    assert "boosting.skops predicts better" in done.output
    assert "boosting.skops predicts better" in page


def test_a_table_is_read_as_the_models_know_it(place, tmp_path):
    """Decimal commas in one file, points in the other, from a pipe of another separator."""
    folder, _ = place
    models = (folder / "linear.skops", folder / "boosting.skops")
    plain = run(*models, folder / "holdout.csv", "-o", tmp_path / "a.html", "--json")
    written = tmp_path / "holdout.csv"
    rows(600, 1).write_csv(written, separator=";", decimal_comma=True)
    done = CliRunner().invoke(
        app,
        ["compare", *map(str, models), "-", "-o", str(tmp_path / "b.html"), "--json"],
        input=written.read_bytes(),
    )
    assert done.exit_code == 0, done.output
    assert "Note: numbers have decimal commas" in done.stderr
    first, second = (json.loads(found.stdout) for found in (plain, done))
    assert {**first, "output": ""} == {**second, "output": ""}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["linear.skops", "other.skops", "holdout.csv"], "the same target, but that of linear"),
        (["linear.skops", "boosting.skops", "bare.csv"], "no column 'y', the target"),
        (["linear.skops", "none.skops", "holdout.csv"], "none.skops does not exist"),
        (["linear.skops", "boosting.skops", "none.csv"], "none.csv does not exist"),
        (["linear.skops", "boosting.skops", "holdout.csv", "--cost", "-1"], "--cost must be"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(place, tmp_path, arguments, message):
    folder, _ = place
    arguments = [folder / word if word.endswith((".skops", ".csv")) else word for word in arguments]
    done = run(*arguments, "-o", tmp_path / "c.html")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []
