"""The study of labels that pay: every seed of every set into records, resumed where stopped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_limits

from condrisk.paper._dispatch import run_tasks
from condrisk.paper._records import Key, Record, Store, Unit
from condrisk.paper.active._curve import curves
from condrisk.paper.active._settings import CIFAR10, SETS, TRAP, ActiveConfig
from condrisk.paper.active._worlds import check_embeddings, checksum, make_world

# Roughly, how many seconds a seed takes.
_WORK = {CIFAR10: 18.0, TRAP: 2.0}


def run_active(
    folder: str | os.PathLike[str],
    *,
    config: ActiveConfig | None = None,
    embeddings: str | os.PathLike[str] | None = None,
    sets: Sequence[str] | None = None,
    n_jobs: int = 1,
    scheduler: str | None = None,
    progress: Callable[[float, float, str], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> list[Record]:
    """Run the study of which rows to label next, or what is missing of it.

    Learning curves of eight ways to choose rows, on the eight UCI sets, in a world half of which
    is noise, and on embeddings of CIFAR-10. Each finished seed is on disk at once: stopped at any
    moment, the next call goes on from there, and ends in the same records.

    Parameters
    ----------
    folder : path
        Where the records are, or will be, in the file ``records.jsonl``.
    config : ActiveConfig or None, default=None
        How to run. A folder holds the records of one configuration.
    embeddings : path or None, default=None
        A file of numpy with a row for each image of `condrisk.datasets.load_cifar10`, in its
        order. None: CIFAR-10 is left out, unless the folder has it.
    sets : sequence of str or None, default=None
        Some of the sets. None: all of them.
    n_jobs : int, default=1
        How many seeds to work on at a time, each in a process of its own and on one core. The
        figures do not depend on it.
    scheduler : str or None, default=None
        The address of a Dask scheduler, on whose workers to run instead. The records are the
        same.
    progress : callable or None, default=None
        Called with the work done, the whole work and what was just finished.
    warn : callable, default=warnings.warn
        Called with a sentence about each file of records that is corrupt and was set aside.

    Returns
    -------
    list of dict
        One for each set, seed and way to choose.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from condrisk.paper.active import ActiveConfig, run_active
    >>> with TemporaryDirectory() as folder:
    ...     records = run_active(folder, config=ActiveConfig(quick=True), sets=["energy"])
    >>> records[0]["method"], records[0]["labels"]
    ('random', [20, 30, 40])
    """
    config = ActiveConfig() if config is None else config
    chosen = _check_sets(sets)
    source = None if embeddings is None else str(embeddings)
    if source is not None:
        check_embeddings(source)
    store = Store(Path(folder), warn=warn)
    units = store.load(config.to_dict())
    if sets is not None and CIFAR10 in chosen and source is None and (CIFAR10, 0) not in units:
        raise ValueError("embeddings must be given for the set cifar10.")
    tasks = [
        Task(name, seed, config, source if name == CIFAR10 else None)
        for name in chosen
        for seed in config.seeds(name)
        if (name, seed) not in units and (name != CIFAR10 or source is not None)
    ]
    # The longest first: two processes then end at about the same time.
    tasks.sort(key=lambda task: -task.work)
    run_tasks(
        _do,
        tasks,
        units,
        store,
        order=_in_order,
        n_jobs=n_jobs,
        scheduler=scheduler,
        progress=progress,
    )
    keys = [(name, seed) for name in chosen for seed in config.seeds(name)]
    return [record for key in keys if key in units for record in units[key].records.values()]


def _check_sets(sets: Sequence[str] | None) -> list[str]:
    if sets is None:
        return list(SETS)
    unknown = [name for name in sets if name not in SETS]
    if isinstance(sets, str) or unknown or not sets:
        raise ValueError(f"sets must be a list of some of {', '.join(SETS)}; got {sets!r}.")
    return [name for name in SETS if name in sets]


def _in_order(key: Key) -> tuple[int, int]:
    return SETS.index(key[0]), key[1]


@dataclass(frozen=True)
class Task:
    """One seed of one set."""

    name: str
    seed: int
    config: ActiveConfig
    embeddings: str | None

    @property
    def key(self) -> Key:
        """The key of its unit."""
        return self.name, self.seed

    @property
    def title(self) -> str:
        """What to call it."""
        return self.name

    @property
    def work(self) -> float:
        """A rough measure of the time it takes, for order and progress."""
        return _WORK.get(self.name, 7.0)


def _do(task: Task) -> Unit:
    """Draw the curves of one seed."""
    with threadpool_limits(1):
        try:
            world = make_world(task.name, task.seed, task.embeddings)
            found = curves(task.name, task.seed, world, task.config)
        except Exception as error:
            error.add_note(f"while drawing the curves of {task.name}, seed {task.seed}")
            raise
    if task.embeddings is not None:
        found = [record | {"embeddings": checksum(task.embeddings)} for record in found]
    records = {record["method"]: record for record in found}
    return Unit(task.name, task.seed, task.config.to_dict(), records)
