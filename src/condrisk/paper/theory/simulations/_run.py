"""The study of the theory: every simulation into records, resumed where it was stopped."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from condrisk.paper._records import Key, Record
from condrisk.paper._study import Progress, Study, Task, Units, Warn, check_choice
from condrisk.paper.theory.simulations import (
    _coverage,
    _excess,
    _false,
    _median,
    _planning,
    _plug_in,
    _rejection,
    _same_learner,
    _separable,
)
from condrisk.paper.theory.simulations._settings import SEED, Part, TheoryConfig

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
        _same_learner.PART,
    )
}


def run_theory(
    folder: str | os.PathLike[str],
    *,
    config: TheoryConfig | None = None,
    parts: Sequence[str] | None = None,
    n_jobs: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
    warn: Warn = warnings.warn,
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
        Some of "excess", "plug-in", "separable", "rejection", "median", "false", "coverage",
        "planning" and "same-learner". None: all of them.
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
    study = TheoryStudy(config or TheoryConfig(), check_choice("parts", parts, PARTS))
    return study.run(folder, n_jobs=n_jobs, scheduler=scheduler, progress=progress, warn=warn)


@dataclass(frozen=True)
class TheoryStudy(Study):
    """Some parts of the study; a unit is one setting of a part."""

    config: TheoryConfig
    parts: list[str]

    def order(self, key: Key) -> tuple[int, int]:
        """Return the place of a unit: part by part."""
        return list(PARTS).index(key[0]), key[1]

    def keys(self) -> list[Key]:
        """Return every setting of the chosen parts."""
        return [(name, fold) for name in self.parts for fold in PARTS[name].folds(self.config)]

    def tasks(self, units: Units) -> list[Task]:
        """Return a task for each setting without records."""
        return [_task(PARTS[key[0]], key) for key in self.keys() if key not in units]

    def do(self, task: Task) -> list[Record]:
        """Simulate one setting, from random numbers of its own."""
        [(name, fold)] = task.keys
        part = PARTS[name]
        rng = np.random.default_rng([SEED, *self.order((name, fold))])
        start = time.perf_counter()
        with threadpool_limits(1):
            found = part.simulate(part.settings[fold], self.config, rng)
        seconds = (time.perf_counter() - start) / len(found)
        return [{"set": name, "fold": fold, **record, "seconds": seconds} for record in found]


def _task(part: Part, key: Key) -> Task:
    setting = part.settings[key[1]]
    doing = f"simulating {part.title}, {setting}"
    return Task((key,), part.title, doing, work=part.work(setting))
