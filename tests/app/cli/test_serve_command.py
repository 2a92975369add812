"""`condrisk serve`: what is told, and what is refused before anything listens."""

import asyncio
import json
import socket
import subprocess
import sys

import httpx
import numpy as np
import polars as pl
import pytest
import typer
from lightgbm import LGBMRegressor
from typer.testing import CliRunner

import condrisk.app.serve
from condrisk import Deferral, RegressionRisk
from condrisk.app.cli import _serve
from condrisk.app.models import fit_table
from condrisk.persistence import save_model

pytestmark = pytest.mark.usefixtures("quick_fits")

app = typer.Typer()
app.command()(_serve.serve)
TOKEN = "correct-horse-battery-staple"


def run(*arguments, **env):
    return CliRunner().invoke(
        app,
        [str(argument) for argument in arguments],
        env={"COLUMNS": "100", "CONDRISK_TOKEN": None, **env},
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    frame = pl.DataFrame({"x": range(100), "y": [float(x % 7) for x in range(100)]})
    model = fit_table(frame, target="y", task="regression", cost=2.0, predictor="linear")
    path = tmp_path_factory.mktemp("model") / "model.skops"
    save_model(model.model, path, model.schema, target="y", reference=model.reference)
    return path


@pytest.fixture
def started(monkeypatch):
    """What would be run, instead of running it."""
    runs = []

    def run_not(app, listener, *, grace_seconds, on_start):
        runs.append((app, listener.getsockname(), grace_seconds))
        on_start()

    monkeypatch.setattr(condrisk.app.serve, "run", run_not)
    return runs


def test_it_binds_to_this_machine_and_says_where(path, started):
    result = run(path, "--port", 0, "--timeout", 7)
    assert result.exit_code == 0, result.output
    ((app, (host, port), grace_seconds),) = started
    assert host == "127.0.0.1"
    assert grace_seconds == 7
    assert f"http://127.0.0.1:{port}" in result.stdout
    assert "Warning" not in result.output
    assert {"/", "/decide"} <= {route.path for route in app.routes}


def test_json_is_one_object(path, started):
    result = run(path, "--port", 0, "--json", CONDRISK_TOKEN=TOKEN)
    said = json.loads(result.stdout)
    assert said == {"url": said["url"], "model": str(path), "token": True}
    assert TOKEN not in result.output


class Elsewhere:
    """A socket that would listen on every address."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def getsockname(self):
        return ("0.0.0.0", 8000)


def test_other_machines_are_let_in_only_with_a_warning(path, started, monkeypatch):
    monkeypatch.setattr(condrisk.app.serve, "listen", lambda host, port: Elsewhere())
    result = run(path, "--host", "0.0.0.0")
    assert result.exit_code == 0
    assert "Warning" in result.stderr
    assert "CONDRISK_TOKEN" in result.stderr
    assert "Warning" not in run(path, "--host", "0.0.0.0", CONDRISK_TOKEN=TOKEN).output


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"{TOKEN}\n", True),
        (f"  {TOKEN}  \nmore\n", True),
        ("short\n", False),
        ("", False),
        ("ü" * 20, False),
    ],
)
def test_the_token_comes_from_a_file(path, started, tmp_path, text, right):
    file = tmp_path / "token"
    file.write_text(text, encoding="utf-8")
    result = run(path, "--port", 0, "--token-file", file)
    assert result.exit_code == (0 if right else 2), result.output
    assert right == (len(started) == 1)
    if right:
        assert "Bearer" in result.output
    else:
        assert "--token-file" in result.stderr
    assert run(path, "--port", 0, CONDRISK_TOKEN=text.partition("\n")[0]).exit_code == (
        0 if right else 2
    )


def test_what_is_wrong_is_said_in_one_sentence(path, started, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("no page")
    noise = tmp_path / "noise.skops"
    noise.write_bytes(b"\x00\xff" * 50)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, words in {
            ("no.skops",): "no.skops",
            (noise,): "noise.skops",
            (path, "--report", page): "condrisk report",
            (path, "--report", tmp_path / "none.html"): "No such file",
            (path, "--token-file", tmp_path / "none"): "No such file",
            (path, "--token-file", noise): "not UTF-8",
            (path, "--port", port): "in use",
            (path, "--host", "no.such.host.invalid"): "no.such.host.invalid",
        }.items():
            result = run(*arguments, *([] if "--port" in arguments else ["--port", 0]))
            assert result.exit_code == 2, result.output
            assert words in " ".join(result.stderr.split())
            assert "Traceback" not in result.output
    assert started == []


def test_the_report_and_the_limits_reach_the_app(path, started, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("<!doctype html><title>mine</title>")
    assert run(path, "--port", 0, "--report", page, "--max-rows", 3).exit_code == 0
    app = started[0][0]

    async def ask():
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
        ):
            assert (await client.get("/report")).text == page.read_text()
            for n_rows, status in ((3, 200), (4, 422)):
                answer = await client.post("/decide", json={"rows": [{"x": 1}] * n_rows})
                assert answer.status_code == status

    asyncio.run(ask())


def test_what_is_trusted_reaches_the_reader_of_the_file(started, tmp_path):
    X = np.arange(60.0).reshape(30, 2)
    risk = RegressionRisk(LGBMRegressor(n_estimators=3, verbose=-1), cv=2, random_state=0)
    model = Deferral(risk, cost=1.0).fit(X, X[:, 0])
    file = tmp_path / "lightgbm.skops"
    save_model(model, file, X)
    refused = run(file, "--port", 0)
    assert refused.exit_code == 2
    assert "lightgbm" in refused.stderr
    assert run(file, "--port", 0, "--trust", "lightgbm").exit_code == 0
    assert run(file, "--port", 0, "--trust", "xgboost", "--trust", "lightgbm").exit_code == 0
    assert len(started) == 2


def test_help_teaches():
    text = " ".join(run("--help").output.split())
    for word in (
        "Example:",
        "/decide",
        "Authorization",
        "CONDRISK_TOKEN",
        "--max-rows",
        "127.0.0.1",
    ):
        assert word in text


def test_it_answers(path):
    """From the command line to an answer, in a process of its own."""
    code = "import typer; from condrisk.app.cli._serve import serve; typer.run(serve)"
    command = [sys.executable, "-c", code, str(path), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        url = json.loads(process.stdout.readline())["url"]
        with httpx.Client(base_url=url, trust_env=False) as client:
            answer = client.post("/decide", json={"rows": [{"x": 3}, {"x": None}]})
            assert answer.status_code == 200
            assert len(answer.json()["rows"]) == 2
            assert "Try a row" in client.get("/").text
            assert client.get("/health", headers={"Host": "evil.example"}).status_code == 421
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()
