"""`condrisk reproduce theory --quick` as a person would call it."""

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
    done = CliRunner().invoke(app, ["reproduce", "theory", *arguments])
    return done, re.sub(r"\x1b\[[0-9;]*m", "", done.output)


def test_tables_records_and_pages():
    done, shown = call("--quick", "--n-jobs", "1")
    assert done.exit_code == 0, done.output
    for title in ("Valid bounds", "Printed and false", "risk_error_interval at 95 %"):
        assert title in shown
    folder = Path("condrisk-theory-quick")
    assert read_records(folder / "records.jsonl")
    assert (folder / "report" / "README.md").read_text().startswith("# ")
    assert (folder / "report" / "excess.png").stat().st_size > 10_000
    assert call("--quick")[1] == shown  # at once, and the same

    done, shown = call("-o", str(folder))
    assert done.exit_code == 2
    assert "another configuration" in " ".join(shown.split())
