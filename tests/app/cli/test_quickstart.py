"""`condrisk quickstart`, run as a newcomer would."""

import contextlib
import io
import json
import re
import runpy
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app

run = CliRunner().invoke
ROOT = Path(__file__).parents[3]

# A progress bar asks for the terminal's width and matplotlib for a cache folder; neither is ours.
FIGURES = {"cost_curve.png", "risk_calibration.png", "risk_coverage.png", "risk_profile.png"}
TEXTS = {"results.json", "quickstart.py", "report.html"}


def quickstart(*arguments):
    return run(app, ["quickstart", *map(str, arguments)], env={"COLUMNS": "100"})


@pytest.fixture
def patients(tmp_path):
    """A table as people have them: a number for a name, text, gaps, and classes as words."""
    rng = np.random.default_rng(0)
    n = 240
    age, ward = rng.integers(20, 90, n), rng.choice(["north", "south"], n)
    ill = rng.random(n) < 1 / (1 + np.exp(-(age - 55) / 8 - (ward == "north")))
    outcomes = np.where(ill, "ill", "well")
    table = pl.DataFrame(
        {
            "name": [f"patient {i}" for i in range(n)],
            "age": [None if i % 17 == 0 else int(a) for i, a in enumerate(age)],
            "ward": ward,
            "smokes": rng.random(n) < 0.3,
            "outcome": [None if i % 60 == 1 else outcome for i, outcome in enumerate(outcomes)],
            "days": rng.gamma(2.0, 3.0 + ill * 4.0, n),
        }
    )
    table.write_csv(tmp_path / "patients.csv")
    return tmp_path / "patients.csv"


def test_the_embedded_set_gives_tables_figures_results_and_code(tmp_path):
    result = quickstart("--dataset", "energy", "--output", tmp_path)
    assert result.exit_code == 0, result.output
    for word in (
        "always defer",
        "never defer",
        "oracle",
        "accepted",
        "L¹",
        "L²",
        "The same in Python",
    ):
        assert word in result.output
    assert {path.name for path in tmp_path.iterdir()} == FIGURES | TEXTS
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["task"] == "regression"
    for row in record["deferral"]:
        assert row["oracle"] <= row["HybridRisk_loss"] + 1e-12
        assert row["always_defer"] == row["cost"]
        assert 0 <= row["HybridRisk_coverage"] <= 1


@pytest.mark.parametrize("target", ["outcome", "days"])
def test_the_printed_python_gives_the_printed_numbers(patients, tmp_path, target):
    folder = tmp_path / "out"
    arguments = ("--data", patients, "--target", target, "--cost", 0.3, "--output", folder)
    result = quickstart(*arguments)
    assert result.exit_code == 0, result.output
    record = json.loads((folder / "results.json").read_text())
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        made = runpy.run_path(str(folder / "quickstart.py"))
    (row,) = record["deferral"]
    figures = made["report"].at(0.3)
    assert figures.loss == pytest.approx(row["HybridRisk_loss"])
    assert 1 - figures.rate == pytest.approx(row["HybridRisk_coverage"])
    assert (figures.always, figures.never) == (0.3, pytest.approx(row["never_defer"]))
    assert figures.oracle == pytest.approx(row["oracle"])
    assert said.getvalue().strip() == str(figures)
    assert record["rows"]["test"] == made["report"].n_rows


def test_the_record_in_the_repository_is_what_the_command_gives(tmp_path):
    """The README shows it. Loosely, since versions and machines differ in how they round."""
    assert quickstart("--output", tmp_path).exit_code == 0
    fresh = json.loads((tmp_path / "results.json").read_text())
    kept = json.loads((ROOT / "results" / "quickstart.json").read_text())
    for part in ("deferral", "risk"):
        for now, then in zip(fresh[part], kept[part], strict=True):
            assert now.keys() == then.keys()
            for key, value in then.items():
                assert now[key] == (value if isinstance(value, str) else pytest.approx(value, 0.05))


def test_a_users_table_is_told_apart_and_nothing_is_dropped_in_silence(patients, tmp_path):
    result = quickstart("--data", patients, "--target", "outcome", "--output", tmp_path / "out")
    said = re.sub(r"\s+", " ", result.output)
    assert "classification of outcome" in said
    assert "column 'name' is left out: it is text with 177 distinct values" in said
    assert "4 rows are left out: they have no target" in said
    assert "177 rows to fit on, 59 to test on, 4 features" in said


def test_any_table_that_fit_reads(patients, tmp_path):
    """Semicolons, decimal commas, Latin-1, Parquet: the figures are the same."""
    table = pl.read_csv(patients).with_columns(ward=pl.col("ward").replace({"south": "süd"}))
    table.write_csv(tmp_path / "plain.csv")
    text = table.write_csv(separator=";", decimal_comma=True)
    (tmp_path / "european.csv").write_bytes(text.encode("latin-1"))
    table.write_parquet(tmp_path / "table.parquet")
    records = []
    for name in ("plain.csv", "european.csv", "table.parquet"):
        result = quickstart(
            *("--data", tmp_path / name, "--target", "days", "--cost", 9, "--cost", 20),
            *("--output", tmp_path / "out", "--overwrite"),
        )
        assert result.exit_code == 0, result.output
        records.append(json.loads((tmp_path / "out" / "results.json").read_text()))
        assert records[-1].pop("data") == name
    assert records[0] == records[1] == records[2]
    assert [row["cost"] for row in records[0]["deferral"]] == [9, 20]
    assert "condrisk" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("target", "task"),
    [("outcome", "classification"), ("smokes", "classification"), ("age", "regression")],
)
def test_the_task_is_told_from_the_target(patients, tmp_path, target, task):
    out = tmp_path / "out"
    result = quickstart("--data", patients, "--target", target, "--output", out)
    assert result.exit_code == 0, result.output
    assert json.loads((out / "results.json").read_text())["task"] == task


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "missing.csv", "--target", "y"], "missing.csv does not exist"),
        (["--data", "PATIENTS"], "--data needs --target"),
        (["--data", "PATIENTS", "--target", "death"], "--target 'death' is not a column"),
        (["--data", "EMPTY", "--target", "a"], "empty.csv is empty"),
        (["--data", "SHORT", "--target", "a"], "at least 67 are needed"),
        (
            ["--data", "PATIENTS", "--target", "outcome", "--task", "regression"],
            "column 'outcome' must be numbers for regression",
        ),
        (["--dataset", "iris"], "iris"),
        (["--loss", "log_loss"], "loss 'log_loss' is for classification"),
        (["--loss", "mse"], "loss must be one of"),
        (["--cost", "-1"], "--cost must be a number of at least 0"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(arguments, message, patients, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "short.csv").write_text("a,b\n1,2\n3,4\n")
    places = {
        "PATIENTS": patients,
        "EMPTY": tmp_path / "empty.csv",
        "SHORT": tmp_path / "short.csv",
    }
    arguments = [places.get(argument, argument) for argument in arguments]
    result = quickstart(*arguments, "--output", tmp_path / "out")
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.output)
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_help_and_version():
    assert "quickstart" in run(app, ["--help"]).output
    assert "--target" in run(app, ["quickstart", "--help"], env={"COLUMNS": "100"}).output
    assert run(app, ["--version"]).output.startswith("condrisk ")
