"""What the parts of the study have in common: how they are run, and what they may be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from condrisk.paper._records import Record
from condrisk.paper._study import QuickConfig

SEED = 2024


@dataclass(frozen=True)
class TheoryConfig(QuickConfig):
    """What the figures of a run depend on, besides versions.

    Parameters
    ----------
    quick : bool, default=False
        Few repetitions: to see in seconds that everything runs. Its figures prove nothing.
    """

    @property
    def repetitions(self) -> int:
        """Of every simulation of a bound or of an interval."""
        return 40 if self.quick else 2000

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in the records."""
        return {
            "study": "theory",
            **asdict(self),
            "seed": SEED,
            "repetitions": self.repetitions,
        }


@dataclass(frozen=True)
class Part:
    """One of the questions of the study.

    Attributes
    ----------
    name : str
        The "set" of its records.
    title : str
        In words, for progress.
    settings : sequence of dict
        Each is a unit of work, and the "fold" of its records.
    simulate : callable
        Takes a setting, the configuration and a generator, and returns records.
    work : callable
        A rough measure of the time that a setting takes, in seconds.
    in_quick : callable
        Whether a setting is among those of a quick run.
    """

    name: str
    title: str
    settings: Sequence[dict[str, Any]]
    simulate: Callable[[dict[str, Any], TheoryConfig, np.random.Generator], list[Record]]
    work: Callable[[dict[str, Any]], float] = lambda setting: 1.0
    in_quick: Callable[[dict[str, Any]], bool] = lambda setting: True

    def folds(self, config: TheoryConfig) -> list[int]:
        """Return the numbers of the settings of a run."""
        chosen = enumerate(self.settings)
        return [k for k, setting in chosen if not config.quick or self.in_quick(setting)]
