"""One estimate of the risk against another, over sets, predictors and costs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from condrisk.paper._summary import paired_tests
from condrisk.paper.rwr._paper import COSTS, MODELS, TEST_SHARE
from condrisk.paper.rwr._results import Results

# Its folds have rows of every patient on both sides: in means over sets it is left out.
LEAKS = "parkinsons"
# What is compared, and at which costs; the squared error is the proper one.
MEASURES: dict[str, tuple[str | None, ...]] = {
    "risk_l2": (None,),
    "risk_l1": (None,),
    "loss": COSTS,
}


class Cell(NamedTuple):
    """One set and predictor (and cost), and the ratio of means over folds."""

    set: str
    predictor: str
    cost: str | None
    ratio: float

    def __str__(self) -> str:
        where = f"{self.set}, {self.predictor}"
        return where if self.cost is None else f"{where}, c = {self.cost}"


class Contrast(NamedTuple):
    """How one calibrator does against another in one measure, every cell of it.

    Attributes
    ----------
    cells : list of Cell
        Every set, predictor and cost that both have.
    lower, higher : list of Cell
        Those where it is significantly lower, or higher, after Holm's correction.
    """

    cells: list[Cell]
    lower: list[Cell]
    higher: list[Cell]

    def ratio(self, predictor: str | None = None) -> float | None:
        """Return the geometric mean of the ratios, without the set whose folds leak."""
        logs = [
            math.log(cell.ratio)
            for cell in self.cells
            if cell.set != LEAKS and predictor in (None, cell.predictor)
        ]
        return float(np.exp(np.mean(logs))) if logs else None

    def n_below_one(self) -> int:
        """Return in how many cells the ratio is below one."""
        return sum(cell.ratio < 1 for cell in self.cells)


def contrast(results: Results, calibrator: str, against: str, measure: str) -> Contrast:
    """Compare two calibrators of the same predictors in one measure.

    The tests are those of `paired_tests`, over all cells.

    Examples
    --------
    >>> from condrisk.paper.rwr._plug_in._contrast import contrast
    >>> from condrisk.paper.rwr._results import Results
    >>> records = [
    ...     {"set": "energy", "fold": fold, "method": f"LR+{name}", "risk_l2": error + 0.01 * fold}
    ...     for fold in range(10)
    ...     for name, error in (("PlugIn", 1.0), ("RF", 2.0))
    ... ]
    >>> found = contrast(Results(records), "PlugIn", "RF", "risk_l2")
    >>> round(found.ratio(), 2), len(found.lower), len(found.higher)
    (0.51, 1, 0)
    """
    pairs = {}
    for name in results.sets:
        for predictor in MODELS:
            for cost in MEASURES[measure]:
                methods = (f"{predictor}+{calibrator}", f"{predictor}+{against}")
                ours, theirs = results.paired(measure, name, *methods, cost)
                if ours:
                    pairs[Cell(name, predictor, cost, sum(ours) / sum(theirs))] = (ours, theirs)
    tests = paired_tests(pairs, test_share=TEST_SHARE)
    return Contrast(list(pairs), tests.better, tests.worse)
