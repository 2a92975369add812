"""The default's losses on the paper's folds, beside the paper's best and rules without a risk."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from condrisk.paper._summary import Outcome, paired_tests
from condrisk.paper.rwr._paper import BENCHMARKS, COSTS, PAIRS, SETS, TEST_SHARE, source_value
from condrisk.paper.rwr._results import DEFAULT, Results

# From this share on a difference from the better of always and never is worth a mention.
LARGE = 0.02
# Ours to the best of the paper; always or never with our predictor to it; ours to always or never.
Ratio = Literal["best", "trivial", "own"]


class Setting(NamedTuple):
    """One set at one price: our losses by fold, and what they stand beside."""

    cost: str
    losses: list[float]
    accepted: list[float]
    best: float

    @property
    def ours(self) -> float:
        """The mean deferral loss."""
        return float(np.mean(self.losses))

    @property
    def never(self) -> float:
        """The mean loss of our predictor: never deferring."""
        return float(np.mean(self.accepted))

    @property
    def trivial(self) -> float:
        """The better of always and never deferring with our predictor."""
        return min(float(self.cost), self.never)

    def ratio(self, kind: Ratio) -> float:
        """Return one of the three ratios."""
        above = self.trivial if kind == "trivial" else self.ours
        return above / (self.trivial if kind == "own" else self.best)


class Settings(NamedTuple):
    """Every set at every price."""

    cells: dict[str, list[Setting]]

    @property
    def n(self) -> int:
        """The number of settings."""
        return sum(map(len, self.cells.values()))

    def ratio(self, kind: Ratio, *, without: str | None = None) -> float:
        """Return a mean ratio over sets and prices."""
        return float(np.mean([self.ratio_of(n, kind) for n in self.cells if n != without]))

    def ratio_of(self, name: str, kind: Ratio = "best") -> float:
        """Return a mean ratio on one set."""
        return float(np.mean([cell.ratio(kind) for cell in self.cells[name]]))

    def count(self, *, strictly: bool) -> int:
        """Return in how many settings ours is at most the best, or less, at two decimals."""
        pairs = [(round(c.ours, 2), c.best) for c in self._all()]
        return sum(ours < best if strictly else ours <= best for ours, best in pairs)

    def count_trivial(self) -> int:
        """Return in how many of the settings that reach the best no risk is needed for it."""
        return sum(max(round(c.ours, 2), round(c.trivial, 2)) <= c.best for c in self._all())

    def count_own(self, sign: int) -> int:
        """Return in how many settings ours is above (1) or below (-1) always and never."""
        return sum(sign * (cell.ratio("own") - 1) >= LARGE for cell in self._all())

    def missed(self) -> list[str]:
        """Return the settings where ours is more than the best."""
        return [
            f"{name} at {cell.cost} ({cell.ours:.3f} against {cell.best:.2f})"
            for name, cells in self.cells.items()
            for cell in cells
            if round(cell.ours, 2) > cell.best
        ]

    def tests(self) -> Outcome[str]:
        """Compare ours with the better of always and never, over folds."""
        pairs = {}
        for name, cells in self.cells.items():
            for cell in cells:
                always = [float(cell.cost)] * len(cell.losses)
                other = always if float(cell.cost) <= cell.never else cell.accepted
                pairs[f"{name} at {cell.cost}"] = (cell.losses, other)
        return paired_tests(pairs, test_share=TEST_SHARE)

    def _all(self) -> list[Setting]:
        return [cell for cells in self.cells.values() for cell in cells]


def best_printed(set_name: str, cost: str) -> float:
    """Return the least loss among the paper's methods, as printed."""
    found = [
        source_value("printed", "loss", set_name, method, cost) for method in (*PAIRS, *BENCHMARKS)
    ]
    return min(round(value.mean, 2) for value in found if value is not None)


def settings_of(results: Results) -> Settings:
    """Return how the default does beside the paper's methods, always and never."""
    cells: dict[str, list[Setting]] = {}
    for name in SETS:
        accepted = list(results.values("predictor_loss", name, DEFAULT).values())
        for cost in COSTS:
            losses = list(results.values("loss", name, DEFAULT, cost).values())
            cell = Setting(cost, losses, accepted, best_printed(name, cost))
            cells.setdefault(name, []).append(cell)
    return Settings(cells)
