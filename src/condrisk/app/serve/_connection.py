"""Connections: how long a request may take to begin, and who has to go when there are too many.

uvicorn has no limit on the time or the size of a head, and a limit on connections that answers 503
to everybody once idle ones have used it up. Here a connection that has not asked anything yet
makes room for one that may.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from condrisk.app.serve._json import encode

# A head may take so long, from the first byte of the connection or of a further request on it, and
# be so long.
HEAD_SECONDS = 10.0
HEAD_BYTES = 1 << 16
# Who does not read an answer has so long to do so once the connection is to be closed.
LINGER_SECONDS = 10.0
# Connections beyond the limit, for questions that are answered whatever happens.
SPARE = 64

_STATUS_LINES = {
    408: b"HTTP/1.1 408 Request Timeout\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
}


class Connections:
    """The connections that are open, and which of them would be closed to make room.

    Parameters
    ----------
    most : int
        How many there may be. Beyond that, each new one closes another: the one that has waited
        longest among those that have not sent a whole head; if there is none, among those that
        are between two requests; if there is none, among those that are still sending a body. A
        request that is complete is always answered.

    Attributes
    ----------
    heads, resting, bodies : dict
        Connections in these three states, those that have been in them longest first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.n_open = 0
        self.heads: dict[Protocol, None] = {}
        self.resting: dict[Protocol, None] = {}
        self.bodies: dict[Protocol, None] = {}

    def enter(self, new: Protocol) -> bool:
        """Let a connection in, at the expense of another if need be; False if there is no room."""
        if self.n_open >= self.most:
            new.is_spare = not self._close_one()
            if new.is_spare and self.n_open >= self.most + SPARE:
                return False
        self.n_open += 1
        new.is_in = True
        return True

    def leave(self, old: Protocol) -> None:
        """Forget a connection."""
        self.forget_state(old)
        self.n_open -= old.is_in
        old.is_in = False

    def forget_state(self, connection: Protocol) -> None:
        """Take a connection out of the state that it is in."""
        for state in (self.heads, self.resting, self.bodies):
            state.pop(connection, None)

    def _close_one(self) -> bool:
        for state in (self.heads, self.resting, self.bodies):
            for oldest in state:
                oldest.make_room()
                return True
        return False


class _Joined:
    """A transport that sends what is written in one step of the event loop in one go.

    uvicorn writes head and body of an answer one after the other: twice the calls of the system,
    and a client that wakes up twice.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []
        self._loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()
        if self._transport.get_write_buffer_size():  # closed only when that is read
            self._loop.call_later(LINGER_SECONDS, self._transport.abort)

    def _send(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class Protocol(HttpToolsProtocol):
    """One connection of uvicorn's, with a deadline for heads and a place among the others.

    Parameters
    ----------
    *args : object
        What uvicorn gives it.
    places : Connections
        The others.
    head_seconds : float
        Seconds that a head may take.
    **kwargs : object
        What uvicorn gives it.
    """

    def __init__(
        self, *args: Any, places: Connections, head_seconds: float = HEAD_SECONDS, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._places = places
        self._head_seconds = head_seconds
        self._deadline: asyncio.TimerHandle | None = None
        self._in_head = False
        self._head_bytes = 0
        self.is_in = False
        # Beyond the limit: only what is answered whatever happens is answered.
        self.is_spare = False

    # -- what uvicorn and its parser call ----------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Take a place, and wait for a head."""
        super().connection_made(_Joined(transport))  # type: ignore[arg-type]
        if self._places.enter(self):
            self._await_head()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._places.leave(self)
        self._head_is_there()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse some bytes; a head has only so many."""
        super().data_received(data)
        if self in self._places.resting:  # no head yet: spaces, or its first byte
            self._await_head()
        if self._in_head or self._deadline is not None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._refuse(431, f"The head is longer than {HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """Begin a head."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        if self.is_spare:
            self.scope["state"]["is_spare"] = True

    def on_headers_complete(self) -> None:
        """Go on to the body."""
        self._in_head = False
        self._head_is_there()
        self._places.forget_state(self)
        if self._is_idle:  # else an earlier request is being answered
            self._places.bodies[self] = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Have a whole request: from now on the connection is safe."""
        self._places.bodies.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for a further request."""
        super().on_response_complete()
        if not self._is_idle or not self.is_in:
            return
        self._places.forget_state(self)
        if self._in_head:
            self._await_head()
        else:
            self._places.resting[self] = None

    # -- deadlines, and who has to go --------------------------------------------------------------

    @property
    def _is_idle(self) -> bool:
        """Whether the last request that came is answered, and so are those before it."""
        return self.cycle is None or self.cycle.response_complete

    def _await_head(self) -> None:
        self._places.forget_state(self)
        self._places.heads[self] = None
        self._deadline = self.loop.call_later(self._head_seconds, self._head_is_late)

    def _head_is_there(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _head_is_late(self) -> None:
        self._deadline = None
        if self._head_bytes:
            self._refuse(408, f"The head did not arrive within {self._head_seconds:g} seconds.")
        else:
            self.make_room()

    def _refuse(self, status: int, message: str) -> None:
        """Answer without a request."""
        self._head_is_there()
        if self.transport.is_closing():
            return
        body = encode({"error": message})
        self.transport.write(
            _STATUS_LINES[status]
            + b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
            % len(body)
            + body
        )
        self.make_room()

    def make_room(self) -> None:
        """Close the connection."""
        self._places.leave(self)
        self._head_is_there()
        if not self.transport.is_closing():
            self.transport.close()
