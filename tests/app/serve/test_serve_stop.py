"""Stopping: whoever was let in gets an answer, whoever comes later is refused."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from condrisk.app.serve import create_app
from condrisk.persistence import save_model

COMMAND = "import typer; from condrisk.app.cli._serve import serve; typer.run(serve)"


class Connection:
    """One connection that is kept, and what came of the requests on it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.said_goodbye = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.socket.close()

    def ask(self, body):
        """Send a request and return the status; an error if no whole answer comes."""
        self.send(body)
        return self.answer()

    def send(self, body):
        head = (
            "POST /decide HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.socket.sendall(head.encode() + body)

    def answer(self):
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._more()
        head, _, rest = received.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1])
        while len(rest) < length:
            rest += self._more()
        self.said_goodbye = b"connection: close" in head.lower()
        assert len(rest) == length
        return int(head.split()[1])

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("closed in the middle")
        return data


@contextmanager
def running(model, folder, *options):
    """Run the command in a process of its own; gives the process and the port."""
    path = folder / "model.skops"
    save_model(model.model, path, model.schema, target=model.target)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(path), "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = json.loads(process.stdout.readline() or process.stderr.read())
        assert said["model"] == str(path)
        yield process, int(said["url"].rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def asking(port, body, outcomes, failures):
    """Ask again and again until the service says goodbye."""
    with Connection(port) as connection:
        try:
            while not connection.said_goodbye:
                outcomes.append(connection.ask(body))
        except (OSError, AssertionError) as error:
            failures.append(repr(error))


@contextmanager
def load(port, rows):
    """Eight clients, until they are told to go; none of them may be disappointed."""
    body = json.dumps({"rows": rows}).encode()
    outcomes, failures = [], []
    threads = [
        threading.Thread(target=asking, args=(port, body, outcomes, failures)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    while len(outcomes) < 100:
        time.sleep(0.01)
    yield
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert set(outcomes) == {200}


def test_no_request_fails_when_the_process_is_told_to_stop(models, new_rows, tmp_path):
    with running(models["linear"], tmp_path) as (process, port):
        with load(port, new_rows[:1]):
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert refused(port)
        assert process.stderr.read().strip() == ""


@pytest.mark.parametrize("name", ["linear", "boosting"])
@pytest.mark.parametrize("attempt", range(3))
def test_no_request_fails_when_the_service_stops_under_load(models, new_rows, serve, name, attempt):
    with serve(create_app(models[name])) as (client, server):
        port = client.base_url.port
        with load(port, new_rows[:1]):
            server.should_exit = True
        assert refused(port)


def test_who_has_connected_before_is_still_heard(models, new_rows, serve):
    body = json.dumps({"rows": new_rows[:1]}).encode()
    with serve(create_app(models["linear"])) as (client, server):
        port = client.base_url.port
        with Connection(port) as silent, Connection(port) as used:
            assert used.ask(body) == 200
            assert not used.said_goodbye
            server.should_exit = True
            began = time.perf_counter()
            while not refused(port):
                assert time.perf_counter() - began < 20
            for connection in (silent, used):
                assert connection.ask(body) == 200
                assert connection.said_goodbye


def test_who_is_at_the_door_is_let_in(models, new_rows, serve, monkeypatch):
    # The system has made the connection, but the event loop has not heard of it yet: it is busy
    # until the moment of the stop.
    body = json.dumps({"rows": new_rows[:1]}).encode()
    late = []
    with serve(create_app(models["linear"])) as (client, server):
        close_the_lifecycle = server._stop_listening

        async def after_a_late_guest(listeners):
            late.append(Connection(client.base_url.port))
            late[0].send(body)
            await close_the_lifecycle(listeners)

        monkeypatch.setattr(server, "_stop_listening", after_a_late_guest)
        server.should_exit = True
        while not late:
            time.sleep(0.01)
        with late[0]:
            assert late[0].answer() == 200
            assert late[0].said_goodbye


def test_a_request_in_the_making_is_finished(models, new_rows, serve):
    slow = json.dumps({"rows": new_rows * 100}).encode()
    with serve(create_app(models["forest"])) as (client, server), ExitStack() as stack:
        connections = [stack.enter_context(Connection(client.base_url.port)) for _ in range(4)]
        for connection in connections:
            connection.send(slow)
        server.should_exit = True
        assert [connection.answer() for connection in connections] == [200] * 4


def test_silent_connections_do_not_keep_it_from_stopping(models, serve):
    with serve(create_app(models["linear"])) as (client, server), ExitStack() as stack:
        silent = [stack.enter_context(Connection(client.base_url.port)) for _ in range(3)]
        server.should_exit = True
        assert [connection.socket.recv(1) for connection in silent] == [b""] * 3


def test_health_says_that_it_stops(models, serve):
    with serve(create_app(models["linear"])) as (client, server):
        assert client.get("/health").status_code == 200
        server._lifecycle.stopping = True
        answer = client.get("/health")
        assert answer.status_code == 503
        assert answer.headers["connection"] == "close"
