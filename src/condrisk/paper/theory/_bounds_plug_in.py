"""Bounds for estimating the risk from class probabilities.

A class H of functions with values in the simplex has the K classes H_k = {x ↦ p_θ(x)ₖ}; its
complexity is taken as the *sum* Σₖ Rad(H_k), which `sum_complexities` makes of its parts.
"""

from __future__ import annotations

import math

from condrisk.paper.theory._bound import Bound, excess_bound, interpolation_bound, likely
from condrisk.paper.theory._checks import (
    check_count,
    check_non_negative,
    check_positive,
)
from condrisk.paper.theory.complexity import Complexity

SIMPLEX = "The members of H are probability vectors."
REALIZABLE = "The true probabilities p are, almost everywhere, those of a member of H."
LOSS_RANGE = "The loss ℓ(f(x), k) lies in [0, {upper:g}] for every class k."


def plug_in_lipschitz_bound(*, l1_distance: float, upper: float) -> Bound:
    """Bound the error of a plug-in risk by the distance of the probabilities.

    Parameters
    ----------
    l1_distance : float
        E‖p_θ(X) − p(X)‖₁.
    upper : float
        M: the loss lies in [0, M].

    Returns
    -------
    Bound
        On R_ca(θ) = E|g_ca,θ(X) − g(X)|, for any θ.

    Notes
    -----
    Both vectors sum to one, so any constant may be taken off the loss: |Σ ℓₖ (p_θ − p)ₖ| =
    |Σ (ℓₖ − M/2)(p_θ − p)ₖ| ≤ (M/2)·‖p_θ − p‖₁. For two classes and the zero-one loss it is an
    equality. The paper prints twice as much.

    Examples
    --------
    >>> from condrisk.paper.theory import plug_in_lipschitz_bound
    >>> plug_in_lipschitz_bound(l1_distance=0.2, upper=1.0).value
    0.1
    """
    distance = check_non_negative(l1_distance, "l1_distance")
    top = check_positive(upper, "upper")
    value = top / 2 * distance
    return Bound(
        value=value,
        terms={"distance": value},
        assumptions=("p_θ(x) and p(x) are probability vectors.", LOSS_RANGE.format(upper=top)),
        statement=f"The plug-in risk is off by at most {value:.4g} on average.",
        trivial=top,
    )


def brier_probability_bound(*, complexity: Complexity | float, n: int, delta: float) -> Bound:
    """Bound the squared distance of probabilities learnt by the Brier loss from the true ones.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k). A number is taken as an upper bound of the expected one; of an estimate,
        three standard errors are added.
    n : int
        The number of rows.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        On E‖p_θ̂(X) − p(X)‖₂², where θ̂ minimises the mean Brier loss ‖p_θ(xᵢ) − eᵧ‖₂².

    Notes
    -----
    The value is 4 Σₖ Rad(H_k) + 4s with s = √(ln(1/δ)/2n), and 8s with the empirical complexity.
    E[eᵧ − p | X] = 0, so the cross term 2(p_θ − p)·(p − eᵧ) has mean zero and the excess Brier
    loss of θ̂ is the squared distance. The loss lies in [0, 2]: deviations cost 2·2·s. It is a sum
    over k of terms (p_θ,k − yₖ)², each 2-Lipschitz, and the supremum of a sum is at most the sum
    of suprema: 2·Rad(ℓ∘H) ≤ 2·2·Σₖ Rad(H_k).

    Examples
    --------
    >>> from condrisk.paper.theory import brier_probability_bound
    >>> brier_probability_bound(complexity=0.01, n=10_000, delta=0.05).value
    0.08895
    """
    return excess_bound(
        complexity,
        n,
        delta,
        lipschitz=2.0,
        loss_range=2.0,
        trivial=2.0,
        assumptions=(SIMPLEX, REALIZABLE, "p_θ̂ minimises the mean Brier loss over H."),
        claim="E‖p_θ̂(X) − p(X)‖² is at most {value}.",
    )


def plug_in_bound(
    *, complexity: Complexity | float, n: int, n_classes: int, upper: float, delta: float
) -> Bound:
    """Bound the error of the plug-in risk of probabilities learnt by the Brier loss.

    This is Theorem 1, second line, as it holds: for θ̂, not for all θ.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k). A number is taken as an upper bound of the expected one; of an estimate,
        three standard errors are added.
    n : int
        The number of rows.
    n_classes : int
        K.
    upper : float
        M: the loss lies in [0, M].
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        On R_ca(θ̂) = E|g_ca,θ̂(X) − g(X)|. Its terms add up to the bound on E‖p_θ̂ − p‖₂².

    See Also
    --------
    plug_in_cross_entropy_bound : For probabilities learnt by the cross-entropy.

    Notes
    -----
    R_ca ≤ (M/2)·E‖p_θ̂ − p‖₁ ≤ (M/2)·√(K·E‖p_θ̂ − p‖₂²) by Cauchy–Schwarz and Jensen. With
    `brier_probability_bound` this is (M/2)·√(K(4 Σ Rad(H_k) + 4s)) = M·√(K(Σ Rad(H_k) + s)).
    With the empirical complexity 2s takes the place of s.

    Examples
    --------
    >>> from condrisk.paper.theory import plug_in_bound
    >>> plug_in_bound(complexity=0.01, n=10_000, n_classes=2, upper=1.0, delta=0.05).value
    0.2109
    """
    squared = brier_probability_bound(complexity=complexity, n=n, delta=delta)
    classes = check_count(n_classes, "n_classes", minimum=2)
    top = check_positive(upper, "upper")
    value = top / 2 * math.sqrt(classes * squared.value)
    return Bound(
        value=value,
        terms=squared.terms,
        assumptions=(*squared.assumptions, LOSS_RANGE.format(upper=top)),
        statement=f"{likely(delta)} the plug-in risk is off by at most {value:.4g} on average.",
        trivial=top,
    )


def plug_in_matched_bound(
    *, complexity: Complexity | float, n: int, upper: float, delta: float
) -> Bound:
    """Bound the excess of E|g_ca,θ̂(X) − Z| when θ̂ is chosen to make just that small.

    This is Theorem 1, first line, as it holds: not for a θ̂ learnt by a proper score, and about
    realised losses.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k). A number is taken as an upper bound of the expected one; of an estimate,
        three standard errors are added.
    n : int
        The number of rows.
    upper : float
        M: the loss lies in [0, M].
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        On E|g_ca,θ̂ − Z| − inf_θ E|g_ca,θ − Z|, where θ̂ minimises the mean of |g_ca,θ(xᵢ) − zᵢ|.

    Notes
    -----
    The value is M·Σₖ Rad(H_k) + 2M·s, and 4M·s with the empirical complexity: it is
    `realised_absolute_bound` for the class of all g_ca,θ = M/2 + Σₖ (ℓₖ − M/2) p_θ,k. Adding a
    constant changes no complexity, and u ↦ (ℓₖ(xᵢ) − M/2)·u is (M/2)-Lipschitz, so the complexity
    of that class is at most (M/2)·Σₖ Rad(H_k).

    Examples
    --------
    >>> from condrisk.paper.theory import plug_in_matched_bound
    >>> plug_in_matched_bound(complexity=0.01, n=10_000, upper=1.0, delta=0.05).value
    0.03448
    """
    top = check_positive(upper, "upper")
    return excess_bound(
        complexity,
        n,
        delta,
        lipschitz=top / 2,
        loss_range=top,
        trivial=top,
        assumptions=(
            SIMPLEX,
            LOSS_RANGE.format(upper=top),
            "θ̂ minimises the mean absolute error of its plug-in risk against realised losses.",
        ),
        claim="E|g_ca,θ̂(X) − Z| exceeds the least in the class by at most {value}, where Z is "
        "the realised loss.",
    )


def separable_bound(
    *, complexity: Complexity | float, n: int, delta: float, upper: float = 1.0
) -> Bound:
    """Bound the error of the plug-in risk on separable classes, for all predictors at once.

    This is the first part of Proposition 3.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k). A number is taken as an upper bound of the expected one; of an estimate,
        three standard errors are added.
    n : int
        The number of rows.
    delta : float
        The probability with which the bound may fail.
    upper : float, default=1.0
        M: the loss lies in [0, M]. One for the zero-one loss.

    Returns
    -------
    Bound
        On R_ca(θ̂) = E|g_ca,θ̂(X) − g(X)| for every predictor f, even one chosen with these rows,
        where p_θ̂ gives probability one to the label of each row.

    Notes
    -----
    The value is M·(2 Σₖ Rad(H_k) + s), and 3s with the empirical complexity. As p(X) = e_Y,
    |g_ca − g| ≤ (M/2)·‖p_θ̂ − e_Y‖₁ = M·(1 − p_θ̂(X)_Y), in which f does not occur. The mean of
    1 − p_θ̂(xᵢ)ᵧ is zero, so its expectation is at most the supremum of expectation less mean,
    where one row counts 1/n: 2·Rad + s. Last, 1 − p(x)_y = 1 − Σₖ 1{y = k}·p(x)ₖ has complexity at
    most Σₖ Rad(H_k).

    Examples
    --------
    >>> from condrisk.paper.theory import separable_bound
    >>> separable_bound(complexity=0.01, n=10_000, delta=0.05).value
    0.03224
    """
    top = check_positive(upper, "upper")
    return interpolation_bound(
        complexity,
        n,
        delta,
        scale=top,
        assumptions=(
            SIMPLEX,
            LOSS_RANGE.format(upper=top),
            "The label is a function of x, and p_θ̂ gives it probability one at every row.",
        ),
        claim="the plug-in risk of every predictor is off by at most {value} on average.",
    )
