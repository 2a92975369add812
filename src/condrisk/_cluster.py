"""Dask clusters: one that is there, or one that is started on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from joblib import cpu_count

from condrisk._extras import require

# Seconds to wait for a scheduler.
_CONNECT_SECONDS = 15.0


@contextmanager
def connect(scheduler: str | None, *, workers: int | None = None) -> Iterator[Any]:
    """Yield a client of a Dask cluster.

    Parameters
    ----------
    scheduler : str or None
        Its address. None starts a cluster on this machine, for the time of the block.
    workers : int or None
        How many processes of one thread such a cluster has. None: one for each core.
    """
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
            client = Client(address, set_as_default=False, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(
                f"scheduler must be the address of a Dask scheduler that can be reached, such as "
                f"tcp://10.0.0.1:8786; with {scheduler!r}: {error}"
            ) from None
        yield stack.enter_context(client)


def submit(client: Any, function: Any, *arguments: Any) -> Any:
    """Send a task with all that it needs: nothing of it is lost with a worker that dies."""
    with warnings.catch_warnings():
        # Dask would rather have large arguments on its workers beforehand, where they can be lost.
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(function, *arguments, pure=False)
