"""Excess loss with rejection against the sum that bounds it, over many pairs (f, g)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from condrisk.datasets import RegressionWorld, make_heteroscedastic
from condrisk.paper._records import Record
from condrisk.paper.theory import rejection_bound
from condrisk.paper.theory.simulations._cells import Floats
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

COSTS = (0.5, 1.0, 2.0)
N_FRESH = 5000
N_PAIRS = 400


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return a record for each pair: excess loss, and the two terms of its bound."""
    world = make_heteroscedastic(1000, n_features=4, random_state=rng)
    fresh = world.sample(N_FRESH, random_state=rng).X
    mean, variance = world.mean(fresh), world.variance(fresh)
    pairs = _fitted if setting["pairs"] == "fitted" else _disturbed
    records = []
    for method, prediction, estimate in pairs(world, fresh, rng, quick=config.quick):
        risk = (prediction - mean) ** 2 + variance
        terms = {
            "regressor_error": float(((prediction - mean) ** 2).mean()),
            "risk_error": float(np.abs(estimate - risk).mean()),
        }
        bound = rejection_bound(**terms).value
        for cost in COSTS:
            loss = np.where(estimate <= cost, risk, cost)
            excess = float((loss - np.minimum(variance, cost)).mean())
            records.append(
                {
                    "method": f"{method}, cost {cost:g}",
                    **setting,
                    "cost": cost,
                    "accepted": float((estimate <= cost).mean()),
                    "excess": excess,
                    **terms,
                    "bound": bound,
                }
            )
    return records


def _fitted(
    world: RegressionWorld, X: Floats, rng: np.random.Generator, *, quick: bool
) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield predictions and risks by pairs of models, on 200 to 10,000 rows."""
    seed = int(rng.integers(2**31))
    models: dict[str, RegressorMixin] = {
        "linear": LinearRegression(),
        "tree": DecisionTreeRegressor(random_state=seed),
        "neighbours": KNeighborsRegressor(20),
        "forest": RandomForestRegressor(5 if quick else 50, random_state=seed),
    }
    for n in (200,) if quick else (200, 2000, 10_000):
        first, second = (world.sample(n, random_state=rng) for _ in range(2))
        for f_name, f in models.items():
            f.fit(first.X, first.y)
            # Before g is fitted, which may be the same model.
            prediction, losses = f.predict(X), (f.predict(second.X) - second.y) ** 2
            for g_name, g in models.items():
                estimate = g.fit(second.X, losses).predict(X)
                yield f"{f_name} + {g_name}, {n} rows", prediction, estimate


def _disturbed(
    world: RegressionWorld, X: Floats, rng: np.random.Generator, *, quick: bool
) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield the truth, disturbed at random in f and in g, by little or much."""
    mean, variance = world.mean(X), world.variance(X)
    for number in range(20 if quick else N_PAIRS):
        size_f, size_g = 10 ** rng.uniform(-2, 0.5, size=2)
        direction = rng.standard_normal(X.shape[1])
        prediction = mean + size_f * np.tanh(X @ direction)
        risk = (prediction - mean) ** 2 + variance
        shift = size_g * rng.standard_normal()
        wiggle = size_g * np.sin(X @ rng.standard_normal(X.shape[1]))
        yield f"disturbed {number}", prediction, np.maximum(risk + shift + wiggle, 0.0)


PART = Part(
    name="rejection",
    title="excess loss with rejection",
    settings=[{"pairs": pairs} for pairs in ("fitted", "disturbed")],
    simulate=simulate,
    work=lambda setting: 12.0 if setting["pairs"] == "fitted" else 1.0,
)
