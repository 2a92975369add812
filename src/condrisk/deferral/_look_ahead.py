"""The parts of a cascade that must not look at the rows they speak about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from condrisk._crossfit import Job, cross_fit, fit_on, make_splits, mean_by_row
from condrisk._delegate import find, is_frozen, predict_risk
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
    owner, _ = find(fitted, _safe_indexing(X, [0]), "predict_risk")
    if hasattr(owner, "oof_risk_"):
        return fitted, owner.oof_risk_
    # The risk of a frozen predictor has seen every row of the fit: learn it again without them.
    y, risk = np.asarray(y), np.full(_num_samples(X), np.nan)
    splits = make_splits(
        5, X, y, classifier=is_classifier(stage), groups=None, random_state=random_state
    )
    for train, test in splits:
        risk[test] = predict_risk(fit_on(stage, X, y, train, params), _safe_indexing(X, test))
    return fitted, risk


def out_of_fold(
    regressor: Any, X: Any, value: Floats, params: dict[str, Any], random_state: Any
) -> Floats:
    """Return the regressor's estimate of each row, learnt from other rows."""
    splits = make_splits(5, X, value, classifier=False, groups=None, random_state=random_state)
    jobs = [Job(regressor, params, ("predict",))]
    held_out = cross_fit(jobs, X, value, splits, classes=None, n_jobs=None)
    return mean_by_row(held_out.answers[0]["predict"], held_out.rows, len(value))


def filled(prediction: NDArray[Any], rows: NDArray[np.intp], said: NDArray[Any]) -> NDArray[Any]:
    """Return the predictions with some replaced, in a dtype that holds both."""
    filled = prediction.astype(np.result_type(prediction, said))
    filled[rows] = said
    return filled
