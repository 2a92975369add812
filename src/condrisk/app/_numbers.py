"""Numbers as people read them, on a page or a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

# Whole numbers between these are years.
FIRST_YEAR, LAST_YEAR = 1700, 2100


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
        text = f"{_rounded(value, places):,f}"
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


def are_years(low: float, high: float) -> bool:
    """Tell whether whole numbers between these are years, which have no thousands.

    Examples
    --------
    >>> from condrisk.app._numbers import are_years
    >>> are_years(2007, 2009), are_years(1613, 4955), are_years(1950.5, 2000)
    (True, False, False)
    """
    return low % 1 == high % 1 == 0 and FIRST_YEAR <= low <= high <= LAST_YEAR


def span(low: float, high: float) -> str:
    """Write the range of a column.

    Examples
    --------
    >>> from condrisk.app._numbers import span
    >>> span(0.0, 54.123), span(2007, 2009)
    ('0 to 54.1', '2007 to 2009')
    """
    if are_years(low, high):
        return f"{low:.0f} to {high:.0f}"
    return f"{number(low)} to {number(high)}"


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


@dataclass(frozen=True)
class Amounts:
    r"""How amounts of a loss are written: one way on every page and in every command.

    Attributes
    ----------
    loss : str
        The name of the loss. Of zero_one, a risk is a share of wrong answers and is written in
        percent; of squared_error, a typical error in the unit of the target stands beside it.
    unit : str
        The unit of the target, such as "g"; empty where it is not known.

    Examples
    --------
    >>> from condrisk.app._numbers import Amounts
    >>> Amounts("zero_one").text(0.1234), Amounts("absolute_error", "g").text(321.4)
    ('12.3\xa0%', '321\xa0g')
    >>> Amounts("squared_error", "g").full(103041.0)
    '103,041 (about ±\xa0321\xa0g)'
    """

    loss: str
    unit: str = ""

    @property
    def in_percent(self) -> bool:
        """Whether an amount is a share of wrong answers."""
        return self.loss == "zero_one"

    @property
    def is_square(self) -> bool:
        """Whether an amount is the square of what the target is measured in."""
        return self.loss == "squared_error"

    def text(self, value: float) -> str:
        """Write an amount."""
        if self.in_percent:
            return f"{number(100 * value)}\u00a0%" if math.isfinite(value) else "–"
        own = self.unit and self.loss == "absolute_error" and math.isfinite(value)
        return f"{number(value)}\u00a0{self.unit}" if own else number(value)

    def bare(self, value: float) -> str:
        """Write an amount without its unit, where that stands beside it already."""
        return number(100 * value if self.in_percent else value)

    @property
    def mean(self) -> str:
        """What a mean of amounts is, in words."""
        names = {"zero_one": "share of wrong answers", "cost_matrix": "mean cost of wrong answers"}
        return names.get(self.loss, f"mean {loss_name(self.loss)}")

    def typical(self, value: float) -> str:
        """Write the error that an amount of squared error stands for; empty for other losses."""
        if not self.is_square or not value >= 0 or not math.isfinite(value):
            return ""
        unit = f"\u00a0{self.unit}" if self.unit else ""
        return f"about ±\u00a0{number(math.sqrt(value))}{unit}"

    def full(self, value: float) -> str:
        """Write an amount, and the error that it stands for."""
        typical = self.typical(value)
        return f"{self.text(value)} ({typical})" if typical else self.text(value)

    def cost(self, value: float) -> str:
        """Write a cost of deferring, in words that say what it is a share or a square of."""
        return f"{self.text(value)} of an error" if self.in_percent else self.full(value)

    def interval(self, found: Mapping[str, float]) -> str:
        """Write the limits of a figure."""
        return f"{self.text(found['low'])} to {self.text(found['high'])}"


def loss_name(name: str) -> str:
    """Return the name of a loss as it stands in a sentence.

    Examples
    --------
    >>> from condrisk.app._numbers import loss_name
    >>> loss_name("squared_error"), loss_name("zero_one")
    ('squared error', 'zero-one loss')
    """
    return "zero-one loss" if name == "zero_one" else name.replace("_", " ")


_IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$")
_SUFFIXES = ("g", "kg", "mg", "t", "mm", "cm", "m", "km", "s", "ms", "min", "h", "kwh", "kw", "ppm")
_CURRENCIES = ("usd", "eur", "chf", "gbp")


def unit_of(target: str | None) -> str:
    """Return the unit that the name of a column ends with; empty where it says none.

    Examples
    --------
    >>> from condrisk.app._numbers import unit_of
    >>> unit_of("body_mass_g"), unit_of("price (EUR)"), unit_of("days")
    ('g', 'EUR', '')
    """
    name = target or ""
    found = _IN_BRACKETS.search(name)
    if found:
        return found[1].strip()
    last = name.rpartition("_")[2]
    return last if "_" in name and last.lower() in _SUFFIXES + _CURRENCIES else ""


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
