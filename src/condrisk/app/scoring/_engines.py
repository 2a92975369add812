"""Who scores the batches: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from joblib import cpu_count
from threadpoolctl import threadpool_limits

from condrisk._cluster import connect, result_of, submit
from condrisk.app.models import TableModel
from condrisk.app.scoring._scores import Wanted, score_table


class Future(Protocol):
    """Scores that may still be under way."""

    def result(self) -> pa.Table:
        """Return them, when they are there."""


class Engine(NamedTuple):
    """Scores batches, several at a time."""

    # Gets the columns of the model, and known bad rows.
    submit: Callable[[pa.Table, dict[int, str]], Future]
    depth: int  # how many batches are to be under way


@contextmanager
def local_engine(model: TableModel, wanted: Wanted, *, threads: int | None) -> Iterator[Engine]:
    """Score in threads, each batch in one of them.

    Trees, boosted or not, leave Python's lock while they predict. Several batches side by side
    keep all cores busy even while one of them also reads or writes; the threads that OpenMP would
    make for one batch have to wait for the slowest of them at every tree.
    """
    n_threads = threads or cpu_count()
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(n_threads, initializer=_one_thread) as pool,
    ):

        def send(table: pa.Table, bad: dict[int, str]) -> Future:
            return pool.submit(score_table, model, table, wanted, bad=bad)

        try:
            yield Engine(send, 2 * n_threads)
        finally:
            pool.shutdown(cancel_futures=True)


def _one_thread() -> None:
    # OpenMP keeps the number for each thread that asks.
    threadpool_limits(1, user_api="openmp")


@contextmanager
def dask_engine(
    model: TableModel,
    wanted: Wanted,
    *,
    scheduler: str | None,
    workers: int | None,
    wait: float,
) -> Iterator[Engine]:
    """Score on the workers of a cluster, or of a local one that is started for the purpose."""
    with connect(scheduler, workers=workers, wait=wait) as client:
        # The model is the result of a task: should its worker die, another makes it again.
        there = submit(client, _identity, model)

        def send(table: pa.Table, bad: dict[int, str]) -> Future:
            task = submit(client, _score_ipc, there, _to_ipc(table), wanted, bad)
            return _OnCluster(client, task, wait)

        threads = sum(client.nthreads().values())
        yield Engine(send, 2 * max(threads, 2))


class _OnCluster(NamedTuple):
    """Scores that a worker makes."""

    client: Any
    task: Any
    wait: float

    def result(self) -> pa.Table:
        """Return them, when they are there."""
        table: pa.Table = result_of(self.client, self.task, wait=self.wait)
        return table


def _identity(model: TableModel) -> TableModel:
    return model


def _to_ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _score_ipc(model: TableModel, packed: bytes, wanted: Wanted, bad: dict[int, str]) -> pa.Table:
    """Score a batch, in the process of a worker."""
    table = pa.ipc.open_stream(packed).read_all()
    return score_table(model, table, wanted, bad=bad)
