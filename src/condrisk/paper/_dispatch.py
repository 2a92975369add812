"""The tasks of a study, several at a time: on the cores of this machine, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from joblib import Parallel, delayed

from condrisk._cluster import connect, submit
from condrisk.paper._records import Key, Store, Unit, save_unit

# Called with the work done, the whole work and what was just finished.
Progress = Callable[[float, float, str], None]


class Task(Protocol):
    """What gives one unit of records."""

    @property
    def key(self) -> Key:
        """The key of its unit."""

    @property
    def work(self) -> float:
        """A rough measure of the time that it takes."""

    @property
    def title(self) -> str:
        """What to call it while it is done."""


T = TypeVar("T", bound=Task)


def run_tasks(
    do: Callable[[T], Unit],
    tasks: Sequence[T],
    units: dict[Key, Unit],
    store: Store,
    *,
    order: Callable[[Key], tuple[int, int]],
    n_jobs: int,
    scheduler: str | None,
    progress: Progress | None,
) -> None:
    """Do tasks, put their units among the others, and write all of them in order.

    Parameters
    ----------
    do : callable
        Does a task.
    tasks : sequence of Task
        What to do, in the order in which to begin.
    units : dict
        What is done already; what is done now is added.
    store : Store
        Where the records go.
    order : callable
        Tells the place of a unit in the file of records.
    n_jobs : int
        How many at a time.
    scheduler : str or None
        The address of a Dask scheduler, on whose workers to do them instead.
    progress : callable or None
        Called after each task.
    """
    known = {task.key: task for task in tasks}
    total, done = sum(task.work for task in tasks), 0.0
    finished = _units_of(do, tasks, store.units_folder, n_jobs=n_jobs, scheduler=scheduler)
    for unit in finished:
        units[unit.key] = unit
        done += known[unit.key].work
        if progress is not None:
            progress(done, total, known[unit.key].title)
    store.finish(units[key] for key in sorted(units, key=order))


def _units_of(
    do: Callable[[T], Unit],
    tasks: Sequence[T],
    folder: Path,
    *,
    n_jobs: int,
    scheduler: str | None,
) -> Iterator[Unit]:
    """Do tasks, put the records of each on disk, and yield them as they are done.

    Workers of a cluster need not see the folder: there the records come back first.
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
