"""Groups of rows by the values of columns, for guarantees and corrections within each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import _num_samples

Flags = NDArray[np.bool_]

MISSING = "missing"


@dataclass(frozen=True)
class Group:
    """The rows with one value of a column, or of numbers those in an interval of it.

    Attributes
    ----------
    column : str or int
        The column, by name or by position.
    value : str or None
        The value as text, "missing" for no value; None for an interval.
    low, high : float
        The interval: above `low`, up to `high`.
    """

    column: str | int
    value: str | None
    low: float = -np.inf
    high: float = np.inf

    @property
    def name(self) -> str:
        """Say which rows these are."""
        column = f"column {self.column}" if isinstance(self.column, int) else self.column
        if self.value is not None:
            return f"{column} = {self.value}"
        if self.low == -np.inf:
            return f"{column} <= {self.high:.4g}"
        if self.high == np.inf:
            return f"{column} > {self.low:.4g}"
        return f"{self.low:.4g} < {column} <= {self.high:.4g}"


def column_of(X: Any, column: str | int, what: str) -> NDArray[Any]:
    """Return one column of rows; `what` names the parameter in errors."""
    names = getattr(X, "columns", None)
    if isinstance(column, str):
        if names is None or column not in list(names):
            known = "rows without names" if names is None else f"columns {list(names)}"
            raise ValueError(f"{what}: there is no column {column!r} in {known}.")
        return np.asarray(X[column])
    if names is not None:
        return np.asarray(X[list(names)[column]])
    if issparse(X):
        return np.asarray(X.tocsc()[:, column].toarray()).ravel()
    array = X if hasattr(X, "ndim") else np.asarray(X, dtype=object)
    if array.ndim != 2 or not -array.shape[1] <= column < array.shape[1]:
        raise ValueError(
            f"{what}: there is no column {column} in rows of shape {tuple(array.shape)}."
        )
    return np.asarray(array[:, column])


def as_text(values: NDArray[Any]) -> NDArray[np.str_]:
    """Return values as text, the same for 1, 1.0 and "1"; "missing" for None and NaN."""
    if values.dtype.kind in "biuf":
        found, where = np.unique(values, return_inverse=True)
        return np.array([_text(value) for value in found.tolist()], dtype=str)[where]
    return np.array([_text(value) for value in values.tolist()], dtype=str)


def _text(value: Any) -> str:
    if value is None or value != value:  # NaN, NaT
        return MISSING
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def groups_of_values(X: Any, columns: Any, *, most: int, what: str) -> list[Group]:
    """Return a group for each value of each column."""
    groups = []
    for column in columns:
        found = np.unique(as_text(column_of(X, column, what)))
        if len(found) > most:
            raise ValueError(
                f"{what}: column {column!r} has {len(found)} values, more than {most}: groups "
                f"would be too small. Give a column of classes, such as bins of a number."
            )
        groups += [Group(column, str(value)) for value in found]
    return groups


def groups_of_bins(
    X: Any, columns: Any, *, n_bins: int, most_values: int, what: str
) -> list[Group]:
    """Return a group for each value of a column, or of numbers with many for each of some bins."""
    groups = []
    for column in columns:
        values = column_of(X, column, what)
        if values.dtype.kind not in "iuf" or len(np.unique(values)) <= most_values:
            groups += groups_of_values(X, [column], most=len(values), what=what)
            continue
        known = values[np.isfinite(values.astype(np.float64))]
        inner = np.unique(np.quantile(known, np.arange(1, n_bins) / n_bins)).tolist()
        edges = [-np.inf, *inner, np.inf]
        groups += [Group(column, None, low, high) for low, high in pairwise(edges)]
        if len(known) < len(values):
            groups.append(Group(column, MISSING))
    return groups


def masks(groups: list[Group], X: Any, *, what: str) -> Flags:
    """Return which rows belong to each group, of shape (n_groups, n_rows)."""
    found = np.zeros((len(groups), _num_samples(X)), dtype=bool)
    texts: dict[str | int, NDArray[np.str_]] = {}
    for k, group in enumerate(groups):
        values = column_of(X, group.column, what)
        if group.value is None:
            numbers = values.astype(np.float64)
            found[k] = (numbers > group.low) & (numbers <= group.high)
            continue
        if group.column not in texts:
            texts[group.column] = as_text(values)
        found[k] = texts[group.column] == group.value
    return found
