"""From checked rows to the one matrix of numbers that the models take."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.tables import Column, Schema

Floats = NDArray[np.float64]


def encode_rows(frame: pl.DataFrame, schema: Schema) -> Floats:
    """Return checked rows as numbers: NaN for what is missing, a position for a category."""
    parts = [_as_numbers(frame[column.name], column) for column in schema.columns]
    return np.ascontiguousarray(pl.DataFrame(parts).to_numpy(order="c"), dtype=np.float64)


def _as_numbers(values: pl.Series, column: Column) -> pl.Series:
    if column.kind == "category":
        codes = values.cast(pl.Enum(column.categories), strict=False).to_physical()
        return codes.cast(pl.Float64)
    if column.kind == "date":
        return values.cast(pl.Date).to_physical().cast(pl.Float64)
    return values.cast(pl.Float64)


def typical_row(frame: pl.DataFrame, schema: Schema) -> dict[str, Any]:
    """Return a row that stands for all without being any of them: medians, commonest values."""
    return {column.name: _typical(frame[column.name], column) for column in schema.columns}


def _typical(values: pl.Series, column: Column) -> Any:
    known = values.drop_nulls()
    if column.kind == "number":
        return float(known.drop_nans().median())  # type: ignore[arg-type]
    if column.kind == "date":
        day = int(known.cast(pl.Date).to_physical().median())  # type: ignore[arg-type]
        return (date(1970, 1, 1) + timedelta(days=day)).isoformat()
    common = known.mode().sort()[0]
    return bool(common) if column.kind == "boolean" else str(common)
