"""The area under the risk-coverage curve, against one argsort of the same risks."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from condrisk.metrics import aurc

N_ROWS = 10_000_000
REPEATS = 5


def run() -> list[dict]:
    """Time `aurc` and `np.argsort` in turns, on continuous and on tied risks."""
    rng = np.random.default_rng(0)
    loss = rng.exponential(size=N_ROWS)
    continuous = rng.exponential(size=N_ROWS)
    weight = rng.uniform(0.5, 1.5, size=N_ROWS)
    risks = {
        "continuous": continuous,
        "1000 values": np.floor(1000 * rng.uniform(size=N_ROWS)) / 1000,
        "float32": continuous.astype(np.float32).astype(np.float64),
    }
    records = []
    for kind, risk in risks.items():
        limit = 1.5 if kind == "continuous" else 2.5
        records.append(_compare(f"aurc, {kind}", limit, loss, risk, None))
        records.append(_compare(f"aurc, {kind}, weighted", 2.5, loss, risk, weight))
    return records


def _compare(
    name: str, limit: float, loss: np.ndarray, risk: np.ndarray, weight: np.ndarray | None
) -> dict:
    aurc(loss, risk, sample_weight=weight)  # not timed: the first call pays for the memory
    times = [
        (
            _seconds(lambda: np.argsort(risk)),
            _seconds(lambda: aurc(loss, risk, sample_weight=weight)),
        )
        for _ in range(REPEATS)
    ]
    return {
        "name": name,
        "ratio": median(ours / baseline for baseline, ours in times),
        "limit": limit,
        "baseline_s": median(baseline for baseline, _ in times),
        "ours_s": median(ours for _, ours in times),
        "n": len(risk),
    }


def _seconds(function: Callable[[], object]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start
