"""Classes without noise: calibration-based against regression-based estimates of the risk."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from condrisk import PlugInRisk, RegressionRisk
from condrisk.datasets import make_separable
from condrisk.paper._records import Record
from condrisk.paper.theory._cantor import distance_regressor_error
from condrisk.paper.theory._cantor_regression import best_lipschitz_error
from condrisk.paper.theory._separable import separable_experiment
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

NUMBERS = (100, 300, 1000, 3000)
CONSTANTS = (1.0, 10.0, 100.0)
LIMITS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
DEPTH = 5


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return errors E|ĝ − g| of one of the three experiments."""
    repetitions = 2 if config.quick else 10
    if setting["world"] == "limit":
        return [_limit(m) for m in (LIMITS[:4] if config.quick else LIMITS)]
    if setting["world"] == "cantor":
        return _cantor(setting, repetitions, rng)
    return _sectors(setting, repetitions, rng)


def _limit(m: float) -> Record:
    """Return the error that no m-Lipschitz regressor of x falls below, with any number of rows."""
    return {
        "method": f"best, m = {m:g}",
        "world": "limit",
        "lipschitz": m,
        "error": best_lipschitz_error(m, depth=DEPTH),
        "closed_form": distance_regressor_error(m, depth=DEPTH),
    }


def _cantor(setting: dict[str, Any], repetitions: int, rng: np.random.Generator) -> list[Record]:
    """Three estimates in the world of the proof of Proposition 3, fitted to the same rows."""
    found = []
    for _ in range(repetitions):
        seed = int(rng.integers(2**31))
        found.append(
            separable_experiment(
                setting["n"], lipschitz=setting["lipschitz"], depth=DEPTH, random_state=seed
            )
        )
    names = {
        "calibration-based": [r.calibration_error for r in found],
        "regression on x": [r.regression_error for r in found],
        "regression on x and f(x)": [r.augmented_error for r in found],
    }
    limit = found[0].regression_limit
    return [
        _mean_record(method, setting, errors) | {"limit": limit} for method, errors in names.items()
    ]


def _sectors(setting: dict[str, Any], repetitions: int, rng: np.random.Generator) -> list[Record]:
    """Three estimates of this package, for a small tree that predicts the sectors of a plane."""
    errors: dict[str, list[float]] = {}
    for _ in range(repetitions):
        seed = int(rng.integers(2**31))
        world = make_separable(200, n_classes=3, random_state=seed)
        tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(world.X, world.y)
        rows = world.sample(setting["n"], random_state=seed + 1)
        fresh = world.sample(5000, random_state=seed + 2).X
        truth = world.risk(tree, fresh)
        forest = RandomForestRegressor(50, random_state=0)
        estimates = {
            "calibration-based": PlugInRisk(
                FrozenEstimator(tree),
                probability=LogisticRegression(C=1e4, max_iter=2000),
                calibration=None,
            ),
            "regression on x": RegressionRisk(
                FrozenEstimator(tree), regressor=forest, features="x"
            ),
            "regression on x and f(x)": RegressionRisk(
                FrozenEstimator(tree), regressor=forest, features="x+response"
            ),
        }
        for name, estimate in estimates.items():
            risk = estimate.fit(rows.X, rows.y).predict_risk(fresh)
            errors.setdefault(name, []).append(float(np.abs(risk - truth).mean()))
    return [_mean_record(method, setting, values) for method, values in errors.items()]


def _mean_record(method: str, setting: dict[str, Any], errors: list[float]) -> Record:
    return {
        "method": method,
        **setting,
        "repetitions": len(errors),
        "error": float(np.mean(errors)),
        "se": float(np.std(errors, ddof=1) / np.sqrt(len(errors))),
    }


PART = Part(
    name="separable",
    title="classes without noise",
    settings=[
        {"world": "limit"},
        *({"world": "cantor", "n": n, "lipschitz": m} for n in NUMBERS for m in CONSTANTS),
        *({"world": "sectors", "n": n} for n in NUMBERS),
    ],
    simulate=simulate,
    in_quick=lambda setting: setting.get("n", 0) <= 300,
    work=lambda setting: {"limit": 10.0, "cantor": 4.0, "sectors": 4.0}[setting["world"]],
)
