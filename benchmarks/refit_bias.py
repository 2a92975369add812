"""Is the mean of g the mean loss of the predictor that is kept, or that of those of the folds.

    python -m benchmarks.refit_bias            # n = 200: five seeds, about half an hour of one core
    python -m benchmarks.refit_bias 1000       # n = 1,000: two seeds

Twenty worlds and sets: n rows to learn from, up to 3,000 others to judge on. Forest and boosting
with ``random_state=0`` are cross-fitted by five folds; the bias is the mean of g over the mean loss
on the other rows, minus one, averaged over seeds. "folds only" is `RegressionRisk` without its
`refit_factor_`, as it was before. Squared errors are against realised losses, relative to "folds
only". "spread" is the standard deviation over seeds of the mean of g over the mean loss, averaged
over worlds and sets: what the factor adds to it is what it costs. AutoRisk runs on two seeds.
"""

from __future__ import annotations

import json
import sys
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
SEEDS = {200: 5, 1000: 2}
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


def run(rows: Rows, predictor: Any, *, slow: bool) -> dict[str, list[float]]:
    """Return the figures of each estimate of one draw."""
    X, y, X_new, y_new = rows
    found = {}
    plain = RegressionRisk(predictor, random_state=0).fit(X, y)
    loss, risk = plain.loss_values(X_new, y_new), plain.predict_risk(X_new)
    found["folds only"] = judge(risk / plain.refit_factor_, loss)
    found["RegressionRisk"] = judge(risk, loss)
    for name, kind in SLOW.items() if slow else ():
        model = kind(predictor, random_state=0).fit(X, y)
        found[name] = judge(model.predict_risk(X_new), loss)
    return found


def main(n: int) -> None:
    """Run all of one size, and put it into the record."""
    warnings.simplefilter("ignore")
    found: list[dict[str, Any]] = []
    for name, (task, draw) in cases().items():
        for seed in range(SEEDS[n]):
            rows = draw(n, seed)
            if len(rows[3]) < n / 5:
                continue  # a set of fewer rows than that
            for predictor, model in PREDICTORS[task].items():
                figures = run(rows, model, slow=seed < SEEDS_OF_SLOW and n == min(SEEDS))
                found.append({"set": name, "predictor": predictor, "seed": seed} | figures)
        print(name, flush=True)
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    record[str(n)] = found
    write_whole(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


def summary(n: int) -> dict[str, dict[str, float]]:
    """Return bias, spread and relative squared error of each estimate and predictor."""
    rows = json.loads(RECORD.read_text())[str(n)]
    found = {}
    for estimate in ("folds only", "RegressionRisk", *SLOW):
        for predictor in ("forest", "boosting"):
            own = [row for row in rows if row["predictor"] == predictor and estimate in row]
            if not own:
                continue
            names = dict.fromkeys(row["set"] for row in own)
            by_set = [[row for row in own if row["set"] == name] for name in names]
            ratios = [[row[estimate][0] for row in part] for part in by_set]
            squared = [
                np.sum([row[estimate][1] for row in part])
                / np.sum([row["folds only"][1] for row in part])
                for part in by_set
            ]
            means = np.array([np.mean(part) for part in ratios]) - 1
            found[f"{estimate}, {predictor}"] = {
                "bias": float(means.mean()),
                "error of bias": float(means.std(ddof=1) / np.sqrt(len(means))),
                "spread": float(np.mean([np.std(part, ddof=1) for part in ratios])),
                "squared": float(np.exp(np.mean(np.log(squared)))),
            }
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
