"""`condrisk report`, run as a person would."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import fit_table
from condrisk.app.tables import check_rows
from condrisk.metrics import deferral_loss, deferral_rate
from saved_models import save_table_model

pytestmark = pytest.mark.usefixtures("quick_fits")


def run(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)], env={"COLUMNS": "200"})


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x, kind = rng.uniform(-1, 1, n), rng.choice(["a", "b"], n)
    y = 2 * x + np.where(kind == "a", 1.5, 0.2) * rng.normal(size=n)
    return pl.DataFrame({"x": x, "kind": kind, "y": y})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    model = fit_table(rows(300, 0), target="y", cost=0.5, predictor="linear")
    save_table_model(model, folder / "model.skops")
    rows(400, 1).write_csv(folder / "holdout.csv")
    rows(400, 1).write_parquet(folder / "holdout.parquet")
    rows(50, 1).drop("y").write_csv(folder / "bare.csv")
    (folder / "broken.skops").write_bytes(b"PK\x03\x04 nothing")
    return folder, model


def test_a_page_is_written_and_the_terminal_says_what_is_in_it(place, tmp_path):
    folder, _ = place
    page = tmp_path / "report.html"
    done = run(folder / "model.skops", folder / "holdout.csv", "-o", page)
    assert done.exit_code == 0, done.output
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "400 rows at a cost of 0.5 (about ± 0.707)" in done.output
    assert "defer everything; from" in done.output
    assert "- At a cost of 0.5" in done.output
    assert " %, costs " in done.output
    assert "\ufffd" not in done.output
    assert f"Written to {page}" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_json_has_the_numbers_of_the_metrics_and_nothing_else_is_on_stdout(place, tmp_path):
    folder, model = place
    page = tmp_path / "r.html"
    done = run(folder / "model.skops", folder / "holdout.parquet", "-o", page, "--json",
               "--cost", 0.8)  # fmt: skip
    found = json.loads(done.stdout)
    held = rows(400, 1)
    good = check_rows(model.schema, held).good
    risk, loss = model.decide(good).risk, model.loss_values(good, held["y"])
    assert found["cost"] == 0.8
    assert found["rows"] == 400
    assert found["deferral_rate"] == pytest.approx(deferral_rate(risk, 0.8))
    assert found["deferral_loss"] == pytest.approx(deferral_loss(loss, risk, 0.8))
    assert found["never"] == pytest.approx(loss.mean())
    assert found["break_even"]["always_below"] == pytest.approx(risk.min())
    assert found["break_even"]["never_from"] == pytest.approx(risk.max())
    assert found["drivers"][0]["column"] == "kind"
    assert found["verdict"][0].startswith("At a cost of 0.8 (about ± 0.894), deferring by risk")
    where = found["segments"][0]["where"]
    assert {"column": "kind", "relation": "is", "value": "a", "or_missing": False} in where


def test_without_a_table_the_model_file_speaks_for_itself(place, tmp_path):
    folder, model = place
    done = run(
        folder / "model.skops", "-o", tmp_path / "r.html", "--json", "--title", "Mine & <me>"
    )
    found = json.loads(done.stdout)
    assert found["rows"] == model.manifest["evaluation"]["rows"]
    assert found["oracle"] is None
    assert "Mine &amp; &lt;me&gt;" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_rows_can_be_kept_out_of_the_page(place, tmp_path):
    folder, _ = place
    texts = []
    for n in (0, 3):
        page = tmp_path / f"{n}.html"
        run(folder / "model.skops", folder / "holdout.csv", "-o", page, "--rows", n)
        texts.append(page.read_text(encoding="utf-8"))
    assert "<tr data-risk=" not in texts[0]
    assert texts[1].count("<tr data-risk=") == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.skops"], "missing.skops"),
        (["broken.skops"], "broken.skops"),
        (["model.skops", "missing.csv"], "does not exist"),
        (["model.skops", "bare.csv"], "no column 'y', the target"),
        (["model.skops", "--cost", "-1"], "--cost must be a number"),
        (["model.skops", "--cost", "inf"], "--cost must be a number"),
        (["model.skops", "-o", "nowhere/r.html"], "a folder that does not exist"),
        (["model.skops", "-o", "."], "is a folder"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(place, tmp_path, arguments, message):
    folder, _ = place
    arguments = [folder / word if word.endswith((".skops", ".csv")) else word for word in arguments]
    if "-o" not in arguments:
        arguments += ["-o", tmp_path / "r.html"]
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert done.stderr.strip().startswith("Error:")
    assert "Traceback" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_an_older_page_stays_until_the_new_one_is_whole(place, tmp_path, monkeypatch):
    folder, _ = place
    page = tmp_path / "r.html"
    page.write_text("old")

    def stop(*_, **__):
        raise ValueError("no page today.")

    monkeypatch.setattr("condrisk.app.report.render", stop)
    assert run(folder / "model.skops", "-o", page).exit_code == 2
    assert page.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_help_teaches_and_needs_nothing_heavy():
    said = run("--help").output
    assert "condrisk report model.skops holdout.csv -o report.html" in " ".join(said.split())
    code = (
        "import sys; import condrisk.app.cli._report; "
        "assert not {'condrisk.app.models', 'condrisk.app.report'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
