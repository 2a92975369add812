"""Bounds for estimating the risk by regression, and for deferring with it."""

from __future__ import annotations

from condrisk.paper.theory._bound import Bound, excess_bound
from condrisk.paper.theory._checks import check_non_negative, check_positive
from condrisk.paper.theory.complexity import Complexity

_RANGE = (
    "Losses and all functions of the class lie in [0, {upper:g}] (clip the functions if need be)."
)


def realised_absolute_bound(
    *, complexity: Complexity | float, n: int, upper: float, delta: float
) -> Bound:
    """Bound the excess of E|ĝ(X) − Z|, the absolute error against *realised* losses.

    This is Proposition 1 as it holds. It says nothing about E|ĝ(X) − g(X)|: see
    `condrisk.paper.theory.as_printed.proposition_1`.

    Parameters
    ----------
    complexity : Complexity or float
        Rademacher complexity of the class G. A number is taken as an upper bound of the expected
        one; of an estimate, three standard errors are added.
    n : int
        The number of rows.
    upper : float
        M: losses and functions lie in [0, M].
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        On E|ĝ − Z| − inf_G E|g_θ − Z|, where ĝ minimises the mean of |g_θ(xᵢ) − zᵢ|.

    See Also
    --------
    squared_error_bound : The one that is about g itself.

    Notes
    -----
    The value is 2·Rad(G) + 2M·s with s = √(ln(1/δ)/2n), and 2·Rad̂(G) + 4M·s with the empirical
    complexity. The excess is at most Φ = sup_θ [R̃(θ) − R̂(θ)] + R̂(θ*) − R̃(θ*), since R̂(θ̂) ≤
    R̂(θ*). E Φ ≤ 2·Rad(|G − z|) ≤ 2·Rad(G), because u ↦ |u − z| is 1-Lipschitz. One other row
    changes Φ by at most 2M/n: McDiarmid adds 2M·s. Φ − 2·Rad̂ changes by at most 4M/n.

    Examples
    --------
    >>> from condrisk.paper.theory import realised_absolute_bound
    >>> from condrisk.paper.theory.complexity import constant_complexity
    >>> constants = constant_complexity(n=1000, upper=1.0)
    >>> realised_absolute_bound(complexity=constants, n=1000, upper=1.0, delta=0.05).value
    0.1026
    """
    top = check_positive(upper, "upper")
    return excess_bound(
        complexity,
        n,
        delta,
        lipschitz=1.0,
        loss_range=top,
        trivial=top,
        assumptions=(
            _RANGE.format(upper=top),
            "ĝ minimises the mean absolute error against the realised losses over the class.",
        ),
        claim="E|ĝ(X) − Z| exceeds the least in the class by at most {value}, where Z is the "
        "realised loss.",
    )


def squared_error_bound(
    *, complexity: Complexity | float, n: int, upper: float, delta: float
) -> Bound:
    """Bound the excess squared error of ĝ against the conditional risk g itself.

    Parameters
    ----------
    complexity : Complexity or float
        Rademacher complexity of the class G. A number is taken as an upper bound of the expected
        one; of an estimate, three standard errors are added.
    n : int
        The number of rows.
    upper : float
        M: losses and functions lie in [0, M].
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    Bound
        On E(ĝ − g)² − inf_G E(g_θ − g)², where ĝ minimises the mean of (g_θ(xᵢ) − zᵢ)².

    See Also
    --------
    sample_size : How many rows make it small.

    Notes
    -----
    The value is 4M·Rad(G) + 2M²·s with s = √(ln(1/δ)/2n), and 4M·Rad̂(G) + 4M²·s with the
    empirical complexity. Since E[Z | X] = g(X), E(h − Z)² = E(h − g)² + E Var(Z | X) for every h,
    so the excess against g is the excess against Z. There the argument of
    `realised_absolute_bound` applies to a loss in [0, M²] that is 2M-Lipschitz in g_θ: E Φ ≤
    2·2M·Rad(G), and one row changes Φ by at most 2M²/n.

    Examples
    --------
    >>> from condrisk.paper.theory import squared_error_bound
    >>> from condrisk.paper.theory.complexity import constant_complexity
    >>> constants = constant_complexity(n=1000, upper=1.0)
    >>> squared_error_bound(complexity=constants, n=1000, upper=1.0, delta=0.05).value
    0.1279
    """
    top = check_positive(upper, "upper")
    return excess_bound(
        complexity,
        n,
        delta,
        lipschitz=2 * top,
        loss_range=top**2,
        trivial=top**2,
        assumptions=(
            _RANGE.format(upper=top),
            "ĝ minimises the mean squared error against the realised losses over the class.",
        ),
        claim="E(ĝ(X) − g(X))² exceeds the least in the class by at most {value}.",
    )


def rejection_bound(*, regressor_error: float, risk_error: float) -> Bound:
    """Bound the excess loss of regression with rejection, when each part is learnt on its own.

    Parameters
    ----------
    regressor_error : float
        E(f̂(X) − E[Y | X])².
    risk_error : float
        E|g_θ(X) − g(X)|, where g is the conditional squared error of f̂.

    Returns
    -------
    Bound
        On the loss of (f̂, accept iff g_θ ≤ c) above the least of all regressors and rejectors,
        E min(Var(Y | X), c), for every cost c.

    See Also
    --------
    restricted_rejection_bound : Where f* is the best of a class that lacks E[Y | X].

    Notes
    -----
    Where the rejector errs, c lies between g_θ and g, so it pays at most |g − c| ≤ |g_θ − g| above
    min(g, c). With f* = E[Y | X], g = Var(Y | X) + (f̂ − f*)², hence min(g, c) − min(Var(Y | X), c)
    ≤ (f̂ − f*)². The expectations of the two add up to the bound: both constants are 1.

    Examples
    --------
    >>> from condrisk.paper.theory import rejection_bound
    >>> rejection_bound(regressor_error=0.02, risk_error=0.1).value
    0.12
    """
    error = check_non_negative(regressor_error, "regressor_error")
    return _rejection(
        {"regressor": error, "risk": check_non_negative(risk_error, "risk_error")},
        "f* is the conditional mean E[Y | X], with which regressor_error was computed.",
    )


def restricted_rejection_bound(*, conditional_excess: float, risk_error: float) -> Bound:
    """Bound the excess loss of regression with rejection over any class of regressors.

    Parameters
    ----------
    conditional_excess : float
        E max(0, g(X) − g*(X)), where g and g* are the conditional squared errors of f̂ and of f*,
        the class's regressor of least loss with rejection.
    risk_error : float
        E|g_θ(X) − g(X)|.

    Returns
    -------
    Bound
        On the loss of (f̂, accept iff g_θ ≤ c) above that of (f*, r*).

    See Also
    --------
    rejection_bound : With the squared distance of f̂ and f*, where f* is the conditional mean.

    Notes
    -----
    As in `rejection_bound`, but min(g, c) − min(g*, c) ≤ max(0, g − g*), which for a general f*
    is more than (f̂ − f*)²: g − g* = (f̂ − f*)² + 2(f̂ − f*)(f* − E[Y | X]).

    Examples
    --------
    >>> from condrisk.paper.theory import restricted_rejection_bound
    >>> restricted_rejection_bound(conditional_excess=0.21, risk_error=0.0).value
    0.21
    """
    excess = check_non_negative(conditional_excess, "conditional_excess")
    return _rejection(
        {"regressor": excess, "risk": check_non_negative(risk_error, "risk_error")},
        "f* has the least loss with rejection in its class, and any rejector is allowed.",
    )


def _rejection(terms: dict[str, float], about_best: str) -> Bound:
    value = sum(terms.values())
    return Bound(
        value=value,
        terms=terms,
        assumptions=(
            "The loss is the squared error, and a row is accepted where g_θ(x) ≤ c.",
            about_best,
        ),
        statement=f"Whatever the cost c, the loss with rejection exceeds that of (f*, r*) by at "
        f"most {value:.4g}.",
    )
