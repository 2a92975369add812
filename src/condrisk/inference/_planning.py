"""How many rows a bound asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, get_args

from condrisk.paper.theory._bound import Bound
from condrisk.paper.theory._bounds import realised_absolute_bound, squared_error_bound
from condrisk.paper.theory._bounds_plug_in import plug_in_bound, separable_bound
from condrisk.paper.theory._checks import (
    check_count,
    check_non_negative,
    check_open_unit,
    check_positive,
)

Target = Literal["squared_error", "realised_absolute", "plug_in", "separable"]

# Beyond this, neighbouring numbers of rows are the same to a float.
MOST_ROWS = 1 << 52


def sample_size(
    *,
    epsilon: float,
    delta: float,
    upper: float,
    rate_constant: float,
    bound: Target = "squared_error",
    n_classes: int | None = None,
) -> int:
    """Return the least number of rows for which a bound is at most epsilon.

    Parameters
    ----------
    epsilon : float
        The greatest excess (or, for "plug_in" and "separable", error) wanted.
    delta : float
        The probability with which the bound may fail.
    upper : float
        M: losses and functions lie in [0, M].
    rate_constant : float
        C, with the expected complexity at most C/√n: radius·√E‖X‖² for linear functions,
        M/2 for constants in [0, M]. For "plug_in" and "separable" it is that of the sum over the
        classes.
    bound : {"squared_error", "realised_absolute", "plug_in", "separable"}, default="squared_error"
        Which bound to invert: `squared_error_bound`, `realised_absolute_bound`, `plug_in_bound` or
        `separable_bound`.
    n_classes : int, default=None
        K, for "plug_in" only.

    Returns
    -------
    int
        The number of rows. That is what the bound asks for, often many times what is needed.

    Notes
    -----
    With Rad ≤ C/√n and a = √(ln(1/δ)/2) each bound is a power of 1/√n times a constant:
    n = ⌈(A/ε)²⌉ with A = 4MC + 2M²a (squared error), 2C + 2Ma (realised absolute), M(2C + a)
    (separable). The plug-in bound M·√(K(C + a)/√n) gives n = ⌈(KM²(C + a)/ε²)²⌉: ε counts with its
    fourth power. Rounding is put right with the bound itself.

    Examples
    --------
    >>> from condrisk.inference import sample_size
    >>> sample_size(epsilon=0.05, delta=0.05, upper=1.0, rate_constant=1.0)
    16630
    """
    target = check_positive(epsilon, "epsilon")
    failure = check_open_unit(delta, "delta")
    top = check_positive(upper, "upper")
    rate = check_non_negative(rate_constant, "rate_constant")
    classes = _check_classes(bound, n_classes)
    root = _root(bound, target, math.sqrt(math.log(1 / failure) / 2), top, rate, classes)
    if root > math.sqrt(MOST_ROWS):
        raise ValueError(
            f"epsilon is too small, got {target}: the bound would need more than {MOST_ROWS:.0e} "
            f"rows. Ask for a greater epsilon."
        )
    value = _value(bound, failure, top, rate, classes)
    n = max(1, math.ceil(root**2))
    while value(n) > target:
        n += 1
    while n > 1 and value(n - 1) <= target:
        n -= 1
    return n


def _root(bound: str, epsilon: float, a: float, top: float, rate: float, classes: int) -> float:
    """Return √n in closed form."""
    if bound == "squared_error":
        return (4 * top * rate + 2 * top * top * a) / epsilon
    if bound == "realised_absolute":
        return (2 * rate + 2 * top * a) / epsilon
    if bound == "separable":
        return top * (2 * rate + a) / epsilon
    return classes * (rate + a) * (top / epsilon) * (top / epsilon)


def _value(
    bound: str, delta: float, top: float, rate: float, classes: int
) -> Callable[[int], float]:
    """Return the bound as a function of the number of rows."""
    functions: dict[str, Callable[..., Bound]] = {
        "squared_error": squared_error_bound,
        "realised_absolute": realised_absolute_bound,
        "separable": separable_bound,
    }

    def value(n: int) -> float:
        complexity = rate / math.sqrt(n)
        if bound == "plug_in":
            return plug_in_bound(
                complexity=complexity, n=n, n_classes=classes, upper=top, delta=delta
            ).value
        return functions[bound](complexity=complexity, n=n, upper=top, delta=delta).value

    return value


def _check_classes(bound: str, n_classes: int | None) -> int:
    if bound not in get_args(Target):
        raise ValueError(f"bound must be one of {get_args(Target)}, got {bound!r}")
    if bound == "plug_in":
        if n_classes is None:
            raise ValueError('n_classes must be given for bound="plug_in"')
        return check_count(n_classes, "n_classes", minimum=2)
    if n_classes is not None:
        raise ValueError(f'n_classes is for bound="plug_in" only, got it with bound={bound!r}')
    return 0
