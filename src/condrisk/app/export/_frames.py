"""Rows of pandas as the tables of condrisk hold them, so that its own reading of cells applies."""

from __future__ import annotations

from datetime import date
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from condrisk.app.models import TableModel
from condrisk.app.tables import check_rows
from condrisk.persistence import Column


def decide_frame(model: TableModel, frame: Any) -> Any:
    """Return prediction, risk and decision of a pandas frame, as a pandas frame.

    A row that the model cannot use is an error that names it, and its column.
    """
    import pandas as pd

    frame = pd.DataFrame(frame)
    columns = [
        _cells(frame[column.name], column)
        for column in model.schema.needed
        if column.name in frame.columns
    ]
    checked = check_rows(model.schema, pl.DataFrame(columns))
    if checked.bad:
        row, reason = next(iter(checked.bad.items()))
        raise ValueError(f"{len(checked.bad):,} rows cannot be used; in row {row + 1} {reason}")
    decision = model.decide(checked.good)
    found = {
        "prediction": decision.prediction,
        "risk": decision.risk,
        "defer": decision.deferred,
    }
    return pd.DataFrame(found, index=frame.index)


def _cells(values: Any, column: Column) -> pl.Series:
    """Return a column of pandas, whatever type pandas has guessed for it."""
    is_plain = getattr(values.dtype, "kind", "O") in "iufb" and not values.isna().any()
    if is_plain:
        cells = pl.Series(column.name, values.to_numpy())
    else:
        cells = _of_objects(values, column.name)
    if column.kind == "category" and cells.dtype.is_numeric():
        return _as_written(cells, column)
    return cells


def _of_objects(values: Any, name: str) -> pl.Series:
    known = [None if gap else cell for cell, gap in zip(values, values.isna(), strict=True)]
    kinds = {type(cell) for cell in known if cell is not None}
    if all(kind in (bool, np.bool_) for kind in kinds):
        return pl.Series(name, [None if v is None else bool(v) for v in known], dtype=pl.Boolean)
    if all(issubclass(kind, Real) and kind not in (bool, np.bool_) for kind in kinds):
        return pl.Series(name, [None if v is None else float(v) for v in known], dtype=pl.Float64)
    if all(issubclass(kind, date) for kind in kinds):
        return pl.Series(name, known)
    return pl.Series(name, [None if v is None else _text(v) for v in known], dtype=pl.String)


def _text(value: Any) -> str:
    """Return a cell as a file would have it: 3 became 3.0 where another cell was missing."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _as_written(cells: pl.Series, column: Column) -> pl.Series:
    """Return categories as they were written: pandas reads the category "01" as the number 1."""
    known: dict[float, str] = {}
    for text in column.categories:
        try:
            number = float(text)
        except ValueError:
            continue
        if number not in known or text == _text(number):
            known[number] = text
    texts = [None if value is None else known.get(value, _text(value)) for value in cells.to_list()]
    return pl.Series(cells.name, texts, dtype=pl.String)
