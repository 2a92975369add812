"""Read the body of a request, never more of it than allowed, nor of all bodies together."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from condrisk.app.serve._refusal import RefusedError

# A client that is still sending would not read the refusal, and an early close looks to it like a
# broken connection. So this many times the limit is thrown away before it is told.
DISCARDED = 4
# All bodies together may have so many times the limit of one.
TOGETHER = 8
# Bodies up to this length have room that longer ones leave: a quarter of it all.
SHORT_BODY = 1 << 16
_SHARE_OF_LONG = 0.75


class BodyRoom:
    """The bytes of the bodies that are there, from their arrival until they are answered.

    Parameters
    ----------
    most : int
        How many there may be.

    Attributes
    ----------
    used : int
        How many there are.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0

    def place(self) -> Place:
        """Return the place of one body, to be used in a ``with`` statement."""
        return Place(self)


class Place:
    """What one body takes of the room; it is given back at the end of the ``with`` block."""

    def __init__(self, room: BodyRoom) -> None:
        self._room = room
        self._size = 0

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.give_back()

    def take(self, n_bytes: int) -> bool:
        """Take room for further bytes; False if there is none."""
        size = self._size + n_bytes
        most = self._room.most * (1.0 if size <= SHORT_BODY else _SHARE_OF_LONG)
        if self._room.used + n_bytes > most:
            return False
        self._room.used += n_bytes
        self._size = size
        return True

    def give_back(self) -> None:
        """Give all of it back."""
        self._room.used -= self._size
        self._size = 0


async def read_body(receive: Any, headers: dict[bytes, bytes], limit: int, place: Place) -> bytes:
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
    place : Place
        Where the bytes are counted.

    Returns
    -------
    bytes
        The body.

    Raises
    ------
    RefusedError
        With status 413 if it is longer, 503 if other bodies leave no room for it, or 400 if the
        client leaves in the middle.
    """
    claimed = headers.get(b"content-length", b"0")
    refusal = _too_long(limit) if len(claimed) > 18 or int(claimed) > limit else None
    if refusal is not None and b"expect" in headers:  # it waits for leave to send
        raise refusal
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
        if refusal is None and size > limit:
            refusal = _too_long(limit)
        if refusal is None and not place.take(len(chunk)):
            refusal = _no_room()
        if refusal is None:
            chunks.append(chunk)
        else:
            chunks.clear()
            place.give_back()
    if refusal is not None:
        raise refusal
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_long(limit: int) -> RefusedError:
    return RefusedError(
        413,
        f"The body is longer than {limit} bytes; send fewer rows at a time.",
        # Some of the body may be unread, so the connection cannot carry another request.
        headers={"Connection": "close"},
    )


def _no_room() -> RefusedError:
    return RefusedError(
        503,
        "The bodies of other requests leave no room for this one; try again in a moment.",
        headers={"Connection": "close", "Retry-After": "1"},
    )
