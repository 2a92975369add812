"""The description of the service: as exact about the rows as the model's schema is."""

from __future__ import annotations

import json
from datetime import date, timedelta
from importlib import resources
from typing import Any

from condrisk.app.models import TableModel
from condrisk.app.serve._gate import OPEN
from condrisk.app.tables import MAX_NUMBER, Column


def describe(
    *, title: str, version: str, model: TableModel, most_rows: int, uses_cost: bool, protected: bool
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
    uses_cost : bool
        Whether the rule looks at a price.
    protected : bool
        Whether a token is needed.

    Returns
    -------
    dict
        OpenAPI 3.1.
    """
    text = resources.files("condrisk.app.serve").joinpath("openapi.json").read_text("utf-8")
    document = json.loads(text)
    document["info"] |= {"title": title, "version": version}
    schemas = document["components"]["schemas"]
    decision = schemas["Answer"]["properties"]["rows"]["items"]["properties"]
    decision["prediction"] = (
        {"type": "number"} if model.classes is None else {"enum": model.classes}
    )
    question, example = schemas["Question"], model.manifest["example"]
    question["properties"]["rows"]["maxItems"] = most_rows
    question["examples"] = [{"rows": [example]}]
    columns = model.schema.columns
    schemas["Row"] |= {
        "required": [column.name for column in columns],
        "properties": {column.name: _value(column) for column in columns},
        "examples": [example],
    }
    decide = document["paths"]["/decide"]["post"]
    if uses_cost:
        question["properties"]["cost"] = decide["parameters"][0]["schema"] = _cost(model.cost)
    else:
        del decide["parameters"]
    if protected:
        _protect(document)
    return document


def _protect(document: dict[str, Any]) -> None:
    """Add the token that requests need, and what is answered without it."""
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    refusal = {"description": "The token is missing or wrong.", "content": error}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path not in OPEN:
                operation["security"] = [{"token": []}]
                operation["responses"]["401"] = refusal


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
