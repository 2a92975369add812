"""`condrisk reproduce rwr` as a person would call it."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.paper import read_records
from condrisk.paper.rwr import _methods

MINE = """
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from condrisk import RegressionRisk
from condrisk.paper.rwr import register_method


@register_method("LR+constant [mine]")
def constant():
    return RegressionRisk(LinearRegression(), regressor=DummyRegressor(), random_state=0)
"""


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_methods, "_registered", dict(_methods._registered))
    monkeypatch.setenv("COLUMNS", "140")


def call(*arguments):
    return CliRunner().invoke(app, ["reproduce", "rwr", *arguments])


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_tables_records_and_files():
    Path("mine.py").write_text(MINE)
    chosen = ["--method", "LR+LR", "--method", "LR+constant [mine]"]
    arguments = ["--set", "energy", *chosen, "--register", "mine.py", "--n-jobs", "1", "-o", "out"]
    done = call(*arguments)
    assert done.exit_code == 0, done.output
    shown = plain(done.output)
    assert len(read_records("out/records.jsonl")) == 20
    for title in ("Table 3", "Table 4", "Table 5", "Table 7"):
        assert title in shown
    assert shown.count("LR+constant [mine]") >= 4
    report = Path("out/report")
    for table in ("table3", "table4", "table5", "table7"):
        for suffix in (".md", ".tex", ".png"):
            assert (report / f"{table}{suffix}").stat().st_size > 100
        markdown = (report / f"{table}.md").read_text()
        assert "mine" in markdown
    assert "# " in (report / "claims.md").read_text()
    assert (report / "calibration-against-deferral.png").exists()

    before = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")}
    _methods._registered.pop("LR+constant [mine]")
    assert plain(call(*arguments).output) == shown
    assert {path: path.stat().st_mtime_ns for path in Path("out").rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "boston"], "sets must be a list of some of concrete"),
        (["--method", "SVM+RF"], "methods must be a list of some of LR+LR"),
        (["--register", "nowhere.py"], "--register 'nowhere.py' is not a Python file"),
        (["--folds", "paper", "--data-home", "nowhere", "--set", "wine"], "nowhere"),
    ],
)
def test_errors_name_the_option(arguments, message, monkeypatch):
    monkeypatch.setattr(
        "condrisk.datasets._paper_folds._fetch", lambda path, sha: Path(path).read_bytes()
    )
    done = call(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(plain(done.output).split())


def test_another_configuration_is_refused():
    arguments = ["--set", "forest", "--method", "LR+LR", "--n-jobs", "1", "-o", "out"]
    assert call(*arguments).exit_code == 0
    done = call(*arguments, "--mlp", "sklearn")
    assert done.exit_code == 2
    assert "another configuration" in " ".join(plain(done.output).split())
