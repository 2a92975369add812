"""The description of the service: as exact about the rows as the model's schema is."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from condrisk.app._dtypes import MAX_NUMBER
from condrisk.app.models import TableModel
from condrisk.app.serve._columns import cell_schema
from condrisk.app.serve._gate import OPEN
from condrisk.app.tables import TableError


def describe(
    *,
    title: str,
    version: str,
    model: TableModel,
    most_rows: int,
    protected: bool,
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
    question, example = schemas["Question"], model.schema.example
    question["properties"]["rows"]["maxItems"] = most_rows
    _leave_out_extras(model, question["properties"], decision)
    question["examples"] = [{"rows": [example]}]
    columns = model.schema.needed
    schemas["Row"] |= {
        "required": [column.name for column in columns],
        "properties": {column.name: cell_schema(column) for column in columns},
        "examples": [example],
    }
    decide = document["paths"]["/decide"]["post"]
    if model.uses_cost:
        question["properties"]["cost"] = decide["parameters"][0]["schema"] = _cost(model.cost)
        if model.cost is None:
            question["required"].append("cost")
    else:
        del decide["parameters"]
    if protected:
        _protect(document)
    return document


def _leave_out_extras(
    model: TableModel, question: dict[str, Any], decision: dict[str, Any]
) -> None:
    """Leave out what this model cannot say of a row."""
    checks = {"parts": model.check_parts, "probabilities": model.check_probabilities}
    for name, check in checks.items():
        try:
            check()
        except TableError:
            del question[name], decision[name]


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


def _cost(cost: float | None) -> dict[str, Any]:
    own = (
        "The model has none of its own, so it is needed."
        if cost is None
        else f"The model's own is {cost:g}."
    )
    return {
        "type": "number",
        "minimum": 0,
        "maximum": MAX_NUMBER,
        "description": f"The cost of deferring, in units of the loss. {own}.",
    }
