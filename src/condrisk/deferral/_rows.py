"""Which rows a model is fitted on, which its rule is, and their risks and losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import _check_method_params, _num_samples

from condrisk._delegate import assess, is_frozen, keeps_rows, predict_risk, risk_part
from condrisk.losses import get_loss


class Rows(NamedTuple):
    """Rows with all that belongs to them."""

    X: Any
    y: Any
    weight: Any = None
    params: dict[str, Any] = {}  # noqa: RUF012 - a default that nobody changes

    def at(self, index: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        return Rows(
            _safe_indexing(self.X, index),
            None if self.y is None else _safe_indexing(np.asarray(self.y), index),
            None if self.weight is None else _safe_indexing(self.weight, index),
            _check_method_params(self.X, self.params, indices=index),
        )


class Pairs(NamedTuple):
    """Risks and losses of some rows, the rows where they are known, and weights if any."""

    risk: NDArray[np.float64]
    loss: NDArray[np.float64]
    X: Any
    weight: Any

    def for_tests(self) -> tuple[Any, ...]:
        """Return what a rule takes as `calibration`."""
        pairs = (self.risk, self.loss)
        return pairs if self.weight is None else (*pairs, self.weight)


def needs_fit(rule: Any) -> bool:
    """Tell whether a rule has anything to learn; one that does not say so has."""
    return get_tags(rule).requires_fit if hasattr(rule, "__sklearn_tags__") else True


def hold_back(
    rule: Any, risk: Any, rows: Rows, calibration: tuple[Any, ...] | None
) -> tuple[Rows, Rows | None]:
    """Return the rows to fit on, and those that the rule keeps for tests, if there are any."""
    _check_inside(rule)
    if calibration is not None and not needs_fit(rule):
        raise ValueError(
            f"calibration is for rules that are fitted, such as RiskControlRule; "
            f"{type(rule).__name__} has no use for it."
        )
    kept = None
    if hasattr(rule, "hold_back"):
        kept = rule.hold_back(
            _num_samples(rows.X),
            groups=rows.params.get("groups"),
            weighted=rows.weight is not None,
            loss_bound=loss_bound(risk),
            fits_model=not is_frozen(risk),
            given=calibration is not None,
        )
    if calibration is not None:
        return rows, _given(calibration, rows)
    if is_frozen(risk) or kept is None:
        return rows, None  # the rule divides the pairs of a frozen risk by itself
    return rows.at(np.setdiff1d(np.arange(_num_samples(rows.X)), kept)), rows.at(kept)


def _check_inside(rule: Any) -> None:
    """Refuse a guarantee that another rule would break by accepting something else."""
    inner = rule.get_params(deep=True).values() if hasattr(rule, "get_params") else ()
    for part in inner:
        if hasattr(part, "hold_back") and getattr(part, "guarantee", False):
            raise ValueError(
                f"rule: {type(part).__name__} inside {type(rule).__name__} cannot give its "
                f"guarantee, which is about what it accepts by itself. Use it alone, or with "
                f"guarantee=False to go without."
            )


def _given(calibration: tuple[Any, ...], rows: Rows) -> Rows:
    if not isinstance(calibration, tuple | list) or len(calibration) not in (2, 3):
        raise ValueError("calibration must be a tuple (X, y) or (X, y, sample_weight).")
    if rows.params.get("prediction") is not None:
        raise ValueError(
            "calibration cannot be given for an external predictor: fit on all rows with their "
            "prediction=, and calibration_size= says how many are kept for the tests."
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
    prediction, known = rows.params.get("prediction"), rows.params.get("loss")
    if known is not None:  # losses that were computed already
        given = {} if prediction is None else {"prediction": prediction}
        risks = predict_risk(risk, rows.X, **given)
        return Pairs(risks, np.asarray(known), rows.X, rows.weight)
    found = assess(risk, rows.X, rows.y, prediction=prediction)
    assert found.loss is not None
    return Pairs(found.risk, found.loss, rows.X, rows.weight)


def held_out_pairs(risk: Any, rows: Rows) -> Pairs | None:
    """Return held-out risks and losses of the rows that a model was fitted on, if it keeps such."""
    found = getattr(risk_part(risk), "held_out_", None)
    if found is None:
        return None
    weight = getattr(found, "weights", None)
    if not keeps_rows(risk):
        return Pairs(found.risks, found.losses, None, weight)
    if rows.weight is not None:
        weight = _safe_indexing(rows.weight, found.rows)
    return Pairs(found.risks, found.losses, _safe_indexing(rows.X, found.rows), weight)


def loss_bound(risk: Any) -> float:
    """Return the greatest loss that a risk estimator can meet, before it is fitted if need be."""
    owner = risk_part(risk)
    if hasattr(owner, "loss_"):
        return float(owner.loss_.maximum)
    if not hasattr(owner, "loss"):
        return np.inf  # nothing is known of it before it is fitted
    if owner.loss is not None:
        return float(get_loss(owner.loss).maximum)
    return float(
        get_loss(None, task="classification" if is_classifier(owner) else "regression").maximum
    )
