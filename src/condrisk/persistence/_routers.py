"""Routers in model files: what they say of themselves, in place of predictor, risk and rule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from condrisk._delegate import Assessment, assess
from condrisk.persistence._manifest import FORMAT, installed_versions
from condrisk.persistence._schema import Schema
from condrisk.routing import routing_figures


def is_router(model: Any) -> bool:
    """Tell whether a model chooses between models, as `condrisk.routing.ModelRouter` does."""
    return hasattr(model, "route") and hasattr(model, "costs")


def assess_any(model: Any, X: Any, **given: Any) -> Assessment:
    """Return prediction and risk of rows; for a router its mean risk over the models as both."""
    if not is_router(model):
        return assess(model, X, **given)
    risk = model.predict_risk(X).mean(axis=1)
    return Assessment(risk, risk, None)


def describe_router(model: Any, schema: Schema, target: Any, reference: Any) -> dict[str, Any]:
    """Return the manifest of a fitted router.

    Parameters
    ----------
    model : ModelRouter
        Fitted.
    schema : Schema
        The columns of its rows.
    target : mapping of str to str, or None
        The columns with the losses of the models, by model.
    reference : tuple (X, losses) or None
        Rows that it has not seen, with the losses of all models, to measure it on.
    """
    check_is_fitted(model, "models_")
    names = model.models_
    rule = model.rule_
    if target is not None and not (isinstance(target, Mapping) and set(target) == set(names)):
        raise ValueError(f"target must name a column of losses for each of the models {names}.")
    return {
        "format": FORMAT,
        **installed_versions(),
        "trusted": {},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "task": "routing",
        "target": None,
        "outputs": len(names),
        "loss": "its own loss",
        "cost": None,
        "cost_column": None,
        "rule": None if rule is None else model.guarantee_ or repr(rule),
        "predictor": f"a router between {', '.join(names)}",
        "schema": schema.to_dict(),
        "classes": None,
        "evaluation": None,
        "profile": None,
        "routing": {
            "costs": dict(zip(names, model.costs_.tolist(), strict=True)),
            "first": model.first,
            "loss_columns": None if target is None else dict(target),
            "kept_by_rule": None if rule is None else names[int(np.argmin(model.costs_))],
            "figures": None if reference is None else measure(model, *_rows_of(reference)),
        },
    }


def _rows_of(reference: Any) -> tuple[Any, Any]:
    if not isinstance(reference, tuple | list) or len(reference) != 2:
        raise ValueError(
            "reference must be a tuple (X, losses) of rows that the router has not seen."
        )
    return reference[0], reference[1]


def measure(model: Any, X: Any, losses: Any) -> dict[str, Any]:
    """Return what a router is worth on rows that it was not fitted on, as plain data."""
    costs = dict(zip(model.models_, model.costs_.tolist(), strict=True))
    found = routing_figures(losses, model.predict_risk(X), costs)
    return found.to_dict() | {"curve": found.curve.to_dict()}
