"""Rademacher complexities: what a class of functions counts for in a bound.

The empirical complexity of a class G on rows x₁, …, xₙ is E_σ sup_g (1/n) Σᵢ σᵢ g(xᵢ) with
independent random signs σ; its mean over the rows is the expected complexity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import beta

from condrisk.paper.theory._checks import check_count, check_interval, check_non_negative

Kind = Literal["exact", "upper"]
Scope = Literal["expected", "empirical"]


@dataclass(frozen=True, kw_only=True)
class Complexity:
    """A Rademacher complexity, or an upper bound of one: what a bound function may be given.

    Parameters
    ----------
    value : float
        The complexity, never negative.
    kind : {"exact", "upper"}
        Exact, or an upper bound.
    scope : {"expected", "empirical"}, default="expected"
        Whether it is the mean over samples of rows (or bounds it for every sample), or belongs
        to the rows at hand. With the latter a bound pays more for deviations.
    name : str, default=""
        The class of functions, in words.

    Examples
    --------
    Linear functions x ↦ w·x with ‖w‖₂ ≤ 2: at most 2·√Σ‖xᵢ‖² / n.

    >>> import numpy as np
    >>> from condrisk.paper.theory import Complexity
    >>> X = np.array([[3.0, 4.0], [0.0, 5.0]])
    >>> value = float(2 * np.linalg.norm(X) / len(X))
    >>> Complexity(value=value, kind="upper", scope="empirical", name="linear").value
    7.0711
    """

    value: float
    kind: Kind
    scope: Scope = "expected"
    name: str = ""

    def __post_init__(self) -> None:
        check_non_negative(self.value, "value")
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind must be one of {get_args(Kind)}, got {self.kind!r}")
        if self.scope not in get_args(Scope):
            raise ValueError(f"scope must be one of {get_args(Scope)}, got {self.scope!r}")


def constant_complexity(*, n: int, lower: float = 0.0, upper: float = 1.0) -> Complexity:
    """Complexity of the constant functions with values in [lower, upper], exactly.

    Parameters
    ----------
    n : int
        The number of rows.
    lower, upper : float, default=0.0, 1.0
        The range of the constants.

    Returns
    -------
    Complexity
        Of kind "exact". It is the same for all rows, so the scope is "expected".

    Notes
    -----
    With T = Σ σᵢ, the supremum of cT over the range is mid·T + half·|T|, where mid is the middle
    of the range and half is half its length; T has mean zero. So the complexity is half·E|T|/n,
    and E|T|/n = C(2m, m)/4ᵐ = Γ(m + ½) / (√π Γ(m + 1)) with m = ⌊n/2⌋, about √(2/πn).

    Examples
    --------
    >>> from condrisk.paper.theory import constant_complexity
    >>> constant_complexity(n=2).value
    0.25
    >>> constant_complexity(n=1000, upper=1.0).value
    0.01261
    """
    count = check_count(n, "n")
    start, end = check_interval(lower, upper, names=("lower", "upper"))
    mean_absolute_share = float(beta(count // 2 + 0.5, 0.5)) / math.pi
    value = (end - start) / 2 * mean_absolute_share
    return Complexity(value=value, kind="exact", name=f"constants in [{start:g}, {end:g}]")


def massart_bound(*, n_members: int, n: int, radius: float) -> Complexity:
    """Massart's upper bound of the complexity of a finite class.

    Parameters
    ----------
    n_members : int
        How many functions the class has (or how many different vectors of values it can have on
        n rows).
    n : int
        The number of rows.
    radius : float
        How far a value can be from one fixed function: M/2 for values in [0, M].

    Returns
    -------
    Complexity
        Of kind "upper". It holds for all rows, so the scope is "expected".

    Notes
    -----
    For t > 0, exp(t·E max Z) ≤ E max exp(tZ) ≤ Σ_members E exp(tZ) ≤ m·exp(t²r²/2) for the sums
    Z = Σ σᵢ vᵢ with r = max‖v‖₂, because E exp(tσv) = cosh(tv) ≤ exp(t²v²/2). The best t gives
    E max Z ≤ r√(2 ln m). A fixed function may be subtracted from all members first, and r is then
    at most radius·√n.

    Examples
    --------
    >>> from condrisk.paper.theory._complexity import massart_bound
    >>> massart_bound(n_members=8, n=100, radius=0.5).value  # 0.5 √(2 ln 8 / 100)
    0.10197
    """
    count, rows = check_count(n_members, "n_members"), check_count(n, "n")
    value = check_non_negative(radius, "radius") * np.sqrt(2 * np.log(count) / rows)
    return Complexity(value=float(value), kind="upper", name=f"{count} functions")


def stump_bound(*, n: int, n_features: int, lower: float = -1.0, upper: float = 1.0) -> Complexity:
    """Upper bound of the complexity of decision stumps, whatever the rows are.

    Parameters
    ----------
    n : int
        The number of rows.
    n_features : int
        The number of features.
    lower, upper : float, default=-1.0, 1.0
        The range of the stumps' values.

    Returns
    -------
    Complexity
        Of kind "upper", scope "expected".

    Notes
    -----
    About the middle of the range the extreme stumps take values ±half. A feature has at most
    n − 1 thresholds between rows, each with two directions, and there are two constants: at most
    2d(n − 1) + 2 vectors of length half·√n. The rest is Massart's lemma.

    Examples
    --------
    >>> from condrisk.paper.theory import stump_bound
    >>> stump_bound(n=1000, n_features=10, lower=0.0, upper=1.0).value
    0.07036
    """
    rows, features = check_count(n, "n"), check_count(n_features, "n_features")
    start, end = check_interval(lower, upper, names=("lower", "upper"))
    patterns = 2 * features * (rows - 1) + 2
    value = (end - start) / 2 * np.sqrt(2 * np.log(patterns) / rows)
    name = f"stumps with values in [{start:g}, {end:g}]"
    return Complexity(value=float(value), kind="upper", name=name)


def sum_complexities(complexities: Iterable[Complexity]) -> Complexity:
    """Add up the complexities of the K coordinates of a class of vectors of probabilities.

    Parameters
    ----------
    complexities : iterable of Complexity
        One for each class label k: that of {x ↦ p(x)ₖ}.

    Returns
    -------
    Complexity
        The sum. It is exact if all are, else an upper bound; it is empirical if any is.

    Examples
    --------
    >>> from condrisk.paper.theory import constant_complexity, sum_complexities
    >>> sum_complexities([constant_complexity(n=2)] * 2).value
    0.5
    """
    members = _check_complexities(complexities)
    exact = all(member.kind == "exact" for member in members)
    empirical = any(member.scope == "empirical" for member in members)
    return Complexity(
        value=float(sum(member.value for member in members)),
        kind="exact" if exact else "upper",
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
