"""Fitting on a cluster: memory of each process, two workers beside one, and the same risk.

    python -m benchmarks.cluster large       # ten million rows on two workers of 4 GB
    python -m benchmarks.cluster speed       # one worker and two, in turns
    python -m benchmarks.cluster speed-large # the same with three times as many rows
    python -m benchmarks.cluster agreement   # beside the same learners in memory

Each part is put into results/cluster.json as it ends. Every fit is a process of its own, which
starts a Dask cluster of workers with one thread each; memory is the resident memory of each
process, sampled. In memory the same learners are `RegressionRisk` of LightGBM's own estimators, on
the rows and the folds of the cluster.

Limits, set before the first run: no process above 4 GB; two workers at least 1.3 times as fast as
one; the mean of g on new rows within 1 % of that in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil

from condrisk._files import write_whole
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "cluster.json"
LIMITS = {"bytes": 4_000_000_000, "two_workers_to_one": 1.3, "agreement": 0.01}
ROWS = {
    "large": 10_000_000,
    "speed": 1_000_000,
    "speed-large": 3_000_000,
    "agreement": 1_000_000,
}
COLUMNS = 20
FILE_ROWS = 50_000
REPEATS = 2
TEST_ROWS = 50_000
PACKAGES = ("lightgbm", "dask", "distributed", "pyarrow", "polars")


# -- rows ------------------------------------------------------------------------------------------


def draw(n_rows: int, n_columns: int, seed: int) -> tuple[Any, Any, Any]:
    """Return rows, the mean of their targets and the variance."""
    X = np.random.default_rng([seed, 0]).normal(size=(n_rows, n_columns))
    mean = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + X[:, 3]
    return X, mean, np.exp(X[:, 3] + np.abs(X[:, 4]) / 2)


def targets(mean: Any, variance: Any, seed: int) -> Any:
    noise = np.random.default_rng([seed, 1]).normal(size=len(mean))
    return mean + np.sqrt(variance) * noise


def make_files(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write files of fifty thousand rows."""
    folder.mkdir()
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        size = min(FILE_ROWS, n_rows - start)
        X, mean, variance = draw(size, n_columns, seed=number)
        columns = {f"x{k}": X[:, k] for k in range(n_columns)}
        frame = pl.DataFrame({**columns, "y": targets(mean, variance, number)})
        frame.write_parquet(folder / f"part-{number:04d}.parquet")


# -- what is measured, each in a process of its own -----------------------------------------------


def fit(folder: Path, workers: int, model: str) -> dict[str, Any]:
    """Fit on a cluster of this machine, and save the model."""
    from distributed import LocalCluster

    from condrisk.app.models import fit_parquet
    from condrisk.persistence import save_model

    steps: dict[str, float] = {}
    notes: list[str] = []
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit="4GB",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        begun = time.perf_counter()

        def on_progress(what: str) -> None:
            name = what.split(", tree")[0]
            if name not in steps:
                steps[name] = time.perf_counter() - begun
                print(f"{steps[name]:7.0f} s  {name}", file=sys.stderr, flush=True)

        found = fit_parquet(
            folder / "rows",
            target="y",
            cost=2.0,
            scheduler=cluster.scheduler_address,
            progress=on_progress,
            note=notes.append,
        )
        seconds = time.perf_counter() - begun
    save_model(
        found.model, folder / model, found.schema, target=found.target, reference=found.reference
    )
    return {"seconds": seconds, "steps": steps, "notes": notes, "workers": workers}


def compare(folder: Path, model: str) -> dict[str, Any]:
    """Fit the same learners in memory to the rows that a cluster fitted on; compare g."""
    from lightgbm import LGBMRegressor
    from sklearn.model_selection import PredefinedSplit

    from condrisk import RegressionRisk
    from condrisk.app.models import open_model
    from condrisk.app.models._cluster._fit import (
        FOR_RULE_SHARE,
        MOST_ROWS_APART,
        PREDICTOR,
        RISK,
    )
    from condrisk.app.models._cluster._rows import N_FOLDS, Recipe
    from condrisk.app.models._cluster._source import open_source
    from condrisk.losses import get_loss

    there = open_model(folder / model).model.risk_
    source = open_source(folder / "rows")
    no_bins: Any = None  # what follows does not need them
    most = MOST_ROWS_APART / source.n_rows
    shares = min(FOR_RULE_SHARE, most), min(0.2, most)
    recipe = Recipe(
        open_model(folder / model).schema,
        "y",
        "regression",
        None,
        get_loss("squared_error"),
        *shares,
        0,
        no_bins,
    )
    rows = [recipe.read(part, tuple(range(N_FOLDS))) for part in source.parts]
    X, y, fold = (np.concatenate(column) for column in zip(*rows, strict=True))
    quiet = {"verbosity": -1, "random_state": 0, "n_jobs": 1}
    begun = time.perf_counter()
    here = RegressionRisk(
        LGBMRegressor(**PREDICTOR, **quiet),
        regressor=LGBMRegressor(**RISK, **quiet),
        cv=PredefinedSplit(fold),
        random_state=0,
    ).fit(X, y)
    seconds = time.perf_counter() - begun
    X_new, mean, variance = draw(TEST_ROWS, X.shape[1], seed=10**6)
    g = {"cluster": there.predict_risk(X_new), "memory": here.predict_risk(X_new)}
    truth = {
        name: variance + (risk.predict(X_new) - mean) ** 2
        for name, risk in (("cluster", there), ("memory", here))
    }
    level = float(g["memory"].mean())
    return {
        "rows_fitted_on": len(y),
        "seconds_in_memory": seconds,
        "mean_g": {name: float(values.mean()) for name, values in g.items()},
        "difference_of_means": float(g["cluster"].mean() / level - 1),
        "mean_difference_by_row": float(np.abs(g["cluster"] - g["memory"]).mean() / level),
        "correlation": float(np.corrcoef(g["cluster"], g["memory"])[0, 1]),
        "mean_error_of_g": {
            name: float(np.abs(g[name] - truth[name]).mean() / level) for name in g
        },
    }


CHILDREN: dict[str, Callable[..., dict[str, Any]]] = {"fit": fit, "compare": compare}


def child(what: str, folder: Path, **arguments: Any) -> dict[str, Any]:
    """Run a measurement in a process of its own, and watch the memory of all its processes."""
    given = json.dumps({"folder": str(folder), **arguments})
    command = [sys.executable, "-m", "benchmarks.cluster", "--child", what, given]
    load = os.getloadavg()[0]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peaks: dict[int, int] = {}
    watcher = threading.Thread(target=_watch, args=(process.pid, peaks), daemon=True)
    watcher.start()
    said, _ = process.communicate()
    watcher.join()
    if process.returncode:
        raise RuntimeError(f"{what} {given} ended with {process.returncode}")
    own = peaks.pop(process.pid)
    # Beside the workers there are small processes that Python starts for them.
    others = sorted(peaks.values(), reverse=True)[: arguments.get("workers", 0)]
    memory = {"client_and_scheduler": own, "workers": others}
    return json.loads(said.splitlines()[-1]) | {"peak_bytes": memory, "load_before": load}


def _watch(pid: int, peaks: dict[int, int]) -> None:
    try:
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            for part in (process, *process.children(recursive=True)):
                try:
                    peaks[part.pid] = max(peaks.get(part.pid, 0), part.memory_info().rss)
                except psutil.NoSuchProcess:
                    continue
            time.sleep(0.05)
    except psutil.NoSuchProcess:
        return


# -- the whole ------------------------------------------------------------------------------------


def large(folder: Path) -> dict[str, Any]:
    return {"fit": child("fit", folder, workers=2, model="model.skops")}


def speed(folder: Path) -> dict[str, Any]:
    turns = [
        child("fit", folder, workers=workers, model="model.skops")
        for _ in range(REPEATS)
        for workers in (1, 2)
    ]
    best = {
        workers: min(turn["seconds"] for turn in turns if turn["workers"] == workers)
        for workers in (1, 2)
    }
    return {"turns": turns, "two_workers_to_one": best[1] / best[2]}


def agreement(folder: Path) -> dict[str, Any]:
    fitted = child("fit", folder, workers=2, model="model.skops")
    return {"fit": fitted, "compared": child("compare", folder, model="model.skops")}


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "large": large,
    "speed": speed,
    "speed-large": speed,
    "agreement": agreement,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--rows", type=int, help="fewer than usual")
    parser.add_argument("--columns", type=int, default=COLUMNS)
    parser.add_argument("--folder", type=Path, default=None, help="for the rows: a few GB")
    parser.add_argument("--child", nargs=2, metavar=("NAME", "ARGUMENTS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        what, arguments = given.child
        told = json.loads(arguments)
        print(json.dumps(CHILDREN[what](Path(told.pop("folder")), **told)))
        return
    if given.part is None:
        parser.error("name a part")
    n_rows = given.rows or ROWS[given.part]
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        make_files(Path(name) / "rows", n_rows, given.columns)
        found = PARTS[given.part](Path(name))
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"limits": LIMITS}
    record[given.part] = {
        "rows": n_rows,
        "columns": given.columns,
        "bytes_as_float64": 8 * n_rows * (given.columns + 1),
        "machine": describe_machine(),
        "versions": installed_versions() | {name: version(name) for name in PACKAGES},
        **found,
    }
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")
    print(json.dumps(record[given.part], indent=1))


if __name__ == "__main__":
    main()
