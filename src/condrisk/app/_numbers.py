"""Numbers as people read them, on a page or a terminal."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal


def number(value: float) -> str:
    """Write a number with about three digits, as the page's script does.

    Examples
    --------
    >>> from condrisk.app._numbers import number
    >>> [number(x) for x in (0.0, 0.12345, 12.345, 123.45, -1234567.8, 0.00001234)]
    ['0', '0.123', '12.3', '123', '−1,234,568', '1.23e−5']
    """
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size != 0 and (size < 1e-4 or size >= 1e9):
        mantissa, exponent = f"{value:.2e}".split("e")
        text = f"{float(mantissa):g}e{int(exponent)}"
    elif size >= 1000:
        text = f"{_rounded(value, 0):,}"
    else:
        places = 2 - math.floor(math.log10(size)) if size else 0
        text = f"{_rounded(value, places):f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("0", "-0") else text.replace("-", "−")


def _rounded(value: float, places: int) -> Decimal:
    """Round as JavaScript does, halves away from zero, to so many places after the point."""
    return Decimal(value).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def exact(value: float) -> str:
    """Write a number with all its digits: what a condition compares with.

    Examples
    --------
    >>> from condrisk.app._numbers import exact
    >>> exact(61.0), exact(-12345.25)
    ('61', '−12,345.25')
    """
    whole = f"{value:,.15g}" if 1e-4 <= abs(value) < 1e9 or value == 0 else f"{value:.15g}"
    return whole.replace("-", "−")


def percent(share: float) -> str:
    """Write a share in percent, never 0 or 100 for what is not quite.

    Examples
    --------
    >>> from condrisk.app._numbers import percent
    >>> print(percent(0.1234), percent(0.0001), percent(0.99999), percent(1.0), sep="; ")
    12.3 %; under 0.1 %; over 99.9 %; 100 %
    """
    if 0 < share < 0.001:
        return "under 0.1\u00a0%"
    if 0.999 < share < 1:
        return "over 99.9\u00a0%"
    return f"{_rounded(100 * share, 1)}".removesuffix(".0") + "\u00a0%"


def count(n: float) -> str:
    """Write a number of things.

    Examples
    --------
    >>> from condrisk.app._numbers import count
    >>> count(12345)
    '12,345'
    """
    return f"{n:,.0f}"


def roundest(low: float, high: float) -> float:
    """Return a number with as few digits as can be, at least `low` and below `high`.

    Examples
    --------
    >>> from condrisk.app._numbers import roundest
    >>> roundest(60.97, 62.4), roundest(0.1231, 0.1239), roundest(-3.0, -2.0)
    (62.0, 0.1235, -2.5)
    """
    if not (math.isfinite(low) and math.isfinite(high)) or low >= high:
        return low
    middle = (low + high) / 2
    for digits in range(1, 16):
        candidate = float(f"{middle:.{digits}g}")
        if low <= candidate < high:
            return candidate
    return low
