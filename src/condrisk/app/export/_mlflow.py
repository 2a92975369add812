"""A model of tables as an MLflow model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from condrisk._extras import require
from condrisk.app.export._errors import ExportError
from condrisk.app.models import TableModel, open_model
from condrisk.persistence import save_model

MODEL_FILE = "model.skops"


def save_mlflow(
    model: Any,
    path: str | os.PathLike[str],
    *,
    schema: Any = None,
    trusted: Sequence[str] = (),
) -> Path:
    """Write a model as a folder that MLflow loads, serves and registers.

    The folder holds the model file as it is (no pickle of the model), a signature, and an example.
    What MLflow loads takes a pandas frame with the columns of the model, as ``pandas.read_csv``
    reads them, and returns one with the columns "prediction", "risk" and "defer", in the order and
    with the index of the rows: what `condrisk.app.scoring.score_file` says of the same table. A
    row that the model cannot use is an error that names it.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        The fitted model, or its file.
    path : path
        The folder, which must not exist.
    schema : frame or Schema, optional
        The columns, where `model` is an estimator.
    trusted : sequence of str
        Where `model` is a file: what is trusted in it, as for `load_model`.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ExportError
        Where the folder is there already.

    Notes
    -----
    Nothing in the folder grants trust. Where the model file holds classes that have to be trusted,
    such as LightGBM's, whoever loads the folder names them in the environment variable
    ``CONDRISK_TRUST``, separated by commas: ``CONDRISK_TRUST=lightgbm,package.module.Class``.

    The signature names the columns and leaves their types open: MLflow would refuse the integers
    that a file has in a column of numbers, before condrisk could read them.

    Examples
    --------
    Then ``mlflow.pyfunc.load_model(path).predict(frame)`` decides, and
    ``mlflow models serve -m path`` serves it.
    """
    path = Path(path)
    mlflow = import_mlflow()
    import pandas as pd

    if path.exists():
        raise ExportError(f"{path} is there already; name a folder that is not.")
    table_model = open_model(model, schema=schema, trusted=trusted)
    table_model.check_cost(None)
    with TemporaryDirectory() as folder:
        file = Path(folder) / MODEL_FILE
        save_model(table_model.model, file, table_model.schema, target=table_model.target)
        mlflow.pyfunc.save_model(
            path,
            loader_module="condrisk.app.export._pyfunc",
            data_path=str(file),
            signature=signature(table_model),
            input_example=pd.DataFrame([table_model.schema.example]),
            pip_requirements=_requirements(),
            metadata={"condrisk": _metadata(table_model)},
        )
    return path


def import_mlflow() -> Any:
    """Return the package mlflow, or say how to get it."""
    require("MLflow", "mlflow", "pandas", extra="mlflow")
    with warnings.catch_warnings():  # it warns of its own annotations
        warnings.simplefilter("ignore")
        import mlflow.pyfunc
    return mlflow


def signature(model: TableModel) -> Any:
    """Return the columns that go in and come out, as MLflow describes them."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType
    from mlflow.types import Schema as MlflowSchema
    from mlflow.types.schema import AnyType

    inputs: list[Any] = [ColSpec(AnyType(), column.name) for column in model.schema.needed]
    outputs: list[Any] = [
        ColSpec(_answer(model, DataType), "prediction"),
        ColSpec(DataType.double, "risk"),
        ColSpec(DataType.boolean, "defer"),
    ]
    return ModelSignature(MlflowSchema(inputs), MlflowSchema(outputs))


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
    return {name: model.manifest[name] for name in names} | {
        "columns": [{"name": c.name, "kind": c.kind} for c in model.schema.needed]
    }
