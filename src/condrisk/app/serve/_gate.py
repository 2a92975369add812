"""What every request passes first: who asks, and is the service still open."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Collection
from time import perf_counter
from typing import Any

from condrisk.app.serve._hosts import Hosts
from condrisk.app.serve._metrics import Metrics
from condrisk.app.serve._refusal import RefusedError

# Load balancers ask for health without a token.
OPEN = frozenset({"/health"})
_CLOSE = (b"connection", b"close")
_CLOSED = {"Connection": "close"}


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
        The names under which the service may be called, as `Hosts` takes them.
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
        self._hosts = Hosts(hosts)

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
        if not self._hosts.allow(scope):
            return RefusedError(
                421, "The service is not known under this name of a host.", headers=_CLOSED
            )
        if scope["path"] in OPEN:
            return None
        if scope.get("state", {}).get("is_spare"):
            return RefusedError(
                503,
                "The service has too many connections; try again in a moment.",
                headers={"Retry-After": "1"} | _CLOSED,
            )
        if self._token is None:
            return None
        if hmac.compare_digest(_token(dict(scope["headers"])), self._token):
            return None
        # Only the page makes a browser ask for a password; a program gets to know what to send.
        kind = "Basic" if scope["path"] in ("/", "/report") else "Bearer"
        return RefusedError(
            401,
            "A token is needed: send it as Authorization: Bearer TOKEN.",
            headers={"WWW-Authenticate": f'{kind} realm="condrisk"'},
        )


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
