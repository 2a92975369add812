"""Models for where Python is not: one ONNX graph, or an MLflow model."""

from typing import TYPE_CHECKING

from condrisk._later import import_later
from condrisk.export._errors import ExportError

if TYPE_CHECKING:
    from condrisk.export._check import OnnxCheck, check_onnx
    from condrisk.export._mlflow import save_mlflow
    from condrisk.export._onnx import to_onnx

__getattr__ = import_later(
    __name__,
    {
        "OnnxCheck": "condrisk.export._check",
        "check_onnx": "condrisk.export._check",
        "save_mlflow": "condrisk.export._mlflow",
        "to_onnx": "condrisk.export._onnx",
    },
)

__all__ = ["ExportError", "OnnxCheck", "check_onnx", "save_mlflow", "to_onnx"]


def __dir__() -> list[str]:
    return __all__
