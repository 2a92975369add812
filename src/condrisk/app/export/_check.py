"""Whether a graph says what Python says, row by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk._extras import require
from condrisk.app.export._columns import feed, random_rows
from condrisk.app.export._errors import ExportError
from condrisk.app.export._graph import TOLERANCE
from condrisk.app.export._rules import margins
from condrisk.app.models import TableModel, open_model
from condrisk.app.tables import check_rows
from condrisk.deferral import Decision

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
    model: Any,
    frame: pl.DataFrame | None = None,
    *,
    tolerance: float | None = None,
    schema: Any = None,
    trusted: Sequence[str] = (),
) -> OnnxCheck:
    """Compare a graph with the model it was made of, row by row.

    Parameters
    ----------
    graph : onnx.ModelProto or bytes
        As `to_onnx` gives it.
    model : path, TableModel, Deferral or risk estimator
        The fitted model, or its file.
    frame : polars.DataFrame, optional
        Rows; those that the model cannot use are left out. 2,000 random rows, drawn within and a
        little beyond the range of each column, if not given.
    tolerance : float, optional
        Numbers a and b are the same if they differ by at most tolerance·max(1, |b|). What the
        graph says of itself if not given: 1e-9, or 2e-6 where a part computes in float32 as
        XGBoost does, or is a Gaussian process.
    schema : frame or Schema, optional
        The columns, where `model` is an estimator.
    trusted : sequence of str
        Where `model` is a file: what is trusted in it, as for `load_model`.

    Returns
    -------
    OnnxCheck
        Which rows differ, and which are too close to call.
    """
    tolerance = declared_tolerance(graph) if tolerance is None else tolerance
    model = open_model(model, schema=schema, trusted=trusted)
    good, decision = _decided(model, frame)
    outputs = run_onnx(graph, good, model)
    largest, wrong = _difference(outputs["risk"], decision.risk, tolerance)
    far = margins(model.model.rule_, decision.risk, model.encode(good), model.cost)
    close = far <= tolerance * np.maximum(1.0, np.abs(decision.risk))
    wrong |= (outputs["defer"] != decision.deferred) & ~close
    if model.task == "regression":
        more, differs = _difference(outputs["prediction"], decision.prediction, tolerance)
        largest, wrong = max(largest, more), wrong | differs
    else:
        tied = _tied(model, good, tolerance)
        same = outputs["prediction"].astype(str) == np.asarray(decision.prediction).astype(str)
        # With the other label goes another risk.
        wrong = (wrong | ~same) & ~tied
        close |= tied
    return OnnxCheck(
        good.height,
        tolerance,
        largest,
        tuple(np.flatnonzero(wrong).tolist()),
        tuple(np.flatnonzero(close).tolist()),
    )


def _decided(model: TableModel, frame: pl.DataFrame | None) -> tuple[pl.DataFrame, Decision]:
    """Return rows that the model can use and what it decides: those given, or random ones."""
    if frame is not None:
        good = check_rows(model.schema, frame).good
        if not good.height:
            raise ExportError("there is no row to compare the graph with Python on.")
        return good, model.decide(good)
    good = check_rows(
        model.schema, random_rows(model.schema, n_rows=N_ROWS, gaps="everywhere")
    ).good
    try:
        return good, model.decide(good)
    except ValueError:  # not every model takes missing values in every column
        good = check_rows(model.schema, random_rows(model.schema, n_rows=N_ROWS, gaps="seen")).good
        return good, model.decide(good)


def declared_tolerance(graph: Any) -> float:
    """Return how close to Python a graph is meant to be."""
    if isinstance(graph, bytes):
        require("ONNX", "onnx", extra="onnx")
        import onnx

        graph = onnx.load_model_from_string(graph)
    shown = {item.key: item.value for item in graph.metadata_props}
    return float(json.loads(shown.get("condrisk", "{}")).get("tolerance", TOLERANCE))


def _difference(a: Any, b: Any, tolerance: float) -> tuple[float, NDArray[np.bool_]]:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    off = np.abs(a - b) / (tolerance * np.maximum(1.0, np.abs(b)))
    off = np.where(np.isnan(off), np.inf, off)
    return float(off.max()), off > 1


def _tied(model: TableModel, good: pl.DataFrame, tolerance: float) -> NDArray[np.bool_]:
    """Tell in which rows the two most probable classes are as probable as each other."""
    if model.prediction_column is not None:
        return np.zeros(good.height, dtype=bool)
    X = model.encode(good)
    if hasattr(model.model, "predict_proba"):
        scores = np.asarray(model.model.predict_proba(X), dtype=np.float64)
    elif hasattr(model.model, "decision_function"):
        scores = np.asarray(model.model.decision_function(X), dtype=np.float64)
    else:
        return np.zeros(good.height, dtype=bool)
    if scores.ndim == 1:
        return np.abs(scores) <= tolerance
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] <= tolerance


def run_onnx(graph: Any, good: pl.DataFrame, model: TableModel) -> dict[str, NDArray[Any]]:
    """Return what a graph says of checked rows."""
    require("ONNX", "onnxruntime", extra="onnx")
    import onnxruntime

    content = graph if isinstance(graph, bytes) else graph.SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    inputs = {column.name: feed(good[column.name], column) for column in model.schema.needed}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))
