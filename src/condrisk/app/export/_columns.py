"""The columns of a table as inputs of a graph, and rows as they are fed to it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import ROUGH_TOLERANCE, Graph, Rows
from condrisk.app.export._predictor import add_text_codes
from condrisk.persistence import Column, Schema

# Rows reach the model as one matrix of float64, categories as their positions, dates as days.
CODES = "codes"
_EPOCH, _DAY = np.datetime64("1970-01-01"), np.timedelta64(1, "D")


def is_text(column: Column) -> bool:
    """Tell whether a graph takes a column as text."""
    return column.kind == "category"


def type_of(graph: Graph, column: Column) -> Any:
    """Return the type of the input of a column."""
    types = graph.onnx.TensorProto
    return types.STRING if is_text(column) else types.DOUBLE


def add_columns(graph: Graph, schema: Schema) -> Rows:
    """Add what makes a matrix of numbers of the columns."""
    parts = [_add_column(graph, column, schema.container) for column in schema.columns]
    as_texts = schema.container != CODES
    texts = tuple(c.categories if is_text(c) and as_texts else None for c in schema.columns)
    return Rows(graph.join(parts), texts)


def _add_column(graph: Graph, column: Column, container: str) -> str:
    if column.kind == "text" or (column.kind in ("date", "datetime") and container != CODES):
        what = "text" if column.kind == "text" else "dates"
        raise ExportError(
            f"column {column.name!r} reaches the model as {what}, which cannot be converted to "
            f"ONNX; numbers, booleans and categories can."
        )
    if not is_text(column):
        if container == CODES or column.dtype.lower() != "float32":
            return column.name
        graph.tolerance = ROUGH_TOLERANCE  # many models compute in the type of their rows
        return graph.rounded(column.name)
    if not column.categories:
        raise ExportError(f"column {column.name!r} has no categories.")
    codes = {text: code for code, text in enumerate(column.categories)}
    return add_text_codes(graph, column.name, codes, default=float("nan"))


def feed(values: pl.Series, column: Column) -> NDArray[Any]:
    """Return a checked column as the graph takes it."""
    if is_text(column):
        return np.array(values.fill_null("").to_list(), dtype=object).reshape(-1, 1)
    if column.kind in ("date", "datetime"):
        days = (values.cast(pl.Datetime("us")).to_numpy() - _EPOCH) / _DAY
        return days.reshape(-1, 1)
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(-1, 1)


def random_rows(
    schema: Schema, *, n_rows: int, gaps: Literal["everywhere", "seen"], seed: int = 0
) -> pl.DataFrame:
    """Return rows within and a little beyond what was seen of each column.

    Some cells are missing: everywhere, or only in columns in which some were missing before.
    """
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        [
            _random_column(column, n_rows, rng, gaps=gaps == "everywhere" or column.missing > 0)
            for column in schema.needed
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
    if column.kind in ("date", "datetime"):
        moments = _EPOCH + (numbers * 86_400e6).astype("timedelta64[us]")
        times = pl.Series(column.name, moments)
        times = times.cast(pl.Date) if column.kind == "date" else times
        return times.set(pl.Series(gap), None)
    # Whole numbers too: where a column has them, thresholds lie between them.
    whole = column.dtype.lower().startswith(("int", "uint"))
    numbers = np.where(whole | (rng.random(n) < 0.5), numbers.round(), numbers)
    return pl.Series(column.name, numbers).set(pl.Series(gap), None)
