"""The alarm of monitoring: false ones from fit to monitor, and how soon real ones come.

    pip install mapie==1.6.0 condrisk[app]      # in an environment of its own: no dependency
    python -m benchmarks.alarm level            # writes results/alarm_level.json
    python -m benchmarks.alarm power            # writes results/alarm_power.json

Written down before the first run.

Level, end to end. In each of eight worlds a model is fitted on 400 rows, 100 further rows are kept
back and are its reference, and 2,000 new rows of the same world are monitored in 20 chunks, with
`false_alarms=0.05`. Everything is drawn anew in each of `runs` runs. The model is quick, so that
there can be many: `RegressionRisk` of a linear predictor with a linear regressor, two folds.
Worlds: squared errors that are normal, heteroscedastic, of Student's t with 3 degrees of freedom,
with 1 % outliers of 20 standard deviations, and these with a cap; wrong answers of a classifier,
where 20 % and where 1 % are wrong; its Brier scores. In addition
`fit_table(predictor="linear")` as the command runs it, on 500 rows with 1 % outliers, in
`command_runs` runs. Counted: runs with an alarm; the interval is Clopper and Pearson's. It
goes on in rounds of 25 runs of each world, and the record says how many there were.

Power. Losses grow by a factor from the first new row on: 0/1 losses with a risk of 0.1 (500
reference rows and × 1.5; 100 and × 2), 0/1 losses of different risks, and squared errors, normal
and heavy-tailed, with the true risk before. 2,000 new rows in 20 chunks, `power_runs` runs. Beside
it the test of two samples that looks once, after the last row, at the same reference and new rows:
the difference of their mean excess over its standard error, with the critical value that it needs
in this world for the level of 5 % (from as many runs without a change). And MAPIE's risk monitoring
for 0/1 losses: test_level 0.05, tolerance 0, same reference and rows, `mapie_runs` runs.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression

from condrisk import RegressionRisk
from condrisk._files import write_whole
from condrisk.app.models import fit_table, open_model
from condrisk.app.monitor import Reference, loss_alarm, monitor
from condrisk.inference import binomial_interval
from condrisk.paper._records import describe_machine, installed_versions

RESULTS = Path(__file__).resolve().parents[1] / "results"
Floats = NDArray[np.float64]

CONFIG: dict[str, Any] = {
    "runs": 1000,
    "round": 25,
    "command_runs": 100,
    "command_round": 5,
    "power_runs": 300,
    "mapie_runs": 20,
    "fit_rows": 400,
    "held_rows": 100,
    "new_rows": 2000,
    "chunk_rows": 100,
    "level": 0.05,
    "seed": 21,
}

# -- level ----------------------------------------------------------------------------------------

LEVEL_WORLDS: dict[str, dict[str, Any]] = {
    "normal": {"loss": "squared_error"},
    "heteroscedastic": {"loss": "squared_error"},
    "t3": {"loss": "squared_error"},
    "outliers": {"loss": "squared_error"},
    "outliers, cap": {"loss": "squared_error", "cap": 25.0},
    "20 % wrong": {"loss": "zero_one"},
    "1 % wrong": {"loss": "zero_one"},
    "Brier": {"loss": "brier"},
}


def draw(world: str, n: int, rng: Any) -> tuple[Floats, NDArray[Any]]:
    """Return features and targets of a world."""
    X = rng.normal(size=(n, 3))
    if world in ("20 % wrong", "1 % wrong", "Brier"):
        if world == "1 % wrong":
            flipped = rng.random(n) < 0.01
            return X, np.where((X[:, 0] > 0) ^ flipped, "yes", "no")
        chance = 1 / (1 + np.exp(-2 * X[:, 0]))
        return X, np.where(rng.random(n) < chance, "yes", "no")
    noise = {
        "normal": lambda: rng.normal(size=n),
        "heteroscedastic": lambda: np.exp(0.7 * X[:, 1]) * rng.normal(size=n),
        "t3": lambda: rng.standard_t(3, size=n),
    }.get(world, lambda: rng.normal(size=n) * np.where(rng.random(n) < 0.01, 20.0, 1.0))()
    return X, X[:, 0] + noise


def level_run(world: str, rng: Any) -> bool:
    """Fit, keep rows back, monitor; return whether there was an alarm."""
    about = LEVEL_WORLDS[world]
    classes = about["loss"] != "squared_error"
    predictor = LogisticRegression() if classes else LinearRegression()
    risk = RegressionRisk(
        predictor, loss=about["loss"], regressor=LinearRegression(), cv=2, random_state=0
    )
    X, y = draw(world, CONFIG["fit_rows"], rng)
    risk.fit(X, y)
    kept = draw(world, CONFIG["held_rows"], rng)
    model = open_model(risk, schema=X, target="y", reference=kept)
    new = draw(world, CONFIG["new_rows"], rng)
    found = monitor(
        model,
        [new],
        rows=CONFIG["chunk_rows"],
        false_alarms=CONFIG["level"],
        cap=about.get("cap"),
    )
    return found.alarm is not None


def command_run(rng: Any) -> bool:
    """Do the same as the commands do, with outliers."""

    def table(n: int) -> pl.DataFrame:
        X, y = draw("outliers", n, rng)
        return pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y})

    model = fit_table(table(500), target="y", cost=1.0, predictor="linear")
    found = monitor(model, table(CONFIG["new_rows"]), rows=CONFIG["chunk_rows"])
    return found.alarm is not None


def counted(name: str, runs: int, alarms: int) -> dict[str, Any]:
    """Return how many runs had an alarm, with an interval."""
    found = binomial_interval(alarms, runs, confidence=0.95)
    line = {"world": name, "runs": runs, "alarms": alarms}
    return line | {"low": float(found.lower), "high": float(found.upper)}


# -- power ----------------------------------------------------------------------------------------

POWER_WORLDS: list[dict[str, Any]] = [
    {"kind": "0/1, risk 0.1", "reference": 500, "factor": 1.5},
    {"kind": "0/1, risk 0.1", "reference": 100, "factor": 2.0},
    {"kind": "0/1, risks differ", "reference": 500, "factor": 1.5},
    {"kind": "squared, normal", "reference": 500, "factor": 1.3},
    {"kind": "squared, normal", "reference": 100, "factor": 1.6},
    {"kind": "squared, t5", "reference": 500, "factor": 1.5},
]


def losses(kind: str, n: int, rng: Any, factor: float) -> tuple[Floats, Floats]:
    """Return risks, and losses whose mean is `factor` times the risk."""
    g = np.exp(0.7 * rng.normal(size=n))
    if kind.startswith("0/1"):
        risk = np.full(n, 0.1) if kind.endswith("0.1") else np.minimum(g / 10, 0.45)
        return risk, (rng.random(n) < np.minimum(factor * risk, 1)).astype(float)
    if kind.endswith("t5"):
        return g, factor * g * 0.6 * rng.standard_t(5, size=n) ** 2
    return g, factor * g * rng.normal(size=n) ** 2


def power_run(world: dict[str, Any], factor: float, rng: Any) -> tuple[float, float, Any]:
    """Return after how many rows our alarm came, the statistic of the one look, and the losses."""
    kind, n, size = world["kind"], CONFIG["new_rows"], CONFIG["chunk_rows"]
    old = losses(kind, world["reference"], rng, 1.0)
    new = losses(kind, n, rng, factor)
    maximum = 1.0 if kind.startswith("0/1") else np.inf
    chunks = np.split(np.arange(n), n // size)
    found = loss_alarm(new[1], new[0], chunks, Reference.from_rows(*old), maximum=maximum)
    rows = np.inf if found.first is None else (found.first + 1) * size
    before, after = old[1] - old[0], new[1] - new[0]
    error = np.sqrt(before.var(ddof=1) / len(before) + after.var(ddof=1) / len(after))
    return rows, float((after.mean() - before.mean()) / error), (old[1], new[1])


def mapie_rows(old: Floats, new: Floats) -> float:
    """Return after how many rows MAPIE's risk monitoring warns."""
    from mapie.exchangeability_testing import RiskMonitoring

    size = CONFIG["chunk_rows"]
    watch = RiskMonitoring(risk="accuracy", test_level=CONFIG["level"], tolerance=0.0, warn=False)
    # Its risk for accuracy is the share of wrong answers.
    watch.compute_threshold(np.ones(len(old), dtype=int), 1 - old.astype(int))
    for end in range(size, len(new) + 1, size):
        part = new[end - size : end].astype(int)
        watch.update(np.ones(size, dtype=int), 1 - part)
        if watch.harmful_shift_detected:
            return end
    return np.inf


def power(world: dict[str, Any]) -> dict[str, Any]:
    """Return the line of a world."""
    rng = np.random.default_rng([CONFIG["seed"], 1])
    n = CONFIG["power_runs"]
    quiet = [power_run(world, 1.0, rng) for _ in range(n)]
    loud = [power_run(world, world["factor"], rng) for _ in range(n)]
    rows = np.array([run[0] for run in loud])
    critical = float(np.quantile([run[1] for run in quiet], 1 - CONFIG["level"]))
    line = world | {
        "alarms_without_change": int(np.isfinite([run[0] for run in quiet]).sum()),
        "runs": n,
        "power": float(np.isfinite(rows).mean()),
        "median_rows": float(np.median(rows)),
        "critical": critical,
        "power_of_one_look": float(np.mean([run[1] > critical for run in loud])),
    }
    line["ratio"] = line["power"] / line["power_of_one_look"]
    if world["kind"].startswith("0/1"):
        theirs = [mapie_rows(*run[2]) for run in loud[: CONFIG["mapie_runs"]]]
        line["mapie"] = {
            "runs": len(theirs),
            "power": float(np.isfinite(theirs).mean()),
            "median_rows": float(np.median(theirs)),
        }
    return line | {"median_rows": line["median_rows"] if np.isfinite(line["median_rows"]) else None}


def main(part: str) -> None:
    """Run what is not in the record of "level" or "power" yet, world by world."""
    record = RESULTS / f"alarm_{part}.json"
    content = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if content.get("config") != CONFIG:
        content = {"config": CONFIG, "lines": []}
    content |= {"versions": installed_versions(), "machine": describe_machine()}
    if part == "power":
        content["versions"] |= {"mapie": version("mapie")}

    def keep() -> None:
        write_whole(record, json.dumps(_plain(content), allow_nan=False) + "\n")
        print(time.strftime("%H:%M:%S"), len(content["lines"]), file=sys.stderr, flush=True)

    if part == "level":
        for line in _level_rounds(content["lines"]):
            content["lines"] = line
            keep()
        return
    for world in POWER_WORLDS[len(content["lines"]) :]:
        content["lines"].append(power(world))
        keep()


def _level_rounds(lines: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Go on in rounds of all worlds, so that a stopped run has as many of each."""
    size = CONFIG["round"]
    known = {line["world"]: (line["runs"], line["alarms"]) for line in lines}
    for start in range(0, CONFIG["runs"], size):
        for k, name in enumerate(LEVEL_WORLDS):
            runs, alarms = known.get(name, (0, 0))
            if runs <= start:
                rng = np.random.default_rng([CONFIG["seed"], 2, k, start])
                alarms += sum(level_run(name, rng) for _ in range(size))
                known[name] = (start + size, alarms)
        runs, alarms = known.get("the command", (0, 0))
        if runs < CONFIG["command_runs"]:
            rng = np.random.default_rng([CONFIG["seed"], 3, runs])
            alarms += sum(command_run(rng) for _ in range(CONFIG["command_round"]))
            known["the command"] = (runs + CONFIG["command_round"], alarms)
        yield [counted(name, *found) for name, found in known.items()]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
