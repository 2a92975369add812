"""`condrisk serve`: a model behind HTTP."""

from __future__ import annotations

import ipaddress
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from condrisk.app._paths import check_inputs
from condrisk.app.cli._terminal import (
    Quiet,
    is_router_file,
    only_for,
    print_json,
    progress,
    say,
    user_errors,
)

if TYPE_CHECKING:
    import socket

    from starlette.applications import Starlette

TOKEN_VARIABLE = "CONDRISK_TOKEN"
_SHORTEST_TOKEN = 16


def serve(
    model: Annotated[
        Path,
        typer.Argument(
            help="A model file, as condrisk fit or save_model writes it.", metavar="MODEL.skops"
        ),
    ],
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on. The default can be reached from this machine only; "
            "0.0.0.0 from every machine that can reach this one, so give a token then."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes any free one.")
    ] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file whose first line is the token that requests must carry, as "
            f"Authorization: Bearer TOKEN. The variable {TOKEN_VARIABLE} does the same. There is "
            "no option for the token itself: other users can read command lines.",
            metavar="FILE",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            help="A name under which the service may be called, such as that of a proxy before it; "
            "can be given several times. Over the loopback interface only localhost and addresses "
            "are allowed otherwise, elsewhere any name; * allows any name everywhere.",
            metavar="NAME",
        ),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            help="What the file may hold beyond condrisk and scikit-learn: a package such as "
            "lightgbm, or a class as package.module.Class. Can be given several times.",
            metavar="NAME",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="A page that condrisk report made of the model, to be had at /report.",
            metavar="HTML",
        ),
    ] = None,
    monitoring: Annotated[
        Path | None,
        typer.Option(
            help="The output folder of condrisk monitor, such as one with --watch: /metrics then "
            "tells expected and realised loss, evidence and alarm too.",
            metavar="FOLDER",
        ),
    ] = None,
    max_body: Annotated[
        float, typer.Option(min=0.001, help="The longest body of a request, in MiB.")
    ] = 8.0,
    max_rows: Annotated[int, typer.Option(min=1, help="The most rows of a request.")] = 10_000,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a request may take, and a stop.")
    ] = 30.0,
    batching: Annotated[
        bool,
        typer.Option(
            help="Decide together what comes in while other rows are being decided. Each row gets "
            "the same answer either way, but sooner."
        ),
    ] = True,
    defer_outside: Annotated[
        bool,
        typer.Option(
            "--defer-outside",
            help="Defer rows outside what was seen when the model was fitted, whatever their risk.",
        ),
    ] = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object, with the address, when it listens."),
    ] = False,
) -> None:
    """Answer over HTTP: prediction, risk and decision for rows as they come, and a page to look at.

    POST /decide takes {"rows": [{…}], "cost": 0.5} or an Arrow stream, and with "explain": true
    says what raises each risk; / is the report of the
    model with a form to try a row; /model, /health, /metrics and /openapi.json are for machines.
    Of a router it is POST /route, with price, budget or target beside the rows, and with price
    perhaps capacity, what a model takes of them.
    Ctrl-C or SIGTERM stops it when everybody has their answer.

    Example: condrisk serve model.skops --port 8000
    """
    with user_errors():
        check_inputs(model)
        token = _token(token_file)
        html = None if report is None else _page(report)
        from condrisk.app.serve import run

        with _listen(host, port) as listener:
            routes = is_router_file(model)
            if routes:
                only_for("a router", defer_outside=defer_outside, report=report)
            extra = {} if routes else {"report_html": html, "defer_outside": defer_outside}
            app = _app(
                model,
                routes=routes,
                trusted=tuple(trust or ()),
                token=token,
                monitoring=monitoring,
                max_body=int(max_body * 2**20),
                max_rows=max_rows,
                timeout=timeout,
                batching=batching,
                hosts=allow_host or None,
                **extra,
            )
            if token is None and not _is_loopback(listener):
                _warn(host)
            announce = partial(_announce, model, _url(listener), token, as_json, routes=routes)
            run(app, listener, grace_seconds=timeout, on_start=announce)


def _app(path: Path, *, routes: bool, **options: Any) -> Starlette:
    from condrisk.app.serve import create_app, create_router_app

    with progress("reading the model"):
        return create_router_app(path, **options) if routes else create_app(path, **options)


# -- options -------------------------------------------------------------------------


def _token(path: Path | None) -> str | None:
    """Return the token from its file, or from the environment."""
    if path is None:
        token = os.environ.get(TOKEN_VARIABLE)
        where = f"the variable {TOKEN_VARIABLE}"
    else:
        token = next(iter(_text(path, "--token-file").splitlines()), "")
        where = f"--token-file {path}"
    if token is None:
        return None
    token = token.strip()
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise ValueError(
            f"{where} must hold a token of at least {_SHORTEST_TOKEN} ASCII characters, such as "
            f"`openssl rand -hex 32` makes."
        )
    return token


def _page(path: Path) -> str:
    html = _text(path, "--report")
    if not html.lstrip()[:15].lower().startswith("<!doctype html>"):
        raise ValueError(f"--report {path} is no page that condrisk report made.")
    return html


def _text(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{option} {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{option} {path} is not UTF-8.") from None


def _listen(host: str, port: int) -> socket.socket:
    from condrisk.app.serve import listen

    try:
        return listen(host, port)
    except OSError as error:
        raise ValueError(
            f"{host} port {port} cannot be listened on: {error.strerror}; choose another --host or "
            f"--port."
        ) from None


def _is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


# -- the terminal -------------------------------------------------------------------------------


def _url(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _warn(host: str) -> None:
    say(
        f"Warning: {host} can be reached from other machines and nobody needs a token: who reaches "
        f"the port can use the model and read its report. Set {TOKEN_VARIABLE} or --token-file.",
        stderr=True,
        style="yellow",
    )


def _announce(model: Path, url: str, token: str | None, as_json: bool, *, routes: bool) -> None:
    """Say that requests are answered; a script that waits for it reads one line."""
    if as_json:
        print_json({"url": url, "model": str(model), "token": token is not None})
        return
    say(f"{model} is served at {url}: open it to try a row, or")
    where, more = ("route", ', "price": 0.1') if routes else ("decide", "")
    say(
        f"  curl {url}/{where} -H 'Content-Type: application/json' -d '{{\"rows\": [{{…}}]{more}}}'"
    )
    if token is not None:
        say("with the token: -H 'Authorization: Bearer …', in a browser as the password.")
    say("Ctrl-C stops it.")
