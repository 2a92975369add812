"""Who is let in: tokens, names of hosts, and what stays open."""

import asyncio
import base64
import hmac
import socket

import pytest

from condrisk.app.serve import create_app, listen

TOKEN = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def guarded(models, serve):
    with serve(create_app(models["linear"], token=TOKEN)) as (client, _):
        yield client


def basic(password):
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


@pytest.mark.parametrize(
    "path", ["/", "/model", "/metrics", "/openapi.json", "/decide", "/nowhere"]
)
def test_without_the_token_nothing_but_health_is_open(guarded, path):
    assert guarded.get("/health").json() == {"status": "ok"}
    method = "POST" if path == "/decide" else "GET"
    for given in (
        None,
        "Bearer",
        "Bearer x",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        f"Token {TOKEN}",
        f"Basic !{basic(TOKEN)[6:]}",
    ):
        headers = {} if given is None else {"Authorization": given}
        answer = guarded.request(method, path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic" if path == "/" else "Bearer")
        assert TOKEN not in answer.text
    assert guarded.request(method, path, headers={"Authorization": basic("x")}).status_code == 401


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(TOKEN)])
def test_with_the_token_everything_is(guarded, new_rows, given):
    headers = {"Authorization": given}
    for path in ("/", "/model", "/metrics", "/openapi.json"):
        assert guarded.get(path, headers=headers).status_code == 200
    answer = guarded.post("/decide", json={"rows": new_rows}, headers=headers)
    assert answer.status_code == 200


def test_the_token_is_compared_in_constant_time(guarded, monkeypatch):
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or a == b)
    guarded.get("/model", headers={"Authorization": "Bearer wrong"})
    assert compared == [(b"wrong", TOKEN.encode())]


def test_an_empty_token_is_an_error(models):
    with pytest.raises(ValueError, match="token must not be empty"):
        create_app(models["linear"], token="")
    for name in ("max_body", "max_rows", "timeout"):
        with pytest.raises(ValueError, match=name):
            create_app(models["linear"], **{name: 0})


@pytest.mark.parametrize("path", ["/healthz", "/health/", "/health/model", "/healthcheck"])
def test_only_health_itself_is_open(guarded, path):
    assert guarded.get(path).status_code == 401


# -- names of hosts -------------------------------------------------------------------------------

OWN = ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "localhost.:80", "[::1]:8000", "0.0.0.0:8000"]
OTHERS = [
    "evil.example",
    "127.0.0.1.evil.example:80",
    "localhost.evil.example",
    "evil.example:127.0.0.1",
    "localhost@evil.example",
    "localhost, evil.example",
    "[::1",
    "[::1].evil.example",
    "",
]


@pytest.mark.parametrize("token", [None, TOKEN])
def test_over_loopback_it_answers_to_names_that_no_page_can_take(models, serve, token):
    """A page whose name points at this machine is refused, with a token or without."""
    with serve(create_app(models["linear"], token=token)) as (client, _):
        for host in OWN:
            assert client.get("/health", headers={"Host": host}).status_code == 200, host
        for host in OTHERS:
            answer = client.get("/health", headers={"Host": host})
            assert answer.status_code == 421, host
            assert answer.headers["connection"] == "close"


def test_one_name_of_a_host_is_needed_and_no_more(client):
    address = (client.base_url.host, client.base_url.port)
    for lines in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\n" + lines + b"\r\n")
            assert connection.recv(100).startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))


@pytest.mark.parametrize(
    ("server", "hosts", "host", "allowed"),
    [
        (("127.0.0.1", 8000), None, "risk.example", False),
        (("127.8.0.1", 8000), None, "risk.example", False),
        (("::1", 8000), None, "risk.example", False),
        (("::ffff:127.0.0.1", 8000), None, "risk.example", False),
        # From elsewhere nothing tells which names the machine has.
        (("192.0.2.1", 8000), None, "risk.example", True),
        (("/run/service.sock", None), None, "risk.example", True),
        (None, None, "risk.example", True),
        (("127.0.0.1", 8000), ["Risk.example"], "risk.EXAMPLE:443", True),
        (("192.0.2.1", 8000), ["risk.example"], "risk.example", True),
        (("192.0.2.1", 8000), ["risk.example"], "192.0.2.1", True),
        (("192.0.2.1", 8000), ["risk.example"], "evil.example", False),
        (("127.0.0.1", 8000), ["risk.example"], "evil.risk.example", False),
        (("127.0.0.1", 8000), ["*"], "evil.example", True),
    ],
)
def test_names_that_are_allowed(models, server, hosts, host, allowed):
    app = create_app(models["linear"], hosts=hosts)
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/health",
        "raw_path": b"/health",
        "query_string": b"",
        "headers": [(b"host", host.encode())],
        "server": server,
    }
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == (200 if allowed else 421)


def test_it_listens_where_it_is_told():
    with listen("localhost", 0) as listener:
        assert listener.getsockname()[0] in ("127.0.0.1", "::1")
        with pytest.raises(OSError, match="in use"):
            listen(*listener.getsockname()[:2])
