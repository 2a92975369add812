"""What the columns of training rows are: of numpy, pandas and polars alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.persistence._schema import Column, Container, Kind

# Text with more distinct values than this is text, not a set of categories.
MOST_CATEGORIES = 250
_DAY = np.timedelta64(1, "D")


def container_of(X: Any) -> Container:
    """Return the container that rows are in, as a schema names it."""
    package = type(X).__module__.partition(".")[0]
    if hasattr(X, "columns") and package in ("pandas", "polars"):
        return "pandas" if package == "pandas" else "polars"
    return "numpy"


def describe_columns(
    X: Any, names: Sequence[str] | None = None
) -> tuple[Container, tuple[Column, ...]]:
    """Return the container and the columns of training rows."""
    container = container_of(X)
    if container == "numpy":
        return container, _of_array(X, names)
    found = list(X.columns)
    odd = [name for name in found if not isinstance(name, str)]
    if odd:
        raise ValueError(f"schema must have columns with names of text; got {odd[0]!r}.")
    if len(set(found)) < len(found):
        raise ValueError("schema must have columns of different names.")
    if not len(X):
        raise ValueError("schema must have at least one row.")
    describe = _of_pandas if container == "pandas" else _of_polars
    return container, tuple(describe(name, X[name]) for name in found)


# -- the containers -------------------------------------------------------------------------------


def _of_array(X: Any, names: Sequence[str] | None) -> tuple[Column, ...]:
    if hasattr(X, "tocsr"):
        raise ValueError("schema must be dense: model files do not know sparse rows.")
    array = np.asarray(X)
    if array.ndim != 2 or not len(array):
        raise ValueError(
            f"schema must be a table of rows and columns, such as the X that the model was fitted "
            f"on; got an array of shape {array.shape}."
        )
    known = [f"x{k}" for k in range(array.shape[1])] if names is None else list(names)
    if len(known) != array.shape[1]:
        raise ValueError(f"names must have {array.shape[1]} entries, got {len(known)}.")
    dtype = "object" if array.dtype.kind in "OUS" else str(array.dtype)
    return tuple(_of_values(name, array[:, k], dtype) for k, name in enumerate(known))


def _of_pandas(name: str, series: Any) -> Column:
    dtype = str(series.dtype)
    if dtype == "category":
        categories = series.cat.categories
        values = categories.to_numpy()
        kind = "str" if values.dtype.kind in "OU" else str(values.dtype)
        column = _category(name, values, f"category[{kind}]", bool(series.cat.ordered))
        return _counted(column, series.cat.codes.to_numpy())
    if series.dtype.kind == "M":
        moments = series.dt.tz_convert("UTC").dt.tz_localize(None) if "," in dtype else series
        return _of_values(name, moments.to_numpy(), dtype)
    if series.dtype.kind in "iufb" and not isinstance(series.dtype, np.dtype):  # Int64, boolean
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return _of_values(name, values, dtype, boolean=series.dtype.kind == "b")
    values = series.to_numpy()
    if values.dtype == object:
        values = np.where(series.isna(), None, values)
    return _of_values(name, values, dtype)


def _of_polars(name: str, series: Any) -> Column:
    dtype = str(series.dtype)
    if dtype.startswith(("Categorical", "Enum")):
        kind = dtype.partition("(")[0]
        fixed = getattr(series.dtype, "categories", None) if kind == "Enum" else None
        words = series.cast(_polars().String)
        seen = words.drop_nulls().unique().sort() if fixed is None else fixed
        column = _category(name, np.array(seen.to_list(), dtype=object), kind, False)
        codes = {word: code for code, word in enumerate(column.categories)}
        return _counted(column, np.array([codes.get(word, -1) for word in words.to_list()]))
    if dtype == "Boolean":
        return _of_values(name, series.cast(_polars().Float64).to_numpy(), dtype, boolean=True)
    if series.dtype.is_numeric():
        return _of_values(name, series.cast(_polars().Float64).to_numpy(), dtype)
    if series.dtype.is_temporal():
        if not dtype.startswith(("Date", "Datetime")):
            raise _unknown(name, dtype)
        plain = series.dt.convert_time_zone("UTC") if "time_zone='" in dtype else series
        found = plain.cast(_polars().Datetime("us")).to_numpy()
        return _of_values(name, found, dtype, day=dtype == "Date")
    return _of_values(name, np.array(series.to_list(), dtype=object), dtype)


def _polars() -> Any:
    import polars

    return polars


# -- what stands in a column -----------------------------------------------------------------------


def _of_values(
    name: str, values: NDArray[Any], dtype: str, *, boolean: bool = False, day: bool = False
) -> Column:
    kind = values.dtype.kind
    if kind == "b" or boolean:
        return _boolean(name, values.astype(np.float64), dtype)
    if kind in "iuf":
        return _number(name, values.astype(np.float64), dtype)
    if kind == "M":
        return _moment(name, values, dtype, day=day)
    return _of_objects(name, values, dtype)


def _of_objects(name: str, values: NDArray[Any], dtype: str) -> Column:
    known = [value for value in values.tolist() if value is not None and value == value]
    gaps = [np.nan] * (len(values) - len(known))
    if known and all(isinstance(value, bool | np.bool_) for value in known):
        return _boolean(name, np.array([*map(float, known), *gaps]), dtype)
    if all(isinstance(value, int | float | np.number) for value in known):
        return _number(name, np.array([*known, *gaps], dtype=np.float64), dtype)
    if not all(isinstance(value, str) for value in known):
        odd = next(value for value in known if not isinstance(value, str))
        raise _unknown(name, f"{dtype} with {type(odd).__name__} among its values")
    seen = sorted(set(known))
    missing = len(gaps) / len(values)
    if len(seen) > MOST_CATEGORIES:
        return Column(name, "text", missing=missing, dtype=dtype, typical="text")
    codes = {word: code for code, word in enumerate(seen)}
    column = Column(name, "category", tuple(seen), dtype=dtype)
    return _counted(column, np.array([codes[word] for word in known] + [-1] * len(gaps)))


def _boolean(name: str, values: NDArray[np.float64], dtype: str) -> Column:
    gap = np.isnan(values)
    typical = bool(np.mean(values[~gap]) > 0.5) if not gap.all() else False
    return Column(name, "boolean", missing=float(gap.mean()), dtype=dtype, typical=typical)


def _number(name: str, values: NDArray[np.float64], dtype: str) -> Column:
    finite = values[np.isfinite(values)]
    missing = float(np.isnan(values).mean())
    if not finite.size:
        return Column(name, "number", missing=missing, dtype=dtype)
    # A value that there is: between two of them is none that an encoder of codes has seen.
    middle = np.quantile(finite, 0.5, method="inverted_cdf")
    low, high, typical = map(float, (finite.min(), finite.max(), middle))
    return Column(name, "number", (), low, high, missing, dtype=dtype, typical=typical)


def _moment(name: str, values: NDArray[Any], dtype: str, *, day: bool) -> Column:
    gap = np.isnat(values)
    days = ((values - np.datetime64("1970-01-01")) / _DAY)[~gap]
    kind: Kind = "date" if day else "datetime"
    missing = float(gap.mean())
    if not days.size:
        return Column(name, kind, missing=missing, dtype=dtype)
    middle = np.sort(values[~gap])[len(days) // 2].astype(
        "datetime64[D]" if day else "datetime64[s]"
    )
    low, high = float(days.min()), float(days.max())
    return Column(name, kind, (), low, high, missing, dtype=dtype, typical=str(middle))


def _category(name: str, values: NDArray[Any], dtype: str, ordered: bool) -> Column:
    if not all(isinstance(value, str | int | float) for value in values.tolist()):
        raise _unknown(name, f"{dtype} of {values.dtype}")
    words = tuple(category_text(value) for value in values.tolist())
    return Column(name, "category", words, dtype=dtype, ordered=ordered)


def _counted(column: Column, codes: NDArray[Any]) -> Column:
    """Return a column of categories with the share of gaps and the commonest category."""
    known = codes[codes >= 0]
    missing = 1 - len(known) / len(codes)
    if not len(known):
        return replace(column, missing=missing)
    return replace(column, missing=missing, typical=column.categories[np.bincount(known).argmax()])


def category_text(value: Any) -> str:
    """Return a category as text: what stands for it in a file of rows."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _unknown(name: str, dtype: str) -> ValueError:
    return ValueError(
        f"schema: column {name!r} is of type {dtype}; a column must be numbers, text, booleans, "
        f"dates or categories."
    )
