"""The records of the study, found by set and method, and how far they agree with the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from condrisk.paper._results import PER_COST, BaseResults, Cost, Record, in_order
from condrisk.paper._summary import RELATIVE_ZERO, PaperValue, Summary, mean_and_se, paired_tests
from condrisk.paper.rwr._paper import (
    BENCHMARKS,
    COSTS,
    MODELS,
    PAIRS,
    SETS,
    TEST_SHARE,
    paper_value,
)
from condrisk.paper.rwr._plug_in._names import OUR_PAIRS

DEFAULT = "condrisk (default)"
KNOWN_METHODS = (*PAIRS, *OUR_PAIRS, *BENCHMARKS, "NN+kernel", DEFAULT)


def _root_of_l2(record: Record) -> float | None:
    error = record.get("risk_l2")
    return None if error is None else math.sqrt(error)


class Results(BaseResults):
    """Records, found by set and method.

    Parameters
    ----------
    records : iterable of dict
        One for each set, fold and method.

    Attributes
    ----------
    sets : tuple of str
        The sets there are: those of the paper in its order, then the others as they came.
    methods : tuple of str
        The methods there are, in the same way.

    Examples
    --------
    >>> from condrisk.paper.rwr._results import Results
    >>> costs = {"0.5": {"loss": 0.4, "rate": 0.7, "oracle": 0.3}}
    >>> record = {"set": "energy", "fold": 0, "method": "MLP+RF", "costs": costs}
    >>> Results([record]).summary("loss", "energy", "MLP+RF", 0.5).mean
    0.4
    """

    derived: ClassVar = {"risk_rmse": _root_of_l2}

    @cached_property
    def sets(self) -> tuple[str, ...]:
        return in_order([name for name, _ in self._records], SETS)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return in_order([method for _, method in self._records], KNOWN_METHODS)

    @property
    def paper_sets(self) -> tuple[str, ...]:
        """The sets that the paper has too."""
        return tuple(name for name in self.sets if name in SETS)

    @property
    def new_methods(self) -> tuple[str, ...]:
        """The methods that are neither the paper's nor part of the study."""
        return tuple(method for method in self.methods if method not in KNOWN_METHODS)

    def records(self, set_name: str, method: str) -> list[Record]:
        """Return the records of a method, or of a predictor by any of its pairs, by fold."""
        # The predictor is the same in all four pairs.
        names = [f"{method}+{other}" for other in MODELS] if method in MODELS else [method]
        found = super().records
        return max((found(set_name, name) for name in names), key=len)

    def published(
        self, quantity: str, set_name: str, method: str, cost: Cost, table: str | None
    ) -> PaperValue | None:
        """Return the paper's figure, or None if there is none."""
        return paper_value(quantity, set_name, method, cost)

    def r2(self, set_name: str, method: str) -> float | None:
        """Return the share of the variance of the losses that the risk explains, all folds pooled.

        Negative where the mean loss of the fold would have done better than the risk.
        """
        error = self.values("risk_l2", set_name, method)
        variance = self.values("loss_variance", set_name, method)
        folds = error.keys() & variance.keys()
        total = sum(variance[fold] for fold in folds)
        return 1.0 - sum(error[fold] for fold in folds) / total if total > 0 else None


def agreement(records: Iterable[Record]) -> dict[str, dict[str, int]]:
    """Count the cells that agree with the paper.

    Returns
    -------
    dict
        For each kind of agreement, in how many cells (``"agree"``) of those that both have
        (``"cells"``), the strict kinds first. A difference in standard errors is that of
        `Summary.in_se`.

    Examples
    --------
    >>> from condrisk.paper.rwr._results import agreement
    >>> costs = {"0.5": {"loss": 0.463, "rate": 0.77, "oracle": 0.3}}
    >>> record = {"set": "energy", "fold": 0, "method": "MLP+RF", "costs": costs}
    >>> counts = agreement([record])
    >>> counts["RwR loss within 2 % + 0.005"]
    {'agree': 1, 'cells': 1}
    >>> counts["human rate within 0.02"]
    {'agree': 0, 'cells': 1}
    """
    results = Results(records)
    pairs = [(name, method) for name in results.paper_sets for method in PAIRS]
    error = _published(results, "risk_l1", pairs)
    loss = _published(results, "loss", pairs)
    counts = {
        "calibrator absolute error within 2 %": _count(error, relative=0.02),
        "RwR loss within 2 % + 0.005": _count(loss, relative=0.02, absolute=0.005),
        "human rate within 0.02": _count(_published(results, "rate", pairs), absolute=0.02),
        "RwR loss within two standard errors": _count(loss),
    }
    for method in BENCHMARKS:
        found = _published(results, "loss", [(name, method) for name in results.paper_sets])
        counts[f"{method} within two standard errors"] = _count(found)
    return counts


def two_errors(records: Iterable[Record]) -> float | None:
    """Return two standard errors of the RwR losses as a share of their means, in the median cell.

    Examples
    --------
    >>> from condrisk.paper.rwr._results import two_errors
    >>> records = [
    ...     {
    ...         "set": "energy",
    ...         "fold": k,
    ...         "method": "MLP+RF",
    ...         "costs": {"0.5": {"loss": 0.4 + k / 10}},
    ...     }
    ...     for k in range(2)
    ... ]
    >>> two_errors(records)
    0.222
    """
    results = Results(records)
    cells = _published(results, "loss", [(s, m) for s in results.paper_sets for m in PAIRS])
    shares = [2 * cell.se / cell.mean for cell in cells if cell.se is not None]
    return float(np.median(shares)) if shares else None


def compare(
    records_a: Iterable[Record], records_b: Iterable[Record]
) -> dict[str, dict[str, float | int]]:
    """Compare two runs, say with two implementations of the MLP, cell by cell.

    Cells are those of pairs that contain an MLP, on the folds that both runs have.

    Returns
    -------
    dict
        For "risk_l1" and "loss": ``cells``; ``within_one_se``, in how many of them the means
        differ by at most one standard error of run a, and ``share``, the same as a share;
        ``larger``, ``smaller`` and ``ties`` of b against a; ``significant``, in how many of them
        b is larger or smaller by `paired_tests`.

    Examples
    --------
    >>> from condrisk.paper.rwr._results import compare
    >>> a = [
    ...     {"set": "energy", "fold": k, "method": "MLP+RF", "risk_l1": 2.0 + k, "costs": {}}
    ...     for k in range(3)
    ... ]
    >>> b = [{**record, "risk_l1": record["risk_l1"] + 0.1} for record in a]
    >>> compare(a, b)["risk_l1"]
    {'cells': 1, 'within_one_se': 1, 'share': 1.0,
     'larger': 1, 'smaller': 0, 'ties': 0, 'significant': 1}
    """
    a, b = Results(records_a), Results(records_b)
    methods = [m for m in PAIRS if any(model.startswith("MLP") for model in m.split("+"))]
    cells = [(name, method) for name in a.sets for method in methods]
    report = {}
    for quantity in ("risk_l1", "loss"):
        found = []
        for name, method in cells:
            for cost in _costs(quantity):
                left = a.values(quantity, name, method, cost)
                right = b.values(quantity, name, method, cost)
                shared = sorted(left.keys() & right.keys())
                if shared:
                    found.append(([left[k] for k in shared], [right[k] for k in shared]))
        report[quantity] = _compare_cells(found)
    return report


def _costs(quantity: str) -> tuple[str | None, ...]:
    return COSTS if quantity in PER_COST else (None,)


def _published(results: Results, quantity: str, cells: Iterable[tuple[str, str]]) -> list[Summary]:
    """Return the cells that both the study and the paper have."""
    found = [
        results.summary(quantity, name, method, cost)
        for name, method in cells
        for cost in _costs(quantity)
    ]
    return [cell for cell in found if cell is not None and cell.paper is not None]


def _count(
    cells: Sequence[Summary], *, relative: float = 0.0, absolute: float = 0.0
) -> dict[str, int]:
    """Count the cells within a tolerance or, without one, within two standard errors."""
    if not (relative or absolute):
        distances = [abs(cell.in_se) for cell in cells if cell.in_se is not None]
        return {"agree": sum(d <= 2 for d in distances), "cells": len(distances)}
    agree = 0
    for cell in cells:
        assert cell.paper is not None
        allowed = relative * abs(cell.paper.mean) + absolute
        # 0.52 - 0.5 is a little more than 0.02 in float64.
        agree += abs(cell.mean - cell.paper.mean) <= allowed + 1e-9
    return {"agree": agree, "cells": len(cells)}


def _compare_cells(
    cells: Sequence[tuple[list[float], list[float]]],
) -> dict[str, float | int]:
    within = larger = smaller = 0
    for left, right in cells:
        (mean_a, se_a), (mean_b, _) = mean_and_se(left), mean_and_se(right)
        tolerance = RELATIVE_ZERO * max(abs(mean_a), abs(mean_b))
        within += abs(mean_b - mean_a) <= (se_a or 0.0) + tolerance
        larger += mean_b - mean_a > tolerance
        smaller += mean_a - mean_b > tolerance
    tests = paired_tests(dict(enumerate(cells)), test_share=TEST_SHARE)
    return {
        "cells": len(cells),
        "within_one_se": within,
        "share": within / len(cells) if cells else 0.0,
        "larger": larger,
        "smaller": smaller,
        "ties": len(cells) - larger - smaller,
        "significant": len(tests.better) + len(tests.worse),
    }
