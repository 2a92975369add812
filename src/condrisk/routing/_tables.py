"""Losses, risks and costs with a column for each model, however they are given."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def check_costs(costs: Any) -> tuple[list[str] | None, Floats]:
    """Return the names of the models, None for positions, and the cost of each."""
    names = None
    if isinstance(costs, Mapping):
        names = list(costs)
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"costs must have texts as names of models, got {names!r}.")
        costs = list(costs.values())
    given = np.asarray(costs)
    if given.ndim != 1 or len(given) < 2:
        raise ValueError("costs must have a cost for each of two models or more.")
    if not all(isinstance(value, Real) and not isinstance(value, bool) for value in costs):
        raise TypeError(f"costs must be numbers, got {list(costs)!r}.")
    values = given.astype(np.float64)
    if not np.isfinite(values).all() or values.min() < 0:
        raise ValueError(f"costs must be finite and not negative, got {values.tolist()}.")
    return names, values


def check_losses(losses: Any, names: list[str] | None, costs: Floats) -> Floats:
    """Return losses of shape (n_rows, n_models), with NaN where a model has not answered."""
    table = _as_table(losses, names, len(costs), "losses")
    if np.isinf(table).any():
        raise ValueError("losses must be numbers, or NaN where a model has not answered.")
    return table


def check_risks(risks: Any, names: list[str] | None, costs: Floats, n_rows: int) -> Floats:
    """Return risks of shape (n_rows, n_models)."""
    table = _as_table(risks, names, len(costs), "risks")
    if not np.isfinite(table).all():
        raise ValueError("risks must be finite, got NaN or infinity.")
    if len(table) != n_rows:
        raise ValueError(f"risks must have a row for each of the {n_rows} rows of losses.")
    return table


def _as_table(values: Any, names: list[str] | None, n_models: int, what: str) -> Floats:
    """Return a column for each model, by name where the columns have names."""
    columns = _columns_of(values)
    if columns is not None and names is not None:
        missing = [name for name in names if name not in columns]
        extra = [name for name in columns if name not in names]
        if missing or extra:
            raise ValueError(
                f"{what} must have a column for each model of costs, {names}; got {list(columns)}."
            )
        values = [_column(columns[name], f"{what}[{name!r}]") for name in names]
        if len({len(column) for column in values}) > 1:
            raise ValueError(f"{what} must have columns of one length.")
        values = np.column_stack(values)
    elif columns is not None:
        values = np.column_stack([_column(column, what) for column in columns.values()])
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be made of numbers, with NaN for gaps.") from None
    if table.ndim != 2 or table.shape[1] != n_models:
        raise ValueError(
            f"{what} must have a column for each of the {n_models} models, "
            f"got an array of shape {table.shape}."
        )
    if not len(table):
        raise ValueError(f"{what} is empty: at least one row is needed.")
    return table


def _columns_of(values: Any) -> dict[str, Any] | None:
    """Return the columns of a mapping or a frame by name; None for arrays."""
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "columns") and hasattr(values, "__getitem__"):
        return {str(name): values[name] for name in values.columns}
    return None


def _column(values: Any, name: str) -> Floats:
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    cells = np.asarray(values)
    if cells.dtype.kind == "O":
        cells = np.array([np.nan if _is_gap(cell) else cell for cell in cells], dtype=object)
    try:
        found = cells.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be made of numbers, with NaN for gaps.") from None
    if cells.dtype.kind in "US" or found.ndim != 1:
        raise TypeError(f"{name} must be one number for each row, with NaN for gaps.")
    return found


def _is_gap(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")
