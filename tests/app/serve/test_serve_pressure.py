"""Connections that say nothing, heads that do not end, bodies by the dozen: others are answered."""

import asyncio
import json
import random
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx
import orjson
import pytest

from condrisk.app.serve import create_app

HALF = b"GET /model HTTP/1.1\r\nHost: 127.0.0.1\r\n"
WHOLE = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
JSON = {"Content-Type": "application/json"}


@contextmanager
def connected(client):
    address = (client.base_url.host, client.base_url.port)
    with socket.create_connection(address, timeout=20) as connection:
        yield connection


def all_of(connection):
    """Return what comes until the connection is closed, however that is done."""
    said = b""
    try:
        while part := connection.recv(65536):
            said += part
    except ConnectionResetError:
        pass
    return said


def one_answer(connection):
    """Return the head of one answer, and read its body."""
    said = b""
    while b"\r\n\r\n" not in said:
        part = connection.recv(65536)
        if not part:
            return said
        said += part
    head, _, body = said.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head


def health(client):
    """Return the status that somebody new gets."""
    with httpx.Client(base_url=client.base_url, trust_env=False, timeout=20) as other:
        return other.get("/health").status_code


# -- heads ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", HALF])
def test_connections_that_are_held_do_not_keep_others_out(models, serve, sent):
    with serve(create_app(models["linear"])) as (client, _), ExitStack() as stack:
        for _ in range(600):
            stack.enter_context(connected(client)).sendall(sent)
        assert health(client) == 200
        assert client.get("/model").status_code == 200


def test_a_head_has_a_deadline_from_the_beginning_of_the_connection(models, serve):
    with serve(create_app(models["linear"]), head_seconds=0.3) as (client, _):
        with connected(client) as silent:
            assert all_of(silent) == b""
        with connected(client) as half:
            half.sendall(HALF)
            said = all_of(half)
            assert said.startswith(b"HTTP/1.1 408")
            assert b"0.3 seconds" in said
        with connected(client) as further:
            further.sendall(WHOLE)
            assert b" 200 " in one_answer(further)
            time.sleep(0.5)  # between two requests there is more time
            further.sendall(WHOLE + HALF)
            assert b" 200 " in one_answer(further)
            assert all_of(further).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("drip", [b"x", b"\r\n"])
def test_a_byte_now_and_then_buys_no_time(models, serve, drip):
    app = create_app(models["linear"])
    with serve(app, head_seconds=0.3) as (client, _), connected(client) as slow:
        slow.sendall(WHOLE)
        assert b" 200 " in one_answer(slow)
        ended = threading.Event()

        def feed():
            while not ended.wait(0.05):
                try:
                    slow.sendall(drip)
                except OSError:
                    return

        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            slow.settimeout(10)
            all_of(slow)  # it ends, or the socket's time is over
        finally:
            ended.set()
            feeder.join()


def test_an_endless_head_is_cut_off(models, serve):
    with serve(create_app(models["linear"])) as (client, _):
        with connected(client) as connection:
            connection.sendall(HALF)
            try:
                for number in range(10_000):
                    connection.sendall(b"X-%d: %s\r\n" % (number, b"x" * 100))
            except OSError:
                pass
            else:
                pytest.fail("a megabyte of headers was taken")
        with connected(client) as connection:
            connection.sendall(b"GET /model HTTP/1.1\r\nX: " + b"x" * 100_000)
            assert all_of(connection).startswith(b"HTTP/1.1 431")
        assert health(client) == 200


# -- connections ----------------------------------------------------------------------------------


def test_the_oldest_that_has_asked_nothing_makes_room(models, serve):
    app = create_app(models["linear"])
    with serve(app, most_connections=4) as (client, server), ExitStack() as stack:
        asked = stack.enter_context(connected(client))
        asked.sendall(WHOLE)
        assert b" 200 " in one_answer(asked)
        silent = [stack.enter_context(connected(client)) for _ in range(6)]
        for closed in silent[:3]:
            assert all_of(closed) == b""
        asked.sendall(WHOLE)  # who asks now and then is not the first to go
        assert b" 200 " in one_answer(asked)
        silent[-1].sendall(WHOLE)
        assert b" 200 " in one_answer(silent[-1])
        # Those that are between two requests go next, and again the oldest first.
        for _ in range(6):
            connection = stack.enter_context(connected(client))
            connection.sendall(WHOLE)
            assert b" 200 " in one_answer(connection)
        assert all_of(asked) == b""
        assert server.places.n_open <= 4


class SlowRule:
    """A rule that waits until it is told to go on."""

    def __init__(self, rule):
        self.rule, self.asked, self.go = rule, threading.Event(), threading.Event()

    def defer(self, risk, **options):
        self.asked.set()
        time.sleep(0.01)  # or it would be decided in the event loop
        self.go.wait(20)
        return self.rule.defer(risk, **options)


@pytest.fixture
def waiting(models, monkeypatch):
    """A model that decides when its rule is told to."""
    rule = SlowRule(models["budget"].model.rule_)
    monkeypatch.setattr(models["budget"].model, "rule_", rule)
    rule.go.set()
    app = create_app(models["budget"], max_rows=50)
    rule.go.clear()
    rule.asked.clear()
    return app, rule


def test_room_is_kept_for_health_while_every_place_is_at_work(waiting, serve, new_rows):
    app, rule = waiting
    body = json.dumps({"rows": new_rows[:5]}).encode()
    request = b"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request += b"Content-Length: %d\r\n\r\n" % len(body) + body
    with serve(app, most_connections=2) as (client, server), ExitStack() as stack:
        working = [stack.enter_context(connected(client)) for _ in range(2)]
        try:
            for connection in working:
                connection.sendall(request)
            places = server.places
            idle = (places.heads, places.resting, places.bodies)
            wait_until(lambda: places.n_open == 2 and not any(idle))
            with connected(client) as other:
                other.sendall(b"GET /model HTTP/1.1\r\nHost: localhost\r\n\r\n")
                refused = all_of(other)
            assert refused.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in refused.lower()
            assert health(client) == 200
        finally:
            rule.go.set()
        for connection in working:
            assert b" 200 " in one_answer(connection)
        assert client.get("/model").status_code == 200


def test_requests_sent_in_one_go_are_all_answered_while_others_come(waiting, serve, new_rows):
    app, rule = waiting
    rule.go.set()
    body = json.dumps({"rows": new_rows[:5]}).encode()
    request = b"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request += b"Content-Length: %d\r\n\r\n" % len(body) + body
    with serve(app, most_connections=1) as (client, _), connected(client) as many:
        many.sendall(20 * request)
        assert rule.asked.wait(20)
        ended = threading.Event()

        def come():
            while not ended.is_set():
                with connected(client) as other:
                    other.sendall(HALF)

        others = threading.Thread(target=come)
        others.start()
        said = b""
        try:
            while said.count(b"HTTP/1.1 200") < 20 and (part := many.recv(65536)):
                said += part
        finally:
            ended.set()
            others.join()
        assert said.count(b"HTTP/1.1 200") == 20


def wait_until(true):
    """Wait until something is so; it is soon, or never."""
    for _ in range(400):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it never is")


@pytest.mark.usefixtures("short_linger")
def test_who_does_not_read_the_answer_is_not_waited_for(models, serve):
    page = "<!doctype html>" + "x" * (16 << 20)
    app = create_app(models["linear"], report_html=page)
    with serve(app) as (client, server), connected(client) as deaf:
        deaf.sendall(b"GET /report HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        wait_until(lambda: server.server_state.total_requests)
        wait_until(lambda: not server.server_state.connections)


# -- rows that wait -------------------------------------------------------------------------------


def test_rows_that_are_given_up_do_not_wait_for_ever(waiting, serve, new_rows):
    """Otherwise the service would be too busy for good after enough of them."""
    app, rule = waiting
    batcher = app.state.decide.batcher
    body = json.dumps({"rows": new_rows[:5]}).encode()
    head = b"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: %d\r\n\r\n" % len(body)
    app.state.decide._timeout = 0.3
    with serve(app) as (client, _):
        try:
            with ExitStack() as stack:
                stack.enter_context(connected(client)).sendall(head + body)
                assert rule.asked.wait(20)
                late = [stack.enter_context(connected(client)) for _ in range(3)]
                for connection in late:
                    connection.sendall(head + body)
                for connection in late:
                    assert b" 504 " in one_answer(connection)
                assert batcher.rows_waiting == 15
        finally:
            rule.go.set()
        assert client.post("/decide", json={"rows": new_rows[:5]}).status_code == 200
        wait_until(lambda: batcher.rows_waiting == 0)


# -- bodies ---------------------------------------------------------------------------------------


def test_a_long_body_is_never_parsed_in_one_go(client, new_rows, monkeypatch):
    """The parser keeps all other threads from running for as long as it takes."""
    lengths = []
    loads = orjson.loads

    def measured(data):
        lengths.append(len(data))
        return loads(data)

    monkeypatch.setattr(orjson, "loads", measured)
    rows = new_rows * 100
    rows[77] |= {"city": '"},{"}, ]'}
    bodies = {
        b"[" + b"[]," * (2 << 20) + b"[]]": 400,
        b'{"rows":[' + b"[]," * (2 << 20) + b"[]]}": 400,
        b'{"rows":[{"x":' + b"[" * (1 << 20) + b"]" * (1 << 20) + b"}]}": 400,
        b'{"rows":[' + b"{}," * (2 << 20) + b"{}]}": 422,
        b'{"rows":[' + b" " * (1 << 18) + b"]}": 200,
        json.dumps({"rows": rows}).encode(): 200,
        json.dumps({"cost": 1.5, "rows": rows, "explain": False}, indent=3).encode(): 200,
        json.dumps({"rows": rows}).encode()[:-2] + b",]}": 400,
        json.dumps({"rows": rows}).encode()[:-2]: 400,
        json.dumps({"rows": rows, "costs": 1}).encode(): 422,
    }
    for body, status in bodies.items():
        assert len(body) > 1 << 17
        answer = client.post("/decide", content=body, headers=JSON)
        assert answer.status_code == status, body[:40]
    assert max(lengths) <= (1 << 20) + 2


def test_pieces_of_a_body_are_what_the_whole_says(decode_in_pieces, seed):
    """Against one call of the parser, with every text and bracket where it can mislead."""
    rng = random.Random(seed)

    def value(depth=0):
        kind = rng.randrange(5 if depth < 3 else 3)
        if kind == 0:
            return rng.choice([None, True, 0, -1.5e-7, 12345678901])
        if kind in (1, 2):
            return "".join(rng.choice('"\\{}[],: xé\n') for _ in range(rng.randrange(9)))
        if kind == 3:
            return [value(depth + 1) for _ in range(rng.randrange(3))]
        return {value(3) if rng.random() < 0.3 else "a": value(depth + 1) for _ in range(2)}

    def read(body):
        request, pieces = decode_in_pieces(body)
        return request | {"rows": [row for piece in pieces for row in piece]}

    agreed = 0
    for _ in range(300):
        rows = [json.loads(json.dumps({"x": value(), "y": value()})) for _ in range(8)]
        given = {"cost": 1.5} | {"rows": rows} | {"explain": True}
        body = json.dumps(given, indent=rng.choice([None, 1])).encode()
        assert read(body) == given
        cut = rng.randrange(len(body))
        spoilt = body[:cut] + rng.choice([b"", b",", b"}", b"]", b'"', b"{}"]) + body[cut + 1 :]
        try:
            wanted = orjson.loads(spoilt)
        except ValueError:
            with pytest.raises(ValueError):
                read(spoilt)
            agreed += 1
            continue
        try:
            found = read(spoilt)
        except ValueError:
            continue  # JSON, but not of the form that a long body must have
        assert found == wanted
    assert agreed > 50


def test_all_bodies_together_have_a_limit_and_short_ones_have_room(models, serve, new_rows):
    app = create_app(models["linear"], max_body=400_000)
    room = app.state.decide._room
    head = b"POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += b"Content-Length: 400000\r\n\r\n"
    with serve(app) as (client, _):
        with ExitStack() as stack:
            for _ in range(6):  # three quarters of eight times the limit
                stack.enter_context(connected(client)).sendall(head + b" " * 390_000)
            wait_until(lambda: room.used == 6 * 390_000)
            long = json.dumps({"rows": new_rows[:1]}).encode().ljust(200_000)
            refused = client.post("/decide", content=long, headers=JSON)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert "no room" in refused.json()["error"]
            assert room.used == 6 * 390_000
            assert client.post("/decide", json={"rows": new_rows[:1]}).status_code == 200
        wait_until(lambda: room.used == 0)
        assert client.post("/decide", content=long, headers=JSON).status_code == 200
        assert room.used == 0


def test_who_asks_while_others_send_long_bodies_gets_the_right_answer(client, new_rows):
    long = json.dumps({"rows": new_rows * 100}).encode()
    wanted = client.post("/decide", json={"rows": new_rows[:1]}).json()

    async def ask():
        async with httpx.AsyncClient(base_url=client.base_url, trust_env=False) as other:
            sent = [other.post("/decide", content=long, headers=JSON, timeout=60) for _ in range(4)]
            short = [other.post("/decide", json={"rows": new_rows[:1]}) for _ in range(4)]
            return await asyncio.gather(*sent, *short)

    answers = asyncio.run(ask())
    assert all(len(answer.json()["rows"]) == 4000 for answer in answers[:4])
    assert all(answer.json() == wanted for answer in answers[4:])
