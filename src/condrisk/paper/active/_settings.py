"""The protocol, fixed before the first run: rows, batches, seeds, ways to choose.

It was decided on the sets concrete and forest with seeds from 100 on, which the study does not
use, and tried for feasibility on such seeds of CIFAR-10 and of the world of coins. Nothing was
chosen by what came out, but for one thing: the number of draws on a fold, which was raised after
a first run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from condrisk.datasets import UCI_NAMES
from condrisk.paper._study import QuickConfig

SEED = 2025
DESIGN_SETS = ("concrete", "forest")
CIFAR10, TRAP = "cifar10", "trap"
SETS = (*UCI_NAMES, TRAP, CIFAR10)

# From a larger pool as many rows are drawn in each round, for every way to choose.
CANDIDATES = 1000
# Where a seed has one draw of first labels, random choice is the mean of several orders: they
# cost little, and their noise is in every comparison.
RANDOM_ORDERS = 3
# On the UCI sets a seed is a fold, and curves begin with several draws of first labels: with one
# of them, its noise hides what there is to see. Those that matter most get more.
DRAWS = 2
MORE_DRAWS = {"random": 6, "gain": 6, "gain-share": 6}
# The forests that regress losses.
TREES, LEAF = 20, 5
# The gap was added after the run of the others, whose configuration has nothing of it. It fits a
# stack in every round: fewer draws of first labels, and fewer folds than the default of five.
FEWER_DRAWS = {"gap": 1}
GAP_FOLDS = 3

# In the order of tables and figures; the keys are the "method" of records.
METHODS = {
    "random": "random",
    "core-set": "core-set (k-centre)",
    "uncertainty": "uncertainty: variance, or entropy of classes",
    "risk-k-center": "estimated risk, k-centre among the riskiest",
    "risk-proportional": "estimated risk, in proportion",
    "gain": "reduction of risk, the model's noise",
    "gain-excess": "reduction of risk, noise = risk − variance",
    "gain-share": "reduction of risk, scaled to the risk",
    "gap": "gap plus disagreement, in proportion",
}
# The way to choose that was to be better than random, said before the run.
MAIN_METHOD = "gain"


@dataclass(frozen=True)
class Schedule:
    """How many labels there are at first, how many are added at a time, and how often."""

    initial: int
    batch: int
    rounds: int

    @property
    def labels(self) -> list[int]:
        """The numbers of labels at which the error is measured."""
        return [self.initial + k * self.batch for k in range(self.rounds + 1)]


@dataclass(frozen=True)
class ActiveConfig(QuickConfig):
    """What the figures of a run depend on, besides versions and embeddings.

    Parameters
    ----------
    quick : bool, default=False
        Few seeds and rounds: to see in seconds that everything runs. Its figures prove nothing.
    """

    def seeds(self, name: str) -> range:
        """Return the seeds of a set; on a UCI set, seed k tests on fold k."""
        return range(2) if self.quick else range(20 if name == TRAP else 10)

    def methods(self, name: str) -> list[str]:
        """Return the ways to choose on a set; the gap is for numbers, and for two classes."""
        return [method for method in METHODS if name != CIFAR10 or method != "gap"]

    def draws(self, name: str, method: str) -> int:
        """Return from how many draws of first labels the curves of a seed begin."""
        if self.quick or name not in UCI_NAMES:
            return 1
        return (MORE_DRAWS | FEWER_DRAWS).get(method, DRAWS)

    def orders(self, name: str, method: str) -> int:
        """Return how many curves there are for each draw."""
        single = self.draws(name, "random") == 1
        return RANDOM_ORDERS if method == "random" and single else 1

    def schedule(self, name: str) -> Schedule:
        """Return when a set gets labels."""
        rounds = 2 if self.quick else 10
        return Schedule(50, 50, rounds) if name == CIFAR10 else Schedule(20, 10, rounds)

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in the records."""
        return {
            "study": "active",
            **asdict(self),
            "seed": SEED,
            "candidates": CANDIDATES,
            "random_orders": RANDOM_ORDERS,
            "draws": DRAWS,
            "more_draws": MORE_DRAWS,
            "trees": TREES,
            "leaf": LEAF,
        }
