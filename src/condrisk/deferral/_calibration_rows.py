"""Rows that neither model nor rule is fitted on, for rules that keep a promise."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _check_method_params, _num_samples

from condrisk._delegate import find, is_frozen
from condrisk.deferral._controlled import ControlledRule, Pairs, check_pairs
from condrisk.losses import get_loss
from condrisk.risk._base import BaseRisk


class Rows(NamedTuple):
    """Rows with all that belongs to them."""

    X: Any
    y: Any
    weight: Any = None
    params: dict[str, Any] = {}  # noqa: RUF012 - a default that nobody changes

    def at(self, index: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else _safe_indexing(self.weight, index)
        return Rows(
            _safe_indexing(self.X, index),
            _safe_indexing(np.asarray(self.y), index),
            weight,
            _check_method_params(self.X, self.params, indices=index),
        )


def set_aside(
    rule: Any, risk: Any, rows: Rows, calibration: tuple[Any, ...] | None
) -> tuple[Rows, Rows | None]:
    """Return the rows to fit on, and those to test on where they are not of the former."""
    if not isinstance(rule, ControlledRule):
        _check_inside(rule)
        if calibration is not None:
            raise ValueError(
                f"calibration is for rules that keep a promise, such as RiskControlRule; "
                f"{type(rule).__name__} has no use for it."
            )
        return rows, None
    rule._validate_params()
    rule._check_use(declared=declared_maximum(risk), weighted=rows.weight is not None)
    groups = rows.params.get("groups")
    if groups is not None and rule.guarantee:
        raise ValueError(
            "groups: rows of one group depend on each other, and the tests of "
            f"{type(rule).__name__} are exact for independent rows only. Give one row of each "
            "group as calibration rows, or set guarantee=False to go without a promise."
        )
    if calibration is not None:
        return rows, _given(calibration, rows)
    share = rule._kept_share(fits_model=not is_frozen(risk))
    if is_frozen(risk) or not share:
        return rows, None  # the rule splits the pairs of a frozen risk by itself
    n = _num_samples(rows.X)
    if groups is None:
        rest, kept = rule._split_rows(n, share)
    else:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=rule.random_state)
        rest, kept = next(splitter.split(np.zeros(n), groups=groups))
    return rows.at(rest), rows.at(kept)


def _check_inside(rule: Any) -> None:
    """Refuse a promise that another rule would break by accepting something else."""
    inner = rule.get_params(deep=True).values() if hasattr(rule, "get_params") else ()
    for part in inner:
        if isinstance(part, ControlledRule) and part.guarantee:
            raise ValueError(
                f"rule: {type(part).__name__} inside {type(rule).__name__} cannot keep its "
                f"promise, which is about what it accepts by itself. Use it alone, or with "
                f"guarantee=False to go without a promise."
            )


def _given(calibration: tuple[Any, ...], rows: Rows) -> Rows:
    if not isinstance(calibration, tuple | list) or len(calibration) not in (2, 3):
        raise ValueError("calibration must be a tuple (X, y) or (X, y, sample_weight).")
    if rows.params.get("prediction") is not None:
        raise ValueError(
            "calibration cannot be given where the predictor lives elsewhere: fit on all rows "
            "with their prediction=, and calibration_size= says how many are kept for the tests."
        )
    weight = calibration[2] if len(calibration) == 3 else None
    if (weight is None) != (rows.weight is None):
        raise ValueError(
            "calibration must be (X, y, sample_weight) if sample_weight is given, "
            "and (X, y) if it is not."
        )
    X, y = indexable(*calibration[:2])
    return Rows(X, y, weight)


def pairs_of(risk: Any, rows: Rows) -> Pairs:
    """Return the risks and losses of a fitted model on rows that it was not fitted on."""
    owner, inner = find(risk, rows.X, "predict_risk")
    prediction = rows.params.get("prediction")
    given = {} if prediction is None else {"prediction": prediction}
    return check_pairs(
        owner.predict_risk(inner, **given), owner.loss_values(inner, rows.y, **given), rows.weight
    )


def declared_maximum(risk: Any) -> float:
    """Return the greatest loss that a risk estimator can meet, before it is fitted if need be."""
    while not isinstance(risk, BaseRisk):
        if isinstance(risk, Pipeline):
            risk = risk.steps[-1][1]
        elif hasattr(risk, "estimator"):
            risk = risk.estimator
        else:
            break
    if hasattr(risk, "loss_"):
        return risk.loss_.maximum
    if isinstance(risk, BaseRisk):
        return get_loss(risk.loss, task=risk._task()).maximum
    return np.inf  # nothing is known of it before it is fitted
