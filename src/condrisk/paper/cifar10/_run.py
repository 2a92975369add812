"""The study on CIFAR-10: every seed into records, resumed where it was stopped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condrisk.datasets import CIFAR10, load_cifar10
from condrisk.paper._figures import COSTS
from condrisk.paper._records import Key, Record, Store, Unit, save_unit
from condrisk.paper.cifar10 import _networks
from condrisk.paper.cifar10._networks import Networks
from condrisk.paper.cifar10._seed import PREDICTORS, Parts, judge_methods, train_networks

SETS = ("networks", *PREDICTORS)
# With `quick`: so many images, enough for every class in every part.
QUICK_IMAGES = 1200


@dataclass(frozen=True)
class Cifar10Config:
    """What the figures of a run depend on, besides versions and the device.

    Parameters
    ----------
    quick : bool, default=False
        One epoch for each network on few images: to see that everything runs, on a CPU too.
    """

    quick: bool = False

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
    tell: Callable[[str], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
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
    tell : callable or None, default=None
        Called with what is being done.
    warn : callable, default=warnings.warn
        Called with a sentence about each file of records that is corrupt and was set aside.

    Returns
    -------
    list of dict
        The records of the chosen seeds.
    """
    config = Cifar10Config() if config is None else config
    store = Store(Path(folder), warn=warn)
    units = store.load(config.to_dict())
    networks = Networks(weights=weights, device=device, quick=config.quick)
    for seed in seeds:
        if all((name, seed) in units for name in SETS):
            continue
        data = _load(data, data_home, quick=config.quick)
        for unit in _run_seed(data, seed, networks, config, tell):
            save_unit(unit, store.units_folder)
            units[unit.key] = unit
    store.finish(units[key] for key in sorted(units, key=_in_order))
    return [
        record for seed in seeds for name in SETS for record in units[name, seed].records.values()
    ]


def _in_order(key: Key) -> tuple[int, int]:
    return key[1], SETS.index(key[0])


def _load(
    data: CIFAR10 | None, data_home: str | os.PathLike[str] | None, *, quick: bool
) -> CIFAR10:
    data = load_cifar10(data_home=data_home) if data is None else data
    if not quick or len(data.labels) <= QUICK_IMAGES:
        return data
    rows = np.linspace(0, len(data.labels) - 1, QUICK_IMAGES).astype(int)
    return CIFAR10(np.asarray(data.images[rows]), data.labels[rows])


def _run_seed(
    data: CIFAR10,
    seed: int,
    networks: Networks,
    config: Cifar10Config,
    tell: Callable[[str], None] | None,
) -> list[Unit]:
    """Return the units of a seed: the networks, and each predictor."""

    def say(what: str) -> None:
        if tell is not None:
            tell(f"seed {seed}: {what}")

    parts = Parts.of(data, seed)
    trained = train_networks(parts, networks, seed, say)
    records = [*trained.records, *judge_methods(parts, trained, networks, seed, say)]
    units = {name: Unit(name, seed, config.to_dict()) for name in SETS}
    for record in records:
        units[record["set"]].records[record["method"]] = record
    return list(units.values())
