"""What a bound function returns, and what all of them share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from condrisk.paper.theory._checks import check_count, check_non_negative, check_open_unit
from condrisk.paper.theory._complexity_types import Complexity, LowerBound

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


class Read(NamedTuple):
    """A complexity as bound functions use it."""

    value: float
    monte_carlo: float
    empirical: bool
    assumptions: tuple[str, ...]


def read_complexity(complexity: Any) -> Read:
    """Return what a bound function needs of a complexity; refuse what is only a lower bound."""
    if isinstance(complexity, LowerBound):
        raise TypeError(
            f"complexity must not be a LowerBound ({complexity.name or 'unnamed'}): a bound needs "
            f"the complexity or something greater, and this may be smaller. Give a Complexity, or "
            f"a number that is an upper bound of the expected complexity."
        )
    if not isinstance(complexity, Complexity):
        value = check_non_negative(complexity, "complexity")
        return Read(value, 0.0, False, ("The complexity given is at least the expected one.",))
    if complexity.standard_error == 0:
        return Read(complexity.value, 0.0, complexity.scope == "empirical", ())
    note = (
        f"The complexity was estimated by Monte Carlo; {STANDARD_ERRORS:g} of its standard errors "
        f"were added, and the true one is no greater than that."
    )
    extra = STANDARD_ERRORS * complexity.standard_error
    return Read(complexity.value, extra, complexity.scope == "empirical", (note,))


def deviation(n: Any, delta: Any) -> float:
    """Return s = √(ln(1/δ) / 2n), by which a mean of n values in [0, 1] may exceed its own mean."""
    rows, failure = check_count(n, "n"), check_open_unit(delta, "delta")
    return math.sqrt(math.log(1 / failure) / (2 * rows))


def excess_terms(read: Read, s: float, *, lipschitz: float, loss_range: float) -> dict[str, float]:
    """Terms of the bound on the excess loss of an empirical minimiser over a class.

    With loss ℓ in [0, B], L-Lipschitz in the function's value, and Φ = sup_θ [E ℓ_θ − Ê ℓ_θ] +
    Ê ℓ_θ* − E ℓ_θ*, the excess is at most Φ because Ê ℓ_θ̂ ≤ Ê ℓ_θ*. Symmetrisation and
    contraction give E Φ ≤ 2 Rad(ℓ∘G) ≤ 2L·Rad(G). One other row changes Φ by at most 2B/n, so by
    McDiarmid Φ ≤ E Φ + 2B·s with probability 1 − δ. The empirical complexity of ℓ∘G changes by at
    most B/n, so Φ − 2·(it) changes by at most 4B/n, has a mean of at most 0, and pays 4B·s;
    contraction afterwards holds for the given rows.
    """
    weight = 4 if read.empirical else 2
    return _with_monte_carlo(read, 2 * lipschitz, weight * loss_range * s)


def one_sided_terms(read: Read, s: float, *, scale: float) -> dict[str, float]:
    """Terms of the bound on E ℓ_θ for all θ with Ê ℓ_θ = 0, with ℓ in [0, scale].

    There is no θ* to compare with, so sup [E ℓ_θ − Ê ℓ_θ] changes by scale/n only: scale·s, and
    with the empirical complexity, which is counted twice, 3·scale·s.
    """
    weight = 3 if read.empirical else 1
    return _with_monte_carlo(read, 2 * scale, weight * scale * s)


def likely(delta: float) -> str:
    """Begin the statement of a bound that holds with probability 1 − δ."""
    return f"With probability at least {1 - delta:g} over the rows,"


def _with_monte_carlo(read: Read, factor: float, deviations: float) -> dict[str, float]:
    terms = {"complexity": factor * read.value}
    if read.monte_carlo > 0:
        terms["monte_carlo"] = factor * read.monte_carlo
    terms["deviation"] = deviations
    return terms
