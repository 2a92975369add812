"""Requests that wait are decided together, and nobody's answer depends on it."""

import asyncio
import threading
import time

import numpy as np
import polars as pl
import pytest

from condrisk.app.serve._batcher import Batcher
from condrisk.app.serve._decider import Decider, Job
from condrisk.app.serve._metrics import Metrics, labels_of
from condrisk.app.serve._quick import quick_decide
from condrisk.app.serve._refusal import RefusedError


class Work:
    """Doubles numbers, remembers the batches, and can be held back."""

    def __init__(self):
        self.batches = []
        self.go = threading.Event()
        self.go.set()
        self.threads = set()

    def __call__(self, jobs):
        self.threads.add(threading.current_thread())
        self.batches.append(list(jobs))
        assert self.go.wait(10)
        if any(job < 0 for job in jobs):
            raise ZeroDivisionError(jobs)
        return [2 * job for job in jobs]


def run(scenario, **options):
    """Run a coroutine function with a batcher around `Work`."""
    work = Work()

    async def main():
        batcher = Batcher(work, **{"most_rows": 100, "most_waiting": 1000} | options)
        batcher.start()
        try:
            return await asyncio.wait_for(scenario(batcher, work), 20)
        finally:
            work.go.set()
            await batcher.stop()

    return asyncio.run(main()), work


async def first_then(batcher, work, jobs, sizes=None):
    """Let job 0 be computed while the others come in."""
    work.go.clear()
    first = asyncio.create_task(batcher.submit(0, 1))
    while not work.batches:
        await asyncio.sleep(0.001)
    sizes = sizes or [1] * len(jobs)
    tasks = [
        asyncio.create_task(batcher.submit(job, size))
        for job, size in zip(jobs, sizes, strict=True)
    ]
    await asyncio.sleep(0.02)
    work.go.set()
    return await asyncio.gather(first, *tasks, return_exceptions=True)


def test_what_waits_is_computed_together():
    async def scenario(batcher, work):
        return await first_then(batcher, work, [1, 2, 3])

    answers, work = run(scenario)
    assert answers == [0, 2, 4, 6]
    assert work.batches == [[0], [1, 2, 3]]
    assert len(work.threads) == 1


def test_without_batching_each_is_computed_alone():
    async def scenario(batcher, work):
        return await first_then(batcher, work, [1, 2, 3])

    answers, work = run(scenario, batching=False)
    assert answers == [0, 2, 4, 6]
    assert work.batches == [[0], [1], [2], [3]]


def test_a_lone_job_does_not_wait_for_company():
    async def scenario(batcher, work):
        began = time.perf_counter()
        for job in range(200):
            await batcher.submit(job, 1)
        return time.perf_counter() - began

    seconds, work = run(scenario)
    assert work.batches == [[job] for job in range(200)]
    assert seconds < 2  # ten milliseconds each, on the busiest machine


def test_those_who_were_answered_together_are_awaited():
    # Eight clients that ask again as soon as they are answered: without patience the first of
    # them would be computed alone each time.
    async def scenario(batcher, work):
        async def ask():
            for _ in range(6):
                await batcher.submit(1, 1)
                await asyncio.sleep(0.002 * np.random.default_rng().random())

        slow, work.__class__.__call__ = work.__class__.__call__, slowly
        try:
            await asyncio.gather(*(ask() for _ in range(8)))
        finally:
            work.__class__.__call__ = slow

    def slowly(self, jobs):
        self.batches.append(list(jobs))
        time.sleep(0.05)
        return jobs

    _, work = run(scenario)
    assert np.mean([len(batch) for batch in work.batches[1:]]) > 6


def test_a_job_that_fails_takes_nobody_along():
    async def scenario(batcher, work):
        return await first_then(batcher, work, [1, -1, 3])

    answers, work = run(scenario)
    assert answers[:2] == [0, 2]
    assert isinstance(answers[2], ZeroDivisionError)
    assert answers[3] == 6
    assert work.batches == [[0], [1, -1, 3], [1], [-1], [3]]


def test_a_panic_does_not_end_the_thread():
    class Panic(BaseException):
        pass

    async def scenario(batcher, work):
        batcher._compute = panic
        with pytest.raises(Panic):
            await batcher.submit(1, 1)
        batcher._compute = work
        return await batcher.submit(2, 1)

    def panic(jobs):
        raise Panic

    assert run(scenario)[0] == 4


def test_a_job_that_was_given_up_is_not_computed():
    async def scenario(batcher, work):
        work.go.clear()
        first = asyncio.create_task(batcher.submit(0, 1))
        while not work.batches:
            await asyncio.sleep(0.001)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(batcher.submit(1, 1), 0.01)
        last = asyncio.create_task(batcher.submit(2, 1))
        await asyncio.sleep(0.01)
        work.go.set()
        return await asyncio.gather(first, last)

    answers, work = run(scenario)
    assert answers == [0, 4]
    assert work.batches == [[0], [2]]


def test_a_batch_has_so_many_rows_and_no_more():
    async def scenario(batcher, work):
        return await first_then(batcher, work, [1, 2, 3, 4, 5], [3, 3, 5, 20, 1])

    _, work = run(scenario, most_rows=10)
    assert work.batches == [[0], [1, 2], [3], [4], [5]]


def test_rows_beyond_those_that_may_wait_are_refused():
    async def scenario(batcher, work):
        answers = await first_then(batcher, work, [1, 2, 3], [4, 6, 1])
        assert batcher.rows_waiting == 0
        return answers

    answers, _ = run(scenario, most_waiting=10)
    assert answers[:3] == [0, 2, 4]
    assert isinstance(answers[3], RefusedError)
    assert answers[3].status == 503
    assert answers[3].headers == {"Retry-After": "1"}


def test_arithmetic_is_done_at_once_and_together():
    async def scenario(batcher, work):
        return await asyncio.gather(*(batcher.submit(job, 1) for job in range(5)))

    answers, work = run(scenario, at_once=True)
    assert answers == [0, 2, 4, 6, 8]
    assert work.batches == [[0, 1, 2, 3, 4]]
    assert work.threads == {threading.main_thread()}


def test_a_stopped_batcher_refuses():
    async def scenario(batcher, work):
        await batcher.stop()
        with pytest.raises(RefusedError, match="stopping"):
            await batcher.submit(1, 1)

    run(scenario)


# -- the model --------------------------------------------------------------------------------


def encoded(model, rows):
    if model.prediction_column is not None:
        rows = [row | {"guess": 0.5} for row in rows]
    return model.encode(model.schema.check(pl.DataFrame(rows)).good)


@pytest.mark.parametrize(
    "name", ["linear", "logistic", "boosting", "forest", "budget", "classes", "numbers elsewhere"]
)
def test_no_answer_depends_on_the_others_in_its_batch(models, new_rows, name, seed):
    model = models[name]
    decider = Decider(model, priced=name != "budget", metrics=Metrics(labels_of(model.manifest)))
    rng = np.random.default_rng(seed)
    X = encoded(model, new_rows)[rng.permutation(len(new_rows))]
    cuts = np.sort(rng.choice(len(X) - 1, 9, replace=False)) + 1
    costs = rng.uniform(0, 2, 10) if name != "budget" else [None] * 10
    jobs = []
    for part, cost in zip(np.split(X, cuts), costs, strict=True):
        said = [0.5] * len(part) if model.prediction_column else None
        rows = [tuple(row) for row in part.tolist()] if rng.random() < 0.5 else part
        jobs.append(Job(rows, said, cost))
    together = decider(jobs)
    for job, ours in zip(jobs, together, strict=True):
        (alone,) = decider([job])
        for one, other in zip(ours, alone, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["linear", "logistic"])
def test_the_arithmetic_of_linear_models_is_scikit_learns(models, new_rows, name):
    model = models[name]
    decide, at_once = quick_decide(model)
    assert at_once
    X = encoded(model, new_rows)
    X[0] = np.nan
    decision, cost = model.model.decide(X, cost=0.3), np.full(len(X), 0.3)
    ours = decide(X, cost, None)
    np.testing.assert_allclose(ours.risk, decision.risk, rtol=1e-12)
    np.testing.assert_array_equal(ours.deferred, decision.deferred)
    if name == "linear":
        np.testing.assert_allclose(ours.prediction, decision.prediction, rtol=1e-9)
    else:
        np.testing.assert_array_equal(ours.prediction, decision.prediction)


def test_arithmetic_that_disagrees_is_not_used(models, monkeypatch):
    from condrisk.app.serve import _quick

    monkeypatch.setattr(_quick, "_sum", lambda X, weights: (X * weights).sum(axis=1) * (1 + 1e-6))
    decide, at_once = quick_decide(models["linear"])
    assert not at_once
    assert "plain" in decide.__qualname__
