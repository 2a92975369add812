"""The rule that leaves rows with the cheapest model: which rules can, what they guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from condrisk._crossfit import rows_of

Floats = NDArray[np.float64]


def check_rule(rule: Any) -> None:
    """Refuse what cannot be fitted on rows held back and then decide about others."""
    if rule is None or (hasattr(rule, "defer") and hasattr(rule, "hold_back")):
        return
    name = type(rule).__name__
    if hasattr(rule, "next_rows"):
        raise TypeError(
            f"rule: {name} is about one batch and learns from labels of that batch, so the router "
            f"cannot fit it. Fit the router without a rule and {name} by itself, on the cheapest "
            f"model's risks of the batch, and give it to route(..., keep=rule)."
        )
    raise TypeError(
        f"rule must be a rule with a guarantee that is tested on rows held back, such as "
        f"condrisk.deferral.RiskControlRule; got {name}."
    )


def rows_held_back(
    rule: Any, losses: Floats, weight: Floats | None, groups: Any
) -> NDArray[np.intp]:
    """Return the rows that are kept for the tests, among those that the cheapest has answered."""
    answered = np.flatnonzero(~np.isnan(losses))
    kept = rule.hold_back(
        len(answered),
        groups=None if groups is None else np.asarray(groups)[answered],
        weighted=weight is not None,
    )
    return answered[:0] if kept is None else answered[kept]


def fit_rule(
    rule: Any,
    X: Any,
    losses: Floats,
    weight: Floats | None,
    learnt: tuple[NDArray[np.intp], Floats],
    tested: tuple[NDArray[np.intp], Floats],
) -> None:
    """Fit a rule on rows that were learnt from, and test it on those held back.

    Parameters
    ----------
    rule : rule with a guarantee
        To fit.
    X, losses, weight
        All rows, the losses of the cheapest model and the weights.
    learnt, tested : tuple (rows, risks)
        Positions of rows, and their risks by what has not seen their losses.
    """
    known = ~np.isnan(losses[learnt[0]])
    learnt = learnt[0][known], learnt[1][known]
    given: dict[str, Any] = {"X": rows_of(X, learnt[0])}
    if weight is not None:
        given["sample_weight"] = weight[learnt[0]]
    if len(tested[0]):
        own = () if weight is None else (weight[tested[0]],)
        given["calibration"] = (tested[1], losses[tested[0]], *own)
        if has_fit_parameter(rule, "X_calibration"):
            given["X_calibration"] = rows_of(X, tested[0])
    rule.fit(learnt[1], losses[learnt[0]], **given)


def statement(rule: Any, model: str) -> str | None:
    """Return what a fitted rule guarantees about the rows left with a model, or that it cannot."""
    said: str | None = getattr(rule, "guarantee_", None)
    if rule is None or getattr(rule, "feasible_", True):
        return said
    return f"no row is left with {model}, since this could not be shown: {said}"


def check_keep(keep: Any, n_rows: int) -> tuple[NDArray[np.bool_], str | None]:
    """Return which rows stay, and what the rule for the batch that says so guarantees."""
    said = None
    if hasattr(keep, "kept_"):
        said, keep = keep.guarantee_, keep.kept_
    kept = np.asarray(keep)
    if kept.dtype != bool or kept.shape != (n_rows,):
        raise ValueError(
            f"keep must be true or false for each of the {n_rows} rows, or a rule for a batch, "
            f"fitted on the risks of these rows."
        )
    return kept, said
