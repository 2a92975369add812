"""The tasks of a study, several at a time: on the cores of this machine, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from joblib import Parallel, delayed

from condrisk._cluster import connect, submit
from condrisk.reproduce._records import Unit, save_unit

T = TypeVar("T")


def units_of(
    do: Callable[[T], Unit],
    tasks: Sequence[T],
    folder: Path,
    *,
    n_jobs: int,
    scheduler: str | None,
) -> Iterator[Unit]:
    """Do tasks, put the records of each on disk, and yield them as they are done.

    Parameters
    ----------
    do : callable
        Does a task.
    tasks : sequence
        What to do, in the order in which to begin.
    folder : Path
        Where the records of each go.
    n_jobs : int
        How many at a time, each in a process of its own, where `scheduler` is None.
    scheduler : str or None
        The address of a Dask scheduler, on whose workers to do them. These need not see the
        folder.
    """
    if scheduler is None:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="all")
        yield from parallel(delayed(_do_and_save)(do, task, folder) for task in tasks)
        return
    if not tasks:
        return
    with connect(scheduler) as client:
        from distributed import as_completed

        futures = [submit(client, do, task) for task in tasks]
        for future in as_completed(futures, loop=client.loop):
            unit = future.result()
            save_unit(unit, folder)
            yield unit


def _do_and_save(do: Callable[[T], Unit], task: T, folder: Path) -> Unit:
    """Do a task, and put its records on disk before anybody asks for them."""
    unit = do(task)
    save_unit(unit, folder)
    return unit
