"""Plug-in risk on 1,000,000 × 100 probabilities against one einsum over the same arrays."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np

from benchmarks.timing import interleaved, record
from condrisk.losses import CostMatrix, brier, log_loss, zero_one

LIMITS = {"zero_one": 1.2, "cost_matrix": 1.5, "brier": 2.0, "log_loss": 3.0}
MEMORY_LIMIT = 0.1


def run(n_rows: int = 1_000_000, n_classes: int = 100, repeats: int = 7) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    response, proba = (_probabilities(rng, n_rows, n_classes) for _ in range(2))
    labels, classes = rng.integers(0, n_classes, n_rows), np.arange(n_classes)
    matrix = CostMatrix(rng.random((n_classes, n_classes)))
    functions = {
        "einsum": lambda: np.einsum("ij,ij->i", response, proba),
        "zero_one": lambda: zero_one.expected(labels, proba, classes=classes),
        "cost_matrix": lambda: matrix.expected(labels, proba, classes=classes),
        "brier": lambda: brier.expected(response, proba, classes=classes),
        "log_loss": lambda: log_loss.expected(response, proba, classes=classes),
    }
    seconds = interleaved(functions, repeats)
    records = []
    for name, limit in LIMITS.items():
        records.append(
            record(f"plug-in risk, {name}", seconds[name], seconds["einsum"], limit, n=n_rows)
        )
        share = _peak_bytes(functions[name]) / proba.nbytes
        records.append(
            {
                "name": f"plug-in risk, {name}: extra memory",
                "ratio": share,
                "limit": MEMORY_LIMIT,
                "n": n_rows,
            }
        )
    return records


def _probabilities(rng: np.random.Generator, n_rows: int, n_classes: int) -> Any:
    values = rng.random((n_rows, n_classes))
    return np.divide(values, values.sum(axis=1, keepdims=True), out=values)


def _peak_bytes(function: Any) -> int:
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
