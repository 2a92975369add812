"""`condrisk serve` under load from another process, kept in results/serving.json.

- forest: single-row requests on 8 connections, batching on against batching off.
- ridge: the same for a ridge model, against an endpoint of the same app that answers nothing.
- stop: requests on 8 connections while the service is told to stop; none may fail.
- malformed: 10,000 broken bodies; each gets a 4xx (or, where the change did no harm, an answer),
  and the service answers afterwards.
- schemathesis: its checks against the service's own description.
- against: other sources of condrisk and these serve the same models to the same clients, the
  others with and without httptools, which these bring and earlier ones did not.

Everything stays on 127.0.0.1. Rounds of the things that are compared take turns, so that what
else the machine does meets both alike; the seconds of the server's processor are kept as well.

Usage: ``python -m benchmarks.serving [PART …]``; about five minutes for all but the last, which is
``python -m benchmarks.serving against FOLDER``, where FOLDER/condrisk is what to compare with;
that takes six minutes, and is kept in results/serving_against.json.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import platform
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import psutil
from rich.console import Console
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from condrisk.app import models
from condrisk.app.models import TableModel, fit_table
from condrisk.app.serve import create_app, listen, run
from condrisk.datasets import load_uci

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "results" / "serving.json"
RECORD_AGAINST = ROOT / "results" / "serving_against.json"
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
CONNECTIONS = 8
ROUNDS = 5
STOPS = 3
console = Console(stderr=True)


# -- the server's side ----------------------------------------------------------------------------


class Bare:
    """An endpoint that answers nothing, as bare as that of /decide."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer nothing."""
        await receive()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def serve(path: str, batching: str, *missing: str) -> None:
    """Run the service of a model with two endpoints more that answer nothing."""
    for package in missing:
        sys.modules[package] = None  # type: ignore[assignment]
    app = create_app(opened(path), batching=batching == "on")

    async def empty(request: Request) -> Response:
        await request.body()
        return Response(status_code=204)

    app.router.routes.append(Route("/empty", empty, methods=["POST"]))
    app.router.routes.append(Route("/bare", Bare(), methods=["POST"]))
    listener = listen("127.0.0.1", 0)
    run(app, listener, on_start=lambda: print(listener.getsockname()[1], flush=True))


@contextmanager
def server(
    path: Path, batching: str = "on", *missing: str, source: Path = ROOT / "src"
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a service in a process of its own; gives the process and the port."""
    command = [sys.executable, "-m", "benchmarks.serving", "--serve", str(path), batching]
    command += missing
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **_with(source))
    assert process.stdout is not None
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _with(source: Path) -> dict[str, Any]:
    """Return how a process is started in which condrisk is that of a folder."""
    more = os.environ.get("CONDRISK_BENCHMARK_PACKAGES", "")
    return {"cwd": ROOT, "env": os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{more}"}}


# -- the client's side ----------------------------------------------------------------------------


class Client(asyncio.Protocol):
    """One connection that asks again as soon as it is answered."""

    def __init__(self, request: bytes, tally: Tally) -> None:
        self.request, self.tally = request, tally
        self.received = b""
        self.waiting = False
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Ask for the first time."""
        self.transport = transport
        self._ask()

    def _ask(self) -> None:
        self.began = time.perf_counter()
        self.waiting = True
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Count an answer when it is whole, and go on."""
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.received[:end].lower()
        length = re.search(rb"content-length: *(\d+)", head)
        size = end + 4 + (int(length[1]) if length else 0)
        if len(self.received) < size:
            return
        self.tally.seconds.append(time.perf_counter() - self.began)
        self.tally.statuses[int(self.received[9:12])] += 1
        self.received, self.waiting = self.received[size:], False
        if self.tally.over() or b"connection: close" in head:
            self.transport.close()
        else:
            self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        """Count a request without an answer."""
        self.tally.failed += self.waiting
        if not self.done.done():
            self.done.set_result(None)


@dataclass
class Tally:
    """What the clients of a round have met."""

    until: float
    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    failed: int = 0

    def over(self) -> bool:
        """Tell whether the time of the round is over."""
        return time.perf_counter() >= self.until


def request_to(path: str, body: bytes, kind: str = JSON) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def ask(port: int, request: bytes, seconds: float, connections: int) -> Tally:
    tally = Tally(time.perf_counter() + seconds)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Client(request, tally), "127.0.0.1", port)
        for _ in range(connections)
    ]
    await asyncio.wait_for(asyncio.gather(*(client.done for _, client in made)), seconds + 60)
    return tally


def measure(
    pid: int, port: int, request: bytes, *, seconds: float, connections: int = CONNECTIONS
) -> dict[str, float]:
    """Return throughput, latencies and the processor's time of one round."""
    process = psutil.Process(pid)
    before, began = sum(process.cpu_times()[:2]), time.perf_counter()
    tally = asyncio.run(ask(port, request, seconds, connections))
    took, used = time.perf_counter() - began, sum(process.cpu_times()[:2]) - before
    if tally.failed or set(tally.statuses) - {200, 204}:
        raise RuntimeError(f"{tally.failed} requests failed, statuses {dict(tally.statuses)}")
    n = len(tally.seconds)
    ordered = sorted(tally.seconds)
    return {
        "requests": n,
        "per_second": n / took,
        "p50_ms": 1e3 * ordered[n // 2],
        "p99_ms": 1e3 * ordered[int(0.99 * (n - 1))],
        "cpu_us": 1e6 * used / n,
    }


def summed(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure over the rounds."""
    return {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}


def ratio(rounds: dict[str, list[dict[str, float]]], a: str, b: str, name: str) -> float:
    """Return the median over the rounds of one thing's figure over the other's."""
    pairs = zip(rounds[a], rounds[b], strict=True)
    return statistics.median(ours[name] / theirs[name] for ours, theirs in pairs)


# -- the parts --------------------------------------------------------------------------------


def model_file(folder: Path, predictor: str) -> tuple[TableModel, Path]:
    """Fit a model of the concrete data, once."""
    path = folder / f"{predictor}.skops"
    fit(path, predictor)
    return opened(path), path


def opened(path: Path | str) -> TableModel:
    """Read a model file, also by sources from before there was `open_model`."""
    read = getattr(models, "open_model", None) or models.load_model
    return read(path)


def fit(path: Path, predictor: str) -> None:
    if not path.exists():
        data = load_uci("concrete")
        columns = dict(zip(data.feature_names, data.data.T, strict=True))
        frame = pl.DataFrame(columns | {"strength": data.target})
        model = fit_table(frame, target="strength", cost=30.0, predictor=predictor)
        save(model, path)


def save(model: TableModel, path: Path) -> None:
    """Write a model file, also by sources from before there was `condrisk.persistence`."""
    if hasattr(models, "save_model"):
        models.save_model(model, path)
        return
    from condrisk.persistence import save_model

    save_model(model.model, path, model.schema, target=model.target, reference=model.reference)


def question(model: TableModel) -> bytes:
    return json.dumps({"rows": [model.schema.example]}).encode()


def forest(folder: Path) -> dict[str, Any]:
    model, path = model_file(folder, "forest")
    request = request_to("/decide", question(model))
    rounds: dict[str, list[dict[str, float]]] = {"on": [], "off": []}
    with server(path, "on") as (on, port_on), server(path, "off") as (off, port_off):
        ports = {"on": (on.pid, port_on), "off": (off.pid, port_off)}
        for _ in range(ROUNDS):
            for name, (pid, port) in ports.items():
                rounds[name].append(measure(pid, port, request, seconds=3))
    return {
        "connections": CONNECTIONS,
        "batching": {name: summed(found) for name, found in rounds.items()},
        "throughput_ratio": ratio(rounds, "on", "off", "per_second"),
        "limit": "at least 4",
    }


def ridge(folder: Path) -> dict[str, Any]:
    model, path = model_file(folder, "linear")
    paths = ("/decide", "/empty", "/bare")
    found: dict[str, Any] = {"limit": "at least 0.75 of /empty"}
    with server(path) as (process, port):
        for connections in (1, CONNECTIONS, 32):
            rounds: dict[str, list[dict[str, float]]] = {name: [] for name in paths}
            for _ in range(ROUNDS):
                for name in paths:
                    request = request_to(name, question(model))
                    rounds[name].append(
                        measure(process.pid, port, request, seconds=1.5, connections=connections)
                    )
            found[f"{connections} connections"] = {
                **{name: summed(rounds[name]) for name in paths},
                **{
                    f"{what}_of_{name[1:]}": ratio(rounds, "/decide", name, figure)
                    for name in paths[1:]
                    for what, figure in (("throughput", "per_second"), ("cpu", "cpu_us"))
                },
            }
    return found


def stop(folder: Path) -> dict[str, Any]:
    """Stop the service under load, several times, of two kinds of model."""
    found: dict[str, Any] = {"failed": 0, "answered": 0, "exit_codes": [], "limit": "0 failed"}
    for predictor in ("linear", "forest"):
        model, path = model_file(folder, predictor)
        request = request_to("/decide", question(model))
        for _ in range(STOPS):
            with server(path) as (process, port):
                tally = asyncio.run(_stopped(process, port, request))
                found["exit_codes"].append(process.wait(60))
            found["failed"] += tally.failed + sum(tally.statuses.values()) - tally.statuses[200]
            found["answered"] += tally.statuses[200]
    return found


async def _stopped(process: subprocess.Popen[str], port: int, request: bytes) -> Tally:
    asked = asyncio.create_task(ask(port, request, 30, CONNECTIONS))
    await asyncio.sleep(1 + random.random())
    process.send_signal(signal.SIGTERM)
    return await asked


def malformed(folder: Path, n_bodies: int = 10_000) -> dict[str, Any]:
    """Send broken bodies, one after the other, on connections as they come."""
    import httpx

    model, path = model_file(folder, "forest")
    rows = [model.schema.example] * 3
    stream = io.BytesIO()
    pl.DataFrame(rows).write_ipc_stream(stream)
    whole = {JSON: json.dumps({"rows": rows, "cost": 1.0}).encode(), ARROW: stream.getvalue()}
    rng = random.Random(0)
    statuses: Counter[int] = Counter()
    with server(path) as (process, port), httpx.Client(trust_env=False, timeout=60) as client:
        url = f"http://127.0.0.1:{port}/decide"
        memory = psutil.Process(process.pid)
        before = memory.memory_info().rss
        while sum(statuses.values()) - statuses[200] < n_bodies:
            kind = rng.choice((JSON, ARROW))
            answer = client.post(
                url, content=broken(whole[kind], rng), headers={"Content-Type": kind}
            )
            statuses[answer.status_code] += 1
        alive = client.post(url, content=whole[JSON], headers={"Content-Type": JSON})
        grown = memory.memory_info().rss - before
    return {
        "refused": n_bodies,
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "server_errors": sum(count for status, count in statuses.items() if status >= 500),
        "answers_afterwards": alive.status_code == 200,
        "memory_grown_mib": grown / 2**20,
        "limit": "every status 4xx, or 200 where the body is still good",
    }


def broken(body: bytes, rng: random.Random) -> bytes:
    """Return a body that is cut, changed, doubled in parts, or noise altogether."""
    if rng.random() < 0.05:
        return rng.randbytes(rng.randint(0, 300))
    data = bytearray(body)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data) + 1)
        what = rng.randrange(4)
        if what == 0:
            del data[at:]
        elif what == 1 and at < len(data):
            data[at] = rng.randrange(256)
        elif what == 2:
            data[at:at] = data[at : at + rng.randint(1, 40)]
        else:
            del data[at : at + rng.randint(1, 10)]
    return bytes(data)


def schemathesis(folder: Path, most: int = 200) -> dict[str, Any]:
    _, path = model_file(folder, "forest")
    with server(path) as (_, port):
        command = [sys.executable, "-m", "schemathesis.cli", "run", "--no-color", "--checks=all"]
        address = f"http://127.0.0.1:{port}/openapi.json"
        done = subprocess.run(
            [*command, f"--max-examples={most}", "--generation-database=none", address],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    cases = re.search(r"(\d+) generated", done.stdout)
    return {
        "cases": int(cases[1]) if cases else None,
        "issues": 0 if done.returncode == 0 else done.stdout[-2000:],
        "limit": "0 issues",
    }


# -- another state of the sources -----------------------------------------------------------------

# Connections, and rows of each request.
LOADS = ((1, 1), (8, 1), (32, 1), (8, 100), (2, 2000))


def against(folder: Path, other: Path) -> dict[str, Any]:
    """Let other sources and these serve the same models, in turns."""
    found: dict[str, Any] = {"limit": "throughput at least 0.9 of the other's"}
    for predictor in ("linear", "boosting", "forest"):
        old, new = (_fitted_by(s, folder, predictor) for s in (other, ROOT / "src"))
        row = opened(new).schema.example
        with ExitStack() as stack:
            servers = {
                "other": stack.enter_context(server(old, "on", "httptools", source=other)),
                "other with httptools": stack.enter_context(server(old, source=other)),
                "here": stack.enter_context(server(new)),
            }
            found[predictor] = {
                f"{connections} connections, {rows} rows": _in_turns(
                    servers,
                    request_to("/decide", json.dumps({"rows": [row] * rows}).encode()),
                    connections,
                )
                for connections, rows in LOADS
            }
    return found


def _in_turns(
    servers: dict[str, tuple[subprocess.Popen[str], int]], request: bytes, connections: int
) -> dict[str, Any]:
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
    for _ in range(ROUNDS + 1):
        for name, (process, port) in servers.items():
            rounds[name].append(
                measure(process.pid, port, request, seconds=1, connections=connections)
            )
    rounds = {name: measured[1:] for name, measured in rounds.items()}  # the first is warming up
    return {
        **{name: summed(measured) for name, measured in rounds.items()},
        **{
            f"{what} of {name}": ratio(rounds, "here", name, figure)
            for name in ("other", "other with httptools")
            for what, figure in (("throughput", "per_second"), ("p50", "p50_ms"), ("cpu", "cpu_us"))
        },
    }


def _fitted_by(source: Path, folder: Path, predictor: str) -> Path:
    """Return the file of a model that was fitted by those sources: files have formats."""
    path = folder / f"{predictor}-{hashlib.sha256(str(source).encode()).hexdigest()[:8]}.skops"
    command = [sys.executable, "-m", "benchmarks.serving", "--fit", str(path), predictor]
    subprocess.run(command, check=True, **_with(source))
    return path


PARTS = {
    "forest": forest,
    "ridge": ridge,
    "stop": stop,
    "malformed": malformed,
    "schemathesis": schemathesis,
}


def main(names: list[str]) -> int:
    other = None
    if names[:1] == ["against"]:
        names, other = names[:1], Path(names[1]).resolve()
    elif unknown := set(names) - set(PARTS):
        print(f"unknown part: {sorted(unknown)}; there are {', '.join(PARTS)}")
        return 2
    # So that servers are stopped too when this process is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    path = RECORD_AGAINST if other else RECORD
    record = json.loads(path.read_text()) if path.exists() else {}
    results = record.get("results", {})
    folder = Path(tempfile.gettempdir()) / f"condrisk-serving-{os.getuid()}"
    folder.mkdir(exist_ok=True, mode=0o700)
    for name in names or PARTS:
        with console.status(name):
            measured = against(folder, other) if other else PARTS[name](folder)
            results[name] = {**measured, "load_average": os.getloadavg()[0]}
        console.print_json(data={name: results[name]})
        write(results, path)
    return 0


def write(results: dict[str, Any], path: Path) -> None:
    """Write the record whole or not at all."""
    from importlib.metadata import version

    packages = (
        "condrisk",
        "starlette",
        "orjson",
        "uvicorn",
        "httptools",
        "h11",
        "scikit-learn",
        "schemathesis",
    )
    record = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": "python -m benchmarks.serving",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "results": {name: results[name] for name in (*PARTS, "against") if name in results},
    }
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    elif sys.argv[1:2] == ["--fit"]:
        fit(Path(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(main(sys.argv[1:]))
