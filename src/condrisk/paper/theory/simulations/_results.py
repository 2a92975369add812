"""Reading records: which belong together, slopes on logarithmic axes, names in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from condrisk.paper._records import Record

# What a bound is about, in words, in the order of the tables.
BOUNDS = {
    "realised_absolute": "Proposition 1, absolute error against losses",
    "realised_absolute_empirical": "Proposition 1, with the empirical complexity",
    "squared_error": "Proposition 1, squared error against g",
    "brier_probability": "Theorem 1, probabilities by Brier score",
    "plug_in": "Theorem 1, plug-in risk by Brier score",
    "cross_entropy_kl": "Theorem 1, probabilities by cross-entropy",
    "plug_in_cross_entropy": "Theorem 1, plug-in risk by cross-entropy",
    "plug_in_matched": "Theorem 1, line 1, with the loss that it bounds",
    "separable_cells": "Proposition 3, cells",
    "separable_line": "Proposition 3, threshold on a line",
}
# Slopes are those from this number of rows on: with fewer, cells stay empty.
SLOPE_FROM = 1000


class Slope(NamedTuple):
    """A slope on logarithmic axes, with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def select(records: Iterable[Record], part: str, **fields: Any) -> list[Record]:
    """Return the records of a part whose fields have these values.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._results import select
    >>> select([{"set": "median", "n": 1}, {"set": "median", "n": 2}], "median", n=2)
    [{'set': 'median', 'n': 2}]
    """
    return [
        record
        for record in records
        if record["set"] == part
        and all(record.get(name) == value for name, value in fields.items())
    ]


def values(records: Iterable[Record], name: str) -> list[Any]:
    """Return the different values of a field, in the order of the records."""
    return list(dict.fromkeys(record[name] for record in records if name in record))


def log_slope(n: Iterable[float], y: Iterable[float]) -> Slope | None:
    """Return the slope of log y on log n with the interval of least squares.

    None if fewer than three of the values are positive.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._results import log_slope
    >>> log_slope([10, 100, 1000], [1.0, 0.1, 0.01])
    Slope(value=-1.0, low=-1.0, high=-1.0)
    """
    points = [(a, b) for a, b in zip(n, y, strict=True) if b > 0]
    if len(points) < 3:
        return None
    x, log_y = np.log(np.array(points)).T
    line = stats.linregress(x, log_y)
    half = float(stats.t.ppf(0.975, len(points) - 2) * line.stderr)
    return Slope(float(line.slope), float(line.slope - half), float(line.slope + half))


def excess_slope(records: Iterable[Record], method: str) -> Slope | None:
    """Return the slope of a mean excess against the number of rows."""
    found = [r for r in select(records, "excess", method=method) if r["n"] >= SLOPE_FROM]
    return log_slope([r["n"] for r in found], [r["mean"] for r in found])


def bound_slope(records: Iterable[Record], method: str, delta: str = "0.05") -> Slope | None:
    """Return the slope of a bound against the number of rows."""
    found = [r for r in select(records, "excess", method=method) if r["n"] >= SLOPE_FROM]
    return log_slope([r["n"] for r in found], [r["bounds"][delta]["bound"] for r in found])


def with_commas(number: float) -> str:
    """Return a whole number as people write it, in three digits if it is very large.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._results import with_commas
    >>> with_commas(31623), with_commas(66_200_000), with_commas(2.35e10)
    ('31,623', '66.2 million', '23.5 billion')
    """
    if number >= 1e9:
        return f"{number / 1e9:.3g} billion"
    return f"{number / 1e6:.3g} million" if number > 1e7 else f"{number:,.0f}"


def short(value: float) -> str:
    """Return a number in three digits, without an exponent where that can be read.

    Examples
    --------
    >>> from condrisk.paper.theory.simulations._results import short
    >>> short(0.123456), short(0.0), short(0.0000123)
    ('0.123', '0', '1.23e-05')
    """
    return f"{value:.3g}"
