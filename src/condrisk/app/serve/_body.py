"""Read the body of a request, never more of it than allowed."""

from __future__ import annotations

from typing import Any

from condrisk.app.serve._refusal import RefusedError

# A client that is still sending would not read the refusal, and an early close looks to it like a
# broken connection. So this many times the limit is thrown away before it is told.
DISCARDED = 4


async def read_body(receive: Any, headers: dict[bytes, bytes], limit: int) -> bytes:
    """Return the body.

    What counts is what arrives: a chunked body that says nothing about its length is cut off at
    the limit, and so is any other.

    Parameters
    ----------
    receive : callable
        Gives the next message of the request, as ASGI has it.
    headers : dict of bytes to bytes
        Its headers.
    limit : int
        The most bytes.

    Returns
    -------
    bytes
        The body.

    Raises
    ------
    RefusedError
        With status 413 if it is longer, or 400 if the client leaves in the middle.
    """
    claimed = headers.get(b"content-length", b"0")
    too_long = len(claimed) > 18 or int(claimed) > limit
    if too_long and b"expect" in headers:  # it waits for leave to send, and does not get it
        raise _too_long(limit)
    chunks: list[bytes] = []
    size = 0
    more = True
    while more and size <= DISCARDED * limit:
        message = await receive()
        if message["type"] != "http.request":
            raise RefusedError(400, "The body ended before it was complete.")
        chunk = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(chunk)
        too_long = too_long or size > limit
        if not too_long:
            chunks.append(chunk)
    if too_long:
        raise _too_long(limit)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_long(limit: int) -> RefusedError:
    return RefusedError(
        413,
        f"The body is longer than {limit} bytes; send fewer rows at a time.",
        # Some of the body may be unread, so the connection cannot carry another request.
        headers={"Connection": "close"},
    )
