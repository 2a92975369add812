"""What a bound function returns, and what all of them share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from condrisk.paper.theory._checks import check_count, check_non_negative, check_open_unit
from condrisk.paper.theory.complexity import Complexity, LowerBound

# How many standard errors are added to a Monte Carlo estimate of a complexity: with normal errors
# the sum is too small once in 740 times.
STANDARD_ERRORS = 3.0

INDEPENDENT_ROWS = (
    "The rows are independent draws from one law, and neither the predictor nor the class of "
    "functions was chosen with their help."
)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The value of a bound, what it is made of and what it rests on.

    Parameters
    ----------
    value : float
        The bound.
    terms : dict of str to float
        Its parts. They add up to `value`; where the bound is a root, to what its function
        says.
    assumptions : tuple of str
        Without these it need not hold.
    statement : str
        What is bounded, in one sentence.
    trivial : float, default=inf
        What is never exceeded anyway.

    Attributes
    ----------
    vacuous : bool
        Whether the bound says no more than `trivial` does.

    Examples
    --------
    >>> from condrisk.paper.theory import squared_error_bound
    >>> bound = squared_error_bound(complexity=0.02, n=1000, upper=1.0, delta=0.05)
    >>> bound.value
    0.1574
    >>> bound.terms
    {'complexity': 0.08, 'deviation': 0.0774}
    >>> bound.vacuous
    False
    """

    value: float
    terms: dict[str, float]
    assumptions: tuple[str, ...]
    statement: str
    trivial: float = math.inf

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than is known without any data."""
        return self.value >= self.trivial

    def __float__(self) -> float:
        return self.value


def read_complexity(complexity: Any) -> Complexity:
    """Return a complexity; a number is taken as an upper bound of the expected one."""
    if isinstance(complexity, LowerBound):
        raise TypeError(
            f"complexity must not be a LowerBound ({complexity.name or 'unnamed'}): a bound needs "
            f"the complexity or something greater, and this may be smaller. Give a Complexity, or "
            f"a number that is an upper bound of the expected complexity."
        )
    if isinstance(complexity, Complexity):
        return complexity
    return Complexity(value=check_non_negative(complexity, "complexity"), kind="upper")


def complexity_terms(complexity: Any, factor: float) -> dict[str, float]:
    """Return what a complexity, times a factor, adds to a bound, the Monte Carlo error apart."""
    read = read_complexity(complexity)
    terms = {"complexity": factor * read.value}
    if read.standard_error > 0:
        terms["monte_carlo"] = factor * STANDARD_ERRORS * read.standard_error
    return terms


def complexity_assumption(complexity: Any) -> tuple[str, ...]:
    """Return what a bound rests on if it was given a bare number or an estimate."""
    if not isinstance(complexity, Complexity):
        return ("The complexity given is at least the expected one.",)
    if complexity.standard_error == 0:
        return ()
    return (
        f"The complexity was estimated by Monte Carlo; {STANDARD_ERRORS:g} of its standard errors "
        f"were added, and the true one is no greater than that.",
    )


def deviation(n: Any, delta: Any) -> float:
    """Return s = √(ln(1/δ) / 2n), by which a mean of n values in [0, 1] may exceed its own mean."""
    rows, failure = check_count(n, "n"), check_open_unit(delta, "delta")
    return math.sqrt(math.log(1 / failure) / (2 * rows))


def excess_bound(
    complexity: Any,
    n: Any,
    delta: Any,
    *,
    lipschitz: float,
    loss_range: float,
    trivial: float,
    assumptions: tuple[str, ...],
    claim: str,
) -> Bound:
    """Bound the excess loss of an empirical minimiser over a class.

    With loss ℓ in [0, B], L-Lipschitz in the function's value, and Φ = sup_θ [E ℓ_θ − Ê ℓ_θ] +
    Ê ℓ_θ* − E ℓ_θ*, the excess is at most Φ because Ê ℓ_θ̂ ≤ Ê ℓ_θ*. Symmetrisation and
    contraction give E Φ ≤ 2 Rad(ℓ∘G) ≤ 2L·Rad(G). One other row changes Φ by at most 2B/n, so by
    McDiarmid Φ ≤ E Φ + 2B·s with probability 1 − δ. The empirical complexity of ℓ∘G changes by at
    most B/n, so Φ − 2·(it) changes by at most 4B/n, has a mean of at most 0, and pays 4B·s;
    contraction afterwards holds for the given rows.
    """
    weight = 4 if read_complexity(complexity).scope == "empirical" else 2
    return _likely_bound(
        complexity,
        {
            **complexity_terms(complexity, 2 * lipschitz),
            "deviation": weight * loss_range * deviation(n, delta),
        },
        delta,
        trivial=trivial,
        assumptions=assumptions,
        claim=claim,
    )


def interpolation_bound(
    complexity: Any,
    n: Any,
    delta: Any,
    *,
    scale: float,
    assumptions: tuple[str, ...],
    claim: str,
) -> Bound:
    """Bound E ℓ_θ for all θ with Ê ℓ_θ = 0, with ℓ in [0, scale].

    There is no θ* to compare with, so sup [E ℓ_θ − Ê ℓ_θ] changes by scale/n only: scale·s, and
    with the empirical complexity, which is counted twice, 3·scale·s.
    """
    weight = 3 if read_complexity(complexity).scope == "empirical" else 1
    terms = {
        **complexity_terms(complexity, 2 * scale),
        "deviation": weight * scale * deviation(n, delta),
    }
    return _likely_bound(
        complexity, terms, delta, trivial=scale, assumptions=assumptions, claim=claim
    )


def likely(delta: float) -> str:
    """Begin the statement of a bound that holds with probability 1 − δ."""
    return f"With probability at least {1 - delta:g} over the rows,"


def _likely_bound(
    complexity: Any,
    terms: dict[str, float],
    delta: float,
    *,
    trivial: float,
    assumptions: tuple[str, ...],
    claim: str,
) -> Bound:
    """Return the sum of the terms; ``{value}`` in the claim stands for it."""
    value = sum(terms.values())
    return Bound(
        value=value,
        terms=terms,
        assumptions=(INDEPENDENT_ROWS, *assumptions, *complexity_assumption(complexity)),
        statement=f"{likely(delta)} {claim.format(value=f'{value:.4g}')}",
        trivial=trivial,
    )
