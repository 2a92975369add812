"""JSON in and out, by one library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from starlette.responses import Response

JSON = "application/json"
# In a message, a value is cut to this many characters.
_SHOWN = 60

# The parser lets no other thread run, so a body longer than this is parsed in pieces, and only if
# it has the form of a request: some megabytes of "[],[],[]," would take seconds at once.
WHOLE_BYTES = 1 << 17
_PIECE_BYTES = 1 << 16
_MOST_ROW_BYTES = 1 << 20
_OPTION = rb'\s*"[a-z]+"\s*:\s*[^\s",:{}\[\]]+\s*'
_BEFORE_ROWS = re.compile(rb"\s*\{(?:" + _OPTION + rb',)*\s*"rows"\s*:\s*\[')
_AFTER_ROWS = re.compile(rb"\]\s*(?:," + _OPTION + rb")*\}\s*")
_BETWEEN_ROWS = re.compile(rb"\}\s*,")
_MOST_AROUND = 4096


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


def decode_request(body: bytes) -> tuple[Any, Iterator[list[Any]]]:
    """Return what a body with rows says, and its rows in pieces.

    A long body is parsed a piece at a time, as the pieces are taken, and between these other
    threads run.

    Parameters
    ----------
    body : bytes
        JSON: an object with the list ``rows`` and options that are no text.

    Returns
    -------
    request : object
        What `decode` returns. Of a long body the list ``rows`` in it is empty.
    pieces : iterator of list
        The rows, if there is a list of them.

    Raises
    ------
    ValueError
        If it is no JSON, or is long and not of that form; also as the pieces are taken.
    """
    if len(body) <= WHOLE_BYTES:
        request = decode(body)
        whole = request.get("rows") if isinstance(request, dict) else None
        return request, iter([whole] if isinstance(whole, list) else [])
    before = _BEFORE_ROWS.match(body, 0, _MOST_AROUND)
    end = body.rfind(b"]")
    if before is None or end < before.end() or not _AFTER_ROWS.fullmatch(body[end:][:_MOST_AROUND]):
        raise ValueError(
            f'of more than {WHOLE_BYTES} bytes it must be an object such as {{"rows": [{{…}}]}}'
        )
    return decode(body[: before.end()] + body[end:]), _pieces(body, before.end(), end)


def _pieces(body: bytes, start: int, end: int) -> Iterator[list[Any]]:
    """Yield the elements of a list that stands between two places."""
    first = start
    while True:
        piece, stop = _piece(body, start, end)
        if stop == end and not piece and start > first:
            raise ValueError(f"after the comma at byte {start - 1} there is no row")
        yield piece
        if stop == end:
            return
        start = stop


def _piece(body: bytes, start: int, end: int) -> tuple[list[Any], int]:
    """Return some elements of a list, and where the next ones begin.

    Where a part of a list is a list by itself it can only have been cut between two elements:
    anywhere else a text or a bracket would still be open.
    """
    at = start + _PIECE_BYTES
    while at < end and at - start <= _MOST_ROW_BYTES:
        between = _BETWEEN_ROWS.search(body, at, min(end, start + _MOST_ROW_BYTES))
        if between is None:
            break
        try:
            return decode(b"[" + body[start : between.end() - 1] + b"]"), between.end()
        except ValueError:  # in a text, or in a value that is an object itself: look further on
            at = between.end() + (at - start)
    if end - start > _MOST_ROW_BYTES:
        raise ValueError(
            f"what stands at byte {start} is no row, or one of more than {_MOST_ROW_BYTES} bytes"
        )
    try:
        return decode(b"[" + body[start:end] + b"]"), end
    except ValueError as error:
        raise ValueError(f"what stands at byte {start} and after it is no row: {error}") from None


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
