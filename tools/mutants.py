"""Break the code on purpose, one small change at a time, and see which test notices.

    python -m tools.mutants                   every mutant of tools/mutants.toml
    python -m tools.mutants --only inference  those whose id begins so
    python -m tools.mutants --survivors       those that survived the last time
    python -m tools.mutants --new             those that have never been run

Nothing in the working tree is touched: `src` is copied to a temporary folder, changed there, and
the tests of the mutant, less the slow ones, run against the copy until the first one fails. What is
found is merged into results/mutants.json, so that a part of the mutants can be run by itself.

Each mutant in tools/mutants.toml has these fields:

    [[mutant]]
    id = "deferral-cost-strict"             # room first: `--only deferral` takes them all
    file = "src/condrisk/deferral/_rules.py"
    what = "a risk equal to the cost is deferred"
    old = "return risk > check_cost"        # stands in the file exactly once
    new = "return risk >= check_cost"
    tests = ["tests/deferral/test_rules.py"]  # files or node ids under tests/; few and fast ones
    equivalent = "why"                      # optional: no test can tell it from the original
    history = "survived until …"            # optional: what was done about it

A mutant whose `old` is not in its file exactly once is an error: code and list go together.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tools" / "mutants.toml"
RECORD = ROOT / "results" / "mutants.json"
# A mutant may loop for ever.
SECONDS = 300


def read_mutants() -> list[dict[str, Any]]:
    """Return the mutants, each of them checked."""
    mutants = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    ids = [mutant["id"] for mutant in mutants]
    if len(set(ids)) < len(ids):
        raise ValueError(f"id: {next(i for i in ids if ids.count(i) > 1)!r} is there twice")
    for mutant in mutants:
        count = (ROOT / mutant["file"]).read_text(encoding="utf-8").count(mutant["old"])
        if count != 1:
            raise ValueError(f"{mutant['id']}: old is in {mutant['file']} {count} times, not once")
        for test in mutant["tests"]:
            # A path under src would put the unchanged package first.
            if not test.startswith("tests/") or not (ROOT / test.split("::")[0]).exists():
                raise ValueError(f"{mutant['id']}: no such test as {test}")
    return mutants


def read_record() -> dict[str, dict[str, Any]]:
    """Return what is known of each mutant by its id."""
    if not RECORD.exists():
        return {}
    return {found["id"]: found for found in json.loads(RECORD.read_text(encoding="utf-8"))}


def write_record(record: dict[str, dict[str, Any]], mutants: list[dict[str, Any]]) -> None:
    """Write what is known of the mutants that are still on the list, in its order."""
    found = [record[mutant["id"]] for mutant in mutants if mutant["id"] in record]
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def first_failure(tests: list[str], source: Path, seconds: float | None = None) -> str | None:
    """Return the first test that fails with the package in `source`, None if all pass."""
    options = ["-x", "-q", "-rfE", "-p", "no:xdist", "-m", "not slow"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    env = os.environ | {
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CI": "1",  # the same examples at every run
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"no end after {seconds:g} s"
    if done.returncode == 0:
        return None
    named = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, flags=re.MULTILINE)
    if named is None:
        raise RuntimeError(f"pytest did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return named[1]


def run_mutant(mutant: dict[str, Any], source: Path) -> dict[str, Any]:
    """Return what the tests say to one mutant; `source` is as before afterwards."""
    path = source / Path(mutant["file"]).relative_to("src")
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        killer = first_failure(mutant["tests"], source, SECONDS)
    finally:
        path.write_text(text, encoding="utf-8")
    found = {name: mutant[name] for name in ("id", "file", "what", "history") if name in mutant}
    if killer is not None:
        return found | {"outcome": "killed", "by": killer}
    if "equivalent" in mutant:
        return found | {"outcome": "equivalent", "why": mutant["equivalent"]}
    return found | {"outcome": "survived", "tests": mutant["tests"]}


def copied_source(folder: Path) -> Path:
    """Copy the package into a folder; return what PYTHONPATH has to be to use the copy."""
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    code = "import condrisk; print(condrisk.__file__)"
    env = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=folder, capture_output=True, text=True
    )
    if str(source) not in done.stdout:
        raise RuntimeError(f"the copy is not what is imported: {done.stdout}{done.stderr}")
    return source


def main(arguments: list[str] | None = None) -> int:
    """Run the mutants; return 1 if any survives."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", metavar="PREFIX", help="ids that begin so")
    parser.add_argument("--survivors", action="store_true", help="those that survived last time")
    parser.add_argument("--new", action="store_true", help="those that have never been run")
    options = parser.parse_args(arguments)
    mutants, record = read_mutants(), read_record()
    chosen = [mutant for mutant in mutants if mutant["id"].startswith(options.only)]
    if options.survivors:
        chosen = [m for m in chosen if record.get(m["id"], {}).get("outcome") == "survived"]
    if options.new:
        chosen = [mutant for mutant in chosen if mutant["id"] not in record]
    if not chosen:
        parser.error("no mutant is left")
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        source = copied_source(Path(folder))
        unbroken = first_failure(sorted({test for m in chosen for test in m["tests"]}), source)
        if unbroken is not None:
            raise RuntimeError(f"{unbroken} fails without any mutant")
        for mutant in chosen:
            found = run_mutant(mutant, source)
            record[mutant["id"]] = found
            survivors += found["outcome"] == "survived"
            print(f"{found['outcome']:10} {found['id']:40} {found.get('by', '')}", flush=True)
            write_record(record, mutants)
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
