"""The columns of a table as inputs of a graph, and rows as they are fed to it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import Graph, Rows
from condrisk.app.export._predictor import add_text_codes
from condrisk.app.models import TableModel
from condrisk.app.tables import Checked, Column, Schema

# Rows reach the model as one matrix of float64, categories as their positions, dates as days.
CODES = "codes"


def check_table(model: TableModel, frame: pl.DataFrame) -> Checked:
    """Tell the rows of a table that a model can use from the others."""
    return model.schema.check(frame)


def container_of(schema: Schema) -> str:
    """Return what rows reach the model in."""
    return getattr(schema, "container", CODES)


def is_text(column: Column) -> bool:
    """Tell whether a graph takes a column as text."""
    return column.kind == "category"


def type_of(graph: Graph, column: Column) -> Any:
    """Return the type of the input of a column."""
    types = graph.onnx.TensorProto
    return types.STRING if is_text(column) else types.DOUBLE


def prediction_of(model: TableModel) -> Column | None:
    """Return the column that holds what an external predictor says; None without one."""
    found = getattr(model.schema, "prediction", None)
    if found is not None or model.prediction_column is None:
        return found
    return next(c for c in model.schema.columns if c.name == model.prediction_column)


def inputs_of(model: TableModel) -> list[Column]:
    """Return the columns that a graph takes."""
    columns = list(model.schema.columns)
    prediction = prediction_of(model)
    if prediction is not None and prediction.name not in model.schema.names:
        columns.append(prediction)
    return columns


def add_columns(graph: Graph, schema: Schema) -> Rows:
    """Add what makes a matrix of numbers of the columns."""
    container = container_of(schema)
    parts = [_add_column(graph, column, container) for column in schema.columns]
    as_texts = container != CODES
    texts = tuple(c.categories if is_text(c) and as_texts else None for c in schema.columns)
    return Rows(graph.join(parts), texts)


def _add_column(graph: Graph, column: Column, container: str) -> str:
    if column.kind in ("text", "datetime") or (column.kind == "date" and container != CODES):
        raise ExportError(
            f"column {column.name!r} reaches the model as {_as_what(column)}, which has no form in "
            f"ONNX here; numbers, booleans and categories have."
        )
    if not is_text(column):
        narrow = container != CODES and getattr(column, "dtype", "").lower() == "float32"
        return graph.rounded(column.name) if narrow else column.name
    if not column.categories:
        raise ExportError(f"column {column.name!r} has no categories.")
    return add_text_codes(graph, column.name, column.categories, default=float("nan"))


def _as_what(column: Column) -> str:
    return {"text": "text", "datetime": "moments", "date": "dates"}[column.kind]


def feed(values: pl.Series, column: Column) -> NDArray[Any]:
    """Return a checked column as the graph takes it."""
    if is_text(column):
        return np.array(values.fill_null("").to_list(), dtype=object).reshape(-1, 1)
    if column.kind == "date":
        values = values.to_physical()
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(-1, 1)


def random_rows(
    model: TableModel, *, n_rows: int, gaps: Literal["everywhere", "seen"], seed: int = 0
) -> pl.DataFrame:
    """Return rows within and a little beyond what was seen of each column.

    Some cells are missing: everywhere, or only in columns in which some were missing before.
    """
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        [
            _random_column(column, n_rows, rng, gaps=gaps == "everywhere" or column.missing > 0)
            for column in inputs_of(model)
        ]
    )


def _random_column(column: Column, n: int, rng: np.random.Generator, *, gaps: bool) -> pl.Series:
    gaps = gaps and not column.required
    gap = rng.random(n) < (0.1 if gaps else 0.0)
    if column.kind == "category":
        unseen = ["never seen before"] if gaps else []
        values = rng.choice([*column.categories, *unseen], n)
        return pl.Series(
            column.name, [None if g else str(v) for v, g in zip(values, gap, strict=True)]
        )
    if column.kind == "boolean":
        values = rng.random(n) < 0.5
        return pl.Series(
            column.name, [None if g else bool(v) for v, g in zip(values, gap, strict=True)]
        )
    low, high = float(column.low or 0.0), float(column.high or 0.0)
    width = max(high - low, 1e-6)
    numbers = rng.uniform(low - 0.1 * width, high + 0.1 * width, n)
    if column.kind == "date":
        days = pl.Series(column.name, numbers.round().astype(np.int32)).cast(pl.Date)
        return days.set(pl.Series(gap), None)
    # Whole numbers too: where a column has them, thresholds lie between them.
    numbers = np.where(rng.random(n) < 0.5, numbers.round(), numbers)
    return pl.Series(column.name, numbers).set(pl.Series(gap), None)
