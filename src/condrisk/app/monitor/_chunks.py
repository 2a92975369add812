"""Times of rows, and the stretches of time that they fall into."""

from __future__ import annotations

import re

import polars as pl

from condrisk.app.tables import TableError, read_moments

# Hours, days, weeks, months, quarters, years; as polars writes them.
_EVERY = re.compile(r"[1-9]\d{0,3}(h|d|w|mo|q|y)")


def check_every(every: str) -> None:
    """Refuse what is no length of time."""
    if not _EVERY.fullmatch(every):
        raise TableError(f"every must be a time such as 6h, 1d, 1w, 1mo, 1q or 1y, got {every!r}.")


def starts_of(times: pl.Series, every: str) -> pl.Series:
    """Return when the stretch of time of each row begins.

    Parameters
    ----------
    times : polars.Series
        Dates or moments; null where there is none.
    every : str
        The length of a stretch: ``"6h"``, ``"1d"``, ``"1w"``, ``"1mo"``, ``"1q"``, ``"1y"``. Weeks
        begin on Mondays.

    Examples
    --------
    >>> from datetime import date
    >>> import polars as pl
    >>> from condrisk.app.monitor._chunks import starts_of
    >>> days = pl.Series([date(2026, 3, 31), date(2026, 1, 5)])
    >>> starts_of(days, "1mo").dt.strftime("%Y-%m-%d").to_list()
    ['2026-03-01', '2026-01-01']
    """
    check_every(every)
    return times.cast(pl.Datetime("us")).dt.truncate(every)


def read_times(column: pl.Series) -> pl.Series:
    """Return a column as moments in UTC, null where none stands; text is read as ISO 8601."""
    try:
        return read_moments(column)
    except TypeError:
        raise TableError(
            f"column {column.name!r} must hold dates or moments, but it is of type {column.dtype}."
        ) from None
