"""What `monitor` costs beside `score` on the same rows: processor time, and the memory at its peak.

    python -m benchmarks.monitor_cost [rows ...]    # writes results/monitor_cost.json

The model is that of `condrisk fit` with its defaults on 20,000 rows of eight columns. The tables
are Parquet, with labels; each command runs once, in a process of its own.
Aims, set before the first run: processor time at most 1.3 times that of `score`, and no more memory
for ten times the rows, up to 10,000,000 of them (at most a tenth more).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from condrisk._files import write_whole
from condrisk.app.models import fit_table
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.persistence import save_model

RECORD = Path(__file__).resolve().parents[1] / "results" / "monitor_cost.json"
ROWS = (100_000, 1_000_000, 10_000_000)
N_COLUMNS = 8


def draw(n: int, seed: int) -> pl.DataFrame:
    """Return rows whose noise depends on a column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS)).round(4)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + np.exp(0.6 * X[:, 2]) * rng.normal(size=n)
    return pl.DataFrame({f"x{k}": X[:, k] for k in range(N_COLUMNS)} | {"y": y})


def write_rows(path: Path, n: int) -> None:
    """Write a table part by part, so that it need not fit into memory."""
    import pyarrow.parquet as pq

    writer = None
    for k, start in enumerate(range(0, n, 500_000)):
        part = draw(min(500_000, n - start), 100 + k).to_arrow()
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def measure(*arguments: str) -> dict[str, float]:
    """Run a command; return its processor time and its memory at the peak."""
    code = (
        "import os, sys; from condrisk.app.cli import app\\n"
        "try:\\n    app(sys.argv[1:])\\nexcept SystemExit as end:\\n    assert not end.code\\n"
        "used, status = os.times(), open('/proc/self/status').read()\\n"
        "peak = 1024 * int(status.split('VmHWM:')[1].split()[0])\\n"
        "print('USED', used.user + used.system, peak)"
    ).replace("\\n", "\n")
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = (part for part in done.stdout.splitlines() if part.startswith("USED"))
    _, seconds, peak = line.split()
    return {"cpu_seconds": float(seconds), "peak_bytes": float(peak)}


def main(sizes: tuple[int, ...]) -> None:
    """Measure both commands at each size."""
    content: dict[str, Any] = {
        "versions": installed_versions(),
        "machine": describe_machine(),
        "columns": N_COLUMNS,
        "lines": [],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = fit_table(draw(20_000, 0), target="y", cost=1.0)
        save_model(
            model.model,
            folder / "m.skops",
            model.schema,
            target="y",
            reference=model.reference,
        )
        for n in sizes:
            table = folder / f"{n}.parquet"
            write_rows(table, n)
            line: dict[str, Any] = {"rows": n}
            outputs = {"score": folder / "scored.parquet", "monitor": folder / "monitored"}
            for command, output in outputs.items():
                options = ["--overwrite", "-q", "-o", str(output)]
                line[command] = measure(command, str(folder / "m.skops"), str(table), *options)
            line["ratio"] = line["monitor"]["cpu_seconds"] / line["score"]["cpu_seconds"]
            content["lines"].append(line)
            write_whole(RECORD, json.dumps(content) + "\n")
            print(json.dumps(line), file=sys.stderr, flush=True)
            os.unlink(table)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or ROWS)
