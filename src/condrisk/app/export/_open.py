"""What the functions of this room take: a model of tables, or the file of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from condrisk.app.export._errors import ExportError
from condrisk.app.models import TableModel, load_model


def opened(model: Any, *, schema: Any = None, trusted: Sequence[str] = ()) -> TableModel:
    """Return the model of tables that is meant, read from its file if a path is given."""
    if isinstance(model, TableModel):
        return model
    if isinstance(model, str | os.PathLike):
        return load_model(model, **({"trusted": trusted} if trusted else {}))
    raise ExportError(f"model must be a TableModel or a path, got {type(model).__name__}.")
