"""uvicorn, but nobody who has been let in is sent away without an answer."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from condrisk.app.serve._gate import Lifecycle

# How long a connection that says nothing is kept when the service stops, in case a request is
# already on its way.
DRAIN_SECONDS = 1.0
# Connections at a time; what is beyond is answered with 503.
MOST_CONNECTIONS = 512
KEEP_ALIVE = 30


class _Joined:
    """A transport that sends what is written in one step of the event loop in one go.

    uvicorn writes head and body of an answer one after the other: twice the calls of the system,
    and a client that wakes up twice.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []
        self._call_soon = asyncio.get_running_loop().call_soon

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._call_soon(self._send)
        self._parts.append(data)

    def close(self) -> None:
        self._send()
        self._transport.close()

    def _send(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class _Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    def connection_made(self, transport: Any) -> None:
        super().connection_made(_Joined(transport))


class Server(uvicorn.Server):
    """A server that stops in order.

    When told to stop it lets in who has already connected, refuses everybody else, answers what
    has been asked with ``Connection: close``, and closes silent connections only after a while.
    uvicorn alone closes them at once, also when a request is on its way.

    Parameters
    ----------
    app : Starlette
        What `create_app` made.
    grace_seconds : float
        Seconds that requests in the making have when the service stops.
    on_start : callable
        Called when requests are answered.
    """

    def __init__(
        self, app: Starlette, *, grace_seconds: float, on_start: Callable[[], object]
    ) -> None:
        config = uvicorn.Config(
            app,
            http=_Protocol,
            lifespan="on",
            ws="none",
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_level="error",
            backlog=MOST_CONNECTIONS,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=max(1, round(grace_seconds)),
        )
        super().__init__(config)
        self._lifecycle: Lifecycle = app.state.lifecycle
        self._on_start = on_start

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop in order.

        Parameters
        ----------
        sockets : list of socket, optional
            The sockets that are listened on.
        """
        self._lifecycle.stopping = True
        await self._stop_listening(sockets or [])
        loop = asyncio.get_running_loop()
        until = loop.time() + DRAIN_SECONDS
        while self.server_state.connections and loop.time() < until and not self.force_exit:
            await asyncio.sleep(0.01)
        await super().shutdown(sockets)

    async def _stop_listening(self, listeners: list[socket.socket]) -> None:
        """Stop listening, but take those whom the system has let in and nobody has met yet."""
        arrived = []
        for listener in listeners:
            with contextlib.suppress(OSError):  # no more of them
                while True:
                    arrived.append(listener.accept()[0])
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for connection in arrived:
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        return _Protocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; at once if interrupted a second time.

        uvicorn's own would raise the signal again afterwards, and the process would seem to have
        been killed by it.
        """
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so.

        Parameters
        ----------
        sockets : list of socket, optional
            The sockets to listen on.
        """
        await super().startup(sockets)
        if self.started:
            self._on_start()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Parameters
    ----------
    host : str
        A name or address of this machine.
    port : int
        The port; 0 takes any that is free.

    Returns
    -------
    socket
        Ready for `run`.

    Raises
    ------
    OSError
        If it cannot be had, such as when somebody else listens there.
    """
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.create_server(address, family=family, backlog=MOST_CONNECTIONS)
    # The connections inherit it. Without it, a part of an answer may wait until the client has
    # acknowledged the part before: some 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def run(
    app: Starlette,
    listener: socket.socket,
    *,
    grace_seconds: float = 30.0,
    on_start: Callable[[], object] | None = None,
) -> None:
    """Serve until the process is told to stop by SIGINT or SIGTERM.

    Parameters
    ----------
    app : Starlette
        What `create_app` made.
    listener : socket
        What `listen` made.
    grace_seconds : float, default=30.0
        Seconds that requests in the making have when the service stops.
    on_start : callable, optional
        Called when requests are answered.
    """
    server = Server(app, grace_seconds=grace_seconds, on_start=on_start or (lambda: None))
    server.run(sockets=[listener])
