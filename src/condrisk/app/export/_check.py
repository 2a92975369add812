"""Whether a graph says what Python says, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk._extras import require
from condrisk.app.export._errors import ExportError
from condrisk.app.models import TableModel
from condrisk.app.tables import check_rows
from condrisk.persistence import Column, Schema

Floats = NDArray[np.float64]

# Sums over trees are taken in another order, and exponentials by another library.
TOLERANCE = 1e-9
N_ROWS = 2000


@dataclass(frozen=True)
class OnnxCheck:
    """How a graph compares with Python.

    Attributes
    ----------
    rows : int
        How many rows were compared.
    tolerance : float
        Numbers a and b are the same if they differ by at most tolerance·max(1, |b|).
    largest : float
        The largest difference of a risk or a numeric prediction, in units of the tolerance: at
        most one where nothing is wrong.
    wrong : tuple of int
        Rows in which a risk or a numeric prediction differs by more than the tolerance, or a
        label or a decision differs that is not in `close`.
    close : tuple of int
        Rows that may come out either way, since the risk is within the tolerance of what it is
        compared with, or two classes are equally probable.
    """

    rows: int
    tolerance: float
    largest: float
    wrong: tuple[int, ...]
    close: tuple[int, ...]


def check_onnx(
    graph: Any,
    model: TableModel,
    frame: pl.DataFrame | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> OnnxCheck:
    """Compare a graph with the model it was made of, row by row.

    Parameters
    ----------
    graph : onnx.ModelProto or bytes
        As `to_onnx` gives it.
    model : TableModel
        The model.
    frame : polars.DataFrame, optional
        Rows; those that the model cannot use are left out. 2,000 random rows, drawn within and a
        little beyond the range of each column, if not given.
    tolerance : float, default=1e-9
        Numbers a and b are the same if they differ by at most tolerance·max(1, |b|).

    Returns
    -------
    OnnxCheck
        Which rows differ, and which are too close to call.
    """
    frame = random_rows(model.schema) if frame is None else frame
    good = check_rows(model.schema, frame).good
    if not good.height:
        raise ExportError("there is no row to compare the graph with Python on.")
    outputs = run_onnx(graph, good, model.schema)
    decision = model.decide(good)
    largest, wrong = _difference(outputs["risk"], decision.risk, tolerance)
    threshold = _threshold(model)
    close = np.abs(decision.risk - threshold) <= tolerance * max(1.0, abs(threshold))
    wrong |= (outputs["defer"] != decision.deferred) & ~close
    if model.task == "regression":
        more, differs = _difference(outputs["prediction"], decision.prediction, tolerance)
        largest, wrong = max(largest, more), wrong | differs
    else:
        tied = _tied(model, good, tolerance)
        same = outputs["prediction"].astype(str) == np.asarray(decision.prediction).astype(str)
        wrong |= ~same & ~tied
        close |= tied
    return OnnxCheck(
        good.height,
        tolerance,
        largest,
        tuple(np.flatnonzero(wrong).tolist()),
        tuple(np.flatnonzero(close).tolist()),
    )


def _difference(a: Any, b: Any, tolerance: float) -> tuple[float, NDArray[np.bool_]]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    off = np.abs(a - b) / (tolerance * np.maximum(1.0, np.abs(b)))
    off = np.where(np.isnan(off), np.inf, off)
    return float(off.max()), off > 1


def _threshold(model: TableModel) -> float:
    rule: Any = model.model.rule_
    return float(rule.threshold_ if hasattr(rule, "threshold_") else model.cost or 0.0)


def _tied(model: TableModel, good: pl.DataFrame, tolerance: float) -> NDArray[np.bool_]:
    """Tell in which rows the two most probable classes are as probable as each other."""
    if model.prediction_column is not None:
        return np.zeros(good.height, dtype=bool)
    proba = np.sort(model.model.risk_.predictor_.predict_proba(model.encode(good)), axis=1)
    return proba[:, -1] - proba[:, -2] <= tolerance


def run_onnx(graph: Any, good: pl.DataFrame, schema: Schema) -> dict[str, NDArray[Any]]:
    """Return what a graph says of checked rows."""
    require("ONNX", "onnxruntime", extra="onnx")
    import onnxruntime

    content = graph if isinstance(graph, bytes) else graph.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    inputs = {column.name: feed(good[column.name], column) for column in schema.columns}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def feed(values: pl.Series, column: Column) -> NDArray[Any]:
    """Return a checked column as the graph takes it."""
    if column.kind == "category":
        return np.array(values.fill_null("").to_list(), dtype=object).reshape(-1, 1)
    if column.kind == "date":
        values = values.to_physical()
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(-1, 1)


def random_rows(schema: Schema, *, n_rows: int = N_ROWS, seed: int = 0) -> pl.DataFrame:
    """Return rows within and a little beyond what was seen of each column, some cells missing."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame([_random_column(column, n_rows, rng) for column in schema.columns])


def _random_column(column: Column, n: int, rng: np.random.Generator) -> pl.Series:
    gap = rng.random(n) < (0.0 if column.required else 0.1)
    if column.kind == "category":
        unseen = [] if column.required else ["never seen before"]
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
