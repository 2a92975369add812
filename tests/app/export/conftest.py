"""Fitted models as models of tables, and graphs run on tables."""

import copy

import numpy as np
import polars as pl
import pytest
from sklearn.base import is_classifier

from condrisk.app.models import TableModel, fit_table
from condrisk.app.tables import Schema


@pytest.fixture(scope="session")
def manifest():
    """What a model file says of itself, to be changed to what a fitted model is."""
    x = np.linspace(-1, 1, 80)
    frame = pl.DataFrame({"x": x, "y": x + np.sin(40 * x)})
    return fit_table(frame, target="y", predictor="linear", cost=1.0).manifest


class PandasModel(TableModel):
    """A model that was fitted on a pandas frame: categories reach it as categorical columns."""

    def encode(self, frame):
        import pandas as pd

        found = frame.to_pandas()
        for column in self.schema.columns:
            if column.kind == "category":
                found[column.name] = pd.Categorical(found[column.name], column.categories)
        return found


@pytest.fixture(scope="session")
def table_model(manifest):
    """Return a function that makes a model of tables of a fitted `Deferral`."""

    def make(model, frame, *, container="codes", prediction_column=None):
        task = "classification" if is_classifier(model) else "regression"
        changed = copy.deepcopy(manifest) | {
            "schema": Schema.infer(frame).to_dict(),
            "task": task,
            "classes": np.asarray(model.classes_).tolist() if task == "classification" else None,
            "cost": model.cost,
            "prediction_column": prediction_column,
        }
        made = (TableModel if container == "codes" else PandasModel)(model, changed)
        object.__setattr__(made.schema, "container", container)
        return made

    return make


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
