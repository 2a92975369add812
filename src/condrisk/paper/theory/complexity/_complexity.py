"""What a Rademacher complexity is, as an object: a value, how it was found and for what rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from condrisk.paper.theory._checks import check_non_negative

Kind = Literal["exact", "estimate", "upper"]
Scope = Literal["expected", "empirical"]


@dataclass(frozen=True, kw_only=True)
class Complexity:
    """A Rademacher complexity, or an upper bound of one: what a bound function may be given.

    Parameters
    ----------
    value : float
        The complexity, never negative.
    kind : {"exact", "estimate", "upper"}
        Exact; a Monte Carlo estimate; or an upper bound.
    standard_error : float, default=0.0
        Of an estimate. Bound functions add three of them.
    scope : {"expected", "empirical"}, default="expected"
        Whether it is the mean over samples of rows (or bounds it for every sample), or belongs
        to the rows at hand. With the latter a bound pays more for deviations.
    name : str, default=""
        The class of functions, in words.

    See Also
    --------
    LowerBound : What is no complexity, because it may be too small.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import Complexity
    >>> Complexity(value=0.1, kind="upper", name="stumps").scope
    'expected'
    """

    value: float
    kind: Kind
    standard_error: float = 0.0
    scope: Scope = "expected"
    name: str = ""

    def __post_init__(self) -> None:
        check_non_negative(self.value, "value")
        check_non_negative(self.standard_error, "standard_error")
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {get_args(Kind)}, got {self.kind!r}")
        if self.scope not in get_args(Scope):
            raise ValueError(f"scope must be one of {get_args(Scope)}, got {self.scope!r}")
        if self.kind == "exact" and self.standard_error > 0:
            raise ValueError(
                f'standard_error must be 0 for kind="exact", got {self.standard_error}'
            )


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """A number that a Rademacher complexity is at least, and that no bound function accepts.

    A search that finds good members of a class, but not surely the best one, gives this.

    Parameters
    ----------
    value : float
        The lower bound.
    standard_error : float, default=0.0
        Its Monte Carlo standard error.
    name : str, default=""
        The class of functions and the search, in words.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import LowerBound
    >>> LowerBound(value=0.2, standard_error=0.01, name="trees of depth 2, greedy").value
    0.2
    """

    value: float
    standard_error: float = 0.0
    name: str = ""


def average_complexity(complexities: Iterable[Complexity]) -> Complexity:
    """Estimate the expected complexity by the mean of empirical ones.

    Parameters
    ----------
    complexities : iterable of Complexity
        The empirical complexity of one class on each of at least two independent samples of
        equally many rows.

    Returns
    -------
    Complexity
        Of kind "estimate", scope "expected": of the expected complexity or, if upper bounds are
        averaged, of an upper bound of it. Its standard error is that of the mean, so it covers
        both the choice of rows and the draws of signs.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.paper.theory.complexity import average_complexity, linear_complexity
    >>> rng = np.random.default_rng(0)
    >>> samples = rng.normal(size=(50, 100, 3))
    >>> average_complexity(
    ...     linear_complexity(X, radius=1.0, n_draws=100, random_state=rng) for X in samples
    ... ).scope
    'expected'
    """
    members = _check_complexities(complexities)
    if len(members) < 2:
        raise ValueError(f"complexities must hold at least two samples, got {len(members)}")
    values = np.array([member.value for member in members])
    return Complexity(
        value=float(values.mean()),
        kind="estimate",
        standard_error=float(values.std(ddof=1) / np.sqrt(len(values))),
        name=members[0].name,
    )


def sum_complexities(complexities: Iterable[Complexity]) -> Complexity:
    """Add up the complexities of the K coordinates of a class of vectors of probabilities.

    Parameters
    ----------
    complexities : iterable of Complexity
        One for each class label k: that of {x ↦ p(x)ₖ}.

    Returns
    -------
    Complexity
        The sum. It is exact if all are, an upper bound if any of them is one, otherwise an
        estimate; it is empirical if any is. Standard errors are added, because the estimates may
        share their draws.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import constant_complexity, sum_complexities
    >>> sum_complexities([constant_complexity(n=2)] * 2).value
    0.5
    """
    members = _check_complexities(complexities)
    kinds = {member.kind for member in members}
    kind: Kind = "upper" if "upper" in kinds else "estimate" if "estimate" in kinds else "exact"
    empirical = any(member.scope == "empirical" for member in members)
    return Complexity(
        value=float(sum(member.value for member in members)),
        kind=kind,
        standard_error=float(sum(member.standard_error for member in members)),
        scope="empirical" if empirical else "expected",
        name=" + ".join(sorted({member.name for member in members if member.name})),
    )


def _check_complexities(complexities: Any) -> list[Complexity]:
    members = list(complexities)
    if not members:
        raise ValueError("complexities is empty: at least one is needed")
    for member in members:
        if not isinstance(member, Complexity):
            raise TypeError(f"complexities must hold Complexity objects, got {member!r}")
    return members
