"""What MLflow calls to load a model; it is imported by name, so that no code is in the folder."""

from __future__ import annotations

from typing import Any

from condrisk.app.models import TableModel, open_model


class MlflowModel:
    """A model of tables as MLflow calls it."""

    def __init__(self, model: TableModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """Return prediction, risk and decision for each row."""
        from condrisk.app.export._mlflow import decide_frame

        return decide_frame(self.model, model_input)


def _load_pyfunc(data_path: str) -> MlflowModel:
    """Load the model file; MLflow looks for a function of this name."""
    return MlflowModel(open_model(data_path))
