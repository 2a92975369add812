"""Predictions of least expected loss, beside the mean and the most probable label.

    python -m benchmarks.decisions             # writes results/decisions.json; ten minutes

Two worlds of the library with 1,000 rows, in which every risk is known: `make_gaussian_mixture`
with a second class of 5 %, where missing it costs fifty times as much as a false alarm, and
`make_heteroscedastic` under ``pinball(0.9)``. "stack" is the predictor that `AutoRisk` builds where
the loss asks for nothing else: the most probable label, or the mean. "least" decides by the true
distribution. The risk of a predictor is its true one, at 20,000 new rows. For `AutoRisk` also how
far the mean of its g is off, beside the plug-in risk of its own distribution: what a decision looks
like to the probabilities that it was chosen by.
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
from scipy.stats import norm
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)

from condrisk import AutoRisk
from condrisk._files import write_whole
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic
from condrisk.learners import BayesDecision, StackedClassifier, StackedRegressor
from condrisk.losses import pinball
from condrisk.paper._records import describe_machine, installed_versions

RECORD = Path(__file__).parent.parent / "results" / "decisions.json"
N_ROWS, N_NEW, N_DRAWS = 1000, 20_000, 10
COSTS = [[0.0, 1.0], [50.0, 0.0]]
LEVEL = 0.9
PRIORS = (0.95, 0.05)


def classes(seed: int) -> dict[str, float]:
    """Return the true risks of the decisions under costs."""
    world = make_gaussian_mixture(N_ROWS, n_classes=2, priors=PRIORS, random_state=seed)
    new = world.sample(N_NEW, random_state=seed + 1000)
    boosting = HistGradientBoostingClassifier(random_state=0)
    forest = RandomForestClassifier(min_samples_leaf=5, random_state=0)
    models: dict[str, Any] = {
        "AutoRisk()": AutoRisk(loss=COSTS, task="classification", random_state=0),
        "stack": StackedClassifier(random_state=0),
        "boosting": boosting,
        "BayesDecision(boosting)": BayesDecision(boosting, loss=COSTS),
        "forest": forest,
        "BayesDecision(forest)": BayesDecision(forest, loss=COSTS),
    }
    p = world.law.proba(new.X)
    cost = np.asarray(COSTS)

    def true_risk(label: NDArray[Any]) -> NDArray[Any]:
        return (p * cost[:, label].T).sum(axis=1)

    return judged(models, world, new.X, true_risk, best=(p @ cost).argmin(axis=1))


def numbers(seed: int) -> dict[str, float]:
    """Return the true risks of the predictions under the pinball loss."""
    world = make_heteroscedastic(N_ROWS, random_state=seed)
    new = world.sample(N_NEW, random_state=seed + 1000)
    loss = pinball(LEVEL)
    models: dict[str, Any] = {
        "AutoRisk()": AutoRisk(loss=loss, task="regression", random_state=0),
        "stack": StackedRegressor(random_state=0),
        "quantile boosting": HistGradientBoostingRegressor(
            loss="quantile", quantile=LEVEL, random_state=0
        ),
    }
    mean, std = world.law.mean(new.X), np.sqrt(world.law.variance(new.X))

    def true_risk(f: NDArray[Any]) -> NDArray[Any]:
        # E max(τ(y − f), (τ − 1)(y − f)) of a normal y
        z = (f - mean) / std
        return std * (norm.pdf(z) + z * (norm.cdf(z) - LEVEL))

    return judged(models, world, new.X, true_risk, best=mean + std * norm.ppf(LEVEL))


def judged(
    models: dict[str, Any],
    world: Any,
    X: NDArray[Any],
    true_risk: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    best: NDArray[Any],
) -> dict[str, float]:
    """Return the mean true risk of each model's predictions, and two estimates of AutoRisk's."""
    found = {"least": float(true_risk(best).mean())}
    for name, model in models.items():
        model.fit(world.X, world.y)
        own = getattr(model, "predictor_", model)
        found[name] = float(true_risk(own.predict(X)).mean())
        if isinstance(model, AutoRisk):
            floor, gap, _ = model.decompose_risk(X)
            found["g of AutoRisk()"] = float(model.predict_risk(X).mean())
            found["plug-in of AutoRisk()"] = float((floor + gap).mean())
    return found


WORLDS = {"costs 50:1": classes, "pinball(0.9)": numbers}


def main() -> None:
    """Run both worlds and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    parser.add_argument("--output", type=Path, default=RECORD)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for name, draw in WORLDS.items():
        found[name] = [draw(seed) for seed in range(arguments.draws)]
        means = {key: np.mean([one[key] for one in found[name]]) for key in found[name][0]}
        print(name, {key: round(float(value), 4) for key, value in means.items()}, flush=True)
    record = {
        "machine": describe_machine(),
        "versions": installed_versions(),
        "rows": N_ROWS,
        "worlds": found,
    }
    write_whole(arguments.output, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
