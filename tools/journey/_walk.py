"""The commands as a user types them, in a folder for each table; what each said, and its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.journey._tables import Table

COMMAND = (sys.executable, "-m", "condrisk")
LIMIT = 300  # seconds for one command


def commands(table: Table) -> dict[str, list[str]]:
    """Return what is typed, by the name of the step; `serve` is not among them."""
    model, first, later = "model.skops", f"fit{table.ending}", f"later{table.ending}"
    target = ["--target", table.target]
    return {
        "fit": ["fit", first, *target, *table.fit, "-o", model],
        "inspect": ["inspect", model],
        "score": ["score", model, later, *table.score, "-o", "scored.jsonl"],
        "report": ["report", model, later, "-o", "report.html"],
        "monitor": ["monitor", model, later, *table.monitor, "-o", "monitor"],
        "fit another": ["fit", first, *target, *table.other, "-o", "other.skops"],
        "compare": ["compare", model, "other.skops", later, "-o", "compare.html"],
        "export": ["export", model, "-o", "model.onnx", "--check", later],
    }


def run(words: list[str], folder: Path) -> dict[str, Any]:
    """Type a command in a folder; return its exit code, what it said and the seconds."""
    start = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    seconds = time.perf_counter() - start
    return {
        "typed": " ".join(["condrisk", *words]),
        "code": done.returncode,
        "seconds": round(seconds, 1),
        "said": done.stdout,
        "notes": done.stderr,
    }


def walk(table: Table, folder: Path) -> dict[str, dict[str, Any]]:
    """Type all commands for a table; `--overwrite` is in none, so the folder has no outputs yet."""
    return {step: run(words, folder) for step, words in commands(table).items()}


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the model of a folder, and give its address."""
    words = ["serve", "model.skops", "--port", "0", "--report", "report.html", "--json"]
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said:
            raise RuntimeError(f"condrisk {' '.join(words)} ended with {process.wait()}.")
        yield json.loads(said)["url"]
    finally:
        process.terminate()
        process.wait(timeout=60)


def environment() -> dict[str, str]:
    """Return the environment of a terminal with 80 columns."""
    return {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "NO_PROXY": "127.0.0.1"}
