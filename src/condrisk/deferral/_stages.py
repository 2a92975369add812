"""The parts of a cascade that must not see the rows they estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from condrisk._crossfit import Job, cross_fit, make_splits, mean_by_row
from condrisk._delegate import is_frozen, keeps_rows, predict_risk, risk_part
from condrisk._routing import weight_params

Floats = NDArray[np.float64]


def fit_stage(
    stage: Any, X: Any, y: Any, weight: Any, name: str, random_state: Any
) -> tuple[Any, Floats]:
    """Return the fitted stage, and the risk of each row as learnt without it; NaN if unknown."""
    if is_frozen(stage):
        check_is_fitted(stage)
        return stage, predict_risk(stage, X)
    if y is None:
        raise ValueError(
            f"Cascade requires y to be passed, but the target y is None: {name} is not frozen."
        )
    params = weight_params(stage, weight, part=name)
    fitted = clone(stage).fit(X, y, **params)
    found = getattr(risk_part(fitted), "held_out_", None)
    if found is None or not keeps_rows(fitted):
        raise ValueError(
            f"{name} must keep held_out_, as the risk estimators of condrisk do, or be frozen: the "
            f"risk of a row must be learnt without it."
        )
    risk = np.full(_num_samples(X), np.nan)
    risk[found.rows] = found.risks
    return fitted, risk


def out_of_fold(
    regressor: Any, X: Any, value: Floats, params: dict[str, Any], random_state: Any
) -> Floats:
    """Return the regressor's estimate of each row, learnt from other rows."""
    splits = make_splits(5, X, value, classifier=False, groups=None, random_state=random_state)
    jobs = [Job(regressor, params, ("predict",))]
    held_out = cross_fit(jobs, X, value, splits, classes=None, n_jobs=None)
    return mean_by_row(held_out.responses[0]["predict"], held_out.rows, len(value))


def replaced(prediction: NDArray[Any], rows: NDArray[np.intp], new: NDArray[Any]) -> NDArray[Any]:
    """Return the predictions with some replaced, in a dtype that holds both."""
    found = prediction.astype(np.result_type(prediction, new))
    found[rows] = new
    return found
