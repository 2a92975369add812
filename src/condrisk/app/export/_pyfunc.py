"""What MLflow calls to load a model; it is imported by name, so that no code is in the folder."""

from __future__ import annotations

import os
from typing import Any

from condrisk.app.export._frames import decide_frame
from condrisk.app.models import TableModel, open_model
from condrisk.persistence import ModelFileError

# Set by whoever loads a folder: what is trusted in its model file. Nothing in the folder says so.
TRUST = "CONDRISK_TRUST"


class MlflowModel:
    """A model of tables as MLflow calls it."""

    def __init__(self, model: TableModel) -> None:
        self.model = model

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """Return prediction, risk and decision for each row."""
        return decide_frame(self.model, model_input)


def _load_pyfunc(data_path: str) -> MlflowModel:
    """Load the model file; MLflow looks for a function of this name."""
    try:
        return MlflowModel(open_model(data_path, trusted=_trusted()))
    except ModelFileError as error:
        if "trust" not in str(error):
            raise
        raise ModelFileError(
            f"{error} In MLflow, whoever loads the folder names it in the environment variable "
            f"{TRUST}, separated by commas, as in {TRUST}=lightgbm,package.module.Class."
        ) from None


def _trusted() -> tuple[str, ...]:
    names = (name.strip() for name in os.environ.get(TRUST, "").split(","))
    return tuple(name for name in names if name)
