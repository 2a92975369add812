"""Rows held out by time: the last ones, as they would come after the model was fitted."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.tables import TableError, read_moments

Rows = NDArray[np.intp]


def split_by_time(
    column: pl.Series, holdout: float, note: Callable[[str], None]
) -> tuple[Rows, Rows]:
    """Return the earlier rows, to fit on, and the last ones, to measure on.

    Parameters
    ----------
    column : polars.Series
        Dates, moments, their text, or numbers such as a year; no row may lack it.
    holdout : float
        The share of the rows to hold out; rows of one time stay together, so that it may be more.
    note : callable
        Gets a sentence that says which rows are held out.

    Returns
    -------
    tuple of two ndarrays of int
        Positions in the table.
    """
    times = _times(column)
    if times.null_count():
        unread = column.filter(times.is_null()).drop_nulls()
        shown = f" ({str(unread[0])!r})" if len(unread) else ""
        raise TableError(
            f"time column {column.name!r} has no time that can be read in {times.null_count():,} "
            f"of {len(times):,} rows{shown}: fill them in, or leave those rows out."
        )
    if not holdout:
        return np.arange(len(times)), np.empty(0, dtype=np.intp)
    keys = times.to_physical().to_numpy()
    cut = np.sort(keys)[len(keys) - math.ceil(holdout * len(keys))]
    held = np.flatnonzero(keys >= cut)
    train = np.flatnonzero(keys < cut)
    if len(train) < len(keys) * (1 - holdout) / 2:
        raise TableError(
            f"time column {column.name!r} has too many rows of one time: the last {holdout:.0%} "
            f"of the rows cannot be told from those before."
        )
    first = times[int(held[np.argmin(keys[held])])]
    note(
        f"the last {len(held):,} rows by {column.name!r} are held out, from {_shown(first)} on; "
        f"the model is fitted on the {len(train):,} before"
    )
    return train, held


def _times(column: pl.Series) -> pl.Series:
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None)
    try:
        return read_moments(column)
    except TypeError:
        raise TableError(
            f"time column {column.name!r} must hold dates or numbers, but it is of type "
            f"{column.dtype}."
        ) from None


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) >= 1e5 or value % 1 else f"{value:.0f}"
    return str(value).removesuffix(" 00:00:00")
