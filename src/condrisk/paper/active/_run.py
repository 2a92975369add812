"""The study of labels that pay: every seed of every set into records, resumed where stopped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from condrisk.paper._records import Key, Record
from condrisk.paper._study import Progress, Study, Task, Units, Warn, check_choice
from condrisk.paper.active._curve import curves
from condrisk.paper.active._settings import CIFAR10, SETS, TRAP, ActiveConfig
from condrisk.paper.active._worlds import check_embeddings, checksum, make_world


def run_active(
    folder: str | os.PathLike[str],
    *,
    config: ActiveConfig | None = None,
    embeddings: str | os.PathLike[str] | None = None,
    sets: Sequence[str] | None = None,
    n_jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
    warn: Warn = warnings.warn,
) -> list[Record]:
    """Run the study of which rows to label next, or what is missing of it.

    Learning curves of nine ways to choose rows, on the eight UCI sets, in a world half of which
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
    source = None if embeddings is None else str(embeddings)
    if source is not None:
        check_embeddings(source)
    names = check_choice("sets", sets, SETS)
    study = ActiveStudy(config or ActiveConfig(), names, source, all_sets=sets is None)
    return study.run(folder, n_jobs=n_jobs, scheduler=scheduler, progress=progress, warn=warn)


@dataclass(frozen=True)
class ActiveStudy(Study):
    """Some sets of the study; a unit is one seed of a set."""

    config: ActiveConfig
    names: list[str]
    embeddings: str | None
    all_sets: bool

    def order(self, key: Key) -> tuple[int, int]:
        """Return the place of a unit: set by set."""
        return SETS.index(key[0]), key[1]

    def keys(self) -> list[Key]:
        """Return every seed of the chosen sets."""
        return [(name, seed) for name in self.names for seed in self.config.seeds(name)]

    def tasks(self, units: Units) -> list[Task]:
        """Return a task for each seed that lacks a record; of CIFAR-10 only with its rows."""
        missing = {}
        for key in self.keys():
            known = units[key].records if key in units else {}
            missing[key] = [m for m in self.config.methods(key[0]) if m not in known]
        left = [key for key, methods in missing.items() if methods]
        if self.embeddings is None:
            if (CIFAR10, 0) in left and not self.all_sets:
                raise ValueError("embeddings must be given for the set cifar10.")
            left = [key for key in left if key[0] != CIFAR10]
        return [
            Task(
                (key,),
                key[0],
                f"drawing the curves of {key[0]}, seed {key[1]}",
                _work(key[0]),
                inputs=missing[key],
            )
            for key in left
        ]

    def do(self, task: Task) -> list[Record]:
        """Draw the curves of one seed."""
        [(name, seed)] = task.keys
        with threadpool_limits(1):
            world = make_world(name, seed, self.embeddings)
            found = curves(name, seed, world, self.config, task.inputs)
        if name == CIFAR10:
            mark = {"embeddings": checksum(str(self.embeddings))}
            found = [record | mark for record in found]
        return found


def _work(name: str) -> float:
    """Return roughly how many seconds a seed takes."""
    return {CIFAR10: 18.0, TRAP: 9.0}.get(name, 15.0)
