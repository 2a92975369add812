"""What commands take before and besides their work: on a table of few rows, nearly all is start-up.

    python -m benchmarks.startup                # write results/startup.json
    python -m benchmarks.startup --repeats 2    # a small try, written nowhere

Each command is a process of its own, on 40 rows of four numbers and a linear model with a linear
risk of boosted losses; `serve` is timed until `/health` answers. Commands take turns. Stated are
the median seconds on the wall, and on the processor, of all repeats; the second is less sensitive
to what else the machine does. Beside them an interpreter that does nothing, `import condrisk`, and
`import sklearn.ensemble`. No limits but those of benchmarks.bench_import for commands that have
nothing to do.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

import condrisk
from condrisk._files import write_whole
from condrisk.app.models import fit_table
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.persistence import save_model

RECORD = Path(__file__).resolve().parents[1] / "results" / "startup.json"
REPEATS = 5
PROCESSES = {
    "python -c pass": ["-c", "pass"],
    "import condrisk": ["-c", "import condrisk"],
    "import sklearn.ensemble": ["-c", "import sklearn.ensemble"],
}
COMMANDS = {
    "--version": "",
    "--help": "",
    "fit --help": "",
    "inspect": "model.skops",
    "score": "model.skops rows.csv -o scored.csv --overwrite",
    "report": "model.skops rows.csv --overwrite",
    "compare": "model.skops model.skops rows.csv --overwrite",
    "monitor": "model.skops rows.csv --overwrite",
    "export": "model.skops -o model.onnx --overwrite",
}
PROCESSES |= {
    f"condrisk {name}": ["-m", "condrisk", *name.split(), *rest.split()]
    for name, rest in COMMANDS.items()
}
SERVE = "condrisk serve, until it answers"


def main() -> None:
    """Measure all, in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    repeats = parser.parse_args().repeats
    # As an installer would: pip compiles what it installs, but not an editable checkout.
    compileall.compile_dir(Path(condrisk.__file__).parent, quiet=1)
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in (*PROCESSES, SERVE)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for _ in range(repeats):
            for command, words in PROCESSES.items():
                seconds[command].append(timed(words, folder))
            seconds[SERVE].append(served(folder))
    found = {
        name: {
            "wall": round(median(w for w, _ in each), 3),
            "cpu": round(median(c for _, c in each), 3),
        }
        for name, each in seconds.items()
    }
    record = {
        "machine": describe_machine(),
        "versions": installed_versions(),
        "load_average": round(os.getloadavg()[1], 1),
        "repeats": repeats,
        "seconds": found,
    }
    text = json.dumps(record, indent=1)
    if repeats == REPEATS:
        write_whole(RECORD, text + "\n")
    print(text)


def prepare(folder: Path) -> None:
    """Write a small table and a small model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    table = pl.DataFrame(X, schema=[f"x{k}" for k in range(4)])
    table = table.with_columns(y=X[:, 0] + rng.normal(size=240))
    model = fit_table(table[:200], target="y", cost=1.0, predictor="linear")
    reference = model.reference
    save_model(model.model, folder / "model.skops", model.schema, target="y", reference=reference)
    table[200:].write_csv(folder / "rows.csv")


def timed(words: list[str], folder: Path) -> tuple[float, float]:
    """Return the seconds of a process on the wall and on the processor."""
    before, start = _children(), time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start, _children() - before


def served(folder: Path) -> tuple[float, float]:
    """Return the seconds until the service answers, on the wall and on the processor."""
    before, start = _children(), time.perf_counter()
    words = ["-m", "condrisk", "serve", "model.skops", "--port", "0", "--json"]
    process = subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    with urllib.request.urlopen(f"{url}/health") as answer:
        answer.read()
    wall = time.perf_counter() - start
    process.terminate()
    process.wait()
    return wall, _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
