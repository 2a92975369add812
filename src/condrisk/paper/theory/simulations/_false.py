"""What is printed and false, shown to be so: each counterexample, simulated."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy import stats

from condrisk.paper._records import Record
from condrisk.paper.theory import COUNTEREXAMPLES, simulate_counterexample
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

DELTA = 0.05


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return how often a printed claim fails in its world, and how often the repaired one."""
    name = setting["name"]
    result = simulate_counterexample(
        name, n_repetitions=config.repetitions, delta=DELTA, random_state=rng
    )
    found = asdict(result)
    found.pop("name")
    return [
        {
            "method": name,
            "world": COUNTEREXAMPLES[name].world,
            **found,
            "p_printed": _p(result.violations, result.n_repetitions),
            "p_repaired": _p(result.repaired_violations, result.n_repetitions),
        }
    ]


def _p(violations: int, repetitions: int) -> float:
    test = stats.binomtest(violations, repetitions, DELTA, alternative="greater")
    return float(test.pvalue)


PART = Part(
    name="false",
    title="counterexamples",
    settings=[{"name": name} for name in COUNTEREXAMPLES],
    simulate=simulate,
    work=lambda setting: 1.0,
)
