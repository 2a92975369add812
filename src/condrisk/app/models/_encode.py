"""From checked rows of a table to rows as a model takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.persistence import Column, Schema


def encode_rows(frame: pl.DataFrame, schema: Schema) -> Any:
    """Return checked rows in the container, and with the types, that a model was fitted on.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows that passed `condrisk.app.tables.check_rows`.
    schema : Schema
        The columns, and the container.

    Returns
    -------
    ndarray, pandas.DataFrame or polars.DataFrame
        The rows.
    """
    return schema.rows({c.name: plain_values(frame[c.name], c) for c in schema.columns})


def plain_values(values: pl.Series, column: Column) -> NDArray[Any]:
    """Return a checked column as `Schema.rows` takes it."""
    if column.kind == "category":
        codes = values.cast(pl.Enum(column.categories), strict=False).to_physical()
        codes = codes.cast(pl.Int64)
        # fill_null takes longer than all else here, and a service encodes few rows at a time.
        return (codes.fill_null(-1) if codes.null_count() else codes).to_numpy()
    if column.kind in ("date", "datetime"):
        if isinstance(values.dtype, pl.Datetime) and values.dtype.time_zone is not None:
            values = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return values.cast(pl.Datetime("us")).to_numpy()
    if column.kind == "text":
        return np.array([*values.to_list(), None], dtype=object)[:-1]
    return values.cast(pl.Float64).to_numpy()  # NaN where null
