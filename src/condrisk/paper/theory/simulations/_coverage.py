"""How often `risk_error_interval` covers, and how wide it is beside the normal approximation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from condrisk.inference import MeanInterval, RiskErrorInterval, risk_error_interval
from condrisk.paper._records import Record
from condrisk.paper.theory.simulations._cells import Floats
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

CONFIDENCE = 0.95
NUMBERS = (200, 2000)
# Samples that are worked on together, to keep memory small.
_TOGETHER = 250


@dataclass(frozen=True)
class ErrorWorld:
    """Rows (ĝ, h, z) as functions of u, which is uniform on [0, 1], all of them in [0, 1].

    Attributes
    ----------
    text : str
        In words.
    estimate, reference : callable
        ĝ and h, functions of u.
    draw : callable
        Takes u and a generator, returns the losses z.
    moments : callable
        Takes u, returns g = E[z | u] and Var(z | u).
    """

    text: str
    estimate: Callable[[Floats], Floats]
    reference: Callable[[Floats], Floats]
    draw: Callable[[Floats, np.random.Generator], Floats]
    moments: Callable[[Floats], tuple[Floats, Floats]]

    def truth(self) -> tuple[float, float, float]:
        """Return E(ĝ − g)², E(ĝ − z)² and E(ĝ − z)² − E(h − z)²."""
        u = (np.arange(200_000) + 0.5) / 200_000
        risk, noise = self.moments(u)
        error = float(((self.estimate(u) - risk) ** 2).mean())
        other = float(((self.reference(u) - risk) ** 2).mean())
        return error, error + float(noise.mean()), error - other


def _wrong_often(u: Floats) -> Floats:
    return 0.1 + 0.6 * u


def _clipped_square(u: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of min(v χ²₁, 1), with v the variance of the target."""
    v = _variance(u)
    above = stats.chi2.sf(1 / v, 1)
    mean = v * stats.chi2.cdf(1 / v, 3) + above
    return mean, 3 * v**2 * stats.chi2.cdf(1 / v, 5) + above - mean**2


def _variance(u: Floats) -> Floats:
    return 0.02 * np.exp(2.5 * u)


WORLDS = {
    "wrong labels": ErrorWorld(
        "zero-one loss, wrong with probability 0.1 to 0.7; the estimate falls where that rises, "
        "and the reference, a constant, is better",
        estimate=lambda u: 0.55 - 0.3 * u,
        reference=lambda u: np.full_like(u, 0.4),
        draw=lambda u, rng: (rng.random(u.shape) < _wrong_often(u)).astype(np.float64),
        moments=lambda u: (_wrong_often(u), _wrong_often(u) * (1 - _wrong_often(u))),
    ),
    "clipped squares": ErrorWorld(
        "squared error of a normal target, clipped at 1; the estimate is about 30 % too large, and "
        "better than the reference, a constant",
        estimate=lambda u: np.minimum(1.3 * _variance(u), 1.0),
        reference=lambda u: np.full_like(u, 0.09),
        draw=lambda u, rng: np.minimum(_variance(u) * rng.standard_normal(u.shape) ** 2, 1.0),
        moments=_clipped_square,
    ),
    "rare failures": ErrorWorld(
        "always wrong on 1 % of the inputs, never elsewhere; the estimate is 0.02 everywhere, the "
        "reference 0.1",
        estimate=lambda u: np.full_like(u, 0.02),
        reference=lambda u: np.full_like(u, 0.1),
        draw=lambda u, rng: (u < 0.01).astype(np.float64),
        moments=lambda u: ((u < 0.01).astype(np.float64), np.zeros_like(u)),
    ),
}


def normal_interval(x: Floats, *, confidence: float, lower: float, upper: float) -> MeanInterval:
    """Return mean ± z standard errors of each sample: right only in the limit."""
    rows = (x - lower) / (upper - lower)
    half = stats.norm.ppf((1 + confidence) / 2) * rows.std(axis=1, ddof=1)
    half /= np.sqrt(rows.shape[1])
    mean = rows.mean(axis=1)
    limits = (lower + (upper - lower) * limit for limit in (mean, mean - half, mean + half))
    return MeanInterval(*limits)


METHODS: dict[str, Any] = {
    "betting": "betting",
    "bernstein": "bernstein",
    "normal": normal_interval,
}


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return, for each way to find limits, how often they cover what, and their widths."""
    world, n = WORLDS[setting["world"]], setting["n"]
    found: dict[str, list[RiskErrorInterval]] = {method: [] for method in METHODS}
    left = config.repetitions
    while left > 0:
        u = rng.random((min(left, _TOGETHER), n))
        loss = world.draw(u, rng)
        left -= len(u)
        for name, method in METHODS.items():
            found[name].append(
                risk_error_interval(
                    world.estimate(u),
                    loss,
                    reference=world.reference(u),
                    confidence=CONFIDENCE,
                    upper=1.0,
                    over="population",
                    method=method,
                )
            )
    truth = world.truth()
    return [_record(method, setting, parts, truth) for method, parts in found.items()]


def _record(
    method: str,
    setting: dict[str, Any],
    parts: list[RiskErrorInterval],
    truth: tuple[float, float, float],
) -> Record:
    intervals: dict[str, list[Any]] = {
        "error": [(part.lower, part.upper) for part in parts],
        "realised": [part.realised[1:] for part in parts],
        "difference": [part.differences["reference"][1:] for part in parts],
    }
    record: Record = {"method": method, **setting, "confidence": CONFIDENCE}
    everything = np.ones(sum(len(part) for _, part in intervals["error"]), dtype=bool)
    for (name, limits), value in zip(intervals.items(), truth, strict=True):
        low, high = np.concatenate(limits, axis=1)
        covered = (low <= value) & (value <= high)
        everything &= covered
        record[name] = {
            "truth": value,
            "covered": int(covered.sum()),
            "width": float((high - low).mean()),
        }
    covered_all = int(everything.sum())
    test = stats.binomtest(covered_all, len(everything), CONFIDENCE, alternative="less")
    return record | {
        "repetitions": len(everything),
        "covered": covered_all,
        "p": float(test.pvalue),
    }


PART = Part(
    name="coverage",
    title="coverage of intervals for the error",
    settings=[{"world": world, "n": n} for n in reversed(NUMBERS) for world in WORLDS],
    simulate=simulate,
    in_quick=lambda setting: setting["n"] <= 200,
    work=lambda setting: setting["n"] / 100,
)
