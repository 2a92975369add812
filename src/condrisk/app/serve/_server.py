"""uvicorn, but nobody who has been let in is sent away without an answer."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from functools import partial
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from condrisk.app.serve._connection import HEAD_SECONDS, SPARE, Connections, Protocol
from condrisk.app.serve._gate import Lifecycle

# How long a connection that says nothing is kept when the service stops, in case a request is
# already on its way.
DRAIN_SECONDS = 1.0
# Connections at a time, where the system allows so many files to be open.
MOST_CONNECTIONS = 4096
# Files that the process has open besides.
_OTHER_FILES = 128
KEEP_ALIVE = 30
# So many connections are taken at a time before those that are there get their turn.
_ACCEPTED = 64
# The system lets in so many that wait to be taken.
_BACKLOG = 4096


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
    most_connections : int or None, default=None
        How many connections there may be. None: 4,096, or as many as the system allows.
    head_seconds : float, default=10.0
        Seconds that the head of a request may take.
    """

    def __init__(
        self,
        app: Starlette,
        *,
        grace_seconds: float,
        on_start: Callable[[], object],
        most_connections: int | None = None,
        head_seconds: float = HEAD_SECONDS,
    ) -> None:
        self.places = Connections(most_connections or _most_connections())
        self._new = partial(Protocol, places=self.places, head_seconds=head_seconds)
        config = uvicorn.Config(
            app,
            http=self._new,  # type: ignore[arg-type]
            lifespan="on",
            ws="none",
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_level="error",
            backlog=_ACCEPTED,
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
        return self._new(
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
        for listener in sockets or []:
            listener.listen(_BACKLOG)  # which uvicorn has made as short as what is taken at a time
        if self.started:
            self._on_start()


def _most_connections() -> int:
    """Return how many connections there may be: each is an open file."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return MOST_CONNECTIONS
    files, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE + _OTHER_FILES
    if files < wanted:
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(MOST_CONNECTIONS, files - SPARE - _OTHER_FILES))


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
    listener = socket.create_server(address, family=family, backlog=_BACKLOG)
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
