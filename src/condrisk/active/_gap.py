"""What a better model would save at each row, and how far models of the mean disagree there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._delegate import find

Floats = NDArray[np.float64]


def gap_and_disagreement(risk: Any, X: Any) -> Floats:
    """Return the gap of each row, plus the squared disagreement where there is one.

    The floor is not in it: a label of a row where the target is noise saves nothing.
    """
    owner, rows = find(risk, X, "decompose_risk")
    gap = np.maximum(owner.decompose_risk(rows).gap, 0.0)
    return gap + _squared_disagreement(owner, rows)


def _squared_disagreement(risk: Any, X: Any) -> Floats | float:
    """Return the squared deviation of the models of a stack from their mixture, otherwise zero."""
    model: Any = getattr(risk, "distribution_", None)
    if not hasattr(model, "predict_parts") or risk.loss_.name != "squared_error":
        return 0.0
    uncertainty = model.predict_parts(X)[1]
    # Only the first column: the others are deviations of Gaussian processes, which contain noise.
    return uncertainty[:, 0] ** 2 if uncertainty.shape[1] else 0.0
