"""What a model file says of its model: plain data, found by the model's public methods alone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from condrisk._bins import bin_columns, column_values
from condrisk._delegate import assess, has_risk, risk_part
from condrisk.persistence._evaluate import evaluate, kept_rows, profile
from condrisk.persistence._manifest import FORMAT, installed_versions
from condrisk.persistence._probe import checked_schema
from condrisk.persistence._routers import describe_router, is_router
from condrisk.persistence._rows import plain_column
from condrisk.persistence._schema import Column, Schema


def describe_model(
    model: Any,
    schema: Any,
    *,
    target: Any = None,
    reference: Any = None,
    cost_column: str | None = None,
) -> dict[str, Any]:
    """Return what a model file says of its model, as plain data.

    Parameters
    ----------
    model : Deferral, risk estimator or ModelRouter
        Fitted.
    schema : pandas.DataFrame, polars.DataFrame, array-like or Schema
        The rows that it was fitted on, or their columns.
    target : str or mapping of str to str, optional
        The name of what it predicts; for a router the columns with the losses of the models.
    reference : tuple (X, y), (X, y, prediction) or (X, y, prediction, cost), optional
        Rows that it was not fitted on, with their targets, to measure it on; prediction may be
        None, and cost is one cost of deferring for each row.
    cost_column : str, optional
        The name of the column that holds the cost of deferring each row.

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
    if is_router(model):
        return describe_router(model, _schema(model, schema), target, reference)
    _check_model(model)
    found = _schema(model, schema)
    classes, outputs = classes_of(model), outputs_of(model)
    risk = risk_part(getattr(model, "risk_", model))
    if outputs > 1 and found.prediction is not None:
        raise ValueError(
            f"schema: a file keeps one column for the responses of an external predictor, and this "
            f"one has {outputs} outputs: put the predictor into the model, as "
            f"FrozenEstimator(predictor)."
        )
    manifest = {
        "format": FORMAT,
        **installed_versions(),
        "trusted": {},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "task": "regression" if classes is None else "classification",
        "target": target,
        "outputs": outputs,
        "loss": getattr(getattr(risk, "loss_", None), "name", "its own loss"),
        "cost": None if getattr(model, "cost", None) is None else float(model.cost),
        "cost_column": cost_column,
        "rule": rule_in_words(model, cost_column),
        "predictor": _predictor_in_words(risk, found),
        "schema": found.to_dict(),
        "classes": classes,
        "evaluation": None,
        "profile": None,
        "held_out": None,
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
        if is_router(model):
            schema = _table_of_texts(schema)
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


def _table_of_texts(rows: Any) -> Any:
    """Return a list of texts, which routers take, as a table of one column."""
    if isinstance(rows, list | tuple) and rows and all(isinstance(row, str) for row in rows):
        return np.array(rows, dtype=object)[:, None]
    return rows


def _names(model: Any, X: Any) -> list[str] | None:
    """Return the names that a model knows for the columns of an array."""
    known = getattr(model, "feature_names_in_", None)
    return None if known is None or hasattr(X, "columns") else [str(name) for name in known]


def outputs_of(model: Any) -> int:
    """Return how many targets a model predicts."""
    return int(getattr(risk_part(getattr(model, "risk_", model)), "n_outputs_", 1))


def classes_of(model: Any) -> list[Any] | None:
    """Return the labels of a model, None for numbers; of several outputs those of each."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if outputs_of(model) > 1:
        return [0, 1]
    labels = np.asarray(classes).tolist()
    if not all(isinstance(label, str | int | float) for label in labels):
        raise ValueError("classes must be text, numbers or booleans for a model file.")
    return labels


# -- in words -----------------------------------------------------------------------------------


def rule_in_words(model: Any, cost_column: str | None = None) -> str | None:
    """Return what a rule does; None for a risk estimator, which has none."""
    rule = getattr(model, "rule_", None)
    if rule is None:
        return None
    if getattr(rule, "uses_cost", False):
        cost = getattr(model, "cost", None)
        given = "of each request" if cost is None else _number(cost)
        given = given if cost_column is None else f"in the column {cost_column!r}"
        name = "" if type(rule).__name__ == "CostRule" else f" ({type(rule).__name__})"
        return f"defer where the risk exceeds the cost, {given}{name}"
    threshold = getattr(rule, "threshold_", None)
    if type(rule).__name__ == "BudgetRule" and threshold is not None:
        return (
            f"defer at most {100 * rule.rate:.4g} % of the rows, those whose risk is above "
            f"{_number(threshold)}"
        )
    above = "" if threshold is None else f"; defer where the risk is above {_number(threshold)}"
    if getattr(rule, "groups_", None):
        above = "; each group has a threshold of its own"
    words = getattr(rule, "guarantee_", None) or repr(rule)
    return " ".join(f"{words}{above}".split())


def _number(value: float) -> str:
    """Write a number without an exponent, as far as people write none."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


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
    if isinstance(distribution, list):  # of several outputs, all of one kind
        distribution = distribution[0]
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
    if not isinstance(reference, tuple | list) or len(reference) not in (2, 3, 4):
        raise ValueError("reference must be a tuple (X, y) of rows that the model has not seen.")
    X, y, prediction, own_cost = (*reference, None, None)[:4]
    given = {} if prediction is None else {"prediction": prediction}
    if schema.prediction is not None and not given:
        raise ValueError("reference must be (X, y, prediction) for an external predictor.")
    found = assess(model, X, y, **given)
    assert found.loss is not None
    risks, losses = np.asarray(found.risk, np.float64), np.asarray(found.loss, np.float64)
    if not len(risks):
        raise ValueError("reference must have at least one row.")
    cost = getattr(model, "cost", None) if own_cost is None else np.asarray(own_cost, np.float64)
    deferred = _deferred(model, X, cost, given)
    loss = getattr(risk, "loss_", None)
    figures = evaluate(
        risks,
        losses,
        deferred,
        cost=cost,
        least=getattr(loss, "minimum", -np.inf),
        most=getattr(loss, "maximum", np.inf),
    )
    kept = kept_rows(risks, losses)
    held_out = {
        "risk": _shortened(risks[kept]),
        "loss": _shortened(losses[kept]),
        "fit_profile": _fit_profile(risk),
        "same_predictor": not hasattr(risk, "predictor_")
        or type(risk.predictor_).__name__ == "FrozenEstimator",
        "columns": _binned(schema, X, kept, risks[kept]),
    }
    return {"evaluation": figures, "profile": profile(risks, losses), "held_out": held_out}


def _shortened(values: Any) -> list[float]:
    """Return numbers with nine digits: what is left out is far below any noise."""
    return [float(f"{value:.9g}") for value in values.tolist()]


def _fit_profile(risk: Any) -> list[list[float]] | None:
    """Return losses and risks of the cross-fitted rows, where they are known without a fit.

    The losses of a predictor that was fitted on fewer rows for them are larger than those of the
    predictor itself; ``same_predictor`` says whether it was one and the same.
    """
    if not hasattr(risk, "decompose_risk"):  # the others would fit their regressor again
        return None
    try:
        held = risk.held_out_
    except (AttributeError, ValueError):
        return None
    if np.ndim(held.losses) != 1:
        return None
    return profile(np.asarray(held.risks, np.float64), np.asarray(held.losses, np.float64))


def _binned(
    schema: Schema, X: Any, rows: NDArray[np.intp], risk: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Return the columns of some rows in bins; no row is told from it."""
    found = {}
    for k, column in enumerate(schema.columns):
        cells = X[column.name] if hasattr(X, "columns") else np.asarray(X)[:, k]
        values = column_values(_plain_cells(cells, rows, column, schema.container), column.kind)
        if values is not None:
            found[column.name] = values
    return [column.to_dict() for column in bin_columns(found, risk)]


def _plain_cells(cells: Any, rows: NDArray[np.intp], column: Column, container: str) -> Any:
    """Return cells as `Schema.rows` takes them, from any container."""
    if container == "codes":
        codes = np.asarray(cells, dtype=np.float64)[rows]
        return np.where(np.isnan(codes), -1, codes) if column.kind == "category" else codes
    listed = np.asarray(cells, dtype=object)[rows].tolist()
    missing = [value is None or value != value for value in listed]  # NaN and NaT are not equal
    if column.kind == "category":
        listed = [
            value if gone else str(value) for value, gone in zip(listed, missing, strict=True)
        ]
    clean = [None if gone else value for value, gone in zip(listed, missing, strict=True)]
    return plain_column(clean, column) if column.kind != "text" else clean


def _deferred(model: Any, X: Any, cost: Any, given: dict[str, Any]) -> Any:
    if not hasattr(model, "decide"):
        return None
    if not getattr(model.rule_, "uses_cost", False):
        return model.decide(X, **given).deferred
    return None if cost is None else model.decide(X, cost=cost, **given).deferred
