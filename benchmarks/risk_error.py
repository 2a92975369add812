"""How often `risk_error_interval` covers a difference of two estimates, and how wide it is.

    python -m benchmarks.risk_error             # write results/risk_error.json; four minutes
    python -m benchmarks.risk_error --draws 50  # a small try, written nowhere

In each world, 2,000 samples of 200 and of 1,000 rows are drawn. The difference
E(ĝ − g)² − E(h − g)² is known twice: as the mean over the inputs of the sample, and over the
population. Limits over rows are for the first. Whether they also hold the second is counted; in the
last two worlds they need not. Widths stand beside four and a half standard errors, the normal
approximation at the same confidence.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from condrisk._files import write_whole
from condrisk.inference import risk_error_interval

RECORD = Path(__file__).resolve().parents[1] / "results" / "risk_error.json"
CONFIDENCE, DRAWS, SIZES, TOGETHER = 0.95, 2000, (200, 1000), 250
METHODS = (("rows", "betting"), ("rows", "bernstein"), ("population", "betting"))
Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]


class World(NamedTuple):
    """Rows (ĝ, h, z) as functions of u, uniform on [0, 1]; losses are 1 with probability p."""

    text: str
    estimate: Function
    reference: Function
    p: Function
    otherwise: float = 0.0

    def risk(self, u: Floats) -> Floats:
        """Return g = E[z | u]."""
        return self.p(u) + self.otherwise * (1 - self.p(u))

    def difference(self, u: Floats) -> Floats:
        """Return (ĝ − g)² − (h − g)²."""
        g = self.risk(u)
        return (self.estimate(u) - g) ** 2 - (self.reference(u) - g) ** 2


def _wrong(u: Floats) -> Floats:
    return 0.1 + 0.6 * u


def _near(u: Floats) -> Floats:
    return 0.12 + 0.55 * u


WORLDS = {
    "far": World(
        "zero-one loss; a falling estimate where the risk rises, and a constant",
        lambda u: 0.55 - 0.3 * u,
        lambda u: np.full_like(u, 0.4),
        _wrong,
    ),
    "close": World(
        "zero-one loss; estimates up to 0.01 apart",
        _near,
        lambda u: _near(u) + 0.01 * np.cos(9 * u),
        _wrong,
    ),
    "closer": World(
        "zero-one loss; estimates up to 0.0001 apart",
        _near,
        lambda u: _near(u) + 0.0001 * np.cos(9 * u),
        _wrong,
    ),
    "rare losses": World(
        "a loss of 1 once in 500 rows, else 0.01; estimates up to 0.01 apart",
        lambda u: np.full_like(u, 0.012),
        lambda u: 0.012 + 0.01 * u,
        lambda u: np.full_like(u, 0.002),
        otherwise=0.01,
    ),
    "rare and where they differ": World(
        "a loss of 1 only where the estimates are furthest apart, on 1 % of the inputs",
        lambda u: np.full_like(u, 0.01),
        lambda u: np.where(u < 0.01, 0.05, 0.011),
        lambda u: np.where(u < 0.01, 0.5, 0.0),
    ),
    "rare inputs": World(
        "estimates 0.9 apart on one input in 1,000, and 0.001 apart elsewhere",
        lambda u: np.full_like(u, 0.05),
        lambda u: np.where(u < 0.001, 0.95, 0.051),
        lambda u: np.where(u < 0.001, 1.0, 0.05),
    ),
}


def samples(world: World, n: int, draws: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield inputs and losses, some samples at a time."""
    rng = np.random.default_rng([n, list(WORLDS.values()).index(world)])
    for start in range(0, draws, TOGETHER):
        u = rng.random((min(TOGETHER, draws - start), n))
        yield u, np.where(rng.random(u.shape) < world.p(u), 1.0, world.otherwise)


def measure(name: str, n: int, draws: int) -> Iterator[dict[str, Any]]:
    """Yield what each way to find limits reaches in one world."""
    world = WORLDS[name]
    grid = (np.arange(200_000) + 0.5) / 200_000
    population = float(world.difference(grid).mean())
    each = 1 - (1 - CONFIDENCE) / 2  # of the two intervals that are found
    for over, method in METHODS:
        inside, widths, normal = [], [], []
        for u, z in samples(world, n, draws):
            g, h = world.estimate(u), world.reference(u)
            found = risk_error_interval(
                g, z, reference=h, confidence=CONFIDENCE, upper=1.0, over=over, method=method
            ).differences["reference"]
            truths = world.difference(u).mean(axis=1), np.full(len(u), population)
            slack = 1e-12  # rounding
            low, high = np.subtract(found.lower, slack), np.add(found.upper, slack)
            inside.append([(low <= t) & (t <= high) for t in truths])
            widths.append(found.width)
            spread = ((g - z) ** 2 - (h - z) ** 2).std(axis=1, ddof=1) / np.sqrt(n)
            normal.append(2 * stats.norm.ppf((1 + each) / 2) * spread)
        rows, everywhere = np.concatenate(inside, axis=1).sum(axis=1).tolist()
        yield {
            "world": name,
            "n": n,
            "over": over,
            "method": method,
            "covered_rows": rows,
            "covered_population": everywhere,
            "width": float(np.mean(np.concatenate(widths))),
            "normal_width": float(np.mean(np.concatenate(normal))),
        }


def main() -> None:
    """Measure, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=DRAWS)
    draws = parser.parse_args().draws
    found = []
    for name in WORLDS:
        for n in SIZES:
            for row in measure(name, n, draws):
                print(row, flush=True)
                found.append(row)
    if draws == DRAWS:
        texts = {name: world.text for name, world in WORLDS.items()}
        record = {"confidence": CONFIDENCE, "draws": DRAWS, "worlds": texts, "found": found}
        write_whole(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
