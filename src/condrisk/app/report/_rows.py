"""The rows of greatest risk, as a table to look through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from condrisk._validation import Vector

# Gives for each of some rows the columns that raise its risk most, and by how much.
Explain = Callable[[pl.DataFrame, Vector], Sequence[Sequence[tuple[str, float]]]]

# As many columns of the user's table are shown beside the figures.
MAX_COLUMNS = 12


@dataclass(frozen=True)
class Riskiest:
    """Rows in order of falling risk.

    `numbers` are their places in the table, counted from one; `columns` are the user's, those
    that move the risk most first; `left_out` says how many others there are. `raised_by` has for
    each row the columns that raise its risk most against the average row, and by how much.
    """

    numbers: tuple[int, ...]
    risk: tuple[float, ...]
    loss: tuple[float, ...]
    prediction: tuple[Any, ...] | None
    target: tuple[Any, ...] | None
    columns: tuple[tuple[str, tuple[Any, ...]], ...]
    left_out: int
    raised_by: tuple[tuple[tuple[str, float], ...], ...] | None = None


def riskiest_rows(
    frame: pl.DataFrame,
    loss: Vector,
    risk: Vector,
    *,
    prediction: Sequence[Any] | None,
    target: Sequence[Any] | None,
    row_numbers: Sequence[int] | None,
    order: Sequence[str],
    top: int,
    explain: Explain | None = None,
) -> Riskiest:
    """Pick the rows of greatest risk; of equal ones the earlier come first."""
    rows = np.argsort(-risk, kind="stable")[:top]
    numbers = np.arange(1, len(risk) + 1) if row_numbers is None else np.asarray(row_numbers)
    known = [name for name in order if name in frame.columns]
    names = [*known, *(name for name in frame.columns if name not in known)]
    shown = frame.select(names[:MAX_COLUMNS])[rows]
    return Riskiest(
        numbers=tuple(int(value) for value in numbers[rows]),
        risk=tuple(map(float, risk[rows])),
        loss=tuple(map(float, loss[rows])),
        prediction=_picked(prediction, rows),
        target=_picked(target, rows),
        columns=tuple((column.name, tuple(column.to_list())) for column in shown),
        left_out=max(len(names) - MAX_COLUMNS, 0),
        raised_by=None
        if explain is None or not len(rows)
        else tuple(map(tuple, explain(frame[rows], risk[rows]))),
    )


def _picked(values: Sequence[Any] | None, rows: np.ndarray) -> tuple[Any, ...] | None:
    if values is None:
        return None
    return tuple(
        value.item() if hasattr(value, "item") else value for value in (values[k] for k in rows)
    )
