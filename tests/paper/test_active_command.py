"""`condrisk reproduce active --quick` as a person would call it."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from condrisk.app.cli import app
from condrisk.paper import read_records


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")


def call(*arguments):
    done = CliRunner().invoke(app, ["reproduce", "active", *arguments])
    return done, re.sub(r"\x1b\[[0-9;]*m", "", done.output)


def test_tables_records_and_page():
    some = ("--set", "energy", "--set", "trap", "--n-jobs", "1")
    done, shown = call("--quick", *some)
    assert done.exit_code == 0, done.output
    for title in ("Area under the learning curve", "against random choice", "Half of the rows"):
        assert title in shown
    folder = Path("condrisk-active-quick")
    assert {r["set"] for r in read_records(folder / "records.jsonl")} == {"energy", "trap"}
    assert (folder / "report" / "README.md").read_text().startswith("# Labels that pay")
    assert (folder / "report" / "curves.png").stat().st_size > 10_000
    assert call("--quick", *some)[1] == shown  # at once, and the same

    done, shown = call("-o", str(folder), *some)
    assert done.exit_code == 2
    assert "another configuration" in " ".join(shown.split())
    done, shown = call("--quick", "--set", "flowers")
    assert done.exit_code == 2
    assert "sets must be a list of" in " ".join(shown.split())
