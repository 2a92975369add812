"""A model of tables as an MLflow model."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import polars as pl

from condrisk._extras import require
from condrisk.app.export._errors import ExportError
from condrisk.app.models import TableModel
from condrisk.app.tables import check_rows
from condrisk.persistence import Column, save_model

MODEL_FILE = "model.skops"


def save_mlflow(model: TableModel, path: str | os.PathLike[str]) -> Path:
    """Write a model as a folder that MLflow loads, serves and registers.

    The folder holds the model file as it is (no pickle of the model), a signature, and an example.
    What MLflow loads takes a pandas frame with the columns of the model and returns one with the
    columns "prediction", "risk" and "defer", in the order and with the index of the rows. A row
    that the model cannot use is an error that names it.

    Parameters
    ----------
    model : TableModel
        The model.
    path : path
        The folder, which must not exist.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ExportError
        Where the folder is there already.

    Examples
    --------
    Then ``mlflow.pyfunc.open_model(path).predict(frame)`` decides, and
    ``mlflow models serve -m path`` serves it.
    """
    path = Path(path)
    mlflow = import_mlflow()
    import pandas as pd

    if path.exists():
        raise ExportError(f"{path} is there already; name a folder that is not.")
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / MODEL_FILE
        save_model(model.model, file, model.schema, target=model.target)
        mlflow.pyfunc.save_model(
            path,
            loader_module="condrisk.app.export._pyfunc",
            data_path=str(file),
            signature=signature(model),
            input_example=pd.DataFrame([_example(model)]),
            pip_requirements=_requirements(),
            metadata={"condrisk": _metadata(model)},
        )
    return path


def import_mlflow() -> Any:
    """Return the package mlflow, or say how to get it."""
    require("MLflow", "mlflow", "pandas", extra="mlflow")
    with warnings.catch_warnings():  # it warns of its own annotations
        warnings.simplefilter("ignore")
        import mlflow.pyfunc
    return mlflow


def _example(model: TableModel) -> dict[str, Any]:
    """Return the typical row with dates as MLflow takes them."""
    import pandas as pd

    row = dict(model.schema.example)
    for column in model.schema.columns:
        if column.kind == "date":
            row[column.name] = pd.Timestamp(row[column.name])
    return {column.name: row[column.name] for column in model.schema.columns}


def signature(model: TableModel) -> Any:
    """Return the columns that go in and come out, as MLflow describes them."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType
    from mlflow.types import Schema as MlflowSchema

    kinds = {
        "number": DataType.double,
        "category": DataType.string,
        "boolean": DataType.boolean,
        "date": DataType.datetime,
    }
    inputs: list[Any] = [
        ColSpec(kinds[column.kind], column.name, required=column.required or not _has_gaps(column))
        for column in model.schema.columns
    ]
    outputs: list[Any] = [
        ColSpec(_answer(model, DataType), "prediction"),
        ColSpec(DataType.double, "risk"),
        ColSpec(DataType.boolean, "defer"),
    ]
    return ModelSignature(MlflowSchema(inputs), MlflowSchema(outputs))


def _has_gaps(column: Column) -> bool:
    return column.missing > 0


def _answer(model: TableModel, types: Any) -> Any:
    if model.task == "regression":
        return types.double
    label = (model.classes or [""])[0]
    return (
        types.boolean
        if isinstance(label, bool)
        else (types.long if isinstance(label, int) else types.string)
    )


def _requirements() -> list[str]:
    import condrisk

    return [f"condrisk[app]=={condrisk.__version__}", "pandas"]


def _metadata(model: TableModel) -> dict[str, Any]:
    names = ("condrisk", "task", "target", "loss", "cost", "rule", "predictor")
    return {name: model.manifest[name] for name in names}


def decide_frame(model: TableModel, frame: Any) -> Any:
    """Return prediction, risk and decision of a pandas frame, as a pandas frame."""
    import pandas as pd

    rows = pl.from_pandas(pd.DataFrame(frame)[[*model.schema.names]])
    checked = check_rows(model.schema, rows)
    if checked.bad:
        row, reason = next(iter(checked.bad.items()))
        raise ValueError(f"{len(checked.bad):,} rows cannot be used; in row {row + 1} {reason}")
    decision = model.decide(checked.good)
    columns = {
        "prediction": decision.prediction,
        "risk": decision.risk,
        "defer": decision.deferred,
    }
    return pd.DataFrame(columns, index=pd.DataFrame(frame).index)
