"""What the bounds say for a thousand rows and for a million, and what held-out rows say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from condrisk.inference import risk_error_interval
from condrisk.paper._records import Record
from condrisk.paper.theory import Bound, plug_in_bound, squared_error_bound
from condrisk.paper.theory.complexity import (
    Complexity,
    constant_complexity,
    massart_bound,
    stump_bound,
    sum_complexities,
)
from condrisk.paper.theory.simulations._cells import cell_complexity
from condrisk.paper.theory.simulations._coverage import CONFIDENCE, WORLDS
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

NUMBERS = (1000, 10_000, 100_000, 1_000_000)
HELD_OUT = (1000, 1_000_000)
DELTA = 0.05
EPSILON = 0.05
N_FEATURES = 20
CLASS_COUNTS = (2, 10)


def _rate(constant: float, name: str) -> Callable[[int], Complexity]:
    return lambda n: Complexity(value=constant / math.sqrt(n), kind="upper", name=name)


# The features have mean square one, so that E‖x‖² is their number.
COMPLEXITIES: dict[str, Callable[[int], Complexity]] = {
    "one constant": lambda n: constant_complexity(n=n),
    "1,000 given functions": lambda n: massart_bound(n_members=1000, n=n, radius=0.5),
    "stumps on 20 features": lambda n: stump_bound(
        n=n, n_features=N_FEATURES, lower=0.0, upper=1.0
    ),
    "linear, 20 features, weights of norm 1": _rate(math.sqrt(N_FEATURES), "linear"),
    "functions of 1,000 cells": lambda n: cell_complexity(n, n_cells=1000),
    "network, output norm 10": _rate(2 * 10 * math.sqrt(N_FEATURES), "network"),
}


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return what the bounds say for a class of functions, or what intervals say in a world."""
    if "world" in setting:
        return _held_out(setting, config, rng)
    complexity = COMPLEXITIES[setting["functions"]]

    def squared(n: int) -> Bound:
        return squared_error_bound(complexity=complexity(n), n=n, upper=1.0, delta=DELTA)

    records: list[Record] = [_record("squared_error", setting, squared)]
    for k in CLASS_COUNTS:
        records.append(_record(f"plug_in, K = {k}", setting, _plug_in(complexity, k)))
    return records


def _plug_in(complexity: Callable[[int], Complexity], k: int) -> Callable[[int], Bound]:
    return lambda n: plug_in_bound(
        complexity=sum_complexities([complexity(n)] * k),
        n=n,
        n_classes=k,
        upper=1.0,
        delta=DELTA,
    )


def _record(method: str, setting: dict[str, Any], bound: Callable[[int], Bound]) -> Record:
    found = {n: bound(n) for n in NUMBERS}
    return {
        "method": method,
        **setting,
        "delta": DELTA,
        "values": {str(n): b.value for n, b in found.items()},
        "vacuous": {str(n): b.vacuous for n, b in found.items()},
        "epsilon": EPSILON,
        "rows_needed": rows_needed(lambda n: bound(n).value, EPSILON),
    }


def rows_needed(value: Callable[[int], float], epsilon: float) -> int | None:
    """Return the least number of rows, to three digits, for which a falling bound is at most ε.

    None if a million million rows are not enough.
    """
    low, high = 1.0, 1e12
    if value(int(high)) > epsilon:
        return None
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if value(max(1, round(middle))) <= epsilon else (middle, high)
    return int(float(f"{high:.3g}"))


def _held_out(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return mean limits for the error from held-out rows, and for what is identified of it."""
    world, n = WORLDS[setting["world"]], setting["n"]
    repetitions = 1 if n > 100_000 else 5 if config.quick else 100
    found = []
    for _ in range(repetitions):
        u = rng.random(n)
        interval = risk_error_interval(
            world.estimate(u),
            world.draw(u, rng),
            reference=world.reference(u),
            confidence=CONFIDENCE,
            upper=1.0,
            over="population",
        )
        difference = interval.differences["reference"]
        found.append([interval.lower, interval.upper, difference.lower, difference.upper])
    means = np.mean(found, axis=0).tolist()
    names = ("lower", "upper", "difference_lower", "difference_upper")
    error, _, gain = world.truth()
    return [
        {
            "method": f"held-out, n = {n}",
            **setting,
            "repetitions": repetitions,
            "truth": {"error": error, "difference": gain},
            **dict(zip(names, means, strict=True)),
        }
    ]


PART = Part(
    name="planning",
    title="what the bounds say",
    settings=[
        *({"functions": name} for name in COMPLEXITIES),
        *({"world": world, "n": n} for world in WORLDS for n in HELD_OUT),
    ],
    simulate=simulate,
    in_quick=lambda setting: setting.get("n", 0) <= 1000,
    work=lambda setting: setting.get("n", 0) / 500_000 + 0.2,
)
