"""The service: one model behind HTTP."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

import condrisk
from condrisk.app.models import TableModel, open_model
from condrisk.app.serve._decide import Decide
from condrisk.app.serve._gate import Gate, Lifecycle
from condrisk.app.serve._json import json_response
from condrisk.app.serve._metrics import CONTENT_TYPE, Metrics, labels_of
from condrisk.app.serve._monitoring import MonitoringState
from condrisk.app.serve._openapi import describe
from condrisk.app.serve._page import page, report_headers
from condrisk.app.serve._refusal import RefusedError

_PATHS = ("/", "/report", "/decide", "/health", "/model", "/metrics", "/openapi.json")


def create_app(
    model: Any,
    *,
    schema: Any = None,
    target: str | None = None,
    trusted: Iterable[str] = (),
    token: str | None = None,
    max_body: int = 8 << 20,
    max_rows: int = 10_000,
    timeout: float = 30.0,
    batching: bool = True,
    defer_outside: bool = False,
    report_html: str | None = None,
    hosts: Collection[str] | None = None,
    monitoring: str | os.PathLike[str] | None = None,
) -> Starlette:
    """Make the web application of a model.

    ``POST /decide`` takes rows as JSON or Arrow and says for each what the model predicts, the
    risk of that, and whether to defer it. A request is decided whole or not at all: if a row does
    not fit the model's schema, the answer is 422 with the position of each such row and the
    reason. ``/`` is the report of the model with a form to try a row; ``/health``, ``/model``,
    ``/metrics`` and ``/openapi.json`` are for machines.

    Parameters
    ----------
    model : path, TableModel, Deferral or risk estimator
        The model: a file, what `condrisk.app.models.fit_table` gave, or anything fitted that
        keeps the contract of risk estimators.
    schema, target : optional
        For a fitted estimator: the rows that it was fitted on or their Schema, and the name of
        what it predicts, as `condrisk.app.models.open_model` takes them.
    trusted : iterable of str
        For a file: what it may hold beyond condrisk and scikit-learn, as
        `condrisk.persistence.load_model` takes it.
    token : str, optional
        What requests must carry, as ``Authorization: Bearer TOKEN`` or as the password that a
        browser asks for; only ``/health`` is open without. None lets everybody in.
    max_body : int, default=8 MiB
        The longest body, in bytes; a longer one is answered with 413. The bodies that are there at
        a time may have eight times as many; beyond those the answer is 503.
    max_rows : int, default=10,000
        The most rows of a request; more of them are answered with 422. Four times as many may
        wait; beyond those the answer is 503.
    timeout : float, default=30.0
        Seconds from the head of a request to its answer; then 408 or 504.
    batching : bool, default=True
        Whether requests that come in while others are being decided are decided together.
    defer_outside : bool, default=False
        Whether rows outside what was seen when the model was fitted are deferred, whatever their
        risk.
    report_html : str, optional
        A page made by ``condrisk report``, to be had at ``/report``.
    hosts : collection of str, optional
        The names under which the service may be called, besides "localhost" and addresses; "*"
        for any. None: no other ones over the loopback interface, and any elsewhere.
    monitoring : path, optional
        The output folder of ``condrisk monitor``, whose state ``/metrics`` then tells too.

    Returns
    -------
    Starlette
        The application.

    Examples
    --------
    >>> import polars as pl
    >>> from condrisk.app.models import fit_table
    >>> from condrisk.app.serve import create_app
    >>> frame = pl.DataFrame({"x": range(100), "y": [x % 7 for x in range(100)]})
    >>> model = fit_table(frame, target="y", task="regression", cost=2.0, predictor="linear")
    >>> app = create_app(model)  # for uvicorn, or for `condrisk.app.serve.run`
    >>> sorted(route.path for route in app.routes)
    ['/', '/decide', '/health', '/metrics', '/model', '/openapi.json']
    """
    for name, value in {"max_body": max_body, "max_rows": max_rows, "timeout": timeout}.items():
        if value <= 0:
            raise ValueError(f"{name} must be greater than 0, got {value}.")
    if token == "":
        raise ValueError("token must not be empty; None lets everybody in.")
    model = open_model(model, schema=schema, target=target, trusted=trusted)
    state = None if monitoring is None else MonitoringState(Path(monitoring))
    metrics, lifecycle = Metrics(labels_of(model.manifest), state), Lifecycle()
    decide = Decide(
        model,
        max_body=max_body,
        max_rows=max_rows,
        timeout=timeout,
        batching=batching,
        metrics=metrics,
        defer_outside=defer_outside,
    )
    description = describe(
        title=f"condrisk: {model.task} of {model.target}",
        version=condrisk.__version__,
        model=model,
        most_rows=max_rows,
        protected=token is not None,
    )
    front = page(model, has_report=report_html is not None)
    gate = Middleware(
        Gate, lifecycle=lifecycle, metrics=metrics, paths=_PATHS, token=token, hosts=hosts
    )
    app = Starlette(
        routes=[
            Route("/decide", decide, methods=["POST"]),  # the first to be looked at
            *_machine_routes(model, metrics, description),
            *_page_routes(front, report_html),
        ],
        middleware=[gate],
        exception_handlers={HTTPException: _as_refusal},
        lifespan=_lifespan,
    )
    app.state.decide, app.state.lifecycle = decide, lifecycle
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    app.state.decide.start()
    yield
    await app.state.decide.stop()


async def _as_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return RefusedError(error.status_code, f"{error.detail}.", headers=error.headers).response()


def _machine_routes(
    model: TableModel, metrics: Metrics, description: dict[str, Any]
) -> list[Route]:
    async def health(request: Request) -> Response:
        if request.app.state.lifecycle.stopping:
            return json_response({"status": "stopping"}, 503)
        return json_response({"status": "ok"})

    async def manifest(request: Request) -> Response:
        # Single held-out rows are for monitoring, and many.
        return json_response({k: v for k, v in model.manifest.items() if k != "held_out"})

    async def counters(request: Request) -> Response:
        metrics.waiting = request.app.state.decide.batcher.rows_waiting
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def openapi(request: Request) -> Response:
        return json_response(description)

    endpoints = {
        "/health": health,
        "/model": manifest,
        "/metrics": counters,
        "/openapi.json": openapi,
    }
    return [Route(path, endpoint) for path, endpoint in endpoints.items()]


def _page_routes(front: str, report_html: str | None) -> list[Route]:
    async def index(request: Request) -> Response:
        return HTMLResponse(front, headers=report_headers(talks=True))

    async def report(request: Request) -> Response:
        return HTMLResponse(report_html, headers=report_headers(talks=False))

    return [Route("/", index), *([Route("/report", report)] if report_html is not None else [])]
