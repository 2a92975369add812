"""The study of the theory: every simulation into records, resumed where it was stopped."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from condrisk.paper._dispatch import run_tasks
from condrisk.paper._records import Key, Record, Store, Unit
from condrisk.paper.theory.simulations import (
    _coverage,
    _excess,
    _false,
    _median,
    _planning,
    _plug_in,
    _rejection,
    _separable,
)
from condrisk.paper.theory.simulations._settings import SEED, TheoryConfig

PARTS = {
    part.name: part
    for part in (
        _excess.PART,
        _plug_in.PART,
        _separable.PART,
        _rejection.PART,
        _median.PART,
        _false.PART,
        _coverage.PART,
        _planning.PART,
    )
}


def run_theory(
    folder: str | os.PathLike[str],
    *,
    config: TheoryConfig | None = None,
    parts: Sequence[str] | None = None,
    n_jobs: int = 1,
    scheduler: str | None = None,
    progress: Callable[[float, float, str], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> list[Record]:
    """Run the study of the paper's theory, or what is missing of it.

    Every valid bound and every interval is simulated in worlds where the truth is known, and so
    is every printed bound that is false. Each finished setting is on disk at once: stopped at any
    moment, the next call goes on from there, and ends in the same records.

    Parameters
    ----------
    folder : path
        Where the records are, or will be, in the file ``records.jsonl``.
    config : TheoryConfig or None, default=None
        How to run. A folder holds the records of one configuration.
    parts : sequence of str or None, default=None
        Some of "excess", "plug-in", "separable", "rejection", "median", "false", "coverage" and
        "planning". None: all of them.
    n_jobs : int, default=1
        How many settings to work on at a time, each in a process of its own and on one core. The
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
        The records of the chosen parts.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from condrisk.paper.theory.simulations import TheoryConfig, run_theory
    >>> with TemporaryDirectory() as folder:
    ...     records = run_theory(folder, config=TheoryConfig(quick=True), parts=["excess"])
    >>> sorted({record["n"] for record in records})[:3]
    [100, 316, 1000]
    """
    config = TheoryConfig() if config is None else config
    chosen = _check_parts(parts)
    store = Store(Path(folder), warn=warn)
    units = store.load(config.to_dict())
    tasks = [
        Task(name, fold, config)
        for name in chosen
        for fold in PARTS[name].folds(config)
        if (name, fold) not in units
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
    return [
        record
        for name in chosen
        for fold in PARTS[name].folds(config)
        for record in units[name, fold].records.values()
    ]


def _check_parts(parts: Sequence[str] | None) -> list[str]:
    if parts is None:
        return list(PARTS)
    unknown = [name for name in parts if name not in PARTS]
    if isinstance(parts, str) or unknown or not parts:
        raise ValueError(f"parts must be a list of some of {', '.join(PARTS)}; got {parts!r}.")
    return [name for name in PARTS if name in parts]


def _in_order(key: Key) -> tuple[int, int]:
    return list(PARTS).index(key[0]), key[1]


@dataclass(frozen=True)
class Task:
    """One setting of one part."""

    part: str
    fold: int
    config: TheoryConfig

    @property
    def key(self) -> Key:
        """The key of its unit."""
        return self.part, self.fold

    @property
    def title(self) -> str:
        """What to call it."""
        return PARTS[self.part].title

    @property
    def work(self) -> float:
        """A rough measure of the time it takes, for order and progress."""
        part = PARTS[self.part]
        return part.work(part.settings[self.fold])


def _do(task: Task) -> Unit:
    """Simulate one setting, from random numbers of its own."""
    part = PARTS[task.part]
    setting = part.settings[task.fold]
    rng = np.random.default_rng([SEED, list(PARTS).index(task.part), task.fold])
    start = time.perf_counter()
    with threadpool_limits(1):
        try:
            found = part.simulate(setting, task.config, rng)
        except Exception as error:
            error.add_note(f"while simulating {part.title}, {setting}")
            raise
    seconds = time.perf_counter() - start
    records = {}
    for record in found:
        whole = {"set": task.part, "fold": task.fold, **record, "seconds": seconds / len(found)}
        records[record["method"]] = whole
    return Unit(task.part, task.fold, task.config.to_dict(), records)
