"""Graphs run on tables."""

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def run_graph():
    """Return a function that gives what a graph says of a table."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

    def run(graph, frame):
        session = onnxruntime.InferenceSession(
            graph.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        inputs = {item.name: _feed(frame[item.name]) for item in session.get_inputs()}
        names = [item.name for item in session.get_outputs()]
        return dict(zip(names, session.run(names, inputs), strict=True))

    return run


def _feed(values):
    if values.dtype == pl.String:
        return np.array(values.fill_null("").to_list(), dtype=object).reshape(-1, 1)
    if values.dtype == pl.Date:
        values = values.to_physical()
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(-1, 1)
