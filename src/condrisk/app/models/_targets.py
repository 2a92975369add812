"""The column to predict: which task it sets, and its values as models take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app._dtypes import MAX_NUMBER, is_text
from condrisk.app.tables import TableError
from condrisk.losses import Task

# A whole number with at most this many distinct values is taken for a class.
MAX_CLASSES = 10


def task_of(column: pl.Series) -> Task:
    """Tell the task from what stands in the column to predict."""
    dtype = column.dtype
    if is_text(dtype) or dtype == pl.Boolean:
        return "classification"
    if not dtype.is_numeric():
        raise TableError(
            f"target {column.name!r} is of type {dtype}; it must be numbers, text or booleans."
        )
    known = column.drop_nulls()
    whole = dtype.is_integer() or bool((known == known.round()).all())
    return "classification" if whole and known.n_unique() <= MAX_CLASSES else "regression"


def read_target(column: pl.Series, task: Task, classes: list[Any] | None = None) -> NDArray[Any]:
    """Return targets, or predictions of them, as numbers or labels.

    `classes` are the labels known; they give their type to those in the column.
    """
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.null_count():
        raise TableError(
            f"column {column.name!r} is empty in {column.null_count():,} of {len(column):,} rows: "
            f"fill them in, or leave those rows out."
        )
    return _numbers(column) if task == "regression" else _labels(column, classes)


def read_costs(column: pl.Series) -> NDArray[np.float64]:
    """Return the cost of deferring each row: numbers of at least 0, none of them missing."""
    values = column.cast(pl.Float64, strict=False)
    if column.dtype == pl.Boolean or values.fill_nan(None).null_count():
        raise TableError(
            f"column {column.name!r} must be a number in every row: it is the cost of deferring it."
        )
    costs = values.to_numpy()
    wrong = np.flatnonzero(~((costs >= 0) & (costs <= MAX_NUMBER)))
    if len(wrong):
        raise TableError(
            f"column {column.name!r} holds {costs[wrong[0]]:g} in row {wrong[0] + 1:,}, but a cost "
            f"must be a number of at least 0."
        )
    return costs


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    values = None if column.dtype == pl.Boolean else column.cast(pl.Float64, strict=False)
    if values is None or values.null_count():
        raise TableError(
            f"column {column.name!r} must be numbers for regression, but it is of type "
            f"{column.dtype}."
        )
    far = int((values.abs() > MAX_NUMBER).sum())
    if far:
        raise TableError(
            f"column {column.name!r} has {far:,} values that are infinite or beyond {MAX_NUMBER:g}."
        )
    return values.to_numpy()


def _labels(column: pl.Series, classes: list[Any] | None) -> NDArray[Any]:
    dtype = column.dtype
    if classes is not None:
        return _labels_like(column, classes)
    if dtype == pl.Boolean:
        return column.to_numpy()
    if is_text(dtype):
        return np.asarray(column.cast(pl.String).to_list(), dtype=np.str_)
    whole = column.cast(pl.Int64, strict=False) if dtype.is_numeric() else None
    if whole is None or not (whole.cast(pl.Float64) == column.cast(pl.Float64)).all():
        raise TableError(
            f"column {column.name!r} must be text, whole numbers or booleans for classification."
        )
    return whole.to_numpy()


def _labels_like(column: pl.Series, classes: list[Any]) -> NDArray[Any]:
    """Return labels of the type of `classes`, whatever type a file gave them."""
    by_text = {str(label).lower(): label for label in classes}
    if is_text(column.dtype):
        if isinstance(classes[0], str):
            return np.asarray(column.cast(pl.String).to_list(), dtype=np.str_)
        return _found(column, [by_text.get(text.lower()) for text in column.cast(pl.String)])
    if isinstance(classes[0], str):
        if column.dtype.is_float():
            column = column.cast(pl.Int64, strict=False)
        return np.asarray([_text_like(value, by_text) for value in column], dtype=np.str_)
    if isinstance(classes[0], bool) and column.dtype != pl.Boolean:
        return _found(column, [{0: False, 1: True}.get(value) for value in column])
    return _labels(column, None)


def _text_like(value: Any, by_text: dict[str, Any]) -> str:
    return str(by_text.get(str(value).lower(), value))


def _found(column: pl.Series, labels: list[Any]) -> NDArray[Any]:
    if None in labels:
        wrong = column[labels.index(None)]
        raise TableError(f"column {column.name!r} holds {wrong!r}, which is none of the classes.")
    return np.asarray(labels)
