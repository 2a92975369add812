"""Who is let in: tokens, names of hosts, and what stays open."""

import base64
import hmac

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


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("[::1", 200),
        ("", 421),
    ],
)
def test_a_service_of_this_machine_answers_to_its_own_names(models, serve, host, status):
    app = create_app(models["linear"], hosts=("localhost", "127.0.0.1", "::1"))
    with serve(app) as (client, _):
        assert client.get("/health", headers={"Host": host}).status_code == status


def test_it_listens_where_it_is_told():
    with listen("localhost", 0) as listener:
        assert listener.getsockname()[0] in ("127.0.0.1", "::1")
        with pytest.raises(OSError, match="in use"):
            listen(*listener.getsockname()[:2])
