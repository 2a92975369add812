"""MLflow's autologging would record every model that is fitted inside of one of ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_autologging() -> Iterator[None]:
    """Switch MLflow's autologging off for the models that are fitted inside, where it is loaded.

    Five folds of six models are thirty runs, and each takes far longer than the fit.
    """
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    # Its context manager switches on at the end whatever was before: it must not be nested.
    if mlflow is None or getattr(mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False):
        yield
        return
    with mlflow.disable_autologging():
        yield
