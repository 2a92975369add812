"""The table that counterexamples enter themselves into, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """A number per repetition (or one for all) of each of four things.

    The printed bound, the quantity it is about, and the same two after the repair.
    """

    printed_bound: Floats | float
    observed: Floats | float
    repaired_bound: Floats | float
    repaired_observed: Floats | float


Simulation: TypeAlias = Callable[[int, int, float, np.random.Generator], Outcome]


@dataclass(frozen=True)
class Counterexample:
    """A claim of the paper that fails in a small world, and what repairs it.

    `simulate_counterexample` draws from it.

    Attributes
    ----------
    name : str
        Its key in `COUNTEREXAMPLES`.
    claim : str
        What is printed.
    world : str
        Where the claim fails.
    quantity : str
        What is computed in every repetition, to be held against the printed bound.
    repair : str
        What makes the claim true.
    repaired_quantity : str
        What the repaired bound is about.
    n : int
        The rows that suffice to see the claim fail.
    relation : {"<=", ">="}
        How the quantity should stand to the bound.
    simulate : callable
        Takes the rows, the repetitions, δ and a generator; returns the bounds and quantities.

    Examples
    --------
    >>> from condrisk.paper.theory import COUNTEREXAMPLES
    >>> shown = COUNTEREXAMPLES["theorem_1_line_1"]
    >>> print(shown.claim)
    Theorem 1, line 1: R_ca(θ̂) − R_ca(θ*) ≤ 2M Rad(H) + 2M·s
    """

    name: str
    claim: str
    world: str
    quantity: str
    repair: str
    repaired_quantity: str
    n: int
    relation: Literal["<=", ">="]
    simulate: Simulation


FLAWS: dict[str, Counterexample] = {}


def flaw(
    *,
    claim: str,
    world: str,
    quantity: str,
    repair: str,
    repaired_quantity: str,
    n: int,
    relation: Literal["<=", ">="] = "<=",
) -> Callable[[Simulation], Simulation]:
    """Enter the decorated simulation into `FLAWS`, under its own name."""

    def enter(simulate: Simulation) -> Simulation:
        name: str = getattr(simulate, "__name__")  # noqa: B009  (mypy: a Callable need not have it)
        FLAWS[name] = Counterexample(
            name=name,
            claim=claim,
            world=world,
            quantity=quantity,
            repair=repair,
            repaired_quantity=repaired_quantity,
            n=n,
            relation=relation,
            simulate=simulate,
        )
        return simulate

    return enter
