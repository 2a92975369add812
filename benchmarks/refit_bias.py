"""Is the mean of g the mean loss of the predictor that is kept, or that of those of the folds.

    python -m benchmarks.refit_bias            # n = 200: five draws, of classes ten; half an hour
    python -m benchmarks.refit_bias 1000       # n = 1,000: five draws
    python -m benchmarks.refit_bias --slow     # the other estimates as well, on two draws

Twenty worlds and sets, fifteen of numbers and five of classes: n rows to learn from, up to 3,000
others to judge on; of n = 1,000 rows those that have 200 others. Forest and boosting with
``random_state=0`` are cross-fitted by five folds. The bias of a set is the mean of g over all draws
divided by the mean loss on the other rows, minus one: a mean of ratios would be that of the draws
with the least errors. "held-out losses" has the mean of the losses of the folds in place of g; what
it is off by on classes, whose losses are 0 and 1, is mostly the luck of the draws. "folds only" is
`RegressionRisk` without its `refit_factor_`. Squared errors are against realised losses, relative
to "folds only". "spread" is the standard deviation over draws of the mean of g over the mean loss,
averaged over worlds and sets: what the factor adds to it is what it costs.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from condrisk import AutoRisk, HybridRisk, PlugInRisk, RegressionRisk
from condrisk._files import write_whole
from condrisk.datasets import (
    UCI_NAMES,
    load_uci,
    make_gaussian_mixture,
    make_heteroscedastic,
    make_hidden_noise,
    make_separable,
)

RECORD = Path(__file__).parent.parent / "results" / "refit_bias.json"
SEEDS_OF_SLOW = 2
N_JUDGE = 3000
Rows = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
Draw = Callable[[int, int], Rows]

PREDICTORS: dict[str, dict[str, Any]] = {
    "regression": {
        "forest": RandomForestRegressor(random_state=0),
        "boosting": HistGradientBoostingRegressor(random_state=0),
    },
    "classification": {
        "forest": RandomForestClassifier(random_state=0),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    },
}
# Losses of classes are 0 and 1, and a mean of few such is luck: they take more draws.
SEEDS = {200: {"regression": 5, "classification": 10}, 1000: dict.fromkeys(PREDICTORS, 5)}
SLOW: dict[str, Any] = {
    "PlugInRisk": PlugInRisk,
    "HybridRisk": HybridRisk,
    "AutoRisk": AutoRisk,
}


def world(make: Any, **params: Any) -> Draw:
    """Return what draws rows from a world of the library."""

    def draw(n: int, seed: int) -> Rows:
        found = make(n, random_state=seed, **params)
        fresh = found.sample(N_JUDGE, random_state=seed + 1000)
        return found.X, found.y, fresh.X, fresh.y

    return draw


def made(make: Any, **params: Any) -> Draw:
    """Return what draws rows by a function of scikit-learn."""

    def draw(n: int, seed: int) -> Rows:
        X, y = make(n + N_JUDGE, random_state=seed, **params)
        return X[:n], y[:n], X[n:], y[n:]

    return draw


def table(X: NDArray[Any], y: NDArray[Any]) -> Draw:
    """Return what draws rows of a set."""

    def draw(n: int, seed: int) -> Rows:
        order = np.random.RandomState(seed).permutation(len(y))
        own, others = order[:n], order[n : n + N_JUDGE]
        return X[own], y[own], X[others], y[others]

    return draw


def cases() -> dict[str, tuple[str, Draw]]:
    """Return the worlds and sets, with the task of each."""
    numbers = {
        "σ² = exp(x₁)": world(make_heteroscedastic),
        "σ² bounded": world(make_heteroscedastic, variance="bounded"),
        "hidden noise": world(make_hidden_noise),
        "Friedman 1": made(datasets.make_friedman1, noise=1.0),
        "Friedman 2": made(datasets.make_friedman2, noise=100.0),
        "Friedman 3": made(datasets.make_friedman3, noise=0.1),
        "diabetes": table(*datasets.load_diabetes(return_X_y=True)),
    }
    for name in UCI_NAMES:
        found = load_uci(name)
        numbers[name] = table(found.data, found.target)
    classes = {
        "mixture": world(make_gaussian_mixture),
        "separable": world(make_separable),
        "Hastie 10.2": made(datasets.make_hastie_10_2),
        "breast cancer": table(*datasets.load_breast_cancer(return_X_y=True)),
        "digits": table(*datasets.load_digits(return_X_y=True)),
    }
    return {name: ("regression", draw) for name, draw in numbers.items()} | {
        name: ("classification", draw) for name, draw in classes.items()
    }


def judge(risk: NDArray[Any], loss: NDArray[Any]) -> list[float]:
    """Return the mean of g over the mean loss, and the squared error of g."""
    return [float(risk.mean() / loss.mean()), float(np.mean((risk - loss) ** 2))]


def run(rows: Rows, predictor: Any, *, slow: bool) -> dict[str, Any]:
    """Return the mean loss, and the figures of each estimate, of one draw."""
    X, y, X_new, y_new = rows
    plain = RegressionRisk(predictor, random_state=0).fit(X, y)
    loss, risk = plain.loss_values(X_new, y_new), plain.predict_risk(X_new)
    found: dict[str, Any] = {"loss": float(loss.mean())}
    seen = np.full(len(loss), plain.held_out_.losses.mean())
    found["held-out losses"] = judge(seen, loss)
    found["folds only"] = judge(risk / plain.refit_factor_, loss)
    found["RegressionRisk"] = judge(risk, loss)
    for name, kind in SLOW.items() if slow else ():
        model = kind(predictor, random_state=0).fit(X, y)
        found[name] = judge(model.predict_risk(X_new), loss)
    return found


def main() -> None:
    """Run all of one size, and put it into the record; figures of slow estimates stay in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=200, choices=sorted(SEEDS))
    parser.add_argument("--slow", action="store_true")
    arguments = parser.parse_args()
    n = arguments.n
    warnings.simplefilter("ignore")
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    before = {key_of(row): row for row in record.get(str(n), [])}
    found: list[dict[str, Any]] = []
    for seed in range(max(SEEDS[n].values())):
        for name, (task, draw) in cases().items():
            rows = draw(n, seed)
            if len(rows[3]) < n / 5 or seed >= SEEDS[n][task]:
                continue  # a set of fewer rows than that, or enough draws
            for predictor, model in PREDICTORS[task].items():
                row = {"set": name, "task": task, "predictor": predictor, "seed": seed}
                row |= run(rows, model, slow=arguments.slow and seed < SEEDS_OF_SLOW)
                kept = before.get(key_of(row), {})
                found.append({k: kept[k] for k in SLOW if k in kept} | row)
        print("draw", seed, flush=True)
        write_whole(RECORD, json.dumps(record | {str(n): found}, ensure_ascii=False) + "\n")


def key_of(row: dict[str, Any]) -> tuple[str, str, int]:
    """Return what a row of the record is about."""
    return row["set"], row["predictor"], row["seed"]


def summary(n: int, task: str) -> dict[str, dict[str, float]]:
    """Return bias, spread and relative squared error of each estimate and predictor."""
    rows = [row for row in json.loads(RECORD.read_text())[str(n)] if row["task"] == task]
    found = {}
    for estimate in ("held-out losses", "folds only", "RegressionRisk", *SLOW):
        for predictor in ("forest", "boosting"):
            own = [row for row in rows if row["predictor"] == predictor and estimate in row]
            if not own:
                continue
            names = dict.fromkeys(row["set"] for row in own)
            by_set = [[row for row in own if row["set"] == name] for name in names]
            ratios = [[row[estimate][0] for row in part] for part in by_set]
            losses = [[row["loss"] for row in part] for part in by_set]
            squared = [
                np.sum([row[estimate][1] for row in part])
                / np.sum([row["folds only"][1] for row in part])
                for part in by_set
            ]
            pairs = zip(ratios, losses, strict=True)
            means = np.array([np.average(own, weights=loss) for own, loss in pairs]) - 1
            found[f"{estimate}, {predictor}"] = {
                "bias": float(means.mean()),
                "error of bias": float(means.std(ddof=1) / np.sqrt(len(means))),
                "spread": float(np.mean([np.std(part, ddof=1) for part in ratios])),
                "squared": float(np.exp(np.mean(np.log(squared)))),
                "draws": max(map(len, by_set)),
                "sets": len(by_set),
            }
    return found


if __name__ == "__main__":
    main()
