"""Bodies that are too long, too many, too slow, or no good at all."""

import asyncio
import io
import json
import random
import socket
import time

import httpx
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc

from condrisk.app.serve import create_app

LIMIT = 20_000
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def small(models, serve):
    """A client of a service with narrow limits."""
    app = create_app(models["boosting"], max_body=LIMIT, max_rows=50, timeout=1.0)
    with serve(app) as (client, _):
        yield client


def talk(client, *parts, pause=0.0):
    """Send bytes as they are; return everything that comes back until the connection closes."""
    address = (client.base_url.host, client.base_url.port)
    with socket.create_connection(address, timeout=20) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def head(*lines):
    first = "POST /decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return (first + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode()


def padded(rows, length):
    body = json.dumps({"rows": rows}).encode()
    return body + b" " * (length - len(body))


def alive(client, rows):
    return client.post("/decide", json={"rows": rows}).status_code == 200


# -- size ---------------------------------------------------------------------------------------


def test_a_body_may_be_as_long_as_the_limit_and_no_longer(small, new_rows):
    headers = {"Content-Type": JSON}
    for length, status in ((LIMIT, 200), (LIMIT + 1, 413)):
        body = padded(new_rows, length)
        assert small.post("/decide", content=body, headers=headers).status_code == status
        chunks = (body[i : i + 999] for i in range(0, length, 999))
        answer = small.post("/decide", content=chunks, headers=headers)
        assert answer.status_code == status
    assert str(LIMIT) in answer.json()["error"]
    assert answer.headers["connection"] == "close"


def test_an_endless_body_is_cut_off(small, new_rows):
    address = (small.base_url.host, small.base_url.port)
    chunk = b"2000\r\n" + b" " * 0x2000 + b"\r\n"
    with socket.create_connection(address, timeout=20) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        with pytest.raises(OSError, match=r"reset|pipe"):
            connection.sendall(chunk * 10_000)
    assert alive(small, new_rows)


def test_who_asks_first_is_told_before_sending(small):
    said = talk(small, head(f"Content-Length: {LIMIT + 1}", "Expect: 100-continue"))
    assert said.startswith(b"HTTP/1.1 413")


def test_a_length_that_lies_hurts_nobody_else(small, new_rows):
    body = json.dumps({"rows": new_rows[:1]}).encode()
    too_short = talk(small, head(f"Content-Length: {len(body) - 5}", "Connection: close") + body)
    assert too_short.startswith(b"HTTP/1.1 400")
    began = time.perf_counter()
    too_long = talk(small, head(f"Content-Length: {len(body) + 5}") + body)
    assert too_long.startswith(b"HTTP/1.1 408")
    assert 0.9 < time.perf_counter() - began < 15
    for lie in ("-1", "1e9", "1, 2", "9" * 5000, "0x10"):
        assert talk(small, head(f"Content-Length: {lie}", "Connection: close") + body)[9:10] == b"4"
    both = talk(small, head("Content-Length: 5", "Transfer-Encoding: chunked", "Connection: close"))
    assert both[9:10] in (b"4", b"")
    assert alive(small, new_rows)


def test_there_may_be_so_many_rows_and_no_more(small, new_rows):
    rows = (new_rows * 2)[:51]
    assert alive(small, rows[:50])
    answer = small.post("/decide", json={"rows": rows})
    assert answer.status_code == 422
    assert "50 rows" in answer.json()["error"]
    stream = io.BytesIO()
    pl.DataFrame({"x": [1.0] * 51}).write_ipc_stream(stream)
    answer = small.post("/decide", content=stream.getvalue(), headers={"Content-Type": ARROW})
    assert answer.status_code == 422
    assert "50 rows" in answer.json()["error"]


# -- time ---------------------------------------------------------------------------------------


class SlowRule:
    """A rule that takes its time."""

    def __init__(self, rule, seconds):
        self.rule, self.seconds = rule, seconds

    def defer(self, risk, **options):
        time.sleep(self.seconds)
        return self.rule.defer(risk, **options)


@pytest.fixture
def slow(models, monkeypatch):
    """A model that takes 0.6 seconds for a batch."""
    model = models["budget"]
    app_of = create_app
    monkeypatch.setattr(model.model, "rule_", SlowRule(model.model.rule_, 0.6))
    return lambda **options: app_of(model, **options)


def test_who_waits_too_long_is_told(slow, serve, new_rows):
    with serve(slow(timeout=0.2)) as (client, _):
        answer = client.post("/decide", json={"rows": new_rows})
        assert answer.status_code == 504
        assert "0.2 seconds" in answer.json()["error"]
        assert client.get("/health").status_code == 200


def test_a_slow_body_is_given_up(small, new_rows):
    body = json.dumps({"rows": new_rows[:1]}).encode()
    said = talk(small, head(f"Content-Length: {len(body)}"), body[:5], pause=0.1)
    assert said.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in said.lower()


def test_who_leaves_in_the_middle_is_forgotten(small, new_rows):
    address = (small.base_url.host, small.base_url.port)
    for _ in range(5):
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(head("Content-Length: 500") + b'{"rows"')
    assert alive(small, new_rows)


def test_beyond_the_rows_that_may_wait_it_is_too_busy(slow, serve, new_rows):
    app = slow(max_rows=10, timeout=20)

    async def ask(client):
        return (await client.post("/decide", json={"rows": new_rows[:10]})).status_code

    async def all_at_once(url):
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
            return await asyncio.gather(*(ask(client) for _ in range(12)))

    with serve(app) as (client, _):
        statuses = asyncio.run(all_at_once(client.base_url))
        assert set(statuses) == {200, 503}
        assert statuses.count(200) <= 8  # those in the making, and forty rows of those who wait
        assert client.get("/health").status_code == 200


# -- bodies that are no good ----------------------------------------------------------------------


def compressed(kind):
    stream = io.BytesIO()
    table = pa.table({"x": [1.0] * 1000, "city": pa.array(["Rome"] * 1000).dictionary_encode()})
    with ipc.new_stream(
        stream, table.schema, options=ipc.IpcWriteOptions(compression=kind)
    ) as file:
        file.write_table(table)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["lz4", "zstd"])
def test_packed_arrow_is_refused_before_it_is_unpacked(client, kind):
    answer = client.post("/decide", content=compressed(kind), headers={"Content-Type": ARROW})
    assert answer.status_code == 415
    assert "uncompressed" in answer.json()["error"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1.0]]),
        pa.array([{"a": 1}]),
        pa.array([b"x"]),
        pa.array([1], pa.duration("s")),
        pa.nulls(1, pa.month_day_nano_interval()),
    ],
)
def test_arrow_columns_of_no_use_are_refused(client, column):
    stream = io.BytesIO()
    table = pa.table({"x": column})
    with ipc.new_stream(stream, table.schema) as file:
        file.write_table(table)
    answer = client.post("/decide", content=stream.getvalue(), headers={"Content-Type": ARROW})
    assert answer.status_code == 422
    assert "'x'" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"rows": [{"x": NaN}]}', 400),
        (b'{"rows": [{"x": Infinity}]}', 400),
        (b'{"rows": [{"x": -Infinity}]}', 400),
        (b'{"rows": [{"x": 1e999, "gaps": 1}]}', 400),
        (b'{"rows": [{"x": ' + b"9" * 5000 + b"}]}", 400),
        (b'{"rows": [{"x": ' + b"9" * 400 + b"}]}", 400),
        (b'{"rows": [{"x": ' + b"9" * 40 + b"}]}", 422),
        (b'{"rows": [{"x": ' + b"[" * 500 + b"]" * 500 + b"}]}", 422),
        (b'{"rows": ' * 100_000, 400),
        (b'{"rows": [{"city": "\\ud800"}]}', 400),
        (b'{"rows": [{"city": "\xff"}]}', 400),
        (b'{"rows": [{"\xed\xa0\x80": 1}]}', 400),
        ('{"rows": []}'.encode("utf-16"), 400),
        (b'{"rows": {}}', 422),
        (b'{"rows": null}', 422),
        (b'{"rows": [[]]}', 422),
        (b'{"rows": ["x"]}', 422),
        (b'{"rows": [0]}', 422),
        (b'{"rows": [], "costs": 1}', 422),
        (b'{"rows": []} x', 400),
        (b"\xef\xbb\xbf{}", 400),
        (b"null", 422),
        (b'"rows"', 422),
    ],
)
def test_what_is_no_question_is_refused(client, body, status):
    answer = client.post("/decide", content=body, headers={"Content-Type": JSON})
    assert answer.status_code == status
    assert answer.json()["error"]


def test_of_a_key_that_is_given_twice_the_last_counts(client, new_rows):
    row = json.dumps(new_rows[0] | {"gaps": 1.0})
    body = f'{{"rows": [], "rows": [{row[:-1]}, "gaps": 2.0}}]}}'
    answer = client.post("/decide", content=body, headers={"Content-Type": JSON})
    wanted = client.post("/decide", json={"rows": [new_rows[0] | {"gaps": 2.0}]})
    assert answer.json() == wanted.json()


def broken(body, rng):
    """A body with something wrong: cut, bytes changed, parts twice, or noise."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        what = rng.randrange(4)
        if what == 0:
            del data[at:]
        elif what == 1:
            data[at] = rng.randrange(256)
        elif what == 2:
            data[at:at] = data[at : at + rng.randint(1, 40)]
        else:
            del data[at : at + rng.randint(1, 10)]
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("kind", [JSON, ARROW])
def test_hundreds_of_broken_bodies_leave_the_service_alive(threaded, new_rows, kind, seed):
    rng = random.Random(seed)
    if kind == JSON:
        body = json.dumps({"rows": new_rows[:3], "cost": 1.0}).encode()
    else:
        stream = io.BytesIO()
        pl.DataFrame(new_rows[:3]).write_ipc_stream(stream)
        body = stream.getvalue()
    statuses = set()
    for _ in range(100):
        answer = threaded.post("/decide", content=broken(body, rng), headers={"Content-Type": kind})
        # A change may leave a good body, such as one of a digit.
        assert answer.status_code == 200 or 400 <= answer.status_code < 500, answer.text
        statuses.add(answer.status_code)
    assert 400 in statuses
    assert threaded.post("/decide", content=body, headers={"Content-Type": kind}).status_code == 200


def answer_to(app, received):
    """Return what an app sends to these messages of a request; those it reads are taken out."""
    sent = []

    async def receive():
        return received.pop(0)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/decide",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    asyncio.run(app(scope, receive, send))
    return sent


def test_a_body_that_ends_early_is_refused(models):
    """What only a server in front would show: the end of the connection, with a listener."""
    received = [
        {"type": "http.request", "body": b'{"rows": [', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent = answer_to(create_app(models["linear"]), received)
    assert sent[0]["status"] == 400
    assert b"before it was complete" in sent[1]["body"]


@pytest.mark.parametrize(("n_bytes", "n_left"), [(101, 0), (400, 0), (401, 1)])
def test_four_times_the_limit_is_read_before_a_body_is_refused(models, n_bytes, n_left):
    """Who has sent all of it reads the refusal; nobody has an endless body read."""
    parts = [b" " * 100] * (n_bytes // 100) + [b" "] * (n_bytes % 100)
    received = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    received.append({"type": "http.request", "body": b"", "more_body": False})
    sent = answer_to(create_app(models["linear"], max_body=100), received)
    assert sent[0]["status"] == 413
    assert len(received) == n_left
