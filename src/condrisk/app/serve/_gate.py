"""What every request passes first: who asks, and is the service still open."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Collection
from time import perf_counter
from typing import Any

from condrisk.app.serve._metrics import Metrics
from condrisk.app.serve._refusal import RefusedError

# Load balancers ask for health without a token.
OPEN = frozenset({"/health"})
_CLOSE = (b"connection", b"close")


class Lifecycle:
    """Whether the service is about to stop; the server says so.

    Attributes
    ----------
    stopping : bool
        Once it is true, every answer closes its connection.
    """

    def __init__(self) -> None:
        self.stopping = False


class Gate:
    """ASGI middleware: token, name of the host, counting, and goodbye when the service stops.

    Parameters
    ----------
    app : ASGI application
        What lies behind.
    lifecycle : Lifecycle
        Whether the service is about to stop.
    metrics : Metrics
        Where requests are counted.
    paths : collection of str
        The paths that are counted by name.
    token : str, optional
        What a request must carry: ``Authorization: Bearer TOKEN``, or as the password of HTTP
        Basic, which is what browsers can do.
    hosts : collection of str, optional
        The names under which the service may be called. A service for one machine has no other
        guard against web pages that point a name of their own at it.
    """

    def __init__(
        self,
        app: Any,
        *,
        lifecycle: Lifecycle,
        metrics: Metrics,
        paths: Collection[str],
        token: str | None = None,
        hosts: Collection[str] | None = None,
    ) -> None:
        self._app = app
        self._lifecycle = lifecycle
        self._metrics = metrics
        self._paths = frozenset(paths)
        self._token = None if token is None else token.encode()
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        status = 500

        async def watched(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._lifecycle.stopping:
                    message["headers"] = [*message.get("headers", ()), _CLOSE]
            await send(message)

        try:
            refusal = self._refusal(scope)
            app = self._app if refusal is None else refusal.response()
            await app(scope, receive, watched)
        finally:
            path = scope["path"]
            self._metrics.count(path if path in self._paths else "other", status)
            if path == "/decide":
                self._metrics.seconds.observe(perf_counter() - began)

    def _refusal(self, scope: Any) -> RefusedError | None:
        if self._hosts is None and self._token is None:
            return None
        headers = dict(scope["headers"])
        if self._hosts is not None and _host(headers) not in self._hosts:
            return RefusedError(421, "The service is not known under this name of a host.")
        if self._token is None or scope["path"] in OPEN:
            return None
        if hmac.compare_digest(_token(headers), self._token):
            return None
        # Only the page makes a browser ask for a password; a program gets to know what to send.
        kind = "Basic" if scope["path"] in ("/", "/report") else "Bearer"
        return RefusedError(
            401,
            "A token is needed: send it as Authorization: Bearer TOKEN.",
            headers={"WWW-Authenticate": f'{kind} realm="condrisk"'},
        )


def _host(headers: dict[bytes, bytes]) -> str:
    host = headers.get(b"host", b"").decode("latin-1")
    if host.startswith("["):
        return host.partition("]")[0][1:]
    return host.partition(":")[0].lower()


def _token(headers: dict[bytes, bytes]) -> bytes:
    """Return the token that a request carries, empty if none."""
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return given.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(given, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
