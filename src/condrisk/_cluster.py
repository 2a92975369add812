"""Dask clusters: one that is there, or one that is started on this machine."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from typing import Any

from joblib import cpu_count

from condrisk._extras import require

# Seconds to wait for a scheduler, and for one worker at least.
WAIT_SECONDS = 10.0
# Seconds between two looks at a cluster while a result is awaited.
_LOOK_SECONDS = 1.0
# What is left of the work where a cluster is lost, unless its caller knows better.
KEPT = "what was finished is kept, and the same command goes on from there."


@contextmanager
def connect(
    scheduler: str | None,
    *,
    workers: int | None = None,
    wait: float | None = None,
    kept: str = KEPT,
) -> Iterator[Any]:
    """Yield a client of a Dask cluster.

    A connection that is lost in the block is a `ConnectionError` of one sentence.

    Parameters
    ----------
    scheduler : str or None
        Its address. None starts a cluster on this machine, for the time of the block.
    workers : int or None
        How many processes of one thread such a cluster has. None: one for each core.
    wait : float or None
        How many seconds to wait for the scheduler, and then for its first worker. None: 10.
    kept : str
        What is left where the connection is lost.
    """
    wait = WAIT_SECONDS if wait is None else wait
    if not wait > 0:
        raise ValueError(f"wait must be a number of seconds above 0; got {wait!r}.")
    require("A cluster", "distributed", extra="dask")
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        address: Any = scheduler
        if scheduler is None:
            address = stack.enter_context(
                LocalCluster(
                    n_workers=workers or cpu_count(),
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                )
            )
        try:
            client = Client(address, set_as_default=False, timeout=wait)
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(
                f"scheduler must be the address of a Dask scheduler that can be reached, such as "
                f"tcp://10.0.0.1:8786; with {scheduler!r}: {error}"
            ) from None
        name = _address(client)  # a client that has lost its scheduler does not know it
        stack.enter_context(_quiet_about_lost_connections())
        stack.enter_context(client)
        from distributed.comm import CommClosedError

        try:
            wait_for_workers(client, 1, wait)
            yield client
        except (CancelledError, CommClosedError, _LostError):
            raise ConnectionError(
                f"the connection to the Dask scheduler at {name} is lost; {kept}"
            ) from None


class _LostError(Exception):
    """The connection to a scheduler is lost."""


def wait_for_workers(client: Any, n_workers: int, wait: float) -> None:
    """Wait for workers of a cluster for some seconds: for so many, or at least for one."""
    # What the client itself knows of workers may be two seconds old.
    deadline = time.monotonic() + wait
    while len(client.nthreads()) < n_workers and time.monotonic() < deadline:
        time.sleep(min(0.1, wait))
    if not client.nthreads():
        raise _no_workers(client, wait)


def _no_workers(client: Any, seconds: float) -> ConnectionError:
    return ConnectionError(
        f"the Dask cluster at {_address(client)} has had no workers for {seconds:g} seconds: start "
        f"one with: dask worker {_address(client)}"
    )


def _address(client: Any) -> str:
    return str(client.scheduler.address)


@contextmanager
def _quiet_about_lost_connections() -> Iterator[None]:
    """Let Dask's client log nothing: an error of one sentence says what it would."""
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)


def result_of(client: Any, future: Any, *, wait: float = WAIT_SECONDS) -> Any:
    """Return the result of a task, when it is there.

    A scheduler that is lost, or no workers for some seconds, is a `ConnectionError`.
    """
    without = 0.0  # seconds without any worker
    while True:
        try:
            return future.result(timeout=_LOOK_SECONDS)
        except TimeoutError:
            if future.status == "error":  # that of the task
                raise
            if client.status != "running":
                raise _LostError from None
            without = 0.0 if client.nthreads() else without + _LOOK_SECONDS
            if without >= wait:
                raise _no_workers(client, wait) from None


def submit(client: Any, function: Any, *arguments: Any) -> Any:
    """Send a task with all that it needs: nothing of it is lost with a worker that dies."""
    with warnings.catch_warnings():
        # Dask would rather have large arguments on its workers beforehand, where they can be lost.
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(function, *arguments, pure=False)
