"""Reading records: areas under learning curves, and paired tests against random choice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from condrisk.datasets import UCI_NAMES
from condrisk.paper._records import Record
from condrisk.paper._summary import LEVEL, fold_error, holm, worse_p
from condrisk.paper.active._settings import CIFAR10, METHODS, SETS, TRAP

Floats = NDArray[np.float64]

# Of the rows of a UCI set, so many are tested on in each fold; labels come from the others.
TEST_SHARE = 0.1
NAMES = {TRAP: "half coins", CIFAR10: "CIFAR-10"}


def sets_of(records: Iterable[Record]) -> list[str]:
    """Return the sets that there are records of, in the order of tables."""
    found = {record["set"] for record in records}
    return [name for name in SETS if name in found]


def area(record: Record) -> float:
    """Return the area under a learning curve, divided by its width: a mean error.

    Examples
    --------
    >>> from condrisk.paper.active._results import area
    >>> area({"labels": [10, 20, 30], "errors": [3.0, 1.0, 1.0]})
    1.5
    """
    labels = record["labels"]
    return float(np.trapezoid(record["errors"], labels)) / (labels[-1] - labels[0])


def _areas(record: Record) -> list[float]:
    """Return the area under the curve of each draw of first labels."""
    return [
        area(record | {"errors": errors}) for errors in record.get("curves", [record["errors"]])
    ]


def _mean_log_ratio(ours: list[float], random: list[float]) -> float:
    """Return the mean over draws that both have: the same first labels."""
    return float(np.mean([math.log(a / b) for a, b in zip(ours, random, strict=False)]))


def curves_of(records: Iterable[Record], name: str, method: str) -> Floats:
    """Return the errors of a way to choose on a set: a row for each seed."""
    return np.array([r["errors"] for r in records if r["set"] == name and r["method"] == method])


def labels_of(records: Iterable[Record], name: str) -> list[int]:
    """Return the numbers of labels at which the errors of a set were measured."""
    return next(list(r["labels"]) for r in records if r["set"] == name)


@dataclass(frozen=True)
class Comparison:
    """The area of a way to choose against that of random choice, paired over seeds.

    Attributes
    ----------
    set, method : str
        What is compared.
    ratio, low, high : float
        Geometric mean of the ratio of areas, and its 95 % interval; below 1 is better.
    p : float
        Of the paired t-test of the logarithms, two-sided, corrected for pools that overlap.
    p_plain : float
        The same without that correction.
    p_holm : float
        The same, corrected for the eight UCI sets by Holm's method; for other sets, p itself.
    n_seeds : int
        How many pairs.
    """

    set: str
    method: str
    ratio: float
    low: float
    high: float
    p: float
    p_plain: float
    p_holm: float
    n_seeds: int

    @property
    def verdict(self) -> str:
        """Better or worse at 5 %, or neither of them proven."""
        if not self.p_holm < LEVEL:
            return "not proven"
        return "better" if self.ratio < 1 else "worse"


def compare(records: Iterable[Record], method: str) -> dict[str, Comparison]:
    """Return the comparison with random choice for every set.

    Examples
    --------
    >>> from condrisk.paper.active._results import compare
    >>> compare([], "gain")
    {}
    """
    records = list(records)
    plain = {}
    for name in sets_of(records):
        by_seed: dict[str, dict[int, list[float]]] = {"random": {}, method: {}}
        for record in records:
            if record["set"] == name and record["method"] in by_seed:
                by_seed[record["method"]][record["fold"]] = _areas(record)
        shared = sorted(by_seed["random"].keys() & by_seed[method].keys())
        if len(shared) > 1:
            pairs = [(by_seed[method][seed], by_seed["random"][seed]) for seed in shared]
            logs = np.array([_mean_log_ratio(*pair) for pair in pairs])
            plain[name] = _test(logs, test_share=TEST_SHARE if name in UCI_NAMES else 0.0)
    family = [name for name in plain if name in UCI_NAMES]
    corrected = dict(zip(family, holm([plain[name].p for name in family]), strict=True))
    return {
        name: Comparison(name, method, **found._asdict(), p_holm=corrected.get(name, found.p))
        for name, found in plain.items()
    }


class Tested(NamedTuple):
    """What a test of logarithms of ratios says."""

    ratio: float
    low: float
    high: float
    p: float
    p_plain: float
    n_seeds: int


def _test(logs: Floats, *, test_share: float) -> Tested:
    """Test that the mean logarithm is zero, with and without the correction for overlap."""
    n, mean = len(logs), float(logs.mean())
    error = fold_error(logs, test_share=test_share)
    half = float(stats.t.ppf(1 - LEVEL / 2, n - 1)) * error
    p, p_plain = (
        2 * min(worse_p(sign * logs, test_share=share) for sign in (-1, 1))
        for share in (test_share, 0.0)
    )
    return Tested(math.exp(mean), math.exp(mean - half), math.exp(mean + half), p, p_plain, n)


def error_factor(n_seeds: int) -> float:
    """Return by how much the correction for overlap multiplies a standard error."""
    return math.sqrt(1 + n_seeds * TEST_SHARE / (1 - TEST_SHARE))


def across_sets(
    found: Mapping[str, Comparison], other: Mapping[str, Comparison] | None = None
) -> tuple[float, float, float, float]:
    """Return the mean ratio over the UCI sets, its 95 % interval, and p: sets as a sample.

    To random choice, or to another way to choose.
    """
    names = [name for name in UCI_NAMES if name in found]
    logs = np.log([found[name].ratio for name in names])
    if other is not None:
        logs = logs - np.log([other[name].ratio for name in names])
    if len(logs) < 2:
        return (float(np.exp(logs.mean())), math.nan, math.nan, math.nan)
    test = _test(logs, test_share=0.0)
    return test.ratio, test.low, test.high, test.p


def first_draws(records: Iterable[Record]) -> list[Record]:
    """Return records with the curves from the first draw of labels only."""
    return [record | {"curves": record["curves"][:1]} for record in records]


def all_comparisons(records: Iterable[Record]) -> dict[str, dict[str, Comparison]]:
    """Return the comparisons of every way to choose, by method and set."""
    records = list(records)
    return {method: compare(records, method) for method in METHODS if method != "random"}


def labels_needed(records: Iterable[Record], name: str, method: str) -> float | None:
    """Return with how many labels a way to choose gets as good as random choice in the end.

    By straight lines between the means over seeds. None: it does not get there.
    """
    records = list(records)
    goal = float(curves_of(records, name, "random").mean(axis=0)[-1])
    mean, labels = curves_of(records, name, method).mean(axis=0), labels_of(records, name)
    for k in range(1, len(mean)):
        if mean[k] <= goal:
            share = (mean[k - 1] - goal) / (mean[k - 1] - mean[k]) if mean[k - 1] > goal else 0.0
            return labels[k - 1] + float(share) * (labels[k] - labels[k - 1])
    return None


def left_at_the_end(records: Iterable[Record], name: str) -> float:
    """Return which share of the first error random choice has left in the end."""
    mean = curves_of(records, name, "random").mean(axis=0)
    return float(mean[-1] / mean[0])


def bands(errors: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean over seeds, and its pointwise 95 % interval."""
    mean = errors.mean(axis=0)
    if len(errors) < 2:
        return mean, mean, mean
    half = stats.t.ppf(1 - LEVEL / 2, len(errors) - 1) * errors.std(axis=0, ddof=1)
    half = half / math.sqrt(len(errors))
    return mean, mean - half, mean + half
