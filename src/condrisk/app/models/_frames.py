"""Rows from Python, in whatever container, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from condrisk.app.tables import TableError


def as_frame(
    X: Any, *, names: Sequence[str], y: Any = None, target: str | None = None
) -> pl.DataFrame:
    """Return rows as a table, with their targets as one more column if there are any.

    Parameters
    ----------
    X : pandas.DataFrame, polars.DataFrame or array-like of shape (n_rows, n_columns)
        Rows.
    names : sequence of str
        The names of the columns of an array.
    y : array-like of shape (n_rows,), optional
        Their targets.
    target : str or None
        The column of the targets; "y" if None.

    Returns
    -------
    polars.DataFrame
        The rows.
    """
    frame = _frame(X, names)
    if y is None:
        return frame
    values = np.asarray(y)
    if values.shape != (frame.height,):
        raise ValueError(
            f"y must have one value for each of the {frame.height:,} rows of X, got shape "
            f"{values.shape}."
        )
    column = pl.Series(target or "y", values.tolist() if values.dtype == object else values)
    return frame.with_columns(column)


def _frame(X: Any, names: Sequence[str]) -> pl.DataFrame:
    if isinstance(X, pl.DataFrame):
        return X
    if hasattr(X, "columns") and type(X).__module__.partition(".")[0] == "pandas":
        return pl.from_pandas(X)
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise TableError(
            f"X must be a frame, or an array with {len(names)} columns; got shape {array.shape}."
        )
    if array.dtype == object:
        parts = [pl.Series(name, array[:, k].tolist()) for k, name in enumerate(names)]
        return pl.DataFrame(parts)
    return pl.DataFrame({name: array[:, k] for k, name in enumerate(names)})
