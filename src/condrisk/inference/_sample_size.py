"""How many rows a bound needs."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Literal, get_args

from condrisk._validation import check_confidence

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
        Which bound to invert, see Notes.
    n_classes : int, default=None
        K, for "plug_in" only.

    Returns
    -------
    int
        The number of rows. That is what the bound asks for, often many times what is needed.

    Notes
    -----
    With a Rademacher complexity of at most C/√n and a = √(ln(1/δ)/2), these hold with probability
    1 − δ for losses in [0, M]:

    * "squared_error": E(ĝ − g)² exceeds the least in the class by at most (4MC + 2M²a)/√n,
    * "realised_absolute": E|ĝ − Z| exceeds the least by at most (2C + 2Ma)/√n,
    * "separable": the error of the plug-in risk is at most M(2C + a)/√n if the classes do not
      overlap,
    * "plug_in": it is at most M·√(K(C + a)/√n), so that ε counts with its fourth power.

    Examples
    --------
    >>> from condrisk.inference import sample_size
    >>> sample_size(epsilon=0.05, delta=0.05, upper=1.0, rate_constant=1.0)
    16630
    """
    target = _positive(epsilon, "epsilon")
    top, rate = _positive(upper, "upper"), _positive(rate_constant, "rate_constant", or_zero=True)
    check_confidence(delta, "delta")
    classes = _check_classes(bound, n_classes)

    def value(n: int) -> float:
        return _bound(bound, rate / math.sqrt(n), math.sqrt(log_term / (2 * n)), top, classes)

    log_term = math.log(1 / delta)
    power = 4 if bound == "plug_in" else 2  # of 1/ε; the bound falls with the same root of n
    if value(1) / target > MOST_ROWS ** (1 / power):
        raise ValueError(
            f"epsilon is too small, got {target}: the bound would need more than {MOST_ROWS:.0e} "
            f"rows. Ask for a greater epsilon."
        )
    n = max(1, math.ceil((value(1) / target) ** power))
    while value(n) > target:  # what rounding has done
        n += 1
    while n > 1 and value(n - 1) <= target:
        n -= 1
    return n


def _bound(bound: Target, complexity: float, s: float, top: float, classes: int) -> float:
    """Return the bound, with s = √(ln(1/δ)/2n)."""
    if bound == "squared_error":
        return 4 * top * complexity + 2 * top**2 * s
    if bound == "realised_absolute":
        return 2 * complexity + 2 * top * s
    if bound == "separable":
        return 2 * top * complexity + top * s
    return top / 2 * math.sqrt(classes * (4 * complexity + 4 * s))


def _positive(value: Any, name: str, *, or_zero: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if not math.isfinite(value) or value < 0 or (value == 0 and not or_zero):
        least = "at least" if or_zero else "greater than"
        raise ValueError(f"{name} must be finite and {least} zero, got {value}")
    return float(value)


def _check_classes(bound: str, n_classes: int | None) -> int:
    if bound not in get_args(Target):
        raise ValueError(f"bound must be one of {get_args(Target)}, got {bound!r}")
    if bound == "plug_in":
        if n_classes is None:
            raise ValueError('n_classes must be given for bound="plug_in"')
        if not isinstance(n_classes, Integral) or n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, an integer, got {n_classes!r}")
        return int(n_classes)
    if n_classes is not None:
        raise ValueError(f'n_classes is for bound="plug_in" only, got it with bound={bound!r}')
    return 0
