"""The service: one model behind HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

import condrisk
from condrisk.app.models import TableModel
from condrisk.app.serve._decide import Decide
from condrisk.app.serve._gate import Gate, Lifecycle
from condrisk.app.serve._metrics import CONTENT_TYPE, Metrics, labels_of
from condrisk.app.serve._openapi import describe
from condrisk.app.serve._page import page, report_headers
from condrisk.app.serve._refusal import RefusedError

_PATHS = ("/", "/report", "/decide", "/health", "/model", "/metrics", "/openapi.json")


def create_app(
    model: TableModel,
    *,
    token: str | None = None,
    max_body: int = 8 << 20,
    max_rows: int = 10_000,
    timeout: float = 30.0,
    batching: bool = True,
    report_html: str | None = None,
    hosts: Collection[str] | None = None,
) -> FastAPI:
    """Make the web application of a model.

    ``POST /decide`` takes rows as JSON or Arrow and says for each what the model predicts, the
    risk of that, and whether to ask somebody instead. A request is decided whole or not at all:
    if a row does not fit the model's schema, the answer is 422 with the position of each such
    row and the reason. ``/`` is the report of the model with a form to try a row; ``/health``,
    ``/model``, ``/metrics`` and ``/openapi.json`` are for machines.

    Parameters
    ----------
    model : TableModel
        The model.
    token : str, optional
        What requests must carry, as ``Authorization: Bearer TOKEN`` or as the password that a
        browser asks for; only ``/health`` is open without. None lets everybody in.
    max_body : int, default=8 MiB
        The longest body, in bytes; a longer one is answered with 413.
    max_rows : int, default=10,000
        The most rows of a request; more of them are answered with 422. Four times as many may
        wait; beyond those the answer is 503.
    timeout : float, default=30.0
        Seconds from the head of a request to its answer; then 408 or 504.
    batching : bool, default=True
        Whether requests that come in while others are being decided are decided together.
    report_html : str, optional
        A page made by ``condrisk report``, to be had at ``/report``.
    hosts : collection of str, optional
        The names under which the service may be called; None for any.

    Returns
    -------
    FastAPI
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
    metrics = Metrics(labels_of(model.manifest))
    decide = Decide(
        model,
        max_body=max_body,
        max_rows=max_rows,
        timeout=timeout,
        batching=batching,
        metrics=metrics,
    )
    lifecycle = Lifecycle()
    app = FastAPI(
        title=_title(model), docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan
    )
    app.state.decide, app.state.lifecycle = decide, lifecycle
    app.router.routes.append(Route("/decide", decide, methods=["POST"]))
    description = describe(
        title=_title(model),
        version=condrisk.__version__,
        model=model,
        most_rows=max_rows,
        priced=decide.priced,
        protected=token is not None,
    )
    _add_machine_paths(app, model, metrics, description)
    _add_pages(
        app, page(model, priced=decide.priced, has_report=report_html is not None), report_html
    )
    app.add_exception_handler(HTTPException, _as_refusal)
    app.add_middleware(
        Gate, lifecycle=lifecycle, metrics=metrics, paths=_PATHS, token=token, hosts=hosts
    )
    return app


def _title(model: TableModel) -> str:
    return f"condrisk: {model.task} of {model.target}"


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.decide.batcher.start()
    yield
    await app.state.decide.batcher.stop()


async def _as_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return RefusedError(error.status_code, f"{error.detail}.", headers=error.headers).response()


def _add_machine_paths(
    app: FastAPI, model: TableModel, metrics: Metrics, description: dict[str, Any]
) -> None:
    @app.api_route("/health", methods=["GET", "HEAD"])
    async def health() -> Response:
        if app.state.lifecycle.stopping:
            return JSONResponse({"status": "stopping"}, 503)
        return JSONResponse({"status": "ok"})

    @app.get("/model")
    async def manifest() -> Response:
        return JSONResponse(model.manifest)

    @app.get("/metrics")
    async def counters() -> Response:
        metrics.waiting = app.state.decide.batcher.rows_waiting
        return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    @app.get("/openapi.json")
    async def openapi() -> Response:
        return JSONResponse(description)


def _add_pages(app: FastAPI, front: str, report_html: str | None) -> None:
    @app.get("/")
    async def index() -> Response:
        return HTMLResponse(front, headers=report_headers(talks=True))

    if report_html is not None:

        @app.get("/report")
        async def report() -> Response:
            return HTMLResponse(report_html, headers=report_headers(talks=False))
