"""What a model can take: tried out on a typical row, so that no file of rows has to find out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from condrisk._files import first_line
from condrisk.persistence._routers import assess_any
from condrisk.persistence._rows import missing_value, plain_column
from condrisk.persistence._schema import Column, Schema

# With more columns than this, not each of them is tried: a gap in any of them is refused.
MOST_PROBED = 200
_UNSEEN = "a value never seen before"


def checked_schema(model: Any, schema: Schema) -> Schema:
    """Return a schema whose columns are required where the model cannot do without them.

    Text of few values is taken as it comes where the model takes any; else only these values are.
    """
    row = typical_columns(schema)
    reason = _failure(model, schema, row)
    if reason is not None:
        raise ValueError(
            f"schema does not fit the model, which cannot take a row of typical values in a "
            f"{schema.container} container: {reason}"
        )
    columns = tuple(_opened(model, schema, row, column) for column in schema.columns)
    prediction = schema.prediction and replace(schema.prediction, required=True)
    schema = replace(schema, columns=columns, prediction=prediction)
    gaps = {column.name: missing_value(column, 1) for column in columns if not column.required}
    if not gaps or _failure(model, schema, row | gaps) is None:
        return schema
    return replace(schema, columns=tuple(_required(model, schema, row, c) for c in columns))


def typical_columns(schema: Schema) -> dict[str, Any]:
    """Return one row of typical values as `Schema.rows` takes it."""
    return {c.name: plain_column([_typical(c)], c) for c in schema.needed}


def _typical(column: Column) -> Any:
    if column.typical is None and column.kind == "category" and column.categories:
        return column.categories[0]
    return column.typical


def _opened(model: Any, schema: Schema, row: Mapping[str, Any], column: Column) -> Column:
    """Return a column of text as one that takes any text, if the model does."""
    fixed = column.kind != "category" or schema.container == "codes"
    if fixed or column.dtype.startswith(("category", "Categorical", "Enum")):
        return column
    text = replace(column, kind="text")
    columns = tuple(text if c.name == column.name else c for c in schema.columns)
    tried = {**row, column.name: plain_column([_UNSEEN], text)}
    return column if _failure(model, replace(schema, columns=columns), tried) else text


def _required(model: Any, schema: Schema, row: Mapping[str, Any], column: Column) -> Column:
    if column.required or len(schema.columns) > MOST_PROBED:
        return replace(column, required=True)
    tried = {**row, column.name: missing_value(column, 1)}
    return replace(column, required=_failure(model, schema, tried) is not None)


def _failure(model: Any, schema: Schema, row: Mapping[str, Any]) -> str | None:
    """Return why a model cannot predict and estimate the risk of a row; None if it can."""
    given = {}
    if schema.prediction is not None:
        given["prediction"] = predictions(model, schema, row)
    with warnings.catch_warnings(), threadpool_limits(1):  # for one row, threads only wait
        warnings.simplefilter("ignore")
        try:
            found = assess_any(model, schema.rows(row), **given)
            risk, answer = np.asarray(found.risk, dtype=np.float64), np.asarray(found.prediction)
        except Exception as error:  # whatever a model of somebody's raises
            return first_line(error)
    if answer.dtype.kind == "f" and not np.isfinite(answer).all():
        return "its prediction is not a number"
    fits = risk.shape == (1,) and bool(np.isfinite(risk).all())
    return None if fits else f"its risk is {risk.ravel()[:3].tolist()}"


def predictions(model: Any, schema: Schema, row: Mapping[str, Any]) -> Any:
    """Return the predictions of an external predictor as its risk estimator takes them."""
    column = schema.prediction
    assert column is not None
    values = row[column.name]
    classes = getattr(model, "classes_", None)
    if classes is None:
        return values
    if column.kind != "category":
        return np.asarray(classes)[values.astype(int)]
    by_text = {_word(label): label for label in np.asarray(classes).tolist()}
    words = [column.categories[code] for code in values]
    return np.asarray([by_text.get(word, word) for word in words])


def _word(label: Any) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)
