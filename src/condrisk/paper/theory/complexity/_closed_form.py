"""Complexities and upper bounds of them that need no draws of signs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import beta

from condrisk._validation import check_vector
from condrisk.paper.theory._checks import (
    Matrix,
    check_count,
    check_interval,
    check_matrix,
    check_non_negative,
)
from condrisk.paper.theory.complexity._complexity import Complexity, Scope


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
    >>> from condrisk.paper.theory.complexity import constant_complexity
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


def massart_bound(
    values: ArrayLike | None = None,
    *,
    n_members: int | None = None,
    n: int | None = None,
    radius: float | None = None,
) -> Complexity:
    """Massart's upper bound of the complexity of a finite class.

    Parameters
    ----------
    values : array-like of shape (n_members, n_samples), default=None
        The value of each member at each row. Without it, the other three are needed.
    n_members : int, default=None
        How many functions the class has (or how many different vectors of values it can have on
        n rows).
    n : int, default=None
        The number of rows.
    radius : float, default=None
        How far a value can be from one fixed function: M/2 for values in [0, M].

    Returns
    -------
    Complexity
        Of kind "upper". Its scope is "empirical" if `values` are given; otherwise it holds for
        all rows and is "expected".

    Notes
    -----
    For t > 0, exp(t·E max Z) ≤ E max exp(tZ) ≤ Σ_members E exp(tZ) ≤ m·exp(t²r²/2) for the sums
    Z = Σ σᵢ vᵢ with r = max‖v‖₂, because E exp(tσv) = cosh(tv) ≤ exp(t²v²/2). The best t gives
    E max Z ≤ r√(2 ln m). A fixed function may be subtracted from all members first: of none, the
    mean member and the middle of each row's range, the one with the least r is taken.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import massart_bound
    >>> massart_bound(n_members=8, n=100, radius=0.5).value  # 0.5 √(2 ln 8 / 100)
    0.10197
    """
    if values is not None:
        if not (n_members is None and n is None and radius is None):
            raise ValueError("values must be given without n_members, n and radius")
        members = check_matrix(values, "values", "members by rows")
        length = _least_radius(members) * np.sqrt(2 * np.log(len(members)))
        return _upper(length / members.shape[1], f"{len(members)} functions", scope="empirical")
    for name, given in {"n_members": n_members, "n": n, "radius": radius}.items():
        if given is None:
            raise ValueError(f"{name} must be given where values are not")
    count, rows = check_count(n_members, "n_members"), check_count(n, "n")
    value = check_non_negative(radius, "radius") * np.sqrt(2 * np.log(count) / rows)
    return _upper(value, f"{count} functions")


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
    >>> from condrisk.paper.theory.complexity import stump_bound
    >>> stump_bound(n=1000, n_features=10, lower=0.0, upper=1.0).value
    0.07036
    """
    rows, features = check_count(n, "n"), check_count(n_features, "n_features")
    start, end = check_interval(lower, upper, names=("lower", "upper"))
    patterns = 2 * features * (rows - 1) + 2
    massart = massart_bound(n_members=patterns, n=rows, radius=(end - start) / 2)
    return replace(massart, name=f"stumps with values in [{start:g}, {end:g}]")


def linear_bound(X: ArrayLike, *, radius: float, norm: Literal[1, 2, "inf"] = 2) -> Complexity:
    """Upper bound of `linear_complexity` that needs no draws (the trace bound for norm 2).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    radius : float
        The greatest norm of the weights.
    norm : {1, 2, "inf"}, default=2
        Which norm of the weights.

    Returns
    -------
    Complexity
        Of kind "upper", scope "empirical".

    Notes
    -----
    The complexity is (radius/n)·E‖S‖* with S = Σ σᵢ xᵢ. By Jensen E‖S‖₂ ≤ √E‖S‖₂² = √Σ‖xᵢ‖²,
    the root of the trace of XXᵀ; it is at most √2 too large (Khintchine). The same for one
    column j gives E|Sⱼ| ≤ cⱼ = √Σᵢ xᵢⱼ², so E‖S‖₁ ≤ Σⱼ cⱼ. ‖S‖∞ is the greatest of the 2d sums
    ±Sⱼ, so E‖S‖∞ ≤ max cⱼ·√(2 ln 2d) by Massart's lemma, and it is no
    more than ‖S‖₂, which is better for few features.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import linear_bound
    >>> linear_bound([[3.0, 4.0], [0.0, 5.0]], radius=1.0).value  # √(25 + 25) / 2
    3.53553
    """
    rows = check_matrix(X, "X", "rows by features")
    size = check_non_negative(radius, "radius")
    dual = dual_norm(norm)
    columns = np.sqrt((rows**2).sum(axis=0))
    if dual == 2:
        length = np.sqrt((columns**2).sum())
    elif dual == 1:
        length = columns.sum()
    else:
        massart = columns.max() * np.sqrt(2 * np.log(2 * len(columns)))
        length = min(massart, np.sqrt((columns**2).sum()))
    name = f"linear functions, {norm}-norm of the weights ≤ {size:g}"
    return _upper(size * length / len(rows), name, scope="empirical")


def kernel_ball_bound(gram_diagonal: ArrayLike, *, radius: float) -> Complexity:
    """Upper bound of the complexity of a ball in a reproducing kernel Hilbert space.

    Parameters
    ----------
    gram_diagonal : array-like of shape (n_samples,)
        k(xᵢ, xᵢ) for each row, not negative.
    radius : float
        The greatest norm of the functions.

    Returns
    -------
    Complexity
        Of kind "upper", scope "empirical".

    Notes
    -----
    By the reproducing property the supremum for given signs is radius·‖Σ σᵢ k(xᵢ, ·)‖, whose mean
    is by Jensen at most radius·√E(σᵀKσ) = radius·√trace(K). It is at most √2 too large.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import kernel_ball_bound
    >>> kernel_ball_bound([1.0] * 100, radius=2.0).value  # 2 √100 / 100
    0.2
    """
    diagonal = check_vector(gram_diagonal, "gram_diagonal")
    if diagonal.min() < 0:
        raise ValueError(f"gram_diagonal must not be negative, got {diagonal.min()}")
    size = check_non_negative(radius, "radius")
    value = size * np.sqrt(diagonal.sum()) / len(diagonal)
    return _upper(value, f"kernel ball of radius {size:g}", scope="empirical")


def network_bound(X: ArrayLike, *, hidden_norm: float, output_norm: float) -> Complexity:
    """Upper bound of the complexity of networks with one hidden layer of rectified units.

    The class is x ↦ Σⱼ aⱼ·max(0, wⱼ·x) with any number of units, each ‖wⱼ‖₂ ≤ hidden_norm, and
    Σⱼ|aⱼ| ≤ output_norm.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows. A column of ones makes room for the units' intercepts.
    hidden_norm : float
        The greatest length of a unit's weights.
    output_norm : float
        The greatest sum of the absolute output weights.

    Returns
    -------
    Complexity
        Of kind "upper", scope "empirical".

    Notes
    -----
    A linear function of a is greatest at a corner of its ball: the supremum is output_norm ·
    sup_w |Σ σᵢ max(0, w·xᵢ)|. Since w = 0 gives zero, |·| costs at most the sum of the suprema of
    both signs, which have the same mean: a factor 2. By contraction (max(0, ·) is 1-Lipschitz)
    what is left is at most the linear class's √Σ‖xᵢ‖²·hidden_norm / n.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import network_bound
    >>> network_bound([[3.0, 4.0], [0.0, 5.0]], hidden_norm=1.0, output_norm=0.5).value
    3.53553
    """
    hidden = check_non_negative(hidden_norm, "hidden_norm")
    output = check_non_negative(output_norm, "output_norm")
    linear = linear_bound(X, radius=hidden)
    name = f"networks, hidden norm ≤ {hidden:g}, output norm ≤ {output:g}"
    return _upper(2 * output * linear.value, name, scope="empirical")


def dual_norm(norm: Any) -> float:
    """Return the order of the norm that is dual to the named one."""
    if isinstance(norm, str | int | float) and not isinstance(norm, bool):
        if norm in (1, 2):
            return np.inf if norm == 1 else 2
        if norm in ("inf", np.inf):
            return 1
    raise ValueError(f'norm must be 1, 2 or "inf", got {norm!r}')


def _least_radius(members: Matrix) -> float:
    middle = (members.min(axis=0) + members.max(axis=0)) / 2
    centres = (np.zeros(1), members.mean(axis=0), middle)
    return min(float(np.linalg.norm(members - centre, axis=1).max()) for centre in centres)


def _upper(value: Any, name: str, *, scope: Scope = "expected") -> Complexity:
    return Complexity(value=float(value), kind="upper", scope=scope, name=name)
