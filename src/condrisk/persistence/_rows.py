"""From columns of plain values to rows as a model was fitted on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._extras import require
from condrisk.persistence._schema import Column, Schema

_EPOCH = np.datetime64("1970-01-01")
_DAY = np.timedelta64(1, "D")


def build_rows(schema: Schema, columns: Mapping[str, NDArray[Any]]) -> Any:
    """Return rows in the container of a schema."""
    return _BUILDERS[schema.container](schema, columns)


def plain_column(values: list[Any], column: Column) -> NDArray[Any]:
    """Return values of Python, None where one is missing, as `Schema.rows` takes them."""
    if column.kind == "category":
        codes = {word: code for code, word in enumerate(column.categories)}
        return np.array([-1 if v is None else codes.get(v, -1) for v in values], dtype=np.int64)
    if column.kind in ("date", "datetime"):
        moments = [None if v is None else _naive(v) for v in values]
        return np.array(moments, dtype="datetime64[us]")
    if column.kind == "text":
        return np.array([*values, None], dtype=object)[:-1]  # of one text numpy would make letters
    return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)


def _naive(value: Any) -> datetime | date:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    zone = getattr(value, "tzinfo", None)
    return value if zone is None else (value - zone.utcoffset(value)).replace(tzinfo=None)


def missing_value(column: Column, n_rows: int) -> NDArray[Any]:
    """Return a column in which every value is missing."""
    return plain_column([None] * n_rows, column)


# -- the containers -------------------------------------------------------------------------------


def _codes(schema: Schema, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    return np.stack([_as_floats(columns[c.name], c) for c in schema.columns], axis=1)


def _as_floats(values: NDArray[Any], column: Column) -> NDArray[np.float64]:
    if column.kind == "category":
        return np.where(values < 0, np.nan, values.astype(np.float64))
    if column.kind in ("date", "datetime"):
        return (values - _EPOCH) / _DAY
    if column.kind == "text":
        raise ValueError(f"column {column.name!r} is text, which is no number.")
    return values


def _numpy(schema: Schema, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    dtype = np.dtype(schema.columns[0].dtype)
    if dtype.kind == "O":
        return np.stack([_as_objects(columns[c.name], c) for c in schema.columns], axis=1)
    found = np.stack([columns[c.name] for c in schema.columns], axis=1)
    if dtype.kind in "iub" and not is_whole(found):
        return found  # neither a gap nor 2.5 has a place among whole numbers
    return found.astype(dtype)


def is_whole(values: NDArray[np.float64]) -> bool:
    """Tell whether all numbers are whole, and none is missing."""
    return bool(np.array_equal(values, np.floor(values)))


def _as_objects(values: NDArray[Any], column: Column) -> NDArray[Any]:
    if column.kind == "category":
        words = np.array([*column.categories, None], dtype=object)
        return words[values]  # the last one for -1
    if column.kind == "boolean":
        known = values.astype(object)
        known[:] = [None if np.isnan(v) else bool(v) for v in values]
        return known
    return values.astype(object)


def _pandas(schema: Schema, columns: Mapping[str, NDArray[Any]]) -> Any:
    require("A model that was fitted on pandas frames", "pandas", extra="mlflow")
    import pandas as pd

    made = {c.name: _pandas_column(columns[c.name], c, pd) for c in schema.columns}
    return pd.DataFrame(made, columns=[c.name for c in schema.columns])


def _pandas_column(values: NDArray[Any], column: Column, pd: Any) -> Any:
    if column.dtype.startswith("category["):
        kinds = typed_categories(column.categories, column.dtype[len("category[") : -1])
        if kinds.dtype == object:
            kinds = pd.Index(kinds, dtype="str") if column.dtype == "category[str]" else kinds
        return pd.Categorical.from_codes(values, categories=kinds, ordered=column.ordered)
    if column.kind in ("date", "datetime"):
        zone = column.dtype.partition(", ")[2].rstrip("]")
        series = pd.Series(values)
        if zone:
            series = series.dt.tz_localize("UTC")
        return series.astype(column.dtype)
    if column.kind in ("category", "text"):
        return pd.Series(_as_objects(values, column), dtype=column.dtype)
    if column.dtype == "object":
        return pd.Series(_as_objects(values, column), dtype="object")
    if column.dtype[0] in "fF":
        return pd.Series(values).astype(column.dtype)
    known = values[~np.isnan(values)]
    knows_gaps = column.dtype[0] in "IU" or column.dtype == "boolean"  # types of pandas' own
    if not is_whole(known) or (len(known) < len(values) and not knows_gaps):
        return pd.Series(values)  # neither a gap nor 2.5 has a place among whole numbers
    return pd.Series(values).astype("Float64" if knows_gaps else "float64").astype(column.dtype)


def typed_categories(words: tuple[str, ...], dtype: str) -> NDArray[Any]:
    """Return categories in the type that they had in pandas."""
    if dtype == "str":
        return np.array([*words, None], dtype=object)[:-1]
    if dtype == "bool":
        return np.array([word == "true" for word in words])
    return np.array([float(word) for word in words]).astype(dtype)


def _polars(schema: Schema, columns: Mapping[str, NDArray[Any]]) -> Any:
    require("A model that was fitted on polars frames", "polars", extra="app")
    import polars as pl

    return pl.DataFrame([_polars_column(columns[c.name], c, pl) for c in schema.columns])


def _polars_column(values: NDArray[Any], column: Column, pl: Any) -> Any:
    if column.kind in ("category", "text"):
        words = pl.Series(column.name, _as_objects(values, column).tolist(), dtype=pl.String)
        if column.dtype == "Enum":
            return words.cast(pl.Enum(column.categories))
        return words.cast(pl.Categorical) if column.dtype == "Categorical" else words
    if column.kind in ("date", "datetime"):
        series = pl.Series(column.name, values.astype("datetime64[us]"))
        if column.kind == "date":
            return series.cast(pl.Date)
        zone = column.dtype.partition("time_zone='")[2].partition("'")[0]
        unit = column.dtype.partition("time_unit='")[2][:2] or "us"
        if zone:
            series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return series.cast(pl.Datetime(unit, zone or None))
    series = pl.Series(column.name, values).fill_nan(None)
    whole = is_whole(values[~np.isnan(values)])
    return series.cast(getattr(pl, column.dtype)) if whole or "Float" in column.dtype else series


_BUILDERS: dict[str, Callable[[Schema, Mapping[str, NDArray[Any]]], Any]] = {
    "codes": _codes,
    "numpy": _numpy,
    "pandas": _pandas,
    "polars": _polars,
}
