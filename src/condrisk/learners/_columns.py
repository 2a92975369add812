"""The columns of a table, whatever container it came in, as arrays of three kinds."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Kind = Literal["number", "label", "date", "empty"]

# Stands for a missing label: an empty text says no more.
GAP = ""
_GAPS: dict[str, NDArray[Any]] = {
    "number": np.array([np.nan]),
    "label": np.array([GAP], dtype=object),
    "date": np.array(["NaT"], dtype="datetime64[us]"),
}
# What the cells of a column are, where only these tell.
_NUMBER, _DATE = (Real, np.bool_, np.number), (date, np.datetime64)
_DURATION, _TEXT = (timedelta, np.timedelta64), (str, bytes)


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "label", "date", "empty"}
        Booleans and durations are numbers; "empty" has nothing but gaps.
    values : ndarray of shape (n_rows,)
        float64 with NaN, text with "", or datetime64[us] with NaT, where a value is missing.
    order : tuple of str
        The levels in their order, where the type of the column declares one.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    order: tuple[str, ...] = ()

    def as_kind(self, kind: Kind) -> NDArray[Any]:
        """Return the values as those of a column that was of this kind in fit."""
        if kind == self.kind:
            return self.values
        if self.kind == "empty" or (self.kind == "number" and np.isnan(self.values).all()):
            return np.repeat(_GAPS[kind], len(self.values))
        if kind == "label":
            return _objects(_label(value) for value in self.values.tolist())
        raise ValueError(f"column {self.name!r} held {kind}s in fit, and holds {self.kind}s now.")


# -- containers -----------------------------------------------------------------------------------


def is_numeric(X: Any) -> bool:
    """Tell whether all of `X` is numbers already, as scikit-learn understands it."""
    if sparse.issparse(X):
        return False
    if _is_pandas(X):
        return all(_number_type(dtype) for dtype in X.dtypes)
    if _is_polars(X):
        return all(dtype.is_numeric() or _is(dtype, "Boolean") for dtype in X.dtypes)
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths: scikit-learn says so
        return True
    if array.dtype.kind in "OUS" and array.ndim <= 2:
        return _converts(array)
    return array.dtype.kind not in "Mm"


def _converts(array: NDArray[Any]) -> bool:
    """Tell whether scikit-learn would take objects or texts for numbers."""
    try:
        array.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def read_columns(X: Any) -> list[Column]:
    """Return the columns of a pandas or polars frame, of an array, or of a list of texts."""
    if sparse.issparse(X):
        raise TypeError("X is sparse now, and was not in fit.")
    if _is_pandas(X):
        return [_from_pandas(str(name), X.iloc[:, k]) for k, name in enumerate(X.columns)]
    if _is_polars(X):
        return [_from_polars(series) for series in X.get_columns()]
    array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"X must have rows and columns, got an array of {array.ndim} dimensions.")
    return [_from_cells(f"x{k}", array[:, k]) for k in range(array.shape[1])]


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")


def _is_polars(X: Any) -> bool:
    return hasattr(X, "get_columns") and hasattr(X, "columns")


# -- pandas ---------------------------------------------------------------------------------------


def _number_type(dtype: Any) -> bool:
    return dtype.kind in "biuf" and dtype.name != "category"


def _from_pandas(name: str, series: Any) -> Column:
    dtype = series.dtype
    if dtype.name == "category":
        levels = [_label(level) for level in dtype.categories]
        values = _objects([*levels, GAP])[series.cat.codes.to_numpy()]  # a gap has code -1
        return Column(name, "label", values, tuple(levels) if dtype.ordered else ())
    if _number_type(dtype):
        return Column(name, "number", series.to_numpy(dtype=np.float64, na_value=np.nan))
    if dtype.kind == "M":
        if getattr(series.dt, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return Column(name, "date", series.to_numpy(dtype="datetime64[us]"))
    if dtype.kind == "m":
        return Column(name, "number", _seconds(series.to_numpy(dtype="timedelta64[us]")))
    return _from_cells(name, series.to_numpy(dtype=object))


# -- polars ---------------------------------------------------------------------------------------


def _is(dtype: Any, *names: str) -> bool:
    return dtype.base_type().__name__ in names


def _from_polars(series: Any) -> Column:
    import polars as pl  # the frame has loaded it already

    name, dtype = series.name, series.dtype
    if dtype.is_numeric() or _is(dtype, "Boolean"):
        return Column(name, "number", series.cast(pl.Float64).to_numpy())
    if _is(dtype, "String", "Categorical", "Enum"):
        values = _objects(series.cast(pl.String).fill_null(GAP).to_list())
        return Column(name, "label" if (values != GAP).any() else "empty", values)
    if _is(dtype, "Date", "Datetime"):
        if getattr(dtype, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return Column(name, "date", series.cast(pl.Datetime("us")).to_numpy())
    if _is(dtype, "Time"):
        series = series.cast(pl.Duration("us"))
    if _is(series.dtype, "Duration"):
        return Column(name, "number", _seconds(series.cast(pl.Duration("us")).to_numpy()))
    return _from_cells(name, _objects(series.to_list()))


# -- cells of any type ----------------------------------------------------------------------------


def _from_cells(name: str, cells: NDArray[Any]) -> Column:
    """Return a column of whatever its cells are."""
    if cells.dtype.kind == "M":
        return Column(name, "date", cells.astype("datetime64[us]"))
    if cells.dtype.kind == "m":
        return Column(name, "number", _seconds(cells))
    gaps = np.fromiter((_is_gap(cell) for cell in cells), dtype=bool, count=len(cells))
    types = {type(cell) for cell in cells[~gaps]}

    def are(*kinds: type) -> bool:
        return all(issubclass(found, kinds) for found in types)

    if not types:
        return Column(name, "empty", np.full(len(cells), np.nan))
    if are(*_NUMBER):
        return Column(name, "number", np.where(gaps, np.nan, cells).astype(np.float64))
    if are(*_DATE):
        moments = [_naive(cell) for cell in np.where(gaps, np.datetime64("NaT"), cells)]
        return Column(name, "date", np.array(moments, dtype="datetime64[us]"))
    if are(*_DURATION):
        durations = np.where(gaps, np.timedelta64("NaT"), cells)
        return Column(name, "number", _seconds(durations.astype("timedelta64[us]")))
    if are(*_TEXT, *_NUMBER):
        labels = (GAP if gap else _label(cell) for cell, gap in zip(cells, gaps, strict=True))
        return Column(name, "label", _objects(labels))
    wrong = next(found for found in types if not issubclass(found, (*_TEXT, *_NUMBER)))
    raise TypeError(
        f"column {name!r} has a cell of type {wrong.__name__}: every argument must be a string, a "
        f"number, or in a column of its own a date or a duration."
    )


def _is_gap(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.generic) and bool(cell != cell)


def _label(value: Any) -> str:
    """Return the name of a level; whole numbers have the same one as floats, which gaps make."""
    if value is None:
        return GAP
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float | np.floating):
        return GAP if value != value else str(int(value)) if value.is_integer() else str(value)
    return str(value)


def _naive(moment: Any) -> Any:
    if getattr(moment, "tzinfo", None) is not None:
        assert isinstance(moment, datetime)
        return moment.astimezone(UTC).replace(tzinfo=None)
    return moment


def _seconds(durations: NDArray[Any]) -> NDArray[np.float64]:
    return durations / np.timedelta64(1, "s")  # NaN where NaT


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    found = list(values)
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return array
