"""`condrisk reproduce cifar10 --quick` as a person would call it, on a few images."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.paper import read_records

pytest.importorskip("torch")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "home" / "cifar10"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    np.save(folder / "images.npy", rng.integers(0, 256, size=(400, 32, 32, 3), dtype=np.uint8))
    np.save(folder / "labels.npy", np.arange(400) % 10)
    return folder.parent


def call(*arguments):
    done = CliRunner().invoke(app, ["reproduce", "cifar10", *arguments])
    return done, " ".join(re.sub(r"\x1b\[[0-9;]*m", "", done.output).split())


@pytest.mark.filterwarnings("ignore:the predictor is worse than a constant")  # after one epoch
@pytest.mark.slow  # test_cifar10_run.py calls it for a run that is there
def test_tables_and_files(home):
    arguments = ["--quick", "--seeds", "2", "--first-seed", "4", "--device", "cpu"]
    arguments += ["--data-home", str(home)]
    done, shown = call(*arguments, "-o", "out")
    assert done.exit_code == 0, done.output
    for title in ("Table 1", "Table 2", "Table 6"):
        assert title in shown
    assert {record["fold"] for record in read_records("out/records.jsonl")} == {4, 5}
    for table in ("table1", "table2", "table6"):
        for suffix in (".md", ".tex", ".png"):
            assert (Path("out/report") / f"{table}{suffix}").stat().st_size > 100
    assert call(*arguments, "-o", "out")[1] == shown


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done, shown = call("--quick", "--data-home", "nowhere", "--device", "cpu")
    assert done.exit_code == 2
    assert "cifar10" in shown
    assert "Error:" in shown
