"""The service of a router: which model answers each row, over HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from html import escape
from time import perf_counter
from typing import Any, NamedTuple

import polars as pl
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from condrisk.app.models import RouterTable, check_wish, open_router
from condrisk.app.report import render_router
from condrisk.app.serve._batcher import Batcher
from condrisk.app.serve._body import TOGETHER, BodyRoom, read_body
from condrisk.app.serve._gate import Gate, Lifecycle
from condrisk.app.serve._json import decode, json_response, shown
from condrisk.app.serve._json_rows import JsonReader, Row
from condrisk.app.serve._metrics import CONTENT_TYPE, Metrics, labels_of
from condrisk.app.serve._page import report_headers
from condrisk.app.serve._refusal import RefusedError
from condrisk.app.tables import TableError, check_rows

_PATHS = ("/", "/route", "/health", "/model", "/metrics")
_WISHES = ("price", "budget", "target")
_BATCH_ROWS = 4096
_LOG = logging.getLogger(__name__)


class _Job(NamedTuple):
    """Rows of one request, and what it wishes."""

    rows: list[Row]
    wish: tuple[str, float]
    capacity: dict[str, int] | None = None


def create_router_app(
    model: Any,
    *,
    trusted: Iterable[str] = (),
    token: str | None = None,
    max_body: int = 8 << 20,
    max_rows: int = 10_000,
    timeout: float = 30.0,
    batching: bool = True,
    hosts: Collection[str] | None = None,
) -> Starlette:
    """Make the web application of a router.

    ``POST /route`` takes rows as JSON, with one of price, budget and target, and says for each
    which model answers it, with its risk and its cost. With price, capacity may say how many of
    these rows a model can take. A request is routed whole or not at all.
    ``/`` is the report of the router; ``/health``, ``/model`` and ``/metrics`` are for machines.

    Parameters
    ----------
    model : path, RouterTable or ModelRouter
        The router.
    trusted, token, max_body, max_rows, timeout, batching, hosts
        As `create_app` takes them.

    Returns
    -------
    Starlette
        The application.

    Examples
    --------
    >>> from condrisk.app.models import open_router
    >>> from condrisk.app.serve import create_router_app
    >>> from condrisk.datasets import make_routing
    >>> from condrisk.routing import ModelRouter
    >>> world = make_routing(500, random_state=0)
    >>> router = ModelRouter(world.costs, random_state=0).fit(world.X, world.losses)
    >>> app = create_router_app(open_router(router, schema=world.X))
    >>> sorted(route.path for route in app.routes)
    ['/', '/health', '/metrics', '/model', '/route']
    """
    for name, value in {"max_body": max_body, "max_rows": max_rows, "timeout": timeout}.items():
        if value <= 0:
            raise ValueError(f"{name} must be greater than 0, got {value}.")
    if token == "":
        raise ValueError("token must not be empty; None lets everybody in.")
    router = open_router(model, trusted=trusted)
    metrics, lifecycle = Metrics(labels_of(router.manifest)), Lifecycle()
    route = _RouteEndpoint(
        router,
        metrics=metrics,
        max_body=max_body,
        max_rows=max_rows,
        timeout=timeout,
        batching=batching,
    )
    gate = Middleware(
        Gate, lifecycle=lifecycle, metrics=metrics, paths=_PATHS, token=token, hosts=hosts
    )
    app = Starlette(
        routes=[Route("/route", route, methods=["POST"]), *_other_routes(router, metrics)],
        middleware=[gate],
        exception_handlers={HTTPException: _as_refusal},
        lifespan=_lifespan,
    )
    app.state.route, app.state.lifecycle = route, lifecycle
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    app.state.route.batcher.start()
    yield
    await app.state.route.batcher.stop()


async def _as_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return RefusedError(error.status_code, f"{error.detail}.", headers=error.headers).response()


def _other_routes(router: RouterTable, metrics: Metrics) -> list[Route]:
    first, last = (escape(name) for name in (next(iter(router.costs)), list(router.costs)[-1]))
    panel = (
        "<p>POST /route takes <code>{&quot;rows&quot;: [{…}], &quot;price&quot;: 0.1}</code>, or "
        "budget or target in place of price, with price perhaps <code>&quot;capacity&quot;: "
        f"{{&quot;{last}&quot;: 100}}</code>, the most rows of this request that a model can take; "
        "it answers <code>{&quot;routes&quot;: "
        f"[{{&quot;model&quot;: &quot;{first}&quot;, …}}]}}</code>.</p>"
    )
    front = render_router(router.manifest, panel=panel)

    async def index(request: Request) -> Response:
        return HTMLResponse(front, headers=report_headers(talks=True))

    async def health(request: Request) -> Response:
        if request.app.state.lifecycle.stopping:
            return json_response({"status": "stopping"}, 503)
        return json_response({"status": "ok"})

    async def manifest(request: Request) -> Response:
        return json_response(router.manifest)

    async def counters(request: Request) -> Response:
        metrics.waiting = request.app.state.route.batcher.rows_waiting
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    endpoints = {"/": index, "/health": health, "/model": manifest, "/metrics": counters}
    return [Route(path, endpoint) for path, endpoint in endpoints.items()]


class _RouteEndpoint:
    """``POST /route``, an ASGI application."""

    def __init__(
        self,
        router: RouterTable,
        *,
        metrics: Metrics,
        max_body: int,
        max_rows: int,
        timeout: float,
        batching: bool,
    ) -> None:
        self._router = router
        self._metrics = metrics
        self._max_body, self._timeout = max_body, timeout
        self._room = BodyRoom(TOGETHER * max_body)
        columns = router.schema.needed
        self._reader = JsonReader(columns, most_rows=max_rows, on_unseen=metrics.unseen.inc)
        nothing = pl.DataFrame(schema=dict.fromkeys(router.schema.names, pl.Null))
        self._types = dict(check_rows(router.schema, nothing).good.schema)
        self.batcher: Batcher[_Job, list[dict[str, Any]]] = Batcher(
            self._route_all,
            most_rows=_BATCH_ROWS,
            most_waiting=4 * max_rows,
            batching=batching,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        try:
            response = json_response({"routes": await self._routes(scope, receive)})
        except RefusedError as error:
            if error.rows:
                self._metrics.refused.inc(len(error.rows))
            response = error.response()
        except Exception as error:
            _LOG.error("A request to /route failed.", exc_info=error)
            message = "The router failed; the log of the service says how."
            response = RefusedError(500, message).response()
        await response(scope, receive, send)

    async def _routes(self, scope: Any, receive: Any) -> list[dict[str, Any]]:
        headers = dict(scope["headers"])
        with self._room.place() as place:
            try:
                async with asyncio.timeout(self._timeout):
                    body = await read_body(receive, headers, self._max_body, place)
                    job = await asyncio.to_thread(self._job, body)
                    return await self.batcher.submit(job, len(job.rows)) if job.rows else []
            except TimeoutError:
                raise RefusedError(
                    504, f"The request took more than {self._timeout:g} seconds; send fewer rows."
                ) from None

    def _job(self, body: bytes) -> _Job:
        try:
            request = decode(body)
        except ValueError as error:
            raise RefusedError(400, f"The body is not JSON: {error}.") from None
        if type(request) is not dict:
            raise RefusedError(422, 'The body must be an object such as {"rows": [{…}]}.')
        capacity = request.pop("capacity", None)
        wish = self._wish(request)
        return _Job(self._reader.read_rows(request), wish, capacity)

    @staticmethod
    def _wish(request: dict[str, Any]) -> tuple[str, float]:
        unknown = sorted(request.keys() - {"rows", *_WISHES})
        if unknown:
            raise RefusedError(422, f"The body has an unknown key {shown(unknown[0])}.")
        try:
            ((name, value),) = check_wish(request).items()
        except TableError as error:
            raise RefusedError(422, str(error)) from None
        if type(value) not in (int, float) or (name != "target" and value < 0):
            raise RefusedError(422, f"{name} must be a number that is not negative.")
        return name, float(value)

    def _route_all(self, jobs: list[_Job]) -> list[Any]:
        """Return what came of each job; those with one wish and no capacity are together."""
        found: list[Any] = [None] * len(jobs)
        together: dict[Any, list[int]] = {}
        for k, job in enumerate(jobs):
            together.setdefault(job.wish if job.capacity is None else k, []).append(k)
        for own in together.values():
            _, wish, capacity = jobs[own[0]]
            try:
                routes = self._route([row for k in own for row in jobs[k].rows], wish, capacity)
            except TableError as error:
                for k in own:
                    found[k] = RefusedError(422, str(error))
                continue
            start = 0
            for k in own:
                found[k] = routes[start : start + len(jobs[k].rows)]
                start += len(jobs[k].rows)
        return found

    def _route(
        self, rows: list[Row], wish: tuple[str, float], capacity: dict[str, int] | None
    ) -> list[dict[str, Any]]:
        began = perf_counter()
        columns = zip(self._types.items(), zip(*rows, strict=True), strict=True)
        frame = pl.DataFrame([pl.Series(name, cells, kind) for (name, kind), cells in columns])
        decision = self._router.route(frame, capacity=capacity, **{wish[0]: wish[1]})
        self._metrics.batch_rows.observe(len(rows))
        self._metrics.batch_seconds.observe(perf_counter() - began)
        self._metrics.risk += float(decision.risk.sum())
        values = zip(
            decision.model.tolist(), decision.risk.tolist(), decision.cost.tolist(), strict=True
        )
        return [{"model": m, "risk": r, "cost": c} for m, r, c in values]
