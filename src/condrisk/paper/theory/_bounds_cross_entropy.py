"""Bounds for the plug-in risk of class probabilities learnt by the cross-entropy."""

from __future__ import annotations

import math

from condrisk.paper.theory._bound import Bound, excess_bound, likely
from condrisk.paper.theory._bounds_plug_in import LOSS_RANGE, REALIZABLE
from condrisk.paper.theory._checks import check_non_negative, check_open_unit, check_positive
from condrisk.paper.theory.complexity import Complexity


def plug_in_kl_bound(*, kl: float, upper: float) -> Bound:
    """Bound the error of a plug-in risk by the excess cross-entropy of the probabilities.

    Parameters
    ----------
    kl : float
        E KL(p(X) ‖ p_θ(X)), in nats: the cross-entropy of p_θ less that of p.
    upper : float
        M: the loss lies in [0, M].

    Returns
    -------
    Bound
        On R_ca(θ) = E|g_ca,θ(X) − g(X)|, for any θ, whatever the number of classes.

    Notes
    -----
    Pinsker: ‖p_θ − p‖₁ ≤ √(2 KL). With (M/2)·‖p_θ − p‖₁ from `plug_in_lipschitz_bound` and Jensen,
    R_ca ≤ (M/2)·√(2 E KL) = M·√(E KL / 2). The one term is M²·KL/2, under the root.

    Examples
    --------
    >>> from condrisk.paper.theory import plug_in_kl_bound
    >>> plug_in_kl_bound(kl=0.02, upper=1.0).value
    0.1
    """
    excess, top = check_non_negative(kl, "kl"), check_positive(upper, "upper")
    value = top * math.sqrt(excess / 2)
    return Bound(
        value=value,
        terms={"divergence": value**2},
        assumptions=("p_θ(x) and p(x) are probability vectors.", LOSS_RANGE.format(upper=top)),
        statement=f"The plug-in risk is off by at most {value:.4g} on average.",
        trivial=top,
    )


def cross_entropy_kl_bound(
    *, complexity: Complexity | float, n: int, floor: float, delta: float
) -> Bound:
    """Bound the divergence of probabilities learnt by the cross-entropy from the true ones.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k). A number is taken as an upper bound of the expected one; of an estimate,
        three standard errors are added.
    n : int
        The number of rows.
    floor : float
        The least probability that any member gives to any class. Without one the loss is
        unbounded.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        On E KL(p(X) ‖ p_θ̂(X)), where θ̂ minimises the mean of −ln p_θ(xᵢ)ᵧ.

    Notes
    -----
    With floor c the value is (2/c)·Σₖ Rad(H_k) + 2 ln(1/c)·s, and 4 ln(1/c)·s with the empirical
    complexity. Given X, E[−ln p_θ(X)_Y + ln p(X)_Y] is the divergence, so its mean is the excess
    of θ̂ over a member equal to p. The loss lies in [0, ln(1/c)]. It is Σₖ 1{y = k}(−ln p_θ,k), and
    each summand is (1/c)-Lipschitz in p_θ,k (constant where y ≠ k): Rad(ℓ∘H) ≤ Σₖ Rad(H_k)/c.

    Examples
    --------
    >>> from condrisk.paper.theory import cross_entropy_kl_bound
    >>> cross_entropy_kl_bound(complexity=0.001, n=10_000, floor=0.05, delta=0.05).value
    0.1133
    """
    least = check_open_unit(floor, "floor")
    if least > 0.5:
        raise ValueError(f"floor must be at most 0.5, as two classes share 1, got {least}")
    return excess_bound(
        complexity,
        n,
        delta,
        lipschitz=1 / least,
        loss_range=math.log(1 / least),
        trivial=math.log(1 / least),
        assumptions=(
            f"The members of H are probability vectors with no entry below {least:g}.",
            REALIZABLE,
            "p_θ̂ minimises the mean cross-entropy over H.",
        ),
        claim="E KL(p(X) ‖ p_θ̂(X)) is at most {value} nats.",
    )


def plug_in_cross_entropy_bound(
    *, complexity: Complexity | float, n: int, floor: float, upper: float, delta: float
) -> Bound:
    """Bound the error of the plug-in risk of probabilities learnt by the cross-entropy.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k). A number is taken as an upper bound of the expected one; of an estimate,
        three standard errors are added.
    n : int
        The number of rows.
    floor : float
        The least probability that any member gives to any class.
    upper : float
        M: the loss ℓ(f(x), k) lies in [0, M].
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        On R_ca(θ̂) = E|g_ca,θ̂(X) − g(X)|. Its terms add up to the bound on the divergence.

    Notes
    -----
    `cross_entropy_kl_bound` bounds E KL, and `plug_in_kl_bound` turns it into M·√(E KL / 2).

    Examples
    --------
    >>> from condrisk.paper.theory import plug_in_cross_entropy_bound
    >>> bound = plug_in_cross_entropy_bound(
    ...     complexity=0.001, n=10_000, floor=0.05, upper=1.0, delta=0.05
    ... )
    >>> bound.value
    0.2380
    """
    divergence = cross_entropy_kl_bound(complexity=complexity, n=n, floor=floor, delta=delta)
    risk = plug_in_kl_bound(kl=divergence.value, upper=upper)
    return Bound(
        value=risk.value,
        terms=divergence.terms,
        assumptions=(*divergence.assumptions, LOSS_RANGE.format(upper=risk.trivial)),
        statement=f"{likely(delta)} the plug-in risk is off by at most {risk.value:.4g} on "
        f"average.",
        trivial=risk.trivial,
    )
