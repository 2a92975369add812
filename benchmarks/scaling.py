"""What fitting and estimating cost, from a thousand rows to a million.

Three parts, each recorded in ``results/scaling.json``:

* ``ratios``: a million rows of 20 columns, and a tenth of them. A boosted predictor cross-fitted
  and refitted is the unit, which every user pays; beside it the risk estimators around the same
  predictor, and boosting on its losses, the ten lines a user would write. g is compared with the
  true one: the variance of the noise, or the chance that the answer is wrong.
* ``budgets``: `AutoRisk` with budgets of 10, 60 and 300 seconds at 1e4, 1e5 and 1e6 rows, for a
  predictor that is given and for one that is built. A budget is kept within a fifth.
* ``sizes``: seconds and memory of the learners beside one fit of boosting, for 1e3 to 1e6 rows and
  10 to 1,000 columns, as far as the rows take no more than 1 GB.

Every measurement has a process of its own, so that its peak of memory is its own, and two cores of
its own. On a machine with many cores, ``--pairs 7`` makes seven measurements at once. What else the
machine had to do shows in the load, which is kept beside each budget. Budgets and sizes that are
in the record already are not measured again; a part that is to be is taken out of it.

Run ``python -m benchmarks.scaling [--pairs N] [ratios] [budgets] [sizes]``; without names, all.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import queue
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from condrisk import AutoRisk, PlugInRisk, RegressionRisk
from condrisk._files import write_whole
from condrisk.learners import DistributionRegressor, LossRegressor
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).resolve().parents[1] / "results" / "scaling.json"
MILLION, COLUMNS, FRESH = 1_000_000, 20, 50_000
BUDGETS, BUDGET_ROWS = (10, 60, 300), (10_000, 100_000, 1_000_000)
SIZES = [(n, d) for n in (1_000, 10_000, 100_000, 1_000_000) for d in (10, 100, 1_000)]
LARGEST = 1e9  # bytes of X


def world(n: int, d: int, seed: int) -> tuple[Any, Any, Any]:
    """Return rows, targets, and their true mean and variance, none of them simple."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    mean = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.5 * X[:, 3:8].sum(axis=1)
    variance = 0.2 + (X[:, 0] > 0) * X[:, 1] ** 2 + np.abs(X[:, 2]) * np.exp(-(X[:, 3] ** 2))
    return X, mean + np.sqrt(variance) * rng.normal(size=n), (mean, variance)


def class_world(n: int, d: int, seed: int) -> tuple[Any, Any, Any]:
    """Return rows, two classes and the probability of the second one."""
    X, _, (_, variance) = world(n, d, seed)
    score = 2 * np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 3:8].sum(axis=1)
    chance = 1 / (1 + np.exp(-score / np.sqrt(variance)))
    drawn = np.random.default_rng(seed + 1000).uniform(size=n) < chance
    return X, drawn.astype(np.intp), chance


def predictor() -> Any:
    """Return the regressor whose risk is estimated."""
    return HistGradientBoostingRegressor(random_state=0)


def classifier() -> Any:
    """Return the classifier whose risk is estimated."""
    return HistGradientBoostingClassifier(random_state=0)


class OwnLines:
    """What a user would write: out-of-fold losses, and boosting on them."""

    def __init__(self, predictor: Any, method: str = "predict", *, learn: bool) -> None:
        self.predictor, self.method, self.learn = predictor, method, learn

    def fit(self, X: Any, y: Any) -> OwnLines:
        """Cross-fit, refit, and learn the losses."""
        # Shuffled, as those of the estimators are: other folds give other losses to learn from.
        folds = (KFold if self.method == "predict" else StratifiedKFold)(
            5, shuffle=True, random_state=0
        )
        found = cross_val_predict(self.predictor, X, y, cv=folds, method=self.method)
        self.predictor_ = clone(self.predictor).fit(X, y)
        if self.learn:
            right = found[:, 1] > 0.5 if found.ndim == 2 else found
            loss = (y - right) ** 2
            self.risk_ = HistGradientBoostingRegressor(random_state=0).fit(X, loss)
        return self

    def predict(self, X: Any) -> Any:
        """Return the predictor's answers."""
        return self.predictor_.predict(X)

    def predict_risk(self, X: Any) -> Any:
        """Return the estimates of the losses."""
        return self.risk_.predict(X)


UNIT, LINES = "cross_val_predict and refit", "the same, and boosting on the losses"
Makers = dict[str, Callable[[], Any]]
ESTIMATORS: Makers = {
    UNIT: lambda: OwnLines(predictor(), learn=False),
    LINES: lambda: OwnLines(predictor(), learn=True),
    "RegressionRisk": lambda: RegressionRisk(predictor(), random_state=0),
    "PlugInRisk": lambda: PlugInRisk(predictor(), random_state=0),
    "AutoRisk": lambda: AutoRisk(predictor(), random_state=0),
    "AutoRisk, built": lambda: AutoRisk(task="regression", random_state=0),
}
CLASSIFIERS: Makers = {
    UNIT: lambda: OwnLines(classifier(), "predict_proba", learn=False),
    LINES: lambda: OwnLines(classifier(), "predict_proba", learn=True),
    "RegressionRisk": lambda: RegressionRisk(classifier(), random_state=0),
    "PlugInRisk": lambda: PlugInRisk(classifier(), random_state=0),
    "AutoRisk": lambda: AutoRisk(classifier(), random_state=0),
}
TASKS = {"regression": ESTIMATORS, "classification": CLASSIFIERS}
LEARNERS: dict[str, Callable[[], Any]] = {
    "boosting": predictor,
    "LossRegressor": lambda: LossRegressor(random_state=0),
    "DistributionRegressor": lambda: DistributionRegressor(random_state=0),
}


def peak() -> float:
    """Return the peak of this process's memory so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def measured(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Fit; return seconds, processor seconds and the memory that was needed beside the rows."""
    before, wall, cpu = peak(), time.perf_counter(), time.process_time()
    model.fit(X, y)
    return {
        "seconds": time.perf_counter() - wall,
        "processor": time.process_time() - cpu,
        "bytes": peak() - before,
    }


def one_ratio(task: str, name: str, n: int) -> dict[str, Any]:
    """Measure one estimator on rows of a world."""
    make = world if task == "regression" else class_world
    X, y, _ = make(n, COLUMNS, 0)
    fresh, _, law = make(FRESH, COLUMNS, 1)
    model = TASKS[task][name]()
    found = measured(model, X, y) | {"bytes of X": float(X.nbytes)}
    if name != UNIT:
        found |= _quality(model, fresh, law)
        found["megabytes on disk"] = len(pickle.dumps(model)) / 1e6
    if isinstance(model, AutoRisk):
        found["predict_risk in predictions"] = _in_predictions(model, fresh)
        found["parts"] = model.seconds_
    return found


def _quality(model: Any, X: Any, law: Any) -> dict[str, float]:
    """Return how g goes with the true risk of the predictor, and with the variance of the noise."""
    answer, risk = model.predict(X), model.predict_risk(X)
    if not isinstance(law, tuple):
        return {"correlation": float(np.corrcoef(risk, np.abs(answer - law))[0, 1])}
    mean, variance = law
    truth = (answer - mean) ** 2 + variance
    return {
        "correlation": float(np.corrcoef(risk, truth)[0, 1]),
        "correlation with the variance": float(np.corrcoef(risk, variance)[0, 1]),
    }


def _in_predictions(model: AutoRisk, X: Any) -> float:
    """Return what `predict_risk` takes, in predictions of the predictor and of the second model."""
    second = model.second_model_ if model.task_ == "classification" else model.distribution_.mean_
    parts = [model.predictor_] if model.predictor is None else [model.predictor_, second]
    base = sum(min(_seconds(part.predict, X) for _ in range(3)) for part in parts)
    return min(_seconds(model.predict_risk, X) for _ in range(3)) / base


def _seconds(call: Callable[[Any], Any], X: Any) -> float:
    start = time.perf_counter()
    call(X)
    return time.perf_counter() - start


def one_budget(name: str, budget: float, n: int) -> dict[str, Any]:
    """Measure `AutoRisk` with a budget, without the cross-fitting of a given predictor."""
    X, y, _ = world(n, COLUMNS, 0)
    fresh, _, law = world(FRESH, COLUMNS, 1)
    model = ESTIMATORS[name]().set_params(time_budget=budget)
    found = measured(model, X, y)
    outside = model.seconds_.get("predictor", 0.0)
    return {
        "estimator": name,
        "rows": n,
        "budget": budget,
        "seconds": found["seconds"] - outside,
        "left out": [part for part, took in model.seconds_.items() if not took],
        "load": os.getloadavg()[0],
    } | _quality(model, fresh, law)


def one_size(name: str, n: int, d: int) -> dict[str, Any]:
    """Measure one learner: losses are what it learns."""
    X, y, _ = world(n, d, 0)
    target = y if name == "DistributionRegressor" else (y - y.mean()) ** 2
    return {"learner": name, "rows": n, "columns": d} | measured(LEARNERS[name](), X, target)


Job = tuple[Any, ...]


def measure(jobs: Sequence[Job], pairs: int) -> dict[Job, dict[str, Any]]:
    """Make measurements, the longest ones first, as many at once as there are pairs of cores."""
    free: queue.SimpleQueue[str] = queue.SimpleQueue()
    for pair in range(pairs):
        free.put(f"{2 * pair},{2 * pair + 1}")

    def one(job: Job) -> dict[str, Any]:
        cores = free.get()
        try:
            return in_a_process(cores, *job)
        finally:
            free.put(cores)

    order = sorted(jobs, key=lambda job: [k for k in job if isinstance(k, int)], reverse=True)
    with ThreadPoolExecutor(pairs) as pool:
        return dict(zip(order, pool.map(one, order), strict=True))


def in_a_process(cores: str, kind: str, *arguments: Any) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = ["taskset", "-c", cores, sys.executable, "-m", "benchmarks.scaling"]
    command += ["--one", kind, json.dumps(arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(kind, *arguments, {k: v for k, v in found.items() if k != "parts"}, flush=True)
    return found


def ratios(pairs: int, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every estimator at a million rows, and the sizes of models at a tenth of it.

    They are measured in one run: a ratio of two runs would be one of two machines.
    """
    found: dict[str, Any] = {}
    settings = [(task, n) for task in TASKS for n in (MILLION, MILLION // 10)]
    jobs = [("ratio", task, name, n) for task, n in settings for name in TASKS[task]]
    measured = measure(jobs, pairs)
    for task, n in settings:
        cells = {name: measured["ratio", task, name, n] for name in TASKS[task]}
        unit = cells[UNIT]
        for figures in cells.values():
            figures["ratio"] = figures["seconds"] / unit["seconds"]
            figures["ratio of processor time"] = figures["processor"] / unit["processor"]
            more = figures["bytes"] - unit["bytes"]
            figures["memory in X"] = more / figures["bytes of X"]
        found[f"{task}, {n:,} rows"] = cells
    yield found


def budgets(pairs: int, known: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield what budgets led to, some more each time."""
    jobs = [
        ("budget", name, budget, n)
        for budget in BUDGETS
        for name in ("AutoRisk", "AutoRisk, built")
        for n in BUDGET_ROWS
    ]
    done = {("budget", c["estimator"], c["budget"], c["rows"]): c for c in known}
    yield from one_after_the_other(jobs, done, pairs)


def sizes(pairs: int, known: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield seconds and memory by rows and columns, some more each time."""
    jobs = [("size", name, n, d) for n, d in SIZES if 8 * n * d <= LARGEST for name in LEARNERS]
    done = {("size", c["learner"], c["rows"], c["columns"]): c for c in known}
    yield from one_after_the_other(jobs, done, pairs)


def one_after_the_other(
    jobs: Sequence[Job], done: dict[Job, dict[str, Any]], pairs: int
) -> Iterator[list[dict[str, Any]]]:
    """Make the measurements that are missing, and yield all that are there after each few."""
    missing = [job for job in jobs if job not in done]
    for start in range(0, len(missing), pairs):
        done |= measure(missing[start : start + pairs], pairs)
        yield [done[job] for job in jobs if job in done]


PARTS = {"ratios": ratios, "budgets": budgets, "sizes": sizes}
ONE = {"ratio": one_ratio, "budget": one_budget, "size": one_size}


def main() -> None:
    """Run parts and write them into the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {list(PARTS)}; all")
    parser.add_argument("--pairs", type=int, default=1, help="measurements at once")
    arguments = parser.parse_args()
    for name in arguments.parts or list(PARTS):
        record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
        for found in PARTS[name](arguments.pairs, record.get(name, [])):
            record |= {
                "at once": arguments.pairs,
                "machine": describe_machine(),
                "versions": installed_versions(),
                name: found,
            }
            write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(ONE[sys.argv[2]](*json.loads(sys.argv[3]))))
    else:
        main()
