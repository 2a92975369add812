"""Excess of the risk that is minimised, against the number of rows, under its bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from condrisk.paper._records import Record
from condrisk.paper.theory import (
    Bound,
    brier_probability_bound,
    cross_entropy_kl_bound,
    plug_in_bound,
    plug_in_cross_entropy_bound,
    plug_in_matched_bound,
    realised_absolute_bound,
    separable_bound,
    squared_error_bound,
)
from condrisk.paper.theory.complexity import Complexity, massart_bound, sum_complexities
from condrisk.paper.theory.simulations._cells import (
    N_CELLS,
    N_CLASSES,
    N_GROUPS,
    Floats,
    cell_complexity,
    make_class_cells,
    make_loss_cells,
    mean_absolute_sum,
)
from condrisk.paper.theory.simulations._settings import Part, TheoryConfig

NUMBERS = (100, 316, 1000, 3162, 10_000, 31_623, 100_000, 1_000_000)
DELTAS = (0.05, 0.2)
# No probability of the world is smaller.
FLOOR = 0.05
# Members of the finite class: the true probabilities, and others from near to far.
N_MEMBERS = 200


def simulate(
    setting: dict[str, Any], config: TheoryConfig, rng: np.random.Generator
) -> list[Record]:
    """Return a record for each bound, with how often it was exceeded."""
    n, repetitions = setting["n"], config.repetitions
    return [
        *_by_regression(n, repetitions, rng),
        *_by_calibration(n, repetitions, rng),
        *_on_separable(n, repetitions, rng),
    ]


def violation_record(
    method: str, n: int, excess: Floats, bound: Callable[..., Bound], **given: Any
) -> Record:
    """Return mean and spread of an excess, and how often it was above its bound at each δ.

    The p-value is that of the exact binomial test that it is so with probability δ at most.
    """
    record: Record = {
        "method": method,
        "n": n,
        "repetitions": len(excess),
        "mean": float(excess.mean()),
        "se": float(excess.std(ddof=1) / np.sqrt(len(excess))),
        "high": float(np.quantile(excess, 0.95)),
        "bounds": {},
    }
    for delta in DELTAS:
        found = bound(n=n, delta=delta, **given)
        record["bounds"][f"{delta:g}"] = _held_against(excess, found.value, delta) | {
            "vacuous": found.vacuous
        }
    return record


def _held_against(excess: Floats, bound: Any, delta: float) -> dict[str, Any]:
    violations = int((excess > bound).sum())
    test = stats.binomtest(violations, len(excess), delta, alternative="greater")
    return {
        "bound": float(np.mean(bound)),
        "violations": violations,
        "p": float(test.pvalue),
    }


def _by_regression(n: int, repetitions: int, rng: np.random.Generator) -> list[Record]:
    """Medians and means of the losses in each cell."""
    losses, cells = make_loss_cells(), make_class_cells()
    complexity = cell_complexity(n, n_cells=N_CELLS)
    rows, medians = losses.draw_medians(n, repetitions, rng)
    excess = losses.realised(medians) - losses.realised(losses.medians)
    expected = violation_record(
        "realised_absolute",
        n,
        excess,
        realised_absolute_bound,
        complexity=complexity,
        upper=1.0,
    )
    empirical = expected | {"method": "realised_absolute_empirical", "bounds": {}}
    values = mean_absolute_sum(rows).sum(axis=1) / (2 * n)
    for delta in DELTAS:
        free = realised_absolute_bound(
            complexity=Complexity(value=0.0, kind="exact", scope="empirical"),
            n=n,
            upper=1.0,
            delta=delta,
        )
        found = _held_against(excess, free.value + 2 * values, delta)
        empirical["bounds"][f"{delta:g}"] = found | {"vacuous": found["bound"] >= free.trivial}
    means = cells.cell_means(cells.draw(n, repetitions, rng))
    squared = violation_record(
        "squared_error",
        n,
        ((means - cells.risk) ** 2).mean(axis=1),
        squared_error_bound,
        complexity=complexity,
        upper=1.0,
    )
    squared["absolute_error"] = float(np.abs(means - cells.risk).mean())
    return [expected, empirical, squared]


def _by_calibration(n: int, repetitions: int, rng: np.random.Generator) -> list[Record]:
    """Frequencies of the classes in each group: by Brier score, by cross-entropy, by the loss."""
    cells = make_class_cells()
    counts = cells.draw(n, repetitions, rng)
    complexity = sum_complexities([cell_complexity(n, n_cells=N_GROUPS)] * N_CLASSES)

    def error(proba: Floats) -> Floats:
        return np.abs((proba * cells.loss).sum(axis=2) - cells.risk).mean(axis=1)

    brier = cells.group_frequencies(counts)
    floored = raise_to_floor(brier, FLOOR)
    divergence = (cells.proba * np.log(cells.proba / floored)).sum(axis=2).mean(axis=1)
    distance = ((brier - cells.proba) ** 2).sum(axis=2).mean(axis=1)
    plug_in, floor = {"n_classes": N_CLASSES, "upper": 1.0}, {"floor": FLOOR}
    found: dict[str, tuple[Floats, Callable[..., Bound], dict[str, Any]]] = {
        "brier_probability": (distance, brier_probability_bound, {}),
        "plug_in": (error(brier), plug_in_bound, plug_in),
        "cross_entropy_kl": (divergence, cross_entropy_kl_bound, floor),
        "plug_in_cross_entropy": (
            error(floored),
            plug_in_cross_entropy_bound,
            floor | {"upper": 1.0},
        ),
    }
    records = [
        violation_record(method, n, excess, bound, complexity=complexity, **given)
        for method, (excess, bound, given) in found.items()
    ]
    return [*records, _matched(n, counts)]


def _matched(n: int, counts: np.ndarray[Any, Any]) -> Record:
    """Return the excess of the member of a finite class that is best for |g_ca − z| itself."""
    cells = make_class_cells()
    far = np.random.default_rng(0).dirichlet(np.ones(N_CLASSES), size=(N_MEMBERS - 1, N_GROUPS))
    share = np.geomspace(0.01, 1.0, N_MEMBERS - 1)[:, None, None]
    others = (1 - share) * cells.proba + share * far[:, cells.group]
    members = np.concatenate([cells.proba[None], others])
    risks = (members * cells.loss).sum(axis=2)
    realised = np.abs(risks[:, :, None] - cells.loss)
    expected = (realised * cells.proba).sum(axis=2).mean(axis=1)
    chosen = np.argmin(np.tensordot(counts, realised, axes=([1, 2], [1, 2])), axis=1)
    finite = massart_bound(n_members=N_MEMBERS, n=n, radius=0.5)
    return violation_record(
        "plug_in_matched",
        n,
        expected[chosen] - expected.min(),
        plug_in_matched_bound,
        complexity=sum_complexities([finite] * N_CLASSES),
        upper=1.0,
    )


def _on_separable(n: int, repetitions: int, rng: np.random.Generator) -> list[Record]:
    """Two classes without noise: interpolating estimates that err as much as they can.

    In cells, every cell without rows gets the wrong class. On a line whose classes meet at 0.3,
    the threshold is put at the farther one of the two rows around it.
    """
    rows = rng.multinomial(n, np.full(N_CELLS, 1 / N_CELLS), size=repetitions)
    left = rng.binomial(n, 0.3, size=repetitions)
    gaps = 0.3 * rng.beta(1, np.maximum(left, 1)), 0.7 * rng.beta(1, np.maximum(n - left, 1))
    farther = np.maximum(np.where(left > 0, gaps[0], 0.3), np.where(left < n, gaps[1], 0.7))
    cells, line = cell_complexity(n, n_cells=N_CELLS), threshold_complexity(n)
    found = {
        "separable_cells": (cells, (rows == 0).mean(axis=1)),
        "separable_line": (line, farther),
    }
    return [
        violation_record(
            method, n, excess, separable_bound, complexity=sum_complexities([one, one])
        )
        for method, (one, excess) in found.items()
    ]


def threshold_complexity(n: int) -> Complexity:
    """Return the complexity of the indicators of x > t, exactly.

    It is E max_j (σ₁ + … + σ_j)⁺ / n, which is Σ_j E|σ₁ + … + σ_j| / 2j / n (Spitzer).
    """
    j = np.arange(1, n + 1, dtype=np.float64)
    value = float((mean_absolute_sum(j) / (2 * j)).sum() / n)
    return Complexity(value=value, kind="exact", name="thresholds")


def raise_to_floor(proba: Floats, floor: float) -> Floats:
    """Return the probabilities of least cross-entropy to these with none below the floor.

    Those that would be below it are put there, the others share what is left in proportion.
    """
    low = np.zeros(proba.shape, dtype=bool)
    for _ in range(proba.shape[-1]):
        left = 1 - floor * low.sum(axis=-1, keepdims=True)
        free = np.where(low, 0.0, proba)
        raised = np.where(low, floor, free / free.sum(axis=-1, keepdims=True) * left)
        low |= raised < floor
    return raised


PART = Part(
    name="excess",
    title="excess against the number of rows",
    settings=[{"n": n} for n in NUMBERS],
    simulate=simulate,
    work=lambda setting: 2.0,
)
