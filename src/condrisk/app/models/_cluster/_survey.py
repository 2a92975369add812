"""What stands in the columns: each part is looked at by a worker, and what it saw put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from condrisk.app._dtypes import is_day, is_text
from condrisk.app.models._cluster._source import Part
from condrisk.app.tables import left_out
from condrisk.persistence import Column, Schema

# Boosted trees take no more categories than this.
MOST_CATEGORIES = 250
# A target with more values than this is a number.
MOST_CLASSES = 1_000
# How many rows the medians, and the bins of boosting, are found from.
SAMPLE_ROWS = 100_000


@dataclass(frozen=True)
class Seen:
    """What was seen in a column of some rows.

    Attributes
    ----------
    missing : int
        In how many rows nothing stood.
    low, high : float or None
        The range, of numbers and of days since 1970-01-01.
    values : Counter or None
        How often each value of text, booleans or the target stood there; None where they are more
        than `most`.
    most : int
        How many values are counted.
    """

    missing: int = 0
    low: float | None = None
    high: float | None = None
    values: Counter[Any] | None = None
    most: int = 0

    def and_seen(self, other: Seen) -> Seen:
        """Return what was seen in both."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        values = None
        if self.values is not None and other.values is not None:
            values = self.values + other.values
        return Seen(
            self.missing + other.missing,
            min(lows, default=None),
            max(highs, default=None),
            values if values is None or len(values) <= self.most else None,
            self.most,
        )


class Survey(NamedTuple):
    """What was seen in some rows, and a sample of them."""

    seen: dict[str, Seen]
    sample: pl.DataFrame


def look_at(part: Part, names: Sequence[str], target: str, share: float, seed: int) -> Survey:
    """Look at one part, in the process of a worker."""
    frame = part.read(names)
    drawn = np.random.default_rng([seed, part.number]).random(frame.height) < share
    seen = {name: _seen(frame[name], is_target=name == target) for name in names}
    return Survey(seen, frame.filter(pl.Series(drawn)).cast({pl.Categorical: pl.String}))


def _seen(column: pl.Series, *, is_target: bool) -> Seen:
    dtype = column.dtype
    most = MOST_CLASSES if is_target else MOST_CATEGORIES
    if dtype.is_float():
        column = column.fill_nan(None)
    known = column.drop_nulls()
    missing = len(column) - len(known)
    values = None
    if is_text(dtype) or dtype == pl.Boolean or (is_target and dtype.is_numeric()):
        known = known.cast(pl.String) if is_text(dtype) else known
        found = known.value_counts()
        if found.height <= most:
            values = Counter(dict(found.iter_rows()))
    if is_day(dtype):
        known = known.cast(pl.Date).to_physical()
    elif not dtype.is_numeric():
        return Seen(missing, values=values, most=most)
    low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)  # type: ignore[arg-type]
    return Seen(missing, low, high, values, most)


def put_together(surveys: Sequence[Survey]) -> Survey:
    """Return what was seen in all parts."""
    seen = dict(surveys[0].seen)
    for survey in surveys[1:]:
        seen = {name: before.and_seen(survey.seen[name]) for name, before in seen.items()}
    return Survey(seen, pl.concat([survey.sample for survey in surveys]))


# -- columns ---------------------------------------------------------------------------------------


def find_schema(
    survey: Survey, n_rows: int, *, exclude: Sequence[str], only: Sequence[str] | None
) -> tuple[Schema, dict[str, str]]:
    """Return the columns that a model can learn from, and the reasons against the others.

    Medians, and whether whole numbers tell rows apart, are those of the sample; ranges, categories
    and shares of missing values are those of all rows.
    """
    seen, sample = survey
    names = [n for n in sample.columns if n not in exclude and (only is None or n in only)]
    of_sample = left_out(sample, exclude=exclude, only=only)
    reasons = {n: _reason(sample[n], seen[n], n_rows, of_sample.get(n)) for n in names}
    if only is None and all(reasons.values()):  # numbers of rows are used where there is no other
        reasons = {n: _reason(sample[n], seen[n], n_rows, None) for n in names}
    columns = tuple(_column(sample[n], seen[n], n_rows) for n in names if reasons[n] is None)
    useless = {name: reason for name, reason in reasons.items() if reason is not None}
    return Schema(columns, n_rows=n_rows), useless


def _reason(column: pl.Series, seen: Seen, n_rows: int, of_sample: str | None) -> str | None:
    """Return why a model cannot learn from a column, as all rows tell."""
    dtype = column.dtype
    if seen.missing == n_rows:
        return "it is empty"
    if seen.low is None and not (is_text(dtype) or dtype == pl.Boolean):
        return f"it is of type {dtype}"
    if is_text(dtype) and seen.values is None:
        return f"it is text with more than {MOST_CATEGORIES} distinct values"
    alone = len(seen.values) == 1 if seen.values is not None else seen.low == seen.high
    if alone and not seen.missing:
        return "it has the same value in every row"
    tells_apart = dtype.is_integer() and column.n_unique() == len(column) and not seen.missing
    return of_sample if tells_apart else None


def _column(sample: pl.Series, seen: Seen, n_rows: int) -> Column:
    dtype, name = sample.dtype, sample.name
    missing = seen.missing / n_rows
    if seen.values is not None:
        commonest = max(sorted(seen.values), key=seen.values.__getitem__)
        if dtype == pl.Boolean:
            return Column(name, "boolean", missing=missing, typical=bool(commonest))
        known = tuple(sorted(seen.values))
        return Column(name, "category", known, missing=missing, typical=str(commonest))
    assert seen.low is not None  # a column of which nothing is known is left out
    numbers = sample.cast(pl.Date).to_physical() if is_day(dtype) else sample
    middle = numbers.cast(pl.Float64).fill_nan(None).quantile(0.5, "lower")
    middle = seen.low if middle is None else middle  # nothing known of it is in the sample
    if is_day(dtype):
        day = (date(1970, 1, 1) + timedelta(days=int(middle))).isoformat()
        return Column(name, "date", (), seen.low, seen.high, missing, typical=day)
    return Column(name, "number", (), seen.low, seen.high, missing, typical=middle)
