"""Scoring by the million: how much reading, checking and writing cost beside the predictions.

    python -m benchmarks.scoring                    # ten million rows, write results/scoring.json
    python -m benchmarks.scoring --rows 200000      # a small try, written nowhere

The yardstick are two bare loops in memory: ``predict`` of a boosted predictor and ``predict`` of a
boosted risk, a hundred trees each, over the same batches. They are run as scikit-learn does by
itself (each batch on all cores, by OpenMP) and with a batch on each core (as `score_file` does);
the faster of the two counts. Every measurement is a process of its own; bare loops, Parquet and
CSV take turns. Memory is the resident memory of the process and its children, sampled.

Limits, set before the first run: Parquet at least 0.80 and CSV at least 0.60 of the rows a second
of the bare loops, memory below 1 GiB; two Dask workers at least 1.5 times as fast as one; and the
same bytes when a worker is killed half-way.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pyarrow as pa
from pyarrow import parquet
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from condrisk import Deferral, RegressionRisk
from condrisk._cluster import connect
from condrisk._files import write_whole
from condrisk.app.models import open_model
from condrisk.app.scoring import score_file
from condrisk.app.tables import TableWriter, iter_batches, table_schema
from condrisk.paper._records import describe_machine, installed_versions
from condrisk.persistence import save_model

RECORD = Path(__file__).resolve().parents[1] / "results" / "scoring.json"
ROWS = 10_000_000
DASK_ROWS = 2_000_000
COLUMNS = [f"x{k}" for k in range(8)]
ITERATIONS = 100
CHUNK = 1_000_000
# By OpenMP: on a busy machine it is many times slower, as each tree waits for the last thread.
OPENMP_ROWS = 500_000
LIMITS = {"parquet": 0.80, "csv": 0.60, "bytes": 2**30, "dask": 1.5}


# -- rows and model -------------------------------------------------------------------------------


def draw(n_rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(rng.normal(size=(n_rows, len(COLUMNS))), schema=COLUMNS)


def make_model(path: Path) -> None:
    """Save a model of two times a hundred trees, none of them stopped early."""
    rows = draw(20_000, seed=1)
    x = rows.to_numpy()
    noise = np.random.default_rng(2).normal(size=len(x))
    y = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + np.exp(x[:, 3] / 2) * noise
    trees = HistGradientBoostingRegressor(max_iter=ITERATIONS, early_stopping=False, random_state=0)
    risk = RegressionRisk(trees, regressor=trees, cv=2, random_state=0)
    with threadpool_limits(1):
        model = Deferral(risk, cost=2.0).fit(x, y)
    save_model(model, path, table_schema(rows), target="y", reference=(x[:500], y[:500]))


def make_files(folder: Path, n_rows: int, *, stem: str, csv: bool) -> None:
    with TableWriter(folder / f"{stem}.parquet") as writer:
        for start in range(0, n_rows, CHUNK):
            writer.write(draw(min(CHUNK, n_rows - start), seed=100 + start))
    if csv:
        with TableWriter(folder / f"{stem}.csv") as writer:
            for frame in iter_batches(folder / f"{stem}.parquet"):
                writer.write(frame)


# -- what is measured, each in a process of its own -----------------------------------------------


def bare(folder: Path, stem: str) -> dict[str, Any]:
    """Time the two loops over batches in memory."""
    model = open_model(folder / "model.skops")
    predictor, regressor = model.model.risk_.predictor_, model.model.risk_.regressor_
    batches = [frame.to_numpy(order="c") for frame in iter_batches(folder / f"{stem}.parquet")]
    n_rows = sum(len(batch) for batch in batches)

    def both(batch: Any) -> None:
        predictor.predict(batch)
        regressor.predict(batch)

    both(batches[0])
    found: dict[str, Any] = {"rows": n_rows}
    few = batches[: -(-OPENMP_ROWS // len(batches[0]))]
    with timed(found, "openmp", rows=sum(len(batch) for batch in few)):
        for batch in few:
            both(batch)
    with ThreadPoolExecutor(os.cpu_count(), initializer=_one_thread) as pool:
        list(pool.map(both, batches[:4]))
        with timed(found, "batch_per_core", rows=n_rows):
            list(pool.map(both, batches))
    return found


def _one_thread() -> None:
    threadpool_limits(1, user_api="openmp")


class timed:  # noqa: N801 - used like a function
    """Put the seconds of a block, by the clock and of the processor, into a dictionary."""

    def __init__(self, found: dict[str, Any], name: str, **more: Any) -> None:
        self.found, self.name, self.more = found, name, more

    def __enter__(self) -> None:
        self.clock, self.cpu = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.found[self.name] = self.more | {
            "seconds": time.perf_counter() - self.clock,
            "cpu_seconds": time.process_time() - self.cpu,
        }


def score(folder: Path, name: str, output: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with timed(found, "score"):
        summary = score_file(folder / "model.skops", folder / name, folder / output, overwrite=True)
    return found["score"] | {"rows": summary.rows, "score_seconds": summary.seconds}


def dask(folder: Path, name: str, output: str, workers: int, kill: bool) -> dict[str, Any]:
    """Score on a local cluster, and perhaps kill one of its workers half-way."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        with connect(cluster.scheduler_address) as client:
            processes = list(client.run(_ready).values())
        killed: list[int] = []

        def on_progress(rows: int, share: float) -> None:
            if kill and share > 0.4 and not killed:
                os.kill(processes[0], signal.SIGKILL)
                killed.append(rows)

        summary = score_file(
            folder / "model.skops",
            folder / name,
            folder / output,
            engine="dask",
            scheduler=cluster.scheduler_address,
            overwrite=True,
            progress=on_progress,
        )
    return {"rows": summary.rows, "seconds": summary.seconds, "killed_after_rows": killed}


def _ready() -> int:
    """Import on a worker what it will need, so that only scoring is timed."""
    import condrisk.app.scoring  # noqa: F401

    return os.getpid()


CHILDREN: dict[str, Callable[..., dict[str, Any]]] = {"bare": bare, "score": score, "dask": dask}


def child(what: str, folder: Path, **arguments: Any) -> dict[str, Any]:
    """Run a measurement in a process of its own, and watch its memory."""
    command = [sys.executable, "-m", "benchmarks.scoring", "--child", what]
    given = json.dumps({"folder": str(folder), **arguments})
    process = subprocess.Popen([*command, given], stdout=subprocess.PIPE, text=True)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
    watcher.start()
    said, _ = process.communicate()
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{what} {given} ended with {process.returncode}")
    found = json.loads(said.splitlines()[-1]) | {"peak_bytes": peak[0]}
    print(f"{what:6} {arguments}: {json.dumps(found)}", file=sys.stderr, flush=True)
    return found


def _watch(pid: int, peak: list[int]) -> None:
    try:
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            total = 0
            for part in (process, *process.children(recursive=True)):
                try:
                    total += part.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            peak[0] = max(peak[0], total)
            time.sleep(0.05)
    except psutil.NoSuchProcess:
        return


# -- the whole ------------------------------------------------------------------------------------


def same_as_bare(folder: Path, output: str) -> bool:
    """Tell whether the first and the last batch of an output are what the bare loops give."""
    model = open_model(folder / "model.skops")
    file = parquet.ParquetFile(folder / output)
    for group in (0, file.num_row_groups - 1):
        rows = pl.from_arrow(file.read_row_group(group))
        assert isinstance(rows, pl.DataFrame)
        x = rows.select(COLUMNS).to_numpy(order="c")
        prediction = model.model.risk_.predictor_.predict(x)
        if not np.array_equal(prediction, rows["prediction"].to_numpy()):
            return False
    return True


def checksum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def measure(folder: Path, n_rows: int, dask_rows: int, repeats: int) -> dict[str, Any]:
    make_model(folder / "model.skops")
    make_files(folder, n_rows, stem="rows", csv=True)
    make_files(folder, dask_rows, stem="few", csv=False)
    turns: dict[str, list[dict[str, Any]]] = {"bare": [], "parquet": [], "csv": []}
    load = []
    for _ in range(repeats):
        load.append(os.getloadavg()[0])
        turns["bare"].append(child("bare", folder, stem="rows"))
        for kind in ("parquet", "csv"):
            files = {"name": f"rows.{kind}", "output": f"scored.{kind}"}
            turns[kind].append(child("score", folder, **files))
    clusters = []
    for _ in range(repeats):
        for workers in (1, 2):
            arguments = {"name": "few.parquet", "output": f"{workers}.parquet", "kill": False}
            clusters.append(
                child("dask", folder, workers=workers, **arguments) | {"workers": workers}
            )
    files = {"name": "few.parquet", "output": "killed.parquet"}
    killed = child("dask", folder, workers=2, kill=True, **files)
    child("score", folder, name="few.parquet", output="local.parquet")
    same = {
        name: checksum(folder / f"{name}.parquet") == checksum(folder / "local.parquet")
        for name in ("1", "2", "killed")
    }
    return {
        "load_before_each_turn": load,
        "turns": turns,
        "dask": clusters,
        "killed": killed,
        "same_bytes_as_local": same,
        "same_as_bare": same_as_bare(folder, "scored.parquet"),
    }


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return the figures that the limits are about; medians over the turns."""
    turns = found["turns"]

    def rate(kind: str, part: str | None, seconds: str = "seconds") -> float:
        values = [turn if part is None else turn[part] for turn in turns[kind]]
        return statistics.median(value["rows"] / value[seconds] for value in values)

    by_openmp, by_core = rate("bare", "openmp"), rate("bare", "batch_per_core")
    bare_rate = max(by_openmp, by_core)
    cpu = rate("bare", "batch_per_core", "cpu_seconds")
    clusters = {
        workers: statistics.median(
            run["seconds"] for run in found["dask"] if run["workers"] == workers
        )
        for workers in (1, 2)
    }
    return {
        "rows_per_second": {
            "bare_openmp": by_openmp,
            "bare_batch_per_core": by_core,
            "parquet": rate("parquet", None),
            "csv": rate("csv", None),
        },
        "ratio_to_bare": {kind: rate(kind, None) / bare_rate for kind in ("parquet", "csv")},
        "ratio_to_bare_openmp": {kind: rate(kind, None) / by_openmp for kind in ("parquet", "csv")},
        "ratio_of_processor_time": {
            kind: rate(kind, None, "cpu_seconds") / cpu for kind in ("parquet", "csv")
        },
        "peak_bytes": {
            kind: max(turn["peak_bytes"] for turn in turns[kind]) for kind in ("parquet", "csv")
        },
        "dask_two_workers_to_one": clusters[1] / clusters[2],
    }


def verdicts(figures: dict[str, Any], found: dict[str, Any]) -> dict[str, bool]:
    ratios, peaks = figures["ratio_to_bare"], figures["peak_bytes"]
    return {
        "parquet": ratios["parquet"] >= LIMITS["parquet"],
        "csv": ratios["csv"] >= LIMITS["csv"],
        "memory": max(peaks.values()) < LIMITS["bytes"],
        "dask": figures["dask_two_workers_to_one"] >= LIMITS["dask"],
        "killed_worker": all(found["same_bytes_as_local"].values()),
        "predictions": found["same_as_bare"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=2, help="turns that each one takes")
    parser.add_argument("--folder", type=Path, default=None, help="for the rows: a few GB")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "ARGUMENTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        given = json.loads(options.child[1])
        found = CHILDREN[options.child[0]](Path(given.pop("folder")), **given)
        print(json.dumps(found))
        return
    dask_rows = min(DASK_ROWS, options.rows)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measure(Path(folder), options.rows, dask_rows, options.repeats)
    figures = summary(found)
    record = {
        "settings": {
            "rows": options.rows,
            "dask_rows": dask_rows,
            "columns": len(COLUMNS),
            "iterations": ITERATIONS,
            "repeats": options.repeats,
        },
        "limits": LIMITS,
        "figures": figures,
        "kept": verdicts(figures, found),
        "measured": found,
        "machine": describe_machine(),
        "versions": installed_versions() | {"pyarrow": pa.__version__, "polars": pl.__version__},
    }
    print(json.dumps({name: record[name] for name in ("figures", "kept")}, indent=2))
    if options.rows == ROWS:
        write_whole(RECORD, json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
