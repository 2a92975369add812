"""Whether a target holds classes or numbers, where nothing else tells."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from condrisk.losses import Task


def task_of_target(y: Any, *, argument: Literal["task", "loss"] = "task") -> Task:
    """Return the task of a target: text, booleans, categories or two values are classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The target.
    argument : {"task", "loss"}
        What to ask for where it does not tell.

    Returns
    -------
    {"regression", "classification"}
        Numbers with fractions are for regression. Whole numbers of more than two values may be
        either, and raise.
    """
    if str(getattr(y, "dtype", "")).lower().startswith(("categor", "enum")):
        return "classification"
    values = np.asarray(y)
    if values.dtype.kind in "OUSb":
        return "classification"
    if len(np.unique(values[~np.isnan(values.astype(float))])) == 2:
        return "classification"
    if values.dtype.kind == "f" and not np.array_equal(values, np.round(values), equal_nan=True):
        return "regression"
    choices = {
        "task": 'task must be given, "regression" or "classification"',
        "loss": 'loss must be given, such as "squared_error" or "zero_one"',
    }
    raise ValueError(
        f"{choices[argument]}: y holds whole numbers, which may be counts or classes, and nothing "
        f"else tells."
    )
