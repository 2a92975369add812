"""Models for where Python is not: one ONNX graph, or an MLflow model."""

from typing import TYPE_CHECKING

from condrisk._later import import_later
from condrisk.app.export._errors import ExportError

if TYPE_CHECKING:
    from condrisk.app.export._check import OnnxCheck, check_onnx
    from condrisk.app.export._mlflow import save_mlflow
    from condrisk.app.export._onnx import to_onnx

__getattr__ = import_later(
    __name__,
    {
        "OnnxCheck": "condrisk.app.export._check",
        "check_onnx": "condrisk.app.export._check",
        "save_mlflow": "condrisk.app.export._mlflow",
        "to_onnx": "condrisk.app.export._onnx",
    },
)

__all__ = ["ExportError", "OnnxCheck", "check_onnx", "save_mlflow", "to_onnx"]


def __dir__() -> list[str]:
    return __all__
