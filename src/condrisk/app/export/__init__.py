"""Models for where Python is not: one ONNX graph, or an MLflow model."""

from condrisk.app.export._check import check_onnx
from condrisk.app.export._errors import ExportError
from condrisk.app.export._mlflow import save_mlflow
from condrisk.app.export._onnx import to_onnx
from condrisk.app.export._skl2onnx import register_converter

__all__ = ["ExportError", "check_onnx", "register_converter", "save_mlflow", "to_onnx"]
