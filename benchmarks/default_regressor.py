"""The study behind the default regressor: what estimates noisy losses best.

    python -m benchmarks.default_regressor            # run it, write results/default_regressor.json
    python -m benchmarks.default_regressor default    # the same for one regressor, the rest kept
    python -m benchmarks.default_regressor --table    # print the table that the docstring shows

Worlds: share of the variance of the true risk explained on 5,000 fresh rows. Embedded data: mean
squared difference between realised loss and estimate on test rows, relative to the mean loss of
the calibration rows as the estimate; the predictor is fitted on 5/9 of the training rows, the
regressor on the losses of the other 4/9, as in the paper.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

import condrisk
from condrisk.datasets import UCI_NAMES, load_uci, make_heteroscedastic, make_hidden_noise
from condrisk.learners import LossRegressor

RECORD = Path(__file__).resolve().parents[1] / "results" / "default_regressor.json"

REGRESSORS: dict[str, Callable[[int], Any]] = {
    "default": lambda seed: LossRegressor(random_state=seed),
    "forest/1": lambda seed: RandomForestRegressor(random_state=seed),
    "forest/5": lambda seed: RandomForestRegressor(min_samples_leaf=5, random_state=seed),
    "forest/20": lambda seed: RandomForestRegressor(min_samples_leaf=20, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
}
PREDICTORS = {
    "linear": lambda: LinearRegression(),
    "forest": lambda: RandomForestRegressor(random_state=0),
}
WORLDS = {
    "σ² = exp(x₁), d = 5": (make_heteroscedastic, {"n_features": 5}),
    "σ² bounded, d = 1": (make_heteroscedastic, {"n_features": 1, "variance": "bounded"}),
    "hidden noise, d = 5": (make_hidden_noise, {"n_features": 5}),
}
SIZES = (500, 20_000)
SEEDS = range(5)
LARGE = 500_000


def on_worlds(names: list[str]) -> list[dict[str, Any]]:
    """Return the variance of the true risk explained, per world, size, seed and regressor."""
    records = []
    for world_name, (make, options) in WORLDS.items():
        for n_rows in SIZES:
            for seed in SEEDS:
                world = make(n_rows, **options, random_state=seed)
                fresh = world.sample(5000, random_state=seed + 1000)
                loss = (world.y - world.mean(world.X)) ** 2
                truth = fresh.variance(fresh.X)
                for name in names:
                    start = time.perf_counter()
                    estimate = REGRESSORS[name](seed).fit(world.X, loss).predict(fresh.X)
                    explained = 1 - np.mean((estimate - truth) ** 2) / np.var(truth)
                    records.append(
                        {
                            "world": world_name,
                            "rows": n_rows,
                            "seed": seed,
                            "regressor": name,
                            "explained": explained,
                            "seconds": time.perf_counter() - start,
                        }
                    )
            _say(f"{world_name}, {n_rows} rows")
    return records


def on_data(names: list[str]) -> list[dict[str, Any]]:
    """Return the relative squared error, per set, fold, predictor and regressor."""
    records = []
    for set_name in UCI_NAMES:
        data = load_uci(set_name)
        folds = data.folds[:5] if len(data.target) < 3000 else data.folds[:2]
        for fold, (train, test) in enumerate(folds):
            first, second = train_test_split(train, test_size=4 / 9, random_state=42)
            for predictor_name, make in PREDICTORS.items():
                model = make().fit(data.data[first], data.target[first])
                loss = (data.target - model.predict(data.data)) ** 2
                constant = np.mean((loss[test] - loss[second].mean()) ** 2)
                for name in names:
                    regressor = REGRESSORS[name](0).fit(data.data[second], loss[second])
                    estimate = regressor.predict(data.data[test])
                    records.append(
                        {
                            "set": set_name,
                            "fold": fold,
                            "predictor": predictor_name,
                            "regressor": name,
                            "relative": np.mean((loss[test] - estimate) ** 2) / constant,
                        }
                    )
        _say(set_name)
    return records


def on_many_rows() -> dict[str, Any]:
    """Return time and quality of the default on a large world."""
    world = make_heteroscedastic(LARGE, n_features=10, random_state=0)
    fresh = world.sample(5000, random_state=1)
    start = time.perf_counter()
    regressor = LossRegressor(random_state=0).fit(world.X, (world.y - world.mean(world.X)) ** 2)
    seconds = time.perf_counter() - start
    truth = fresh.variance(fresh.X)
    error = np.mean((regressor.predict(fresh.X) - truth) ** 2)
    return {"rows": LARGE, "seconds": seconds, "explained": 1 - error / np.var(truth)}


def table() -> str:
    """Return the table that stands in the docstring of `LossRegressor`."""
    record = json.loads(RECORD.read_text())
    width = max(len(f"{w}, n = {n:,}") for w in WORLDS for n in SIZES)
    lines = [f"{'':{width}}" + "".join(f"{name:>11}" for name in REGRESSORS)]
    lines.append("Variance of the true risk explained (mean of five seeds)")
    for world in WORLDS:
        for n_rows in SIZES:
            chosen = [r for r in record["worlds"] if (r["world"], r["rows"]) == (world, n_rows)]
            cells = [_mean(chosen, name, "explained") for name in REGRESSORS]
            label = f"{world}, n = {n_rows:,}"
            lines.append(f"{label:{width}}" + "".join(f"{cell:11.2f}" for cell in cells))
    lines.append("Squared error on embedded data, relative to a constant (geometric mean)")
    for set_name in [*UCI_NAMES, "all"]:
        chosen = [r for r in record["data"] if set_name in (r["set"], "all")]
        cells = [_geometric(chosen, name) for name in REGRESSORS]
        lines.append(f"{set_name:{width}}" + "".join(f"{cell:11.2f}" for cell in cells))
    many = record["many"]
    lines.append(
        f"{many['rows']:,} rows of 10 features: {many['seconds']:.0f} s on one core, "
        f"{many['explained']:.2f} of the variance explained"
    )
    return "\n".join(line.rstrip() for line in lines)


def _mean(records: list[dict[str, Any]], name: str, key: str) -> float:
    return float(np.mean([r[key] for r in records if r["regressor"] == name]))


def _geometric(records: list[dict[str, Any]], name: str) -> float:
    """Return the geometric mean, each set counting the same."""
    sets = sorted({r["set"] for r in records})
    logs = [
        np.mean([np.log(r["relative"]) for r in records if (r["set"], r["regressor"]) == (s, name)])
        for s in sets
    ]
    return float(np.exp(np.mean(logs)))


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def main(names: list[str]) -> None:
    """Run the study and write its record whole or not at all."""
    old = json.loads(RECORD.read_text()) if RECORD.exists() else {"data": [], "worlds": []}
    kept = {
        part: [line for line in old[part] if line["regressor"] not in names]
        for part in ("data", "worlds")
    }
    record = {
        "versions": {
            "python": platform.python_version(),
            "condrisk": condrisk.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        "config": {"seeds": list(SEEDS), "sizes": SIZES, "large": LARGE},
        "many": on_many_rows(),
        "data": on_data(names) + kept["data"],
        "worlds": on_worlds(names) + kept["worlds"],
    }
    draft = RECORD.with_suffix(".draft")
    draft.write_text(json.dumps(record, indent=0) + "\n")
    draft.replace(RECORD)


if __name__ == "__main__":
    if "--table" not in sys.argv[1:]:
        main([name for name in REGRESSORS if name in sys.argv[1:]] or list(REGRESSORS))
    print(table())
