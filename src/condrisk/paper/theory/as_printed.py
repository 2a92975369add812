"""The bounds as the paper prints them, for comparison with those that hold.

Each takes what the valid function takes and returns the printed value. Its docstring shows why the
two differ; its assumptions say what is wrong with it. Do not rely on these. The printed R̂ₙ(H) of a
class of vectors is not defined; the sum over the classes is put in its place.
"""

from __future__ import annotations

import math

from condrisk.paper.theory._bound import (
    Bound,
    complexity_assumption,
    complexity_terms,
    deviation,
)
from condrisk.paper.theory._checks import check_count, check_non_negative, check_positive
from condrisk.paper.theory.complexity import Complexity

__all__ = [
    "proposition_1",
    "proposition_3",
    "proposition_3_regression",
    "rejection_bound",
    "theorem_1_l1_distance",
    "theorem_1_line_1",
    "theorem_1_line_2",
]


def proposition_1(*, complexity: Complexity | float, n: int, upper: float, delta: float) -> Bound:
    """Proposition 1 as printed: R(θ̂) − R(θ*) ≤ 2 R̂ₙ(G) + 2M·s for R(θ) = E|g_θ − g|. It is false.

    Parameters
    ----------
    complexity : Complexity or float
        Rademacher complexity of G.
    n : int
        The number of rows.
    upper : float
        M.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        The printed value, with s = √(ln(1/δ)/2n).

    See Also
    --------
    condrisk.paper.theory.realised_absolute_bound : Holds, for E|g_θ − Z|.
    condrisk.paper.theory.squared_error_bound : Holds, for E(g_θ − g)².

    Notes
    -----
    The proof takes the mean of |g_θ(xᵢ) − zᵢ| for an estimate of E|g_θ − g|, but it estimates
    E|g_θ − Z|, whose minimiser is the conditional *median*. With Z ~ Bernoulli(0.3) and G the
    constants, g = 0.3 and R(θ*) = 0, while θ̂ = 0 and R(θ̂) = 0.3 for every large n; the printed
    value is 0.103 at n = 1,000. For the empirical complexity the argument gives 4M·s, not 2M·s.

    Examples
    --------
    >>> from condrisk.paper.theory import as_printed
    >>> from condrisk.paper.theory.complexity import constant_complexity
    >>> constants = constant_complexity(n=1000)
    >>> as_printed.proposition_1(complexity=constants, n=1000, upper=1.0, delta=0.05).value
    0.1026
    """
    top = check_positive(upper, "upper")
    return _linear(
        complexity,
        n,
        delta,
        factor=2.0,
        deviations=2 * top,
        trivial=top,
        claim="E|ĝ(X) − g(X)| exceeds the least in the class by",
        flaw="The minimiser of the absolute error tends to the median of the loss, not to g.",
    )


def theorem_1_line_1(
    *, complexity: Complexity | float, n: int, upper: float, delta: float
) -> Bound:
    """Theorem 1, first line, as printed: R_ca(θ̂) − R_ca(θ*) ≤ 2M R̂ₙ(H) + 2M·s. It is false.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k).
    n : int
        The number of rows.
    upper : float
        M.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        The printed value, with s = √(ln(1/δ)/2n).

    See Also
    --------
    condrisk.paper.theory.plug_in_matched_bound : Holds, for a θ̂ that minimises the matched error.

    Notes
    -----
    θ̂ minimises the Brier loss or the cross-entropy, not the empirical R_ca, so the step R̂(θ̂) ≤
    R̂(θ*) is missing. With P(X = 1) = 0.3, Y = X, f ≡ 0 and H the constants (1 − q, q), R_ca(q) =
    0.3 + 0.4q is least at q = 0, and the Brier loss at q = 0.3: the excess is 0.12 for every large
    n, the printed value 0.04 at n = 10,000. (Weak realizability as written holds: each
    vector p(x) is a constant in H. What fails is that one member of H equals p almost everywhere.)

    Examples
    --------
    >>> from condrisk.paper.theory import as_printed
    >>> as_printed.theorem_1_line_1(complexity=0.008, n=10_000, upper=1.0, delta=0.05).value
    0.0405
    """
    top = check_positive(upper, "upper")
    return _linear(
        complexity,
        n,
        delta,
        factor=2 * top,
        deviations=2 * top,
        trivial=top,
        claim="E|g_ca,θ̂(X) − g(X)| exceeds the least in the class by",
        flaw="θ̂ minimises a proper score, not the empirical error of the plug-in risk.",
    )


def theorem_1_line_2(
    *, complexity: Complexity | float, n: int, n_classes: int, upper: float, delta: float
) -> Bound:
    """Theorem 1, second line, as printed: R_ca(θ) ≤ M√(K(2 R̂ₙ(H) + s)) for all θ. It is false.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k).
    n : int
        The number of rows.
    n_classes : int
        K.
    upper : float
        M.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        The printed value, with s = √(ln(1/δ)/2n). Its terms add up to what the proof claims of
        E‖p_θ − p‖₂².

    See Also
    --------
    condrisk.paper.theory.plug_in_bound : Holds, for the minimiser of the Brier loss.

    Notes
    -----
    "For all θ" cannot be: with H = {p, q}, R_ca(q) does not depend on n, and the bound goes to 0.
    For the Brier minimiser θ̂, E‖p_θ̂ − p‖² ≤ 4 Σ Rad(H_k) + 4s takes the place of the proof's
    2 R̂ₙ(H) + s, which leaves out that the Brier loss is 2-Lipschitz in each entry, reaches 2 and
    has to be compared at θ* as well. But (M/2)·‖·‖₁ takes the place of M·‖·‖₁, and together they
    give M√(K(Σ Rad(H_k) + s)), even a little less than printed. The proof's cross term also lacks
    a factor 2, and vanishes because E[p − y | X] = 0, not because E[p − y] = 0.

    Examples
    --------
    >>> from condrisk.paper.theory import as_printed
    >>> as_printed.theorem_1_line_2(
    ...     complexity=0.01, n=10_000, n_classes=2, upper=1.0, delta=0.05
    ... ).value
    0.2539
    """
    top, classes = check_positive(upper, "upper"), check_count(n_classes, "n_classes", minimum=2)
    squared = _linear(
        complexity,
        n,
        delta,
        factor=2.0,
        deviations=1.0,
        trivial=top,
        claim="E‖p_θ(X) − p(X)‖² is, for all θ,",
        flaw="Only the minimiser of the Brier loss comes close to p, not all members of H.",
    )
    value = top * math.sqrt(classes * squared.value)
    statement = (
        f"As printed: with probability at least {1 - delta:g}, for all θ, the plug-in risk is off "
        f"by at most {value:.4g} on average."
    )
    return Bound(
        value=value,
        terms=squared.terms,
        assumptions=squared.assumptions,
        statement=statement,
        trivial=top,
    )


def theorem_1_l1_distance(*, l1_distance: float, upper: float) -> Bound:
    """Theorem 1's R_ca(θ) ≤ M·E‖p_θ − p‖₁ as printed. It is true, and twice too large.

    Parameters
    ----------
    l1_distance : float
        E‖p_θ(X) − p(X)‖₁.
    upper : float
        M.

    Returns
    -------
    Bound
        The printed value.

    See Also
    --------
    condrisk.paper.theory.plug_in_lipschitz_bound : Half of it.

    Notes
    -----
    Printed for |ℓ| ≤ M it cannot be improved; for ℓ in [0, M] the constant M/2 may be taken off
    the loss, because p_θ − p sums to zero.

    Examples
    --------
    >>> from condrisk.paper.theory import as_printed
    >>> as_printed.theorem_1_l1_distance(l1_distance=0.2, upper=1.0).value
    0.2
    """
    distance = check_non_negative(l1_distance, "l1_distance")
    top = check_positive(upper, "upper")
    value = top * distance
    return Bound(
        value=value,
        terms={"distance": value},
        assumptions=("p_θ(x) and p(x) are probability vectors.",),
        statement=f"As printed: the plug-in risk is off by at most {value:.4g} on average.",
        trivial=top,
    )


def proposition_3(*, complexity: Complexity | float, n: int, delta: float) -> Bound:
    """Proposition 3, first part, as printed: R_ca(θ̂) ≤ 2 R̂ₙ(H) + 2s.

    Parameters
    ----------
    complexity : Complexity or float
        Σₖ Rad(H_k).
    n : int
        The number of rows.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        The printed value, with s = √(ln(1/δ)/2n).

    See Also
    --------
    condrisk.paper.theory.separable_bound : Holds with s in place of 2s, for an interpolator.

    Notes
    -----
    The proof rests on the first line of Theorem 1, which is false. For a minimiser that gives each
    row's label probability one, and with the sum over classes for R̂ₙ(H), a direct argument yields
    2 Σ Rad(H_k) + s, so that the printed value is true and too large (with the empirical
    complexity it is 3s).

    Examples
    --------
    >>> from condrisk.paper.theory import as_printed
    >>> as_printed.proposition_3(complexity=0.01, n=10_000, delta=0.05).value
    0.04448
    """
    return _linear(
        complexity,
        n,
        delta,
        factor=2.0,
        deviations=2.0,
        trivial=1.0,
        claim="E|g_ca,θ̂(X) − g(X)| is, for every predictor,",
        flaw="The proof rests on Theorem 1's first line; interpolation is needed instead.",
    )


def proposition_3_regression(
    *, best_risk: float, complexity: Complexity | float, n: int, delta: float
) -> Bound:
    """Proposition 3, second part, as printed: R(θ̂) ≤ R(θ*) + 2 R̂ₙ(G) + 2s.

    Parameters
    ----------
    best_risk : float
        R(θ*) = inf_G E|g_θ − g|.
    complexity : Complexity or float
        Rademacher complexity of G.
    n : int
        The number of rows.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        The printed value, with s = √(ln(1/δ)/2n).

    Notes
    -----
    On separable classes with a fixed f the loss is a function of x, Z = g(X), so that this is
    Proposition 1 for realised losses and holds. What does not follow is that R(θ*) > 0 for some f:
    continuous functions are dense in L¹, so the infimum over a rich class is zero even for the
    indicator of a fat Cantor set. It is positive for m-Lipschitz functions of x with m fixed.

    Examples
    --------
    >>> from condrisk.paper.theory import as_printed
    >>> as_printed.proposition_3_regression(
    ...     best_risk=0.2, complexity=0.01, n=10_000, delta=0.05
    ... ).value
    0.2445
    """
    best = check_non_negative(best_risk, "best_risk")
    return _linear(
        complexity,
        n,
        delta,
        factor=2.0,
        deviations=2.0,
        trivial=1.0,
        constant={"best": best},
        claim="E|ĝ(X) − g(X)| is",
        flaw="That best_risk is positive for some predictor is not shown for continuous classes.",
    )


def rejection_bound(*, regressor_error: float, risk_error: float) -> Bound:
    """Bound on the excess loss with rejection as printed: E(f̂ − f*)² + E|g_θ − g|, for any f*.

    Parameters
    ----------
    regressor_error : float
        E(f̂(X) − f*(X))², with f* the best regressor *of the class*.
    risk_error : float
        E|g_θ(X) − g(X)|.

    Returns
    -------
    Bound
        The printed value.

    See Also
    --------
    condrisk.paper.theory.rejection_bound : Holds, with f* = E[Y | X].
    condrisk.paper.theory.restricted_rejection_bound : Holds for any class.

    Notes
    -----
    As printed, (f*, r*) is the best pair of a class. If the class lacks E[Y | X], g − g* is not
    (f̂ − f*)²: with {f ≤ 0}, Y ≡ 1 and c = 10, f* = 0 loses 1 and f̂ = −ε loses (1 + ε)²: an
    excess of 2ε + ε², where the printed value is ε² (with g_θ = g).

    Examples
    --------
    >>> from condrisk.paper.theory import as_printed
    >>> as_printed.rejection_bound(regressor_error=0.01, risk_error=0.0).value
    0.01
    """
    terms = {
        "regressor": check_non_negative(regressor_error, "regressor_error"),
        "risk": check_non_negative(risk_error, "risk_error"),
    }
    value = sum(terms.values())
    return Bound(
        value=value,
        terms=terms,
        assumptions=("As printed. It is false where f* is not the conditional mean of Y.",),
        statement=f"As printed: the loss with rejection exceeds that of (f*, r*) by at most "
        f"{value:.4g}.",
    )


def _linear(
    complexity: Complexity | float,
    n: int,
    delta: float,
    *,
    factor: float,
    deviations: float,
    trivial: float,
    claim: str,
    flaw: str,
    constant: dict[str, float] | None = None,
) -> Bound:
    """Return factor × complexity + deviations × s, which most of the printed bounds are."""
    terms = {
        **(constant or {}),
        **complexity_terms(complexity, factor),
        "deviation": deviations * deviation(n, delta),
    }
    value = sum(terms.values())
    return Bound(
        value=value,
        terms=terms,
        assumptions=(f"As printed. {flaw}", *complexity_assumption(complexity)),
        statement=f"As printed: with probability at least {1 - delta:g}, {claim} at most "
        f"{value:.4g}.",
        trivial=trivial,
    )
