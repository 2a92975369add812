"""The study on CIFAR-10: every seed into records, resumed where it was stopped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from condrisk.datasets import CIFAR10, load_cifar10
from condrisk.paper._figures import COSTS
from condrisk.paper._records import Key, Record
from condrisk.paper._study import Progress, QuickConfig, Study, Task, Units, Warn
from condrisk.paper.cifar10 import _networks
from condrisk.paper.cifar10._networks import Networks
from condrisk.paper.cifar10._seed import PREDICTORS, Parts, evaluate_methods, train_networks

SETS = ("networks", *PREDICTORS)
# With `quick`: so many images, enough for every class in every part.
QUICK_IMAGES = 1200


@dataclass(frozen=True)
class Cifar10Config(QuickConfig):
    """What the figures of a run depend on, besides versions and the device.

    Parameters
    ----------
    quick : bool, default=False
        One epoch for each network on few images: to see that everything runs, on a CPU too.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in the records."""
        return {
            "study": "cifar10",
            **asdict(self),
            "costs": list(COSTS),
            "classifiers": _networks.CLASSIFIERS,
            "regressors": _networks.REGRESSORS,
            "hidden": _networks.HIDDEN,
        }


def run_cifar10(
    folder: str | os.PathLike[str],
    *,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    config: Cifar10Config | None = None,
    device: str = "auto",
    weights: str | os.PathLike[str] | None = "imagenet",
    data: CIFAR10 | None = None,
    data_home: str | os.PathLike[str] | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    warn: Warn = warnings.warn,
) -> list[Record]:
    """Run the study on CIFAR-10, or what is missing of it.

    Each seed splits the images anew (50 % for the predictors, 40 % for the calibrators, 10 % to
    test on), trains all networks and judges every estimate of the risk of both predictors. A
    finished seed is on disk at once.

    Parameters
    ----------
    folder : path
        Where the records are, or will be, in the file ``records.jsonl``.
    seeds : sequence of int, default=(0, 1, 2, 3, 4)
        The seeds.
    config : Cifar10Config or None, default=None
        How to run. A folder holds the records of one configuration.
    device : str, default="auto"
        Where to train: "cuda", "cpu", or a GPU if there is one.
    weights : path, "imagenet" or None, default="imagenet"
        What EfficientNet-Lite0 starts from; see `condrisk.paper.networks.create_model`.
    data : CIFAR10 or None, default=None
        The images; None loads them.
    data_home : path or None, default=None
        Where they are; see `condrisk.datasets.load_cifar10`.
    scheduler : str or None, default=None
        The address of a Dask scheduler, whose workers do a seed each, with the images that each
        finds at `data_home`, unless `data` is given.
    progress : callable or None, default=None
        Called with the seeds done, all that are left, and what is being done or was just
        finished; while a seed is worked on, with None for the numbers.
    warn : callable, default=warnings.warn
        Called with a sentence about each file of records that is corrupt and was set aside.

    Returns
    -------
    list of dict
        The records of the chosen seeds.
    """
    config = Cifar10Config() if config is None else config
    networks = Networks(weights=weights, device=device, quick=config.quick)
    # What a worker logs would not come back, and images that it has need not be sent.
    log, load_late = (progress, False) if scheduler is None else (None, True)
    study = Cifar10Study(config, list(seeds), networks, data, data_home, log, load_late)
    return study.run(folder, scheduler=scheduler, progress=progress, warn=warn)


@dataclass(frozen=True)
class Cifar10Study(Study):
    """Some seeds of the study; a seed gives three units, its networks and its two predictors."""

    config: Cifar10Config
    seeds: list[int]
    networks: Networks
    data: CIFAR10 | None
    data_home: str | os.PathLike[str] | None
    progress: Progress | None
    load_late: bool = False

    def keys(self) -> list[Key]:
        """Return the units of the chosen seeds."""
        return [(name, seed) for seed in self.seeds for name in SETS]

    def order(self, key: Key) -> tuple[int, int]:
        """Return the place of a unit: seed by seed."""
        return key[1], SETS.index(key[0])

    def tasks(self, units: Units) -> list[Task]:
        """Return a task for each seed that lacks a unit."""
        left = [s for s in self.seeds if any((name, s) not in units for name in SETS)]
        data = self._images() if left and not self.load_late else None
        return [
            Task(
                tuple((name, seed) for name in SETS),
                f"seed {seed}",
                f"training networks of seed {seed} and estimating their risks",
                inputs=data,
            )
            for seed in left
        ]

    def _images(self) -> CIFAR10:
        return load_images(self.data, self.data_home, quick=self.config.quick)

    def do(self, task: Task) -> Iterator[Record]:
        """Train the networks of a seed, then estimate risks in every way."""
        seed = task.keys[0][1]

        def log(what: str) -> None:
            if self.progress is not None:
                self.progress(None, None, f"seed {seed}: {what}")

        parts = Parts.of(self._images() if task.inputs is None else task.inputs, seed)
        trained = train_networks(parts, self.networks, seed, log)
        yield from trained.records
        yield from evaluate_methods(parts, trained, self.networks, seed, log)


def load_images(
    data: CIFAR10 | None, data_home: str | os.PathLike[str] | None, *, quick: bool
) -> CIFAR10:
    """Return the images given, or those on disk; a few of them to be quick."""
    data = load_cifar10(data_home=data_home) if data is None else data
    if not quick or len(data.labels) <= QUICK_IMAGES:
        return data
    rows = np.linspace(0, len(data.labels) - 1, QUICK_IMAGES).astype(int)
    return CIFAR10(np.asarray(data.images[rows]), data.labels[rows])
