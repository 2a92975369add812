"""What a model file says of its model: plain data, found by the model's public methods alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from condrisk._delegate import assess, has_risk, risk_part
from condrisk.persistence._evaluate import evaluate, profile
from condrisk.persistence._manifest import FORMAT, installed_versions
from condrisk.persistence._probe import checked_schema
from condrisk.persistence._schema import Schema


def describe_model(
    model: Any, schema: Any, *, target: str | None = None, reference: Any = None
) -> dict[str, Any]:
    """Return what a model file says of its model, as plain data.

    Parameters
    ----------
    model : Deferral or risk estimator
        Fitted.
    schema : pandas.DataFrame, polars.DataFrame, array-like or Schema
        The rows that it was fitted on, or their columns.
    target : str, optional
        The name of what it predicts.
    reference : tuple (X, y) or (X, y, prediction), optional
        Rows that it was not fitted on, with their targets, to measure it on.

    Returns
    -------
    dict
        The manifest; `read_manifest` returns the same from a file.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import Deferral, RegressionRisk
    >>> from condrisk.datasets import make_heteroscedastic
    >>> from condrisk.persistence import describe_model
    >>> world = make_heteroscedastic(500, random_state=0)
    >>> risk = RegressionRisk(LinearRegression(), random_state=0)
    >>> model = Deferral(risk, cost=1.0).fit(world.X, world.y)
    >>> describe_model(model, world.X)["rule"]
    'defer where the risk exceeds the cost, 1'
    """
    _check_model(model)
    found = _schema(model, schema)
    classes = getattr(model, "classes_", None)
    risk = risk_part(getattr(model, "risk_", model))
    manifest = {
        "format": FORMAT,
        **installed_versions(),
        "trusted": {},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "task": "regression" if classes is None else "classification",
        "target": target,
        "loss": getattr(getattr(risk, "loss_", None), "name", "its own loss"),
        "cost": None if getattr(model, "cost", None) is None else float(model.cost),
        "rule": rule_in_words(model),
        "predictor": _predictor_in_words(risk, found),
        "schema": found.to_dict(),
        "classes": None if classes is None else _labels(classes),
        "evaluation": None,
        "profile": None,
    }
    return manifest if reference is None else manifest | _measure(model, risk, found, reference)


def _check_model(model: Any) -> None:
    if not hasattr(model, "decide") and not has_risk(model):
        raise TypeError(
            f"model must be a fitted Deferral or risk estimator; {type(model).__name__} has "
            f"neither decide nor predict_risk. Wrap a predictor in RegressionRisk or PlugInRisk."
        )
    check_is_fitted(model)
    if hasattr(model, "decide") and not hasattr(model, "rule_"):
        raise TypeError(
            f"model must be a Deferral or a risk estimator; {type(model).__name__} decides in "
            f"another way, which files and commands do not know."
        )


def _schema(model: Any, schema: Any) -> Schema:
    if schema is None:
        raise ValueError(
            "schema must be given: the rows that the model was fitted on, as in schema=X_train, or "
            "a Schema. It tells how new rows reach the model."
        )
    if not isinstance(schema, Schema):
        schema = Schema.infer(schema, names=_names(model, schema))
    if not schema.columns:
        raise ValueError("schema must have at least one column.")
    expected = getattr(model, "n_features_in_", len(schema.columns))
    if expected != len(schema.columns):
        raise ValueError(
            f"schema has {len(schema.columns)} columns, but the model was fitted on {expected}: "
            f"give the X that it was fitted on."
        )
    return checked_schema(model, schema)


def _names(model: Any, X: Any) -> list[str] | None:
    """Return the names that a model knows for the columns of an array."""
    known = getattr(model, "feature_names_in_", None)
    return None if known is None or hasattr(X, "columns") else [str(name) for name in known]


def _labels(classes: Any) -> list[Any]:
    labels = np.asarray(classes).tolist()
    if not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError("classes must be text, numbers or booleans for a model file.")
    return labels


# -- in words -----------------------------------------------------------------------------------


def rule_in_words(model: Any) -> str | None:
    """Return what a rule does; None for a risk estimator, which has none."""
    rule = getattr(model, "rule_", None)
    if rule is None:
        return None
    if getattr(rule, "uses_cost", False):
        cost = getattr(model, "cost", None)
        given = "of each request" if cost is None else f"{cost:.4g}"
        name = "" if type(rule).__name__ == "CostRule" else f" ({type(rule).__name__})"
        return f"defer where the risk exceeds the cost, {given}{name}"
    threshold = getattr(rule, "threshold_", None)
    above = "" if threshold is None else f"; defer where the risk is above {threshold:.4g}"
    words = getattr(rule, "guarantee_", None) or repr(rule)
    return " ".join(f"{words}{above}".split())


def _predictor_in_words(risk: Any, schema: Schema) -> str:
    if schema.prediction is not None:
        first = f"the column {schema.prediction.name!r}"
    else:
        predictor = getattr(risk, "predictor_", None)
        first = "its own predictor" if predictor is None else _name(predictor)
    models = _models_of(risk)
    within = f" ({', '.join(models)})" if models else ""
    return f"{first}, risk by {type(risk).__name__}{within}"


def _models_of(risk: Any) -> list[str]:
    """Return the names of the models that an estimate of the risk is made with."""
    found = [_name(model) for model in getattr(risk, "probabilities_", ())]
    distribution = getattr(risk, "distribution_", None)
    if distribution is not None:
        mean = getattr(distribution, "mean_", None)
        found.append(_name(distribution) + ("" if mean is None else f" of {_name(mean)}"))
    regressor = getattr(risk, "regressor_", None)
    return found if regressor is None else [*found, _name(regressor)]


def _name(estimator: Any) -> str:
    """Return the name of an estimator, of a pipeline that of its last step."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    inner = getattr(estimator, "estimator", None)
    if type(estimator).__name__ == "FrozenEstimator" and inner is not None:
        return _name(inner)
    return type(estimator).__name__


# -- measured ------------------------------------------------------------------------------------


def _measure(model: Any, risk: Any, schema: Schema, reference: Any) -> dict[str, Any]:
    """Return figures and profile of rows that the model was not fitted on."""
    if not isinstance(reference, tuple | list) or len(reference) not in (2, 3):
        raise ValueError("reference must be a tuple (X, y) of rows that the model has not seen.")
    X, y = reference[:2]
    given = {} if len(reference) == 2 else {"prediction": reference[2]}
    if schema.prediction is not None and not given:
        raise ValueError("reference must be (X, y, prediction) for an external predictor.")
    found = assess(model, X, y, **given)
    assert found.loss is not None
    risks, losses = np.asarray(found.risk, np.float64), np.asarray(found.loss, np.float64)
    if not len(risks):
        raise ValueError("reference must have at least one row.")
    deferred = _deferred(model, X, risks, given)
    loss = getattr(risk, "loss_", None)
    figures = evaluate(
        risks,
        losses,
        deferred,
        cost=getattr(model, "cost", None),
        least=getattr(loss, "minimum", -np.inf),
        most=getattr(loss, "maximum", np.inf),
    )
    return {"evaluation": figures, "profile": profile(risks, losses)}


def _deferred(model: Any, X: Any, risk: Any, given: dict[str, Any]) -> Any:
    if not hasattr(model, "decide"):
        return None
    if getattr(model.rule_, "uses_cost", False) and model.cost is None:
        return None
    return model.decide(X, **given).deferred
