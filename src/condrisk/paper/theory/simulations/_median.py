"""Median against mean: what minimising absolute error against losses leads to."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from condrisk.paper._records import Record
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

N_CELLS = 20
NUMBERS = (1000, 10_000, 100_000)
LAWS = ("zero-one loss", "skewed loss")
MOST_REPETITIONS = 20


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return the estimates of each cell's risk by absolute and by squared error."""
    n = setting["n"]
    risk = (np.arange(N_CELLS) + 0.5) / N_CELLS
    if setting["law"] == "skewed loss":
        risk = risk / 2  # Beta(½, b) is skewed to the right where its mean is below one half
    repetitions = min(MOST_REPETITIONS, config.repetitions)
    cells = rng.multinomial(n, np.full(N_CELLS, 1 / N_CELLS), size=repetitions)
    found: dict[str, Any] = {"L1": np.zeros(cells.shape), "L2": np.zeros(cells.shape)}
    for place in np.ndindex(*cells.shape):
        losses = _draw(setting["law"], float(risk[place[1]]), max(int(cells[place]), 1), rng)
        found["L1"][place] = np.quantile(losses, 0.5, method="inverted_cdf")
        found["L2"][place] = losses.mean()
    return [
        {
            "method": method,
            **setting,
            "repetitions": repetitions,
            "risk": risk.tolist(),
            "median": _medians(setting["law"], risk).tolist(),
            "estimate": values.mean(axis=0).tolist(),
            "error": float(np.abs(values - risk).mean()),
            "bias": float((values - risk).mean()),
        }
        for method, values in found.items()
    ]


def _draw(law: str, risk: float, n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if law == "zero-one loss":
        return (rng.random(n) < risk).astype(np.float64)
    return rng.beta(0.5, _second_parameter(risk), size=n)


def _medians(law: str, risk: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if law == "zero-one loss":
        return (risk > 0.5).astype(np.float64)
    return np.asarray(betaincinv(0.5, _second_parameter(risk), 0.5))


def _second_parameter(risk: Any) -> Any:
    """Return b of the Beta(½, b) whose mean is the risk."""
    return 0.5 * (1 - risk) / risk


PART = Part(
    name="median",
    title="median against mean",
    settings=[{"law": law, "n": n} for law in LAWS for n in NUMBERS],
    simulate=simulate,
    in_quick=lambda setting: setting["n"] <= 10_000,
    work=lambda setting: setting["n"] / 50_000,
)
