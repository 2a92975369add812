"""The description of the service: as exact about the rows as the model's schema is."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from condrisk.app.models import TableModel
from condrisk.app.serve._arrow_rows import ARROW
from condrisk.app.serve._json_rows import JSON
from condrisk.app.tables import MAX_NUMBER, Column

_INTRODUCTION = (
    "Predictions with the risk of each: the expected loss of that very prediction, and whether to "
    "ask somebody who knows better instead."
)
_REFUSALS = {
    400: "The body is not what its content type says, or ended early.",
    406: "The Accept header allows neither JSON nor Arrow.",
    408: "The body did not arrive in time.",
    413: "The body is too long.",
    415: "The content type is neither JSON nor Arrow, or the Arrow stream is compressed.",
    422: "The price or some rows do not fit, there are too many rows, or the model has no finite "
    "answer for them: nothing was decided; where single rows are at fault, `rows` says why.",
    503: "Too many rows are waiting, or the service is stopping.",
    504: "The decision took too long.",
}


def describe(
    *, title: str, version: str, model: TableModel, most_rows: int, priced: bool, protected: bool
) -> dict[str, Any]:
    """Return the OpenAPI description of a service.

    Parameters
    ----------
    title, version : str
        Of the service.
    model : TableModel
        The model.
    most_rows : int
        The most rows a request may have.
    priced : bool
        Whether the rule looks at a price.
    protected : bool
        Whether a token is needed.

    Returns
    -------
    dict
        OpenAPI 3.1.
    """
    schemas = {
        "Question": _question(model, most_rows, priced),
        "Row": _row(model),
        "Answer": _answer(model.classes),
        "Error": _error(),
    }
    components: dict[str, Any] = {"schemas": schemas}
    if protected:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": _INTRODUCTION},
        "paths": _paths(model, priced, protected),
        "components": components,
    }


def day(days: float) -> str:
    """Return a number of days since 1970-01-01 as a date.

    Parameters
    ----------
    days : float
        The days.

    Returns
    -------
    str
        Such as 2024-12-31.
    """
    return (date(1970, 1, 1) + timedelta(days=int(days))).isoformat()


# -- what goes in and out -----------------------------------------------------------------------


def _question(model: TableModel, most_rows: int, priced: bool) -> dict[str, Any]:
    rows = {"$ref": "#/components/schemas/Row"}
    question: dict[str, Any] = {
        "type": "object",
        "required": ["rows"],
        "additionalProperties": False,
        "properties": {"rows": {"type": "array", "maxItems": most_rows, "items": rows}},
    }
    if priced:
        question["properties"]["cost"] = _cost(model.cost)
    return question | {"examples": [{"rows": [model.manifest["example"]]}]}


def _row(model: TableModel) -> dict[str, Any]:
    columns = model.schema.columns
    return {
        "type": "object",
        "description": "One row; null is a missing value, and keys of other names are ignored.",
        "required": [column.name for column in columns],
        "properties": {column.name: _value(column) for column in columns},
        "examples": [model.manifest["example"]],
    }


def _value(column: Column) -> dict[str, Any]:
    kind = {"number": "number", "boolean": "boolean"}.get(column.kind, "string")
    value: dict[str, Any] = {"type": kind if column.required else [kind, "null"]}
    if column.kind == "number":
        value |= {"minimum": -MAX_NUMBER, "maximum": MAX_NUMBER}
    elif column.kind == "date":
        value["format"] = "date"
    elif column.kind == "category" and column.required:
        value["enum"] = list(column.categories)
    seen = seen_values(column)
    return value | ({"description": seen} if seen else {})


def seen_values(column: Column) -> str:
    """Say what was seen in a column when the model was fitted.

    Parameters
    ----------
    column : Column
        The column.

    Returns
    -------
    str
        A sentence or two; empty if there is nothing to say.
    """
    if column.kind == "category":
        known = ", ".join(column.categories[:50])
        more = len(column.categories) - 50
        others = "" if column.required else " Anything else counts as missing."
        return f"One of: {known}{f' and {more} more' if more > 0 else ''}.{others}"
    if column.low is None or column.high is None:
        return ""
    if column.kind == "date":
        return f"Seen from {day(column.low)} to {day(column.high)}."
    return f"Seen from {column.low:g} to {column.high:g}."


def _cost(cost: float | None) -> dict[str, Any]:
    own = "The model has none of its own." if cost is None else f"The model's own is {cost:g}."
    return {
        "type": "number",
        "minimum": 0,
        "maximum": MAX_NUMBER,
        "description": f"The price of asking, in units of the loss. {own}",
    }


def _answer(classes: list[Any] | None) -> dict[str, Any]:
    prediction: dict[str, Any] = {"type": "number"} if classes is None else {"enum": classes}
    decision = {
        "type": "object",
        "required": ["prediction", "risk", "defer"],
        "additionalProperties": False,
        "properties": {
            "prediction": prediction,
            "risk": {"type": "number", "description": "Its expected loss."},
            "defer": {"type": "boolean", "description": "True: ask the expert."},
        },
    }
    rows = {"type": "array", "description": "In the order of the rows.", "items": decision}
    return {
        "type": "object",
        "required": ["rows"],
        "additionalProperties": False,
        "properties": {"rows": rows},
    }


def _error() -> dict[str, Any]:
    row = {"type": "integer", "minimum": 0, "description": "The position, from 0."}
    fault = {
        "type": "object",
        "required": ["row", "reason"],
        "properties": {"row": row, "reason": {"type": "string"}},
    }
    return {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {"type": "string", "description": "What is wrong, in one sentence."},
            "rows": {
                "type": "array",
                "description": "Where single rows are at fault: which, and why.",
                "items": fault,
            },
        },
    }


# -- paths --------------------------------------------------------------------------------------


def _paths(model: TableModel, priced: bool, protected: bool) -> dict[str, Any]:
    manifest = {"type": "object", "required": ["task", "schema", "rule", "loss"]}
    text = {"type": "string"}
    return {
        "/decide": {"post": _decide(model, priced, protected)},
        "/health": {"get": _health()},
        "/model": {"get": _get("What the model says of itself.", JSON, manifest, protected)},
        "/metrics": {"get": _get("Counters for Prometheus.", "text/plain", text, protected)},
    }


def _decide(model: TableModel, priced: bool, protected: bool) -> dict[str, Any]:
    arrow = {
        "description": "An uncompressed Arrow IPC stream with the columns of a row.",
        "type": "string",
        "format": "binary",
    }
    decided = {"type": "string", "format": "binary"}
    refusals = {str(status): _refused(why) for status, why in _REFUSALS.items()}
    operation: dict[str, Any] = {
        "summary": "Predict, estimate the risk, and decide whether to ask, for each row.",
        "operationId": "decide",
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": {"$ref": "#/components/schemas/Question"}},
                ARROW: {"schema": arrow},
            },
        },
        "responses": {
            "200": {
                "description": "The decisions, in the kind of the body or that of Accept.",
                "content": {
                    JSON: {"schema": {"$ref": "#/components/schemas/Answer"}},
                    ARROW: {"schema": decided},
                },
            },
            **refusals,
        },
    }
    if priced:
        operation["parameters"] = [
            {
                "name": "cost",
                "in": "query",
                "description": "The price where the body, such as one of Arrow, gives none.",
                "schema": _cost(model.cost),
            }
        ]
    return _guarded(operation, protected)


def _get(summary: str, kind: str, schema: dict[str, Any], protected: bool) -> dict[str, Any]:
    answer = {"description": summary, "content": {kind: {"schema": schema}}}
    return _guarded({"summary": summary, "responses": {"200": answer}}, protected)


def _health() -> dict[str, Any]:
    status = {"type": "object", "required": ["status"]}
    operation = _get("Whether the service runs.", JSON, status, protected=False)
    stopping = operation["responses"]["200"] | {"description": "The service is stopping."}
    return operation | {"responses": operation["responses"] | {"503": stopping}}


def _guarded(operation: dict[str, Any], protected: bool) -> dict[str, Any]:
    if not protected:
        return operation
    responses = operation["responses"] | {"401": _refused("The token is missing or wrong.")}
    return operation | {"security": [{"token": []}], "responses": responses}


def _refused(why: str) -> dict[str, Any]:
    return {
        "description": why,
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
