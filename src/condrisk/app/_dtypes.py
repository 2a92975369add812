"""Kinds of columns, by their type in polars."""

from __future__ import annotations

from typing import Any

import polars as pl


def is_text(dtype: Any) -> bool:
    """Tell whether a column holds text."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def is_day(dtype: Any) -> bool:
    """Tell whether a column holds days, or moments on a day."""
    return dtype == pl.Date or isinstance(dtype, pl.Datetime)
