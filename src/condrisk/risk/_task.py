"""Whether a target holds classes or numbers, where nothing else tells."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrisk.losses import Task


def task_of_target(y: Any) -> Task:
    """Return the task of a target: text, booleans, categories or two values are classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The target.

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
    raise ValueError(
        'task must be given, "regression" or "classification": y holds whole numbers, which may '
        "be counts or classes, and the loss does not tell."
    )
