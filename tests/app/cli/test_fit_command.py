"""`condrisk fit`: what people see, what machines get, and what is refused."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import open_model
from condrisk.app.tables import check_rows
from condrisk.persistence import read_manifest

pytestmark = pytest.mark.usefixtures("quick_fits")


def table(n=200):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, n)
    noise = np.where(x > 0, 1.0, 0.1)
    return pl.DataFrame(
        {
            "x": x,
            "group": rng.choice(["a", "b"], n),
            "name": [f"row {k}" for k in range(n)],
            "y": 2 * x + noise * rng.normal(size=n),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().write_csv("train.csv")
    table().write_parquet("train.parquet")
    table().write_ipc("train.arrow")
    return tmp_path


def run(*arguments):
    # So wide that figures and their intervals stand in one line.
    return CliRunner().invoke(app, ["fit", *map(str, arguments)], env={"COLUMNS": "120"})


def test_it_fits_and_says_what_to_expect_whatever_the_format(folder):
    risks = []
    for ending in ("csv", "parquet", "arrow"):
        file, options = f"train.{ending}", ("--predictor", "linear", "-o", f"{ending}.skops")
        result = run(file, "--target", "y", "--cost", 0.3, *options)
        assert result.exit_code == 0, result.output
        figures = read_manifest(f"{ending}.skops")["evaluation"]
        for part in (
            f"{file}: regression of y from 2 columns, loss squared_error",
            "always defer",
            "never defer",
            f"{figures['deferral_loss']['value']:.3g} [{figures['deferral_loss']['low']:.3g}, ",
            f"{100 * figures['deferral_rate']['value']:.1f} % [",
            "Measured on 40 rows that this model was not fitted on",
            "95 % intervals, those of losses by Student's t",
            "At a cost of 0.3",
            "realised losses",
            f"condrisk score {ending}.skops",
        ):
            assert part in result.stdout
        left_out = "Note: column 'name' is left out: it is text with 200 distinct values."
        assert left_out in result.stderr
        model = open_model(f"{ending}.skops")
        assert model.schema.n_rows == 200
        decision = model.decide(check_rows(model.schema, table()).good)
        assert decision.deferred.any()
        risks.append(decision.risk)
    np.testing.assert_array_equal(risks[0], risks[1])
    np.testing.assert_array_equal(risks[0], risks[2])


def test_machines_get_one_object(folder):
    result = run("train.csv", "--target", "y", "--budget", 0.1, "--predictor", "linear", "--json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["output"] == "model.skops"
    assert found["notes"] == ["column 'name' is left out: it is text with 200 distinct values"]
    manifest = read_manifest("model.skops")
    rows = ("profile", "held_out")  # of single rows and groups of them, for other commands
    assert {name: found[name] for name in manifest if name not in rows} == {
        name: value for name, value in manifest.items() if name not in rows
    }


def test_a_predictor_that_lives_elsewhere_needs_only_its_column(folder):
    table().with_columns(mine=2 * pl.col("x")).write_csv("mine.csv")
    result = run(
        "mine.csv", "--target", "y", "--cost", 0.3, "--predictions", "mine", "--predictor", "linear"
    )
    assert result.exit_code == 0, result.output
    assert "the column 'mine'" in result.stdout
    assert open_model("model.skops").prediction_column == "mine"


def test_a_promise_is_printed(folder):
    result = run(
        *("train.csv", "--target", "group", "--risk-target", 0.9, "--predictor", "linear"),
        *("--confidence", 0.8, "--seed", 3),
    )
    assert result.exit_code == 0, result.output
    assert "mean loss of accepted rows <= 0.9 with probability >= 0.8" in result.stdout
    assert "that this model was not fitted on" in result.stdout
    assert "those of losses by a method that holds" in result.stdout


def test_a_guarantee_for_every_group_is_printed_kept_in_the_file_and_shown_in_the_report(folder):
    rng = np.random.default_rng(1)
    city, x = rng.choice(["Oslo", "Rome"], 600), rng.uniform(-1, 1, 600)
    wrong = rng.random(600) < np.where(city == "Rome", 0.4, 0.02)
    answer = np.where((x > 0) != wrong, "yes", "no")
    pl.DataFrame({"x": x, "city": city, "answer": answer}).write_csv("people.csv")
    options = ("--risk-target", 0.2, "--predictor", "linear", "--holdout", 0)
    result = run("people.csv", "--target", "answer", *options, "--subgroup", "city")
    assert result.exit_code == 0, result.output
    assert "in each of the 2 groups by city, all at once," in result.stdout
    assert "every row of city = Rome is deferred: too few rows" in " ".join(result.output.split())
    model = open_model("model.skops")
    assert model.model.rule_.group_names_ == ["city = Oslo", "city = Rome"]
    new = pl.DataFrame({"x": [0.5] * 3, "city": ["Oslo", "Rome", "Bern"]})
    decision = model.decide(check_rows(model.schema, new).good)
    assert decision.deferred.tolist() == [False, True, True]
    assert "2 groups by city" in decision.guarantee
    assert decision.groups == {
        "city = Oslo": "mean loss of accepted rows <= 0.2",
        "city = Rome": "all rows are deferred",
    }
    report = CliRunner().invoke(app, ["report", "model.skops", "people.csv", "-o", "page.html"])
    assert report.exit_code == 0, report.output
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Groups with a guarantee" in page
    assert "city = Rome" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv", "--target", "y", "--cost", 1], "nothing.csv does not exist."),
        (["train.csv", "--target", "z", "--cost", 1], "--target 'z' is not a column"),
        (["train.csv", "--target", "y"], "give --cost 0.1 (defer where"),
        (["train.csv", "--target", "y", "--cost", -1], "cost must be a number"),
        (["train.csv", "--target", "y", "--cost", 1, "--cost-column", "x"], "exclude each other"),
        (["train.csv", "--target", "y", "--cost-column", "x"], "but a cost must be a number"),
        (["train.csv", "--target", "y", "--cost-column", "fee"], "--cost-column 'fee' is not a"),
        (
            ["train.csv", "--target", "y", "--cost-column", "x", "--drop", "x"],
            "'x' is needed, and cannot be in drop",
        ),
        (
            ["train.csv", "--target", "y", "--cost-column", "x", "--budget", 0.1],
            "--cost-column and --budget exclude each other",
        ),
        (
            ["train.csv", "--target", "y", "--cost", 1, "--loss", "zero_one", "--cost-matrix", "c"],
            "--loss and --cost-matrix exclude each other",
        ),
        (["train.csv", "--target", "y", "--cost", 1, "--time", "when"], "time 'when' is not a"),
        (["train.csv", "--target", "y", "--cost", 1, "--cost-matrix", "no.csv"], "no.csv does not"),
        (
            ["train.csv", "--target", "y", "--cost", 1, "--cost-matrix", "train.csv"],
            "a cost must be",
        ),
        (["train.csv", "--target", "y", "--cost", 1, "-o", "no/m.skops"], "does not exist."),
        (["train.csv", "--target", "y", "--cost", 1, "-o", "."], "is a folder"),
        (["train.csv", "--target", "y", "--cost", 1, "--predictor", "x:y"], "Say --trust"),
        (["train.csv", "--target", "y", "--risk-target", 1], "cap must be given"),
        (["train.csv", "--target", "y", "--cost", 1, "--subgroup", "x"], "without --risk-target"),
        (
            ["train.csv", "--target", "group", "--risk-target", 1, "--subgroup", "name"],
            "'name' is no input of the model",
        ),
    ],
)
def test_wrong_input_ends_with_a_sentence_and_two(folder, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output
    assert not result.stdout
    assert not list(folder.glob("*.skops"))


def test_time_and_costs_come_from_columns_and_files(folder):
    rows = table().with_columns(week=pl.int_range(200), fee=pl.lit(0.3))
    rows.with_columns(
        y=pl.when(pl.col("y") > 0).then(pl.lit("up")).otherwise(pl.lit("down"))
    ).write_csv("rows.csv")
    (folder / "costs.csv").write_text("true,up,down\nup,0,3\ndown,1,0\n")
    result = run(
        *("rows.csv", "--target", "y", "--cost-column", "fee", "--cost-matrix", "costs.csv"),
        *("--time", "week", "--predictor", "linear"),
    )
    assert result.exit_code == 0, result.output
    assert "the last 40 rows by 'week' are held out, from 160 on" in result.stderr
    said = " ".join(result.stdout.split())
    assert "in the column 'fee'" in said
    assert "loss cost_matrix" in said
    manifest = read_manifest("model.skops")
    assert [column["name"] for column in manifest["schema"]["columns"]] == ["x", "group"]
    assert json.loads(run(
        *("rows.csv", "--target", "y", "--cost", 1, "--predictor", "linear", "--json"),
        *("--only", "x", "--time", "week", "--overwrite"),
    ).stdout)["verdict"][0].startswith("At a cost of 100 % of an error")  # fmt: skip


def test_names_in_a_table_are_not_obeyed(folder):
    """Markup and escape codes in the names of columns are shown, not followed."""
    table().rename({"x": "[red]x\x1b[31m"}).write_csv("odd.csv")
    result = run("odd.csv", "--target", "nope[/]", "--cost", 1)
    assert result.exit_code == 2
    assert "nope[/]" in result.stderr
    assert "\x1b[31m" not in result.stderr


def test_help_teaches_and_stays_quick():
    """Asking for help imports no models."""
    result = run("--help")
    text = " ".join(result.stdout.replace("│", " ").split())
    assert result.exit_code == 0
    for word in ("cost of deferring", "--predictions", "--trust", "patients.csv --target outcome"):
        assert word in text
    code = (
        "import sys; import condrisk.app.cli._fit, condrisk.app.cli._inspect;"
        "print([m for m in ('skops', 'condrisk.app.models') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
