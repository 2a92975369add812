"""`condrisk score` as a person would call it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.app.models import fit_table
from saved_models import save_table_model

pytestmark = pytest.mark.usefixtures("quick_fits")

runner = CliRunner()


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"x": rng.normal(size=300), "[u]": rng.choice(["a", "b"], 300)})
    rows = rows.with_columns(y=pl.col("x") + pl.Series(rng.normal(size=300)))
    path = tmp_path_factory.mktemp("model") / "model.skops"
    save_table_model(fit_table(rows, target="y", cost=1.0, predictor="linear"), path)
    return path


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["id,x,[u]", *(f"{k},{k / 10},a" for k in range(30)), "30,many,b", "31,1", "32,2,c"]
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def call(*arguments):
    return runner.invoke(app, ["score", *map(str, arguments)], env={"COLUMNS": "200"})


def test_what_a_person_sees(model_file):
    done = call(model_file, "new.csv", "-o", "scored.csv")
    assert done.exit_code == 0, done.output
    assert "31 rows scored: scored.csv" in done.stdout
    assert "2 rows rejected, each with the reason: scored.rejects.csv" in done.stdout
    assert "column '[u]': 1 rows with a category never seen" in done.stdout
    scored = pl.read_csv("scored.csv")
    assert scored.columns == ["id", "x", "[u]", "prediction", "risk", "defer", "outside"]
    assert scored["id"].to_list() == [*range(30), 32]
    assert pl.read_csv("scored.rejects.csv")["row"].to_list() == [31, 32]
    deferred = int(scored["defer"].sum())
    assert f"{deferred:,} to be deferred ({100 * deferred / 31:.1f} %)" in done.stdout

    again = call(model_file, "new.csv", "-o", "scored.csv")
    assert again.exit_code == 0
    assert "is finished already" in again.stdout


def test_parts_are_columns_that_add_up_to_the_risk(model_file):
    done = call(model_file, "new.csv", "-o", "scored.csv", "--parts")
    assert done.exit_code == 0, done.output
    scored = pl.read_csv("scored.csv")
    total = scored.select(pl.sum_horizontal("floor", "gap", "correction")).to_series()
    assert total.to_list() == pytest.approx(scored["risk"].to_list())


def test_what_a_machine_sees(model_file):
    done = call(model_file, "new.csv", "-o", "scored.parquet", "--json", "--cost", 0.5)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["rows"] == 33
    assert summary["rejected"] == 2
    assert summary["rejects"] == "scored.rejects.parquet"
    assert summary["unseen"] == {"[u]": 1}
    scored = pl.read_parquet("scored.parquet")
    assert summary["deferred"] == (scored["risk"] > 0.5).sum() == scored["defer"].sum()
    assert summary["mean_risk"] == pytest.approx(scored["risk"].mean())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model", "nowhere.csv", "-o", "scored.csv"], "nowhere.csv does not exist"),
        (["nowhere.skops", "new.csv", "-o", "scored.csv"], "nowhere.skops"),
        (["new.csv", "new.csv", "-o", "scored.csv"], "new.csv"),
        (["model", "new.csv", "-o", "scored.txt"], "must end in one of"),
        (["model", "clash.csv", "-o", "scored.csv"], "column 'risk' already"),
        (["model", "short.csv", "-o", "scored.csv"], "no column '[u]'"),
        (
            ["model", "new.csv", "-o", "scored.csv", "--workers", "2"],
            "--workers means nothing without --engine dask",
        ),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(model_file, in_empty_folder, arguments, message):
    (in_empty_folder / "clash.csv").write_text("x,[u],risk\n1,a,2\n")
    (in_empty_folder / "short.csv").write_text("x\n1\n")
    before = set(in_empty_folder.iterdir())
    done = call(*(model_file if word == "model" else word for word in arguments))
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert len(done.stderr.strip().splitlines()) == 1
    assert set(in_empty_folder.iterdir()) == before


def test_a_full_disk_is_not_the_users_fault(model_file, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("condrisk.app.scoring.score_file", full)
    done = call(model_file, "new.csv", "-o", "scored.csv")
    assert done.exit_code == 1
    assert "No space left on device" in done.stderr


def test_stopped_and_called_again(model_file, monkeypatch):
    from condrisk.app.scoring import _file

    write = _file.Output.write

    def stop(self, batch, scores):
        if batch.number == 3:
            raise KeyboardInterrupt
        return write(self, batch, scores)

    with monkeypatch.context() as patch:
        patch.setattr(_file.Output, "write", stop)
        done = call(model_file, "new.csv", "-o", "scored.csv", "--batch-rows", 5)
    assert done.exit_code == 130
    assert "goes on from here" in done.stderr
    done = call(model_file, "new.csv", "-o", "scored.csv", "--batch-rows", 5)
    assert done.exit_code == 0, done.output
    assert "4 of 7 batches were scored by an earlier call" in done.stdout


def test_help_teaches():
    done = call("--help")
    assert done.exit_code == 0
    for word in ("--overwrite", "--engine", "--scheduler", "rejects", "Example:", "--json"):
        assert word in done.output


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = "import sys, condrisk.app.cli._score; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"condrisk.app.scoring", "condrisk.app.models", "dask", "distributed"} & set(
        done.stdout.split()
    )


def test_what_raises_a_risk_and_what_is_outside_are_columns(model_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = pl.DataFrame({"x": [0.1, 99.0], "[u]": ["a", "z"], "fee": [0.5, 0.5]})
    rows.write_csv("rows.csv")
    done = runner.invoke(
        app,
        ["score", str(model_file), "rows.csv", "-o", "out.csv", "--explain", "--defer-outside",
         "--cost-column", "fee"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = pl.read_csv("out.csv")
    assert found.columns == [*rows.columns, "prediction", "risk", "defer", "outside", "raised_by"]
    assert found["outside"].to_list() == [None, "x, [u]"]
    assert found["defer"][1] is True
    assert "1 outside what was seen" in done.output
    both = ["score", str(model_file), "rows.csv", "-o", "two.csv"]
    done = runner.invoke(app, [*both, "--cost", "1", "--cost-column", "fee"])
    assert done.exit_code == 2
    assert "--cost and --cost-column exclude each other" in " ".join(done.output.split())


def test_what_raises_the_risk_of_a_wrong_answer_is_told_in_percent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=300)
    noisy = x + np.random.default_rng(1).normal(size=300) > 0
    rows = pl.DataFrame({"x": x, "ok": noisy})
    rows.write_csv("rows.csv")
    fit = ["fit", "rows.csv", "--target", "ok", "--cost", "0.2", "--predictor", "linear"]
    assert runner.invoke(app, fit).exit_code == 0
    done = runner.invoke(app, ["score", "model.skops", "rows.csv", "-o", "out.csv", "--explain"])
    assert done.exit_code == 0, done.output
    raised = pl.read_csv("out.csv")["raised_by"].drop_nulls()
    assert len(raised)
    assert raised.str.contains(r"^x \(\+[0-9.]+ %\)$").all()


def test_what_raises_a_risk_in_a_wide_table_is_the_same_from_a_pipe():
    """Which columns are looked at is told by the first rows, which a pipe gives only once."""
    values = np.random.default_rng(0).normal(size=(150, 24))
    rows = pl.DataFrame(values, schema=[f"x{k}" for k in range(24)])
    rows = rows.with_columns(y=pl.col("x22") * pl.col("x23"))
    save_table_model(fit_table(rows, target="y", cost=0.5, predictor="linear"), "wide.skops")
    rows.write_csv("rows.csv", separator=";", decimal_comma=True)
    ways = {"file": ("rows.csv", None), "pipe": ("-", Path("rows.csv").read_bytes())}
    for name, (source, given) in ways.items():
        call = ["score", "wide.skops", source, "-o", f"{name}.csv", "--explain"]
        done = runner.invoke(app, call, input=given)
        assert done.exit_code == 0, done.output
    assert Path("file.csv").read_bytes() == Path("pipe.csv").read_bytes()
    raised = pl.read_csv("file.csv", separator=";")["raised_by"]
    assert raised.str.contains("x22|x23").mean() > 0.5
