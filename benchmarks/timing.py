"""How the benchmarks measure: interleaved repetitions, medians, and ratios of one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def interleaved(
    functions: dict[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the median seconds of each function, taken in turns so that noise hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for repeat in range(repeats + 1):
        for name, function in functions.items():
            start = clock()
            function()
            if repeat:  # the first round warms up
                seconds[name].append(clock() - start)
    return {name: median(values) for name, values in seconds.items()}


def record(name: str, ours: float, baseline: float, limit: float, **more: Any) -> dict[str, Any]:
    """Return one line of a benchmark's record."""
    return {
        "name": name,
        "ratio": ours / baseline,
        "limit": limit,
        "ours_s": ours,
        "baseline_s": baseline,
        **more,
    }
