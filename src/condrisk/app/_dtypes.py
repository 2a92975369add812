"""Kinds of columns, by their type in polars, and which numbers they may hold."""

from __future__ import annotations

from typing import Any

import polars as pl

# Numbers beyond this are not measurements, and their squares would soon overflow.
MAX_NUMBER = 1e30


def is_text(dtype: Any) -> bool:
    """Tell whether a column holds text."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def is_day(dtype: Any) -> bool:
    """Tell whether a column holds days, or moments on a day."""
    return dtype == pl.Date or isinstance(dtype, pl.Datetime)
