"""What the command line does not load before it has to."""

import inspect
import json
import subprocess
import sys

import pytest
import typer

from condrisk.app.cli import _quickstart, app
from condrisk.app.cli._lazy import COMMANDS
from condrisk.datasets import UCI_NAMES
from condrisk.losses import LOSSES

HEAVY = {"numpy", "sklearn", "polars", "pyarrow", "skops", "starlette", "matplotlib"}
# The names of all modules go to stderr, after whatever the command says there.
CODE = """
import json, sys
from condrisk.__main__ import main
try:
    main()
except SystemExit as end:
    code = end.code
else:
    code = 0
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def run(*arguments):
    """Run the command line; return exit code, stdout, what it said on stderr, and the modules."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=True
    )
    *said, last = done.stderr.splitlines()
    code, modules = json.loads(last)
    return code or 0, done.stdout, "\n".join(said), set(modules)


def test_the_version_loads_neither_typer_nor_anything_heavy():
    code, output, _, modules = run("--version")
    assert code == 0
    assert output.startswith("condrisk ")
    assert not modules & (HEAVY | {"typer", "rich"})


def test_help_lists_every_command_and_loads_none():
    code, output, _, modules = run("--help")
    assert code == 0
    assert all(name in output for name in COMMANDS)
    assert not modules & (HEAVY | {"condrisk.paper", "condrisk.app.cli._terminal"})


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name):
    command = typer.main.get_command(app).commands[name].load()
    written = inspect.getdoc(inspect.unwrap(command.callback))
    assert COMMANDS[name] == written.split("\n\n")[0].replace("\n", " ")
    assert command.name == name


def test_what_the_quickstart_lists_is_what_there_is():
    assert ", ".join(UCI_NAMES) == _quickstart._SETS
    # A table has one target.
    assert ", ".join(name for name in LOSSES if name != "hamming") == _quickstart._LOSSES


@pytest.mark.parametrize(
    "arguments",
    [
        "score no.skops rows.csv -o scored.csv",
        "report no.skops",
        "fit no.csv --target y --cost 1",
        "inspect no.skops",
        "serve no.skops",
        "monitor no.skops rows.csv",
        "export no.skops -o model.onnx",
        "quickstart --data no.csv --target y",
    ],
)
def test_a_wrong_path_is_told_before_anything_heavy_is_loaded(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, output, said, modules = run(*arguments.split())
    assert code == 2
    assert output == ""
    assert said.startswith("Error: ")
    assert said.endswith("does not exist.")
    assert not modules & HEAVY


def test_a_wrong_table_is_told_as_soon_as_a_wrong_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.skops").write_bytes(b"PK")
    (tmp_path / "rows.csv").write_bytes(b"BZh91 zipped")
    for words in ("score model.skops rows.csv -o s.csv", "monitor model.skops rows.csv"):
        code, _, said, modules = run(*words.split())
        assert code == 2
        assert said == "Error: rows.csv is compressed with bzip2: unpack it first."
        assert not modules & HEAVY


def test_a_part_of_the_command_line_can_be_run_as_a_module():
    command = [sys.executable, "-m", "condrisk", "inspect", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "python -m condrisk inspect" in done.stdout
