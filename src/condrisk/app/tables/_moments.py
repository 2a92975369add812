"""Days and moments as ISO 8601 writes them: one parser, for a cell and for a column."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

MOMENT_TYPE = pl.Datetime("us")
# Written so that Python's and polars' regular expressions agree; hours end at 23, seconds at 59.
_CLOCK = r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,9}))?)?"
_OFFSET = r" ?(Z|UTC|GMT|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)(?:\[[A-Za-z_/]+\])?"
_SHAPE = rf"^([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]{_CLOCK}(?:{_OFFSET})?)?$"
_MOMENT = re.compile(_SHAPE)


def moment_of(text: str) -> datetime | None:
    """Return the moment that a text says, in UTC and without a zone; None if it says none.

    A day is its midnight; without an offset the clock is that of UTC.

    Examples
    --------
    >>> from condrisk.app.tables._moments import moment_of
    >>> str(moment_of("2026-11-15T01:30+02:00")), moment_of("15.11.2026")
    ('2026-11-14 23:30:00', None)
    """
    if len(text) == 10 and text[4] == text[7] == "-":  # a day, by far the most usual
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    micros = int((fraction or "0").ljust(6, "0")[:6])
    try:
        day_begins = datetime(int(year), int(month), int(day))
        clock = timedelta(hours=int(hour or 0), minutes=int(minute or 0) - _minutes(offset))
        return day_begins + clock + timedelta(seconds=int(second or 0), microseconds=micros)
    except (ValueError, OverflowError):  # no such day, or beyond the calendar
        return None


def _minutes(offset: str | None) -> int:
    if offset is None or offset.isalpha():
        return 0
    size = 60 * int(offset[1:3]) + int(offset[3:].lstrip(":") or 0)
    return -size if offset[0] == "-" else size


def in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC, without a zone; one that has none is taken to be in UTC."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def moments_of(text: pl.Series) -> pl.Series:
    """Return a column of text as moments, as `moment_of` reads each cell."""
    cells = text.set(~text.str.contains(_SHAPE).fill_null(False), None)
    days = cells.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    moments = days.cast(MOMENT_TYPE)
    if (cells.str.len_bytes() > len("2026-11-15")).any():
        micros = moments.to_physical() + _clock(cells) - _offsets(cells)
        moments = micros.cast(MOMENT_TYPE)
    within = (moments >= datetime.min) & (moments <= datetime.max)  # as for Python's calendar
    return moments.zip_with(within, moments.clear(len(moments))).alias(text.name)


def _clock(cells: pl.Series) -> pl.Series:
    """Return the microseconds since midnight."""

    def part(pattern: str, digits: int) -> pl.Series:
        found = cells.str.extract(pattern, 1).str.pad_end(digits, "0").str.slice(0, digits)
        return found.cast(pl.Int64).fill_null(0)

    minutes = 60 * part(r"^.{11}([0-9]{2})", 2) + part(r"^.{14}([0-9]{2})", 2)
    seconds = part(r"^.{16}:([0-9]{2})", 2)
    return (60 * minutes + seconds) * 1_000_000 + part(r"\.([0-9]+)", 6)


def _offsets(cells: pl.Series) -> pl.Series:
    """Return how many microseconds the clock is ahead of UTC."""
    offset = cells.str.extract(r"^.{16}[^+-]*([+-][0-9]{2}(?::?[0-9]{2})?)", 1)
    hours = offset.str.slice(1, 2).cast(pl.Int64)
    minutes = offset.str.extract(r"^...:?([0-9]{2})$", 1).fill_null("0").cast(pl.Int64)
    size = 60 * hours + minutes
    return size.zip_with(offset.str.starts_with("+"), -size).fill_null(0) * 60_000_000


def has_offset(text: pl.Series) -> bool:
    """Tell whether any moment of a column of text says how far it is from UTC."""
    return bool(text.str.contains(rf":[0-9.]+{_OFFSET}$").any())


def naive_utc(moments: pl.Series) -> pl.Series:
    """Return a column of days or moments as moments in UTC, without a zone."""
    dtype: Any = moments.dtype
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        moments = moments.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return moments.cast(MOMENT_TYPE)


def read_moments(column: pl.Series) -> pl.Series:
    """Return a column of days, moments or text as moments in UTC.

    Parameters
    ----------
    column : polars.Series
        Typed days or moments, of any zone, or text as ISO 8601 writes them. Text with an offset
        and the typed moment are the same; without an offset it is in UTC.

    Returns
    -------
    polars.Series
        Datetime in microseconds without a zone; null where no moment stands.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.tables import read_moments
    >>> read_moments(pl.Series(["2026-11-15T12:00+02:00", "soon"])).to_list()
    [datetime.datetime(2026, 11, 15, 10, 0), None]
    """
    dtype = column.dtype
    if dtype == pl.String:
        return moments_of(column.str.strip_chars())
    if dtype == pl.Date or isinstance(dtype, pl.Datetime) or dtype == pl.Null:
        return naive_utc(column)
    raise TypeError(f"column {column.name!r} holds neither moments nor text: it is {dtype}.")
