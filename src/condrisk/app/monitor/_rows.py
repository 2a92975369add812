"""A table read once: what monitoring keeps of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.models import TableModel
from condrisk.app.monitor._chunks import read_times
from condrisk.app.monitor._drift import Support, outside_columns
from condrisk.app.tables import TableError, check_rows, clean_text

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rows:
    """What is kept of the usable rows of a table.

    Attributes
    ----------
    risk, loss : ndarray of shape (n_rows,)
        Estimated risk, and realised loss, NaN where there is no label.
    times : polars.Series or None
        When each was made.
    outside : dict of str to ndarray of bool
        By column: which rows leave what was seen of it; under "" those without support.
    bad : int
        How many rows could not be used.
    reason : str
        What was wrong with the first of them.
    """

    risk: Floats
    loss: Floats
    times: pl.Series | None
    outside: dict[str, NDArray[np.bool_]]
    bad: int
    reason: str


def read_rows(
    model: TableModel,
    frames: Iterable[pl.DataFrame],
    *,
    time: str | None,
    support: Support | None,
    progress: Callable[[int], Any],
) -> Rows:
    """Go through a table once, batch by batch."""
    risk, loss, times, outside = [], [], [], []
    bad, reason, seen = 0, "", 0
    for frame in frames:
        checked = check_rows(model.schema, frame)
        if checked.bad and not bad:
            row, why = next(iter(checked.bad.items()))
            reason = f"in row {seen + row + 1:,} {why}"
        bad += len(checked.bad)
        seen += frame.height
        if not len(checked.rows):
            continue
        risk.append(model.predict_risk(checked.good))
        loss.append(_losses(model, frame, checked))
        flags = outside_columns(frame, checked, model.schema.columns)
        if support is not None:
            flags[""] = support.outside(checked.good)
        outside.append(flags)
        if time is not None:
            times.append(_times(frame, time).gather(checked.rows))
        progress(seen)
    if not risk:
        raise TableError(f"the table has no row that the model can use: {reason or 'it is empty'}.")
    return Rows(
        np.concatenate(risk),
        np.concatenate(loss),
        pl.concat(times) if time is not None else None,
        {name: np.concatenate([part[name] for part in outside]) for name in outside[0]},
        bad,
        reason,
    )


def _losses(model: TableModel, frame: pl.DataFrame, checked: Any) -> Floats:
    """Return the losses of the usable rows, NaN where the target is not there."""
    found = np.full(len(checked.rows), np.nan)
    if model.target is None or model.target not in frame.columns:
        return found
    column = frame[model.target].gather(checked.rows)
    if column.dtype == pl.String:
        column = clean_text(column)
    elif column.dtype.is_float():
        column = column.fill_nan(None)
    known = np.flatnonzero(column.is_not_null().to_numpy())
    if len(known):
        found[known] = model.loss_values(checked.good[known], column.gather(known))
    return found


def _times(frame: pl.DataFrame, name: str) -> pl.Series:
    if name not in frame.columns:
        raise TableError(f"the table has no column {name!r} with times; it has {frame.columns}.")
    return read_times(frame[name])
