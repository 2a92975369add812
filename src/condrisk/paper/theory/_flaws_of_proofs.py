"""Steps of the proofs of Theorem 1 and Proposition 3 that do not hold."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from condrisk.paper.theory._bound import deviation
from condrisk.paper.theory._cantor import distance_to_fat_cantor
from condrisk.paper.theory._cantor_regression import best_lipschitz_error
from condrisk.paper.theory._registry import Floats, Outcome, flaw

# A row in which the label is the likelier one, and a row in which it is not, at p = (0.9, 0.1).
_LABELS = np.array([[1.0, 0.0], [0.0, 1.0]])
_TRUTH = np.array([0.9, 0.1])
_HALVES = np.array([0.5, 0.5])


def _squared(vectors: Floats) -> Floats:
    return (vectors**2).sum(axis=-1)


def _shares(n: int, n_repetitions: int, rng: np.random.Generator) -> Floats:
    """Return the share of likely and unlikely labels among the rows of each repetition."""
    unlikely = rng.binomial(n, _TRUTH[1], n_repetitions) / n
    return np.stack([1 - unlikely, unlikely], axis=1)


@flaw(
    claim="Theorem 1's proof: ‖p_θ − y‖² = ‖p_θ − p‖² + ‖p − y‖² + (p_θ − p)ᵀ(p − y)",
    world="p = (0.9, 0.1) or (0.1, 0.9) with equal chances, p_θ = (½, ½)",
    quantity="the mean of the absolute difference of both sides over the rows",
    repair="the last term counts twice",
    repaired_quantity="the same, with 2(p_θ − p)ᵀ(p − y)",
    n=1000,
)
def theorem_1_cross_term(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Multiply out a square."""
    shares = _shares(n, n_repetitions, rng)
    cross = (_TRUTH - _LABELS) @ (_HALVES - _TRUTH)
    rest = _squared(_HALVES - _LABELS) - _squared(_HALVES - _TRUTH) - _squared(_TRUTH - _LABELS)
    return Outcome(
        printed_bound=0.0,
        observed=shares @ np.abs(rest - cross),
        repaired_bound=0.0,
        repaired_observed=shares @ np.abs(rest - 2 * cross),
    )


@flaw(
    claim="Theorem 1's proof: E‖p_θ − p‖² = R(θ) − R(θ*) because E[p − y] = 0",
    world="X a fair coin, P(Y = X) = 0.9, p_θ = the unit vector of x; in place of p stands (½, ½), "
    "of which E[p − y] = 0 is true",
    quantity="the mean over the rows of ‖p_θ − p‖² − ‖p_θ − y‖² + ‖p − y‖², which would exceed "
    "(its range)·s with probability at most δ if its mean were zero",
    repair="E[p − y | X] = 0 is needed, hence p = P(Y = · | X)",
    repaired_quantity="the same, for p = P(Y = · | X)",
    n=1000,
)
def theorem_1_conditional_mean(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Put a vector that is right on average only in the place of the truth."""
    shares = _shares(n, n_repetitions, rng)
    unit = _LABELS[0]  # the likelier label is x
    s = deviation(n, delta)

    def difference(of: Floats) -> Floats:
        return _squared(unit - of) - _squared(unit - _LABELS) + _squared(of - _LABELS)

    marginal, conditional = difference(_HALVES), difference(_TRUTH)
    return Outcome(
        printed_bound=float(np.ptp(marginal)) * s,
        observed=shares @ marginal,
        repaired_bound=float(np.ptp(conditional)) * s,
        repaired_observed=shares @ conditional,
    )


_DEPTH = 5
_CLAIMED = 0.05  # a positive distance; a steeper function would beat any smaller one
_STEEP, _GENTLE = 3000.0, 10.0
_CELLS = 4096


@flaw(
    claim="Proposition 3's proof: as g is not continuous, E|g_θ − g| ≥ δ̄ > 0 for all continuous "
    "g_θ; here δ̄ = 0.05",
    world="X uniform on [0, 1], g = 1 outside the fat Cantor set, g_θ = min(1, 3000·distance)",
    quantity="the mean of |g_θ − g| over n rows",
    repair="for fixed m all m-Lipschitz functions keep the distance e(m) > 0, the value of a "
    "linear programme; here m = 10",
    repaired_quantity="E|ĝ − g| of the best of eleven 10-Lipschitz functions on the rows",
    n=500,
    relation=">=",
)
def proposition_3_density(
    n: int, n_repetitions: int, delta: float, rng: np.random.Generator
) -> Outcome:
    """Approach an indicator by continuous functions."""
    distance = distance_to_fat_cantor(rng.random((n_repetitions, n)), depth=_DEPTH)
    offsets = np.linspace(-0.5, 0.5, 11)
    everywhere = distance_to_fat_cantor((np.arange(1 << 14) + 0.5) / (1 << 14), depth=_DEPTH)
    errors = np.array([_ramp_error(everywhere, _GENTLE, offset) for offset in offsets])
    on_rows = np.stack([_ramp_error(distance, _GENTLE, offset) for offset in offsets])
    return Outcome(
        printed_bound=_CLAIMED,
        observed=_ramp_error(distance, _STEEP, 0.0),
        repaired_bound=_least_error(),
        repaired_observed=errors[np.argmin(on_rows, axis=0)],
    )


@lru_cache(maxsize=1)
def _least_error() -> float:
    # What the grid of the programme may cost: an m-Lipschitz function against its chords.
    chords = _GENTLE / (4 * _CELLS)
    return best_lipschitz_error(_GENTLE, depth=_DEPTH, n_cells=_CELLS) - chords


def _ramp_error(distance: Floats, slope: float, offset: float) -> Floats:
    """Return the mean of |g_θ − g| for g_θ = slope·distance + offset, kept within [0, 1]."""
    ramp = np.clip(slope * distance + offset, 0.0, 1.0)
    return np.abs(ramp - (distance > 0)).mean(axis=-1)
