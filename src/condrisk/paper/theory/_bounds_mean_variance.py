"""The bound for the plug-in risk of a regressor under squared error."""

from __future__ import annotations

from condrisk.paper.theory._bound import Bound
from condrisk.paper.theory._checks import check_non_negative


def plug_in_mean_variance_bound(
    *, variance_error: float, mean_error: float, predictor_error: float
) -> Bound:
    """Bound the error of the plug-in risk (f − m̂)² + v̂ of a regressor f under squared error.

    The risk is g = (f − μ)² + σ², with the conditional mean μ and variance σ² of the target.

    Parameters
    ----------
    variance_error : float
        |v̂ − σ²| at a point. For the mean over x: E|v̂ − σ²|.
    mean_error : float
        |m̂ − μ| at a point. For the mean over x: √E(m̂ − μ)².
    predictor_error : float
        |f − μ| at a point. For the mean over x: √E(f − μ)².

    Returns
    -------
    Bound
        On |ĝ − g| at that point, or on E|ĝ − g|.

    See Also
    --------
    plug_in_lipschitz_bound : The same for class probabilities.

    Notes
    -----
    With d = m̂ − μ and e = f − μ, (f − m̂)² − (f − μ)² = −d(2e − d) = d² − 2de, so the triangle
    inequality gives |ĝ − g| ≤ |v̂ − σ²| + |d|(2|e| + |d|). It is an equality if v̂ ≥ σ² and m̂ and
    f are not on the same side of μ. The mean over x follows from E|de| ≤ √(E d² · E e²).

    What to subtract. The loss z = (f − y)² has conditional mean g, so for any m and v

        E[z − (f − m)² − v | x] = 2(m − f)(μ − m) + (μ − m)² + σ² − v.

    A regression of z − (f − m)² − v on held-out rows therefore estimates all that the plug-in
    risk misses, the first-order term 2(m − f)(μ − m) included. Averaging over m̂ does not remove
    that term: for a fixed f, with b = E m̂ − μ,

        E[(f − m̂)² + v̂] − g = Var(m̂) + b² − 2b(f − μ) + E v̂ − σ².

    Without bias, Var(m̂) is left, and it counts twice if v̂ is learnt from held-out squared
    residuals, whose mean is σ² + Var(m̂).

    Examples
    --------
    >>> from condrisk.paper.theory import plug_in_mean_variance_bound
    >>> errors = {"variance_error": 0.1, "mean_error": 0.2, "predictor_error": 0.5}
    >>> bound = plug_in_mean_variance_bound(**errors)
    >>> bound.value
    0.34
    >>> bound.terms
    {'variance': 0.1, 'first_order': 0.2, 'second_order': 0.04}
    """
    mean = check_non_negative(mean_error, "mean_error")
    predictor = check_non_negative(predictor_error, "predictor_error")
    terms = {
        "variance": check_non_negative(variance_error, "variance_error"),
        "first_order": 2 * mean * predictor,
        "second_order": mean**2,
    }
    value = sum(terms.values())
    return Bound(
        value=value,
        terms=terms,
        assumptions=(
            "The loss is the squared error, and Y has a conditional mean and variance.",
            "The three errors are those at one x, or E|v̂ − σ²| and two root mean squares.",
        ),
        statement=f"The plug-in risk (f − m̂)² + v̂ is off by at most {value:.4g}.",
    )
