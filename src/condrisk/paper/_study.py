"""The skeleton of a study: what is open is done, kept on disk at once, and put in order.

A study says which units of records it wants (`keys`), what is left to do of them (`tasks`) and how
to do it (`do`). `run` is the same for all: it reads the records that are there, does what is left
on the cores of this machine or on a Dask cluster, and writes one file in one order, so that a run
which was stopped ends in the same records as one which was not.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from condrisk._cluster import connect, submit
from condrisk.paper._records import Key, Record, Store, Unit, save_unit

# Called with the work done, the whole work (each None where it is not known) and what was or is
# being done.
Progress = Callable[[float | None, float | None, str], None]
Warn = Callable[[str], None]
Units = dict[Key, Unit]


@dataclass(frozen=True)
class QuickConfig:
    """What the figures of a run depend on, besides versions.

    Parameters
    ----------
    quick : bool, default=False
        As little as shows that everything runs. Its figures prove nothing.
    """

    quick: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.quick, bool):
            raise TypeError(f"quick must be True or False, got {self.quick!r}.")


@dataclass(frozen=True)
class Task:
    """What gives the records of a unit, or of several that can only be made together.

    Attributes
    ----------
    keys : tuple of Key
        The units.
    title : str
        What to call it in a progress bar.
    doing : str
        What is being done, for the message if it fails.
    work : float
        A rough measure of the time that it takes.
    inputs : object
        What the study needs to do it, besides the keys.
    """

    keys: tuple[Key, ...]
    title: str
    doing: str
    work: float = 1.0
    inputs: Any = None


class Study(ABC):
    """One of the paper's studies, and what of it was chosen to be run.

    Attributes
    ----------
    config : object
        What the figures depend on; its `to_dict` stands in the records.
    """

    config: Any

    @abstractmethod
    def order(self, key: Key) -> tuple[int, int]:
        """Return the place of a unit among all of them."""

    @abstractmethod
    def keys(self) -> list[Key]:
        """Return the units that were chosen, in the order in which their records are returned."""

    @abstractmethod
    def tasks(self, units: Units) -> Iterable[Task]:
        """Return what is left to do, given the units that are there."""

    @abstractmethod
    def do(self, task: Task) -> Iterable[Record]:
        """Return the records of a task, each with "set", "fold" and "method"."""

    def chosen(self, units: Units) -> list[Record]:
        """Return the records that were chosen."""
        there = (units[key] for key in self.keys() if key in units)
        return [record for unit in there for record in unit.records.values()]

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        n_jobs: int = 1,
        scheduler: str | None = None,
        progress: Progress | None = None,
        warn: Warn = warnings.warn,
    ) -> list[Record]:
        """Do what is missing in a folder of records; return the records that were chosen.

        Parameters
        ----------
        folder : path
            Where the records are, or will be, in the file ``records.jsonl``.
        n_jobs : int, default=1
            How many tasks to do at a time, each in a process of its own.
        scheduler : str or None, default=None
            The address of a Dask scheduler, on whose workers to do them instead.
        progress : callable or None, default=None
            Called after each task.
        warn : callable, default=warnings.warn
            Called with a sentence about each file of records that is corrupt and was set aside.

        Returns
        -------
        list of dict
            The records.
        """
        store = Store(Path(folder), warn=warn)
        with store.alone():
            units = store.load(self.config.to_dict())
            # The longest first: several processes then end at about the same time.
            tasks = sorted(self.tasks(units), key=lambda task: -task.work)
            jobs = [(self, task, {k: units[k] for k in task.keys if k in units}) for task in tasks]
            total, done = sum(task.work for task in tasks), 0.0
            for task, made in _finished(jobs, store, n_jobs=n_jobs, scheduler=scheduler):
                units |= {unit.key: unit for unit in made}
                done += task.work
                if progress is not None:
                    progress(done, total, task.title)
            store.finish(units[key] for key in sorted(units, key=self.order))
        return self.chosen(units)


Job = tuple[Study, Task, Units]


def check_choice(name: str, given: Sequence[str] | None, valid: Iterable[str]) -> list[str]:
    """Return which of the valid names are chosen, in their order. None: all of them.

    Examples
    --------
    >>> from condrisk.paper._study import check_choice
    >>> check_choice("sets", ["c", "a"], ["a", "b", "c"])
    ['a', 'c']
    """
    valid = list(valid)
    if given is None:
        return valid
    unknown = [choice for choice in given if choice not in valid]
    if isinstance(given, str) or unknown or not given:
        raise ValueError(f"{name} must be a list of some of {', '.join(valid)}; got {given!r}.")
    return [choice for choice in valid if choice in given]


def _finished(
    jobs: Sequence[Job], store: Store, *, n_jobs: int, scheduler: str | None
) -> Iterator[tuple[Task, list[Unit]]]:
    """Yield tasks with their units as they are done, which are on disk by then.

    Workers of a cluster need not see the folder: there the records come back first.
    """
    if scheduler is None:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="all")
        yield from parallel(
            delayed(_do_and_save)(*job, store.units_folder, store.run) for job in jobs
        )
        return
    if not jobs:
        return
    with connect(scheduler) as client:
        from distributed import as_completed

        tasks = {submit(client, _do, *job): job[1] for job in jobs}
        for future in as_completed(list(tasks), loop=client.loop):
            units = future.result()
            for unit in units:
                save_unit(unit, store.units_folder, store.run)
            yield tasks[future], units


def _do_and_save(
    study: Study, task: Task, known: Units, folder: Path, run: str
) -> tuple[Task, list[Unit]]:
    """Do a task, and save its records before anything else can happen."""
    units = _do(study, task, known)
    for unit in units:
        save_unit(unit, folder, run)
    return task, units


def _do(study: Study, task: Task, known: Units) -> list[Unit]:
    """Do a task; return its units, with what was known of them before."""
    new: dict[Key, dict[str, Record]] = {key: {} for key in task.keys}
    try:
        for record in study.do(task):
            new[record["set"], record["fold"]][record["method"]] = record
    except Exception as error:
        error.add_note(f"while {task.doing}")
        raise
    config = study.config.to_dict()
    return [
        Unit(*key, config, (known[key].records if key in known else {}) | records)
        for key, records in new.items()
    ]
