"""Rows in chunks: so many rows each, or a stretch of time each."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.tables import TableError, read_moments

# Hours, days, weeks, months, quarters, years; as polars writes them.
_EVERY = re.compile(r"[1-9]\d{0,3}(h|d|w|mo|q|y)")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    name : str
        What to call it: the numbers of its rows, or when it begins.
    rows : ndarray of int
        Positions in the table.
    """

    name: str
    rows: NDArray[np.intp]


def chunks_by_rows(n_rows: int, size: int) -> list[Chunk]:
    """Cut rows into chunks of `size`, in the order in which they come.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    size : int
        How many go into a chunk; the last one has what is left.

    Returns
    -------
    list of Chunk
        Named by the numbers of their rows, from 1.

    Examples
    --------
    >>> from condrisk.app.monitor._chunks import chunks_by_rows
    >>> [(chunk.name, len(chunk.rows)) for chunk in chunks_by_rows(2500, 1000)]
    [('1–1,000', 1000), ('1,001–2,000', 1000), ('2,001–2,500', 500)]
    """
    if size < 1:
        raise TableError(f"rows must be at least 1 a chunk, got {size}.")
    ends = [*range(size, n_rows, size), n_rows]
    starts = [0, *ends[:-1]]
    return [
        Chunk(f"{start + 1:,}–{end:,}", np.arange(start, end))
        for start, end in zip(starts, ends, strict=True)
        if end > start
    ]


def chunks_by_time(times: pl.Series, every: str) -> list[Chunk]:
    """Cut rows into stretches of time, from the earliest to the latest.

    Parameters
    ----------
    times : polars.Series
        Dates or moments; rows without one are in no chunk.
    every : str
        The length of a stretch: ``"6h"``, ``"1d"``, ``"1w"``, ``"1mo"``, ``"1q"``, ``"1y"``. Weeks
        begin on Mondays.

    Returns
    -------
    list of Chunk
        Named by when they begin. A stretch without rows is not there.

    Examples
    --------
    >>> from datetime import date
    >>> import polars as pl
    >>> from condrisk.app.monitor._chunks import chunks_by_time
    >>> days = pl.Series([date(2026, 3, 31), date(2026, 1, 5), date(2026, 1, 30)])
    >>> [(chunk.name, chunk.rows.tolist()) for chunk in chunks_by_time(days, "1mo")]
    [('2026-01-01', [1, 2]), ('2026-03-01', [0])]
    """
    if not _EVERY.fullmatch(every):
        raise TableError(f"every must be a time such as 6h, 1d, 1w, 1mo, 1q or 1y, got {every!r}.")
    moments = times.cast(pl.Datetime("us"))
    starts = moments.dt.truncate(every)
    known = np.flatnonzero(starts.is_not_null().to_numpy())
    kept = starts.gather(known).to_physical().to_numpy()
    order = known[np.argsort(moments.gather(known).to_physical().to_numpy(), kind="stable")]
    labels, where = np.unique(kept, return_inverse=True)
    group = np.full(len(times), -1)
    group[known] = where
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else []
    form = "%Y-%m-%d %H:%M" if every.endswith("h") else "%Y-%m-%d"
    names = pl.Series(labels).cast(pl.Datetime("us")).dt.strftime(form)
    return [Chunk(name, part) for name, part in zip(names, parts, strict=True)]


def read_times(column: pl.Series) -> pl.Series:
    """Return a column as moments in UTC, null where none stands; text is read as ISO 8601."""
    try:
        return read_moments(column)
    except TypeError:
        raise TableError(
            f"column {column.name!r} must hold dates or moments, but it is of type {column.dtype}."
        ) from None
