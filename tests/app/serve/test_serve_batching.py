"""Requests that wait are decided together, and nobody's answer depends on it."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from threadpoolctl import threadpool_info, threadpool_limits

from condrisk.app.models import TableModel
from condrisk.app.serve import create_app


class Panic(BaseException):
    """What compiled code raises when it is beyond help."""


class Watched:
    """A model that remembers its batches, takes its time, can be held back and can fail.

    Rows whose x is 666 have no answer; 667 divides by zero, 668 is a panic. The risk of 669 is
    NaN, and 670 is predicted to be infinite.
    """

    def __init__(self, model, seconds=0.005):
        self._model, self._seconds = model, seconds
        self.cost, self.rule_ = model.cost, model.rule_
        self.batches, self.threads = [], set()
        self.go, self.begun = threading.Event(), threading.Event()
        self.go.set()

    def decide(self, X, *, cost=None, prediction=None):
        self.threads.add(threading.current_thread().name)
        self.batches.append(len(X))
        self.begun.set()
        time.sleep(self._seconds)
        assert self.go.wait(20)
        for value, error in ((666, ValueError), (667, ZeroDivisionError), (668, Panic)):
            if (X[:, 0] == value).any():
                raise error("no good")
        found = self._model.decide(X, cost=cost, prediction=prediction)
        found.risk[X[:, 0] == 669] = np.nan
        found.prediction[X[:, 0] == 670] = np.inf
        return found

    def forget(self):
        self.batches.clear()
        self.threads.clear()
        self.begun.clear()


@pytest.fixture
def watched(models, serve):
    """What serves a watched model: gives the client, the model, and a way to ask together."""

    def start(seconds=0.005, **options):
        watch = Watched(models["boosting"].model, seconds)
        app = create_app(TableModel(watch, models["boosting"].manifest), **options)
        watch.forget()
        return watch, serve(app)

    return start


def ask(client, rows, pool):
    return pool.submit(client.post, "/decide", json={"rows": rows})


def ask_while_busy(client, watch, requests):
    """Send the first request, hold it back until the others wait, and return all answers."""
    watch.go.clear()
    with ThreadPoolExecutor(len(requests)) as pool:
        asked = [ask(client, requests[0], pool)]
        assert watch.begun.wait(20)
        waiting = 0
        for rows in requests[1:]:
            asked.append(ask(client, rows, pool))
            waiting += len(rows)
            until_waiting(client, waiting)
        watch.go.set()
        return [answer.result() for answer in asked]


def until_waiting(client, rows):
    while metric(client, "condrisk_rows_waiting") != rows:
        time.sleep(0.005)


def metric(client, name):
    families = text_string_to_metric_families(client.get("/metrics").text)
    return next(s.value for family in families for s in family.samples if s.name == name)


@pytest.mark.parametrize(("batching", "batches"), [(True, [1, 4]), (False, [1, 1, 2, 1])])
def test_what_waits_is_decided_together_unless_told_otherwise(watched, new_rows, batching, batches):
    watch, service = watched(batching=batching)
    requests = [[new_rows[0]], [new_rows[1]], new_rows[2:4], [new_rows[4]]]
    with service as (client, _):
        answers = ask_while_busy(client, watch, requests)
        assert watch.batches == batches
        assert watch.threads == {"condrisk-decide"}
        together = [row for answer in answers for row in answer.json()["rows"]]
        assert together == client.post("/decide", json={"rows": new_rows[:5]}).json()["rows"]
        assert metric(client, "condrisk_batch_rows_count") == len(batches) + 1


def test_each_request_of_a_batch_has_its_own_cost(watched, new_rows):
    watch, service = watched()
    with service as (client, _):
        watch.go.clear()
        with ThreadPoolExecutor(4) as pool:
            asked = [ask(client, new_rows[:1], pool)]
            assert watch.begun.wait(20)
            for cost in (0.0, None, 1e9):
                body = {"rows": new_rows[:2]} | ({} if cost is None else {"cost": cost})
                asked.append(pool.submit(client.post, "/decide", json=body))
                until_waiting(client, 2 * (len(asked) - 1))
            watch.go.set()
            none, own, all_ = [answer.result().json()["rows"] for answer in asked[1:]]
        assert watch.batches == [1, 6]
        assert [row["defer"] for row in none] == [True, True]
        assert [row["defer"] for row in all_] == [False, False]
        assert own == client.post("/decide", json={"rows": new_rows[:2]}).json()["rows"]


def test_a_lone_request_does_not_wait_for_company(watched, new_rows):
    watch, service = watched()
    with service as (client, _):
        for row in new_rows[:20]:
            client.post("/decide", json={"rows": [row]})
        assert watch.batches == [1] * 20


@pytest.mark.usefixtures("quick_decisions")
def test_quick_decisions_need_no_thread_and_long_ones_do(watched, new_rows):
    watch, service = watched(seconds=0.0)
    with service as (client, _):
        assert client.post("/decide", json={"rows": new_rows[:1]}).status_code == 200
        many = new_rows * 3
        assert client.post("/decide", json={"rows": many[:64]}).status_code == 200
        assert "condrisk-decide" not in watch.threads
        client.post("/decide", json={"rows": many[:65]})
        assert "condrisk-decide" in watch.threads


def test_those_who_were_answered_together_are_awaited(watched, new_rows):
    # Eight clients that ask again as soon as they are answered: without patience the first of
    # them would be decided alone each time.
    watch, service = watched(seconds=0.5)

    async def client(url):
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=30) as client:
            for _ in range(3):
                await client.post("/decide", json={"rows": new_rows[:1]})

    async def eight(url):
        await asyncio.gather(*(client(url) for _ in range(8)))

    with service as (client_, _):
        asyncio.run(eight(client_.base_url))
    assert sum(watch.batches) == 24
    assert np.mean(watch.batches[2:]) > 6


@pytest.mark.parametrize(("x", "status"), [(666, 422), (667, 500), (668, 500)])
@pytest.mark.parametrize("seconds", [0.0, 0.005])
def test_a_request_that_fails_takes_nobody_along(watched, new_rows, caplog, x, status, seconds):
    watch, service = watched(seconds=seconds)
    bad = [new_rows[0], new_rows[1] | {"x": x}]
    with service as (client, _):
        if seconds:
            answers = ask_while_busy(client, watch, [new_rows[:1], new_rows[:1], bad, new_rows[:1]])
        else:
            answers = [client.post("/decide", json={"rows": rows}) for rows in (new_rows[:1], bad)]
        # A panic is not caught in the model, so it reaches everybody in the batch.
        lost = slice(1, None) if x == 668 else slice(2 if seconds else 1, 3 if seconds else 2)
        assert {answer.status_code for answer in answers[lost]} == {status}
        del answers[lost]
        assert {answer.status_code for answer in answers} == {200}
        if status == 500:
            failed = client.post("/decide", json={"rows": bad})
            assert failed.json() == {"error": "The model failed; the log of the service says how."}
            assert "no good" in caplog.text
        else:
            (fault,) = client.post("/decide", json={"rows": bad}).json()["rows"]
            assert fault == {"row": 1, "reason": "the model has no answer for it: no good"}
        assert client.post("/decide", json={"rows": new_rows[:1]}).status_code == 200


def test_the_first_row_may_be_the_one_without_an_answer(watched, new_rows):
    _, service = watched()
    rows = [new_rows[0] | {"x": 666}, *new_rows[1:4]]
    with service as (client, _):
        (fault,) = client.post("/decide", json={"rows": rows}).json()["rows"]
    assert fault["row"] == 0


def test_only_decisions_are_timed(watched, new_rows):
    _, service = watched()
    with service as (client, _):
        client.get("/health")
        assert metric(client, "condrisk_decide_seconds_count") == 0
        client.post("/decide", json={"rows": new_rows[:1]})
        assert metric(client, "condrisk_decide_seconds_count") == 1


@pytest.mark.parametrize(("x", "what"), [(669, "risk"), (670, "prediction")])
def test_what_is_no_number_is_not_answered(watched, new_rows, x, what):
    _, service = watched()
    rows = [*new_rows[:5], new_rows[5] | {"x": x}, new_rows[6]]
    with service as (client, _):
        answer = client.post("/decide", json={"rows": rows})
        assert answer.status_code == 422
        reason = f"the model has no answer for it: the {what} is NaN or infinite on some rows."
        assert answer.json()["rows"] == [{"row": 5, "reason": reason}]


@pytest.mark.usefixtures("quick_decisions")
def test_the_number_of_threads_is_given_back(models, new_rows):
    """A batch is decided by one thread; the program around the service keeps its own number."""
    watch = Watched(models["boosting"].model, seconds=0.0)
    app = create_app(TableModel(watch, models["boosting"].manifest))
    watch.forget()

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}

    async def ask_once():
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://here") as client,
        ):
            await client.post("/decide", json={"rows": new_rows[:1]})
            return threads()

    with threadpool_limits(3, "openmp"):
        assert asyncio.run(ask_once()) == {1}
        assert watch.threads == {threading.current_thread().name}
        assert threads() == {3}


def test_a_request_that_was_given_up_is_not_decided(watched, new_rows):
    watch, service = watched(timeout=0.5)
    with service as (client, _):
        answers = ask_while_busy_until(client, watch, new_rows, 504)
        assert [answer.status_code for answer in answers] == [504, 504]
        assert client.post("/decide", json={"rows": new_rows[:3]}).status_code == 200
        assert watch.batches == [1, 3]


def ask_while_busy_until(client, watch, rows, status):
    """Hold two requests back until both are answered: the first in the making, one waiting."""
    watch.go.clear()
    with ThreadPoolExecutor(2) as pool:
        first = ask(client, rows[:1], pool)
        assert watch.begun.wait(20)
        answers = [first.result(), ask(client, rows[:2], pool).result()]
    watch.go.set()
    return answers


def test_a_batch_has_so_many_rows_and_no_more(watched, new_rows):
    watch, service = watched()
    many = (new_rows * 63)[:2500]
    with service as (client, _):
        answers = ask_while_busy(client, watch, [new_rows[:1], many, new_rows[:9], many])
        assert [answer.status_code for answer in answers] == [200] * 4
        assert watch.batches == [1, 2509, 2500]


def test_a_service_that_is_not_open_refuses(models, new_rows):
    async def ask_without_start():
        transport = httpx.ASGITransport(create_app(models["boosting"]))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.post("/decide", json={"rows": new_rows[:1]})

    answer = asyncio.run(ask_without_start())
    assert answer.status_code == 503
    assert "stopping" in answer.json()["error"]


@pytest.mark.parametrize(
    "name", ["linear", "logistic", "boosting", "forest", "budget", "classes", "numbers elsewhere"]
)
def test_no_answer_depends_on_the_others_in_its_batch(models, serve, new_rows, name):
    model = models[name]
    rows = [row | {"guess": 0.5} for row in new_rows] if model.prediction_column else new_rows
    with serve(create_app(model)) as (client, _), ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(client.post, "/decide", json={"rows": [row]}) for row in rows]
        alone = [answer.result().json()["rows"][0] for answer in asked]
        together = client.post("/decide", json={"rows": rows}).json()["rows"]
    if name not in ("linear", "logistic", "numbers elsewhere"):
        assert alone == together
        return
    # How a sum of products is rounded depends on how many rows there are.
    for one, other in zip(alone, together, strict=True):
        assert one["defer"] == other["defer"]
        assert one["risk"] == pytest.approx(other["risk"], rel=1e-12)
        assert one["prediction"] == (
            other["prediction"]
            if name == "logistic"
            else pytest.approx(other["prediction"], rel=1e-12)
        )
