"""`condrisk serve` under pressure from other processes, kept in results/pressure.json.

- slow: one client asks for one row at a time on a connection of its own, with and without 2,000
  connections that send a byte of a head each second, and connect again a second after they have
  been closed; somebody new asks for /health five times a second meanwhile. The rounds take turns.
  Limit, set beforehand: the 99th percentile at most doubles, and /health is answered each time.
- bodies: the same client beside eight that each send 8 MiB of "[],[],…" at the same time, again
  and again. Limit: no answer takes a second longer than the longest without them.
- soak: a request every 50 ms at most, for as long as is said: single rows, hundreds of rows, long
  and broken bodies, clients that leave in the middle, heads that never end. Limits: no request that
  was sent whole is without its right answer, and the memory of the service at the end is within
  8 MiB of what it was after the first tenth of the time.

Everything stays on 127.0.0.1.

Usage: ``python -m benchmarks.pressure slow bodies``, some two minutes, and
``python -m benchmarks.pressure soak MINUTES``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.serving import ROOT, model_file, question, request_to, server

RECORD = ROOT / "results" / "pressure.json"
SLOW, ROUNDS, ROUND_SECONDS = 2000, 4, 10.0
BODIES, BODY_BYTES = 8, 8 << 20
SOAK_PAUSE, SAMPLE_SECONDS = 0.05, 10.0
JSON = {"Content-Type": "application/json"}


# -- those who press ------------------------------------------------------------------------------


async def slow_heads(port: int, n: int, seconds: float) -> None:
    """Hold connections that send a byte of a head each second."""
    until = time.perf_counter() + seconds
    there: set[int] = set()

    async def one(number: int) -> None:
        await asyncio.sleep(number / n)
        while time.perf_counter() < until:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET /health HTTP/1.1\r\nX: ")
                there.add(number)
                if len(there) == n:
                    print("there", flush=True)
                    there.add(-1)
                with contextlib.suppress(OSError):
                    while time.perf_counter() < until and not reader.at_eof():
                        writer.write(b"x")
                        with contextlib.suppress(TimeoutError):
                            await asyncio.wait_for(reader.read(1000), 1.0)
                writer.close()
            await asyncio.sleep(1.0)

    await asyncio.gather(*map(one, range(n)))


async def long_bodies(port: int, n: int, seconds: float) -> None:
    """Send long bodies of little sense, several at a time."""
    until = time.perf_counter() + seconds
    body = b'{"rows":[' + b"[]," * (BODY_BYTES // 3 - 10) + b"[]]}"
    request = request_to("/decide", body)
    print("there", flush=True)

    async def one() -> None:
        while time.perf_counter() < until:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                await reader.read(1000)
                writer.close()

    await asyncio.gather(*(one() for _ in range(n)))


PRESSURE = {"slow": slow_heads, "bodies": long_bodies}


@contextlib.contextmanager
def pressed(kind: str, port: int, n: int) -> Iterator[None]:
    """Press in a process of its own, for as long as the block takes and ten minutes at most."""
    command = [sys.executable, "-m", "benchmarks.pressure", "--press", kind, str(port), str(n)]
    process = subprocess.Popen([*command, "600"], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()  # all of them are there
        time.sleep(1.0)
        yield
    finally:
        process.terminate()
        process.wait(60)


# -- those who ask --------------------------------------------------------------------------------


async def normal(port: int, request: bytes, seconds: float) -> dict[str, Any]:
    """Ask for one row at a time on one connection, and for /health on new ones."""
    until = time.perf_counter() + seconds
    taken: list[float] = []
    health: Counter[str] = Counter()

    async def rows() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < until:
            began = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"refused: {head!r}")
            taken.append(time.perf_counter() - began)
            await asyncio.sleep(0.005)
        writer.close()

    async def somebody_new() -> None:
        while time.perf_counter() < until:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(
                    b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                )
                said = await asyncio.wait_for(reader.read(), 10)
                health[said[9:12].decode() or "closed"] += 1
                writer.close()
            except (OSError, TimeoutError) as error:
                health[type(error).__name__] += 1
            await asyncio.sleep(0.2)

    await asyncio.gather(rows(), somebody_new())
    return {"seconds": taken, "health": health}


def figures(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the latencies of all rounds together."""
    taken = sorted(second for found in rounds for second in found["seconds"])
    return {
        "requests": len(taken),
        "p50_ms": 1e3 * statistics.median(taken),
        "p99_ms": 1e3 * taken[int(0.99 * (len(taken) - 1))],
        "max_ms": 1e3 * taken[-1],
        "health": dict(sum((found["health"] for found in rounds), Counter())),
    }


def in_turns(kind: str, n: int, folder: Path) -> dict[str, Any]:
    """Ask with and without pressure, in turns."""
    model, path = model_file(folder, "linear")
    request = request_to("/decide", question(model))
    rounds: dict[str, list[dict[str, Any]]] = {"alone": [], "pressed": []}
    with server(path) as (process, port):
        asyncio.run(normal(port, request, 2.0))
        for _ in range(ROUNDS):
            rounds["alone"].append(asyncio.run(normal(port, request, ROUND_SECONDS)))
            with pressed(kind, port, n):
                rounds["pressed"].append(asyncio.run(normal(port, request, ROUND_SECONDS)))
                connections = len(psutil.Process(process.pid).net_connections("tcp"))
            time.sleep(1.0)
        memory = psutil.Process(process.pid).memory_info().rss
    found = {name: figures(part) for name, part in rounds.items()}
    return {
        **found,
        "rounds": ROUNDS,
        "seconds_of_each": ROUND_SECONDS,
        "p99_ratio": found["pressed"]["p99_ms"] / found["alone"]["p99_ms"],
        "connections_at_the_end": connections,
        "memory_mib": memory / 2**20,
    }


def slow(folder: Path) -> dict[str, Any]:
    found = in_turns("slow", SLOW, folder)
    return {"connections": SLOW, **found, "limit": "p99 at most 2 times, /health always 200"}


def bodies(folder: Path) -> dict[str, Any]:
    found = in_turns("bodies", BODIES, folder)
    longer = (found["pressed"]["max_ms"] - found["alone"]["max_ms"]) / 1e3
    return {
        "connections": BODIES,
        "bytes": BODY_BYTES,
        **found,
        "longest_answer_longer_by_s": longer,
        "limit": "the longest answer at most 1 s longer",
    }


# -- for a long time ------------------------------------------------------------------------------


class Soak:
    """Clients of all kinds, one after the other."""

    def __init__(self, port: int, row: dict[str, Any], pid: int) -> None:
        self.port = port
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60, headers=JSON
        )
        self.bodies = {n: json.dumps({"rows": [row] * n}).encode() for n in (1, 300)}
        long = self.bodies[300]
        self.long = long[:-2] + b" " * ((1 << 20) - len(long)) + long[-2:]
        self.right: dict[int, Any] = {}
        self.counts: Counter[str] = Counter()
        self.open: list[socket.socket] = []
        self.process = psutil.Process(pid)
        self.memory: list[tuple[float, float]] = []

    def step(self, number: int) -> None:
        """Do one thing, of a kind that its number tells."""
        if number % 400 == 7:
            self._ask("long", self.long, 300)
        elif number % 40 == 3:
            self._ask("300 rows", self.bodies[300], 300)
        elif number % 20 == 5:
            self._expect("broken", "POST", "/decide", 400, content=self.bodies[1][:-3])
        elif number % 20 == 9:
            self._leave()
        elif number % 20 in (11, 13):
            path = "/health" if number % 20 == 11 else "/metrics"
            self._expect(path, "GET", path, 200)
        else:
            self._ask("one row", self.bodies[1], 1)

    def _ask(self, kind: str, body: bytes, n_rows: int) -> None:
        answer = self._expect(kind, "POST", "/decide", 200, content=body)
        if answer is not None:
            said = answer.json()["rows"]
            self.counts["wrong"] += said != self.right.setdefault(n_rows, said)

    def _expect(self, kind: str, method: str, path: str, status: int, **more: Any) -> Any:
        self.counts[kind] += 1
        try:
            answer = self.client.request(method, path, **more)
        except httpx.HTTPError as error:
            self.counts["lost"] += 1
            self.counts[type(error).__name__] += 1
            return None
        if answer.status_code != status:
            self.counts["lost"] += 1
            self.counts[f"status {answer.status_code}"] += 1
            return None
        return answer

    def _leave(self) -> None:
        """Leave in the middle of a body, and hold a head that never ends."""
        self.counts["left"] += 1
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(request_to("/decide", self.bodies[300])[:-100])
        half = socket.create_connection(("127.0.0.1", self.port))
        half.sendall(b"GET /model HTTP/1.1\r\n")
        self.open.append(half)
        if len(self.open) > 100:
            self.open.pop(0).close()

    def measure(self, at: float) -> None:
        """Look at the memory of the service."""
        self.memory.append((at, self.process.memory_info().rss / 2**20))


def soak(folder: Path, minutes: float) -> dict[str, Any]:
    model, path = model_file(folder, "forest")
    with server(path) as (process, port):
        clients = Soak(port, model.schema.example, process.pid)
        began, number = time.perf_counter(), 0
        while (at := time.perf_counter() - began) < 60 * minutes:
            if at >= SAMPLE_SECONDS * len(clients.memory):
                clients.measure(at)
            clients.step(number)
            number += 1
            time.sleep(SOAK_PAUSE)
        clients.measure(at)
        used = sum(clients.process.cpu_times()[:2])
    return soaked(clients, at, used)


def soaked(clients: Soak, seconds: float, used: float) -> dict[str, Any]:
    """Return what a soak has come to."""
    kinds = ("one row", "300 rows", "long", "broken", "/health", "/metrics")
    early = [mib for at, mib in clients.memory if 0.1 * seconds <= at <= 0.2 * seconds]
    late = [mib for at, mib in clients.memory if at >= 0.9 * seconds]
    change = statistics.median(late) - statistics.median(early)
    return {
        "minutes": seconds / 60,
        "requests": {kind: clients.counts[kind] for kind in kinds},
        "left_in_the_middle": clients.counts["left"],
        "lost": clients.counts["lost"],
        "wrong": clients.counts["wrong"],
        "others": {k: n for k, n in clients.counts.items() if k not in kinds and n},
        "memory_mib": {
            "second tenth": statistics.median(early),
            "last tenth": statistics.median(late),
            "most": max(mib for _, mib in clients.memory),
        },
        "memory_change_mib": change,
        "processor_seconds": used,
        "limit": "0 lost, 0 wrong, memory within 8 MiB",
    }


# -- the record -----------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.gettempdir()) / f"condrisk-serving-{os.getuid()}"
    folder.mkdir(exist_ok=True, mode=0o700)
    if arguments[:1] == ["soak"]:
        write("soak", soak(folder, float(arguments[1])))
        return 0
    if not arguments or set(arguments) - {"slow", "bodies"}:
        print(__doc__)
        return 2
    for name in arguments:
        write(name, {"slow": slow, "bodies": bodies}[name](folder))
    return 0


def write(name: str, found: dict[str, Any]) -> None:
    """Put the result of a part into the record, whole or not at all."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"results": {}}
    packages = ("condrisk", "uvicorn", "httptools", "starlette", "orjson")
    record["results"][name] = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        **found,
        "load_average": os.getloadavg()[0],
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
    }
    print(json.dumps({name: record["results"][name]}, indent=1))
    draft = RECORD.with_suffix(".draft")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(RECORD)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--press"]:
        kind, port, n, seconds = sys.argv[2:]
        asyncio.run(PRESSURE[kind](int(port), int(n), float(seconds)))
    else:
        sys.exit(main(sys.argv[1:]))
