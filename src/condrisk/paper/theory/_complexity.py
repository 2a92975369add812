"""Rademacher complexities that can be computed for given signs, or in closed form.

The empirical complexity of a class G on rows x₁, …, xₙ is E_σ sup_g (1/n) Σᵢ σᵢ g(xᵢ) with
independent random signs σ; its mean over the rows is the expected complexity.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import beta

from condrisk.paper.theory._checks import (
    check_count,
    check_interval,
    check_matrix,
    check_non_negative,
)
from condrisk.paper.theory._complexity_types import Complexity
from condrisk.paper.theory._signs import MeanOverSigns, Signs, mean_over_signs


def linear_complexity(
    X: ArrayLike,
    *,
    radius: float,
    norm: Literal[1, 2, "inf"] = 2,
    n_draws: int = 10_000,
    random_state: Any = None,
) -> Complexity:
    """Empirical complexity of the linear functions x ↦ w·x with ‖w‖ ≤ radius.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows. A column of ones makes room for an intercept.
    radius : float
        The greatest norm of the weights.
    norm : {1, 2, "inf"}, default=2
        Which norm of the weights.
    n_draws : int, default=10_000
        How many sign vectors to draw. Where there are no more than that (n ≤ 13 rows by default),
        each is taken once and the result is exact.
    random_state : None, int or numpy.random.Generator
        Seeds the signs.

    Returns
    -------
    Complexity
        Of kind "exact" or "estimate", scope "empirical".

    See Also
    --------
    linear_bound : An upper bound in closed form.

    Notes
    -----
    For given signs Σᵢ σᵢ w·xᵢ = w·S with S = Σᵢ σᵢ xᵢ, and the greatest value of w·S over a ball
    is the radius times the dual norm of S: for norms 1, 2 and inf the greatest entry, the length
    and the sum of the absolute entries. So each draw costs one product of signs and rows, and
    only the mean over the draws is random.

    Examples
    --------
    >>> from condrisk.paper.theory import linear_complexity
    >>> linear_complexity([[1.0], [1.0]], radius=1.0).value  # E|σ₁ + σ₂| / 2
    0.5
    """
    rows = check_matrix(X, "X", "rows by features")
    size = check_non_negative(radius, "radius")
    dual = dual_norm(norm)

    def supremum(signs: Signs) -> NDArray[np.float64]:
        return size / len(rows) * np.linalg.norm(signs @ rows, ord=dual, axis=1)

    mean = _mean(supremum, rows, n_draws, random_state, width=rows.shape[1])
    return as_complexity(mean, name=f"linear functions, {norm}-norm of the weights ≤ {size:g}")


def finite_complexity(
    values: ArrayLike, *, n_draws: int = 10_000, random_state: Any = None
) -> Complexity:
    """Empirical complexity of a finite class, from the values of its members on the rows.

    Parameters
    ----------
    values : array-like of shape (n_members, n_samples)
        The value of each member at each row.
    n_draws : int, default=10_000
        How many sign vectors to draw. Where there are no more than that, each is taken once and
        the result is exact.
    random_state : None, int or numpy.random.Generator
        Seeds the signs.

    Returns
    -------
    Complexity
        Of kind "exact" or "estimate", scope "empirical".

    See Also
    --------
    massart_bound : An upper bound that needs no draws.

    Notes
    -----
    For given signs the supremum is the greatest entry of values @ σ / n. Any function may first be
    subtracted from all members, because E Σ σᵢ c(xᵢ) = 0: the mean member is, which makes no draw
    negative and the estimate less noisy.

    Examples
    --------
    >>> from condrisk.paper.theory import finite_complexity
    >>> finite_complexity([[0.0, 0.0], [1.0, 1.0]]).value  # E max(0, σ₁ + σ₂) / 2
    0.25
    """
    members = check_matrix(values, "values", "members by rows")
    centred = (members - members.mean(axis=0)).T

    def supremum(signs: Signs) -> NDArray[np.float64]:
        # About the mean member the greatest is at least zero, up to rounding.
        return np.maximum((signs @ centred).max(axis=1), 0.0) / len(centred)

    mean = _mean(supremum, centred, n_draws, random_state, width=len(members))
    return as_complexity(mean, name=f"{len(members)} functions")


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


def dual_norm(norm: Any) -> float:
    """Return the order of the norm that is dual to the named one."""
    if isinstance(norm, str | int | float) and not isinstance(norm, bool):
        if norm in (1, 2):
            return np.inf if norm == 1 else 2
        if norm in ("inf", np.inf):
            return 1
    raise ValueError(f'norm must be 1, 2 or "inf", got {norm!r}')


def as_complexity(mean: MeanOverSigns, *, name: str, factor: float = 1.0) -> Complexity:
    """Make a mean over signs, times `factor`, an empirical complexity."""
    return Complexity(
        value=factor * mean.value,
        kind="exact" if mean.exact else "estimate",
        standard_error=factor * mean.standard_error,
        scope="empirical",
        name=name,
    )


def _mean(
    supremum: Any, rows: NDArray[np.float64], n_draws: Any, random_state: Any, *, width: int
) -> MeanOverSigns:
    draws = check_count(n_draws, "n_draws", minimum=2)
    return mean_over_signs(
        supremum, n=len(rows), n_draws=draws, random_state=random_state, width=width
    )
