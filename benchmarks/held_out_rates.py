"""The share of new rows that `BudgetRule(0.1)` defers, fitted on `held_out_`.

A threshold from risks that have seen their rows' losses is too high for new rows. Each repetition
draws rows from a heteroscedastic world, fits `Deferral(RegressionRisk(f), rule=BudgetRule(0.1))`
with its default regressor, f a linear model, cross-fitted or frozen (fitted on as many other
rows), and counts the deferred among 2,000 new rows. ``python -m benchmarks.held_out_rates`` writes
results/held_out_rates.json; it takes half an hour on two cores.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression

from condrisk import BudgetRule, Deferral, RegressionRisk
from condrisk._files import write_whole
from condrisk.datasets import make_heteroscedastic

RECORD = Path(__file__).parent.parent / "results" / "held_out_rates.json"
RATE, REPETITIONS, SIZES, N_NEW = 0.1, 200, (200, 1000), 2000


def rate(kind: str, n: int, seed: int) -> float:
    """Return the share of new rows that are deferred in one repetition."""
    world = make_heteroscedastic(n, random_state=seed)
    predictor: Any = LinearRegression()
    if kind == "frozen":
        other = world.sample(n, random_state=100_000 + seed)
        predictor = FrozenEstimator(predictor.fit(other.X, other.y))
    risk = RegressionRisk(predictor, random_state=seed)
    model = Deferral(risk, rule=BudgetRule(RATE)).fit(world.X, world.y)
    return float(model.defer(world.sample(N_NEW, random_state=200_000 + seed).X).mean())


def main() -> None:
    """Measure, and keep the record."""
    found = []
    for kind in ("cross-fitted", "frozen"):
        for n in SIZES:
            rates = Parallel(n_jobs=2)(delayed(rate)(kind, n, seed) for seed in range(REPETITIONS))
            error = float(np.std(rates, ddof=1) / np.sqrt(REPETITIONS))
            found.append({"predictor": kind, "n": n, "mean": float(np.mean(rates)), "se": error})
            print(found[-1], flush=True)
    record = {"rate": RATE, "repetitions": REPETITIONS, "new_rows": N_NEW, "found": found}
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
