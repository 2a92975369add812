"""JSON in and out, by one library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response

JSON = "application/json"
# In a message, a value is cut to this many characters.
_SHOWN = 60


def decode(body: bytes) -> Any:
    """Return what a body says.

    Parameters
    ----------
    body : bytes
        JSON in UTF-8, without NaN and without numbers beyond 64-bit floats.

    Returns
    -------
    object
        Dictionaries, lists, text, numbers, booleans and None.

    Raises
    ------
    ValueError
        If it is no JSON, or nested deeper than 1024; it says where.
    """
    return orjson.loads(body)


def encode(value: Any) -> bytes:
    """Return plain data as JSON.

    Parameters
    ----------
    value : object
        Dictionaries, lists and scalars; those of numpy are taken for the Python ones.

    Returns
    -------
    bytes
        In UTF-8.
    """
    return orjson.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError


def shown(value: Any) -> str:
    """Return a value as it stood in a body, cut where it is long.

    Parameters
    ----------
    value : object
        What `decode` gave, or a part of it.

    Returns
    -------
    str
        For a message.
    """
    try:
        text = encode(value).decode()
    except orjson.JSONEncodeError:  # it writes no deeper than 254, but reads deeper
        text = "a deeply nested value"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "…"


def json_response(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response that carries plain data.

    Parameters
    ----------
    value : object
        The data.
    status : int, default=200
        The HTTP status.
    headers : mapping of str to str, optional
        Further headers.

    Returns
    -------
    Response
        Of type application/json.
    """
    return Response(encode(value), status, headers, media_type=JSON)
