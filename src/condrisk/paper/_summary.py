"""Means over folds or seeds, with their standard errors, beside what was published."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

# Below this share of their size, differences of means are rounding of float64.
RELATIVE_ZERO = 1e-12
LEVEL = 0.05
Key = TypeVar("Key", bound=Hashable)


class PaperValue(NamedTuple):
    """A published figure.

    Attributes
    ----------
    mean : float
        The mean over ten folds.
    std : float or None
        Their standard deviation with ddof 0, where the source gives it.
    half_unit : float
        Half a unit of the last digit: what rounding may have taken away.
    """

    mean: float
    std: float | None
    half_unit: float


@dataclass(frozen=True)
class Summary:
    """A mean over folds beside the published one.

    Attributes
    ----------
    mean : float
        Mean over the folds.
    se : float or None
        Its standard error, std / √n_folds with ddof 1. None: there is only one fold.
    n_folds : int
        Number of folds.
    paper : PaperValue or None
        The published figure, if there is one.
    """

    mean: float
    se: float | None
    n_folds: int
    paper: PaperValue | None = None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.paper is None else self.mean - self.paper.mean

    @property
    def in_se(self) -> float | None:
        """The difference, less what rounding explains, in standard errors.

        Zero if rounding explains all of it, infinite if there is more and all folds agree.

        Examples
        --------
        >>> from condrisk.paper._summary import PaperValue, Summary
        >>> Summary(0.47, 0.01, 10, PaperValue(0.45, None, 0.005)).in_se
        1.5
        """
        if self.paper is None or self.difference is None or self.se is None:
            return None
        excess = abs(self.difference) - self.paper.half_unit
        if excess <= RELATIVE_ZERO * abs(self.mean):
            return 0.0
        return math.copysign(excess / self.se if self.se else math.inf, self.difference)

    def in_se_text(self, *, whole_from: float = math.inf) -> str:
        """Return `in_se` as tables show it, without decimals from some size on."""
        value = self.in_se
        if value is None:
            return ""
        if math.isinf(value):
            return "+∞" if value > 0 else "-∞"
        if abs(value) < 0.05:
            return "0.0"
        return f"{value:+.0f}" if abs(value) >= whole_from else f"{value:+.1f}"


def mean_and_se(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error, which is exactly 0 if all values agree.

    Examples
    --------
    >>> from condrisk.paper._summary import mean_and_se
    >>> mean_and_se([1.0, 2.0, 3.0])
    (2.0, 0.577)
    >>> mean_and_se([0.2, 0.2, 0.2])
    (0.2, 0.0)
    """
    array = np.asarray(values, dtype=float)
    if np.ptp(array) <= RELATIVE_ZERO * np.abs(array).max():
        return float(array[0]), 0.0 if len(array) > 1 else None
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))


def fold_error(values: ArrayLike, *, test_share: float) -> float:
    """Return the standard error of a mean over folds.

    Folds that test on different rows learn from rows that overlap: Nadeau and Bengio's correction
    adds the ratio of rows to test on and to learn from to the variance. A share of zero is for
    values that share no rows.

    Examples
    --------
    >>> from condrisk.paper._summary import fold_error
    >>> fold_error([1.0, 2.0, 3.0], test_share=0.0), fold_error([1.0, 2.0, 3.0], test_share=0.25)
    (0.577, 0.816)
    """
    array = np.asarray(values, dtype=float)
    overlap = test_share / (1 - test_share)
    return float(array.std(ddof=1)) * math.sqrt(1 / len(array) + overlap)


def worse_p(differences: ArrayLike, *, test_share: float) -> float:
    """Return the one-sided p-value of "ours minus theirs is above zero", over folds.

    The error is that of `fold_error`. One fold decides nothing.

    Examples
    --------
    >>> from condrisk.paper._summary import worse_p
    >>> worse_p([0.1, 0.2, 0.1, 0.2], test_share=0.1) < 0.05
    True
    >>> worse_p([0.0, 0.0], test_share=0.1)
    0.5
    """
    array = np.asarray(differences, dtype=float)
    if len(array) < 2:
        return 0.5
    mean, error = float(array.mean()), fold_error(array, test_share=test_share)
    if error <= RELATIVE_ZERO * abs(mean):
        return 0.5 if mean == 0 else float(mean < 0)
    return float(stats.t.sf(mean / error, len(array) - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method.

    Examples
    --------
    >>> from condrisk.paper._summary import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[k]))
        corrected[k] = largest
    return corrected


class Outcome(NamedTuple, Generic[Key]):
    """Which cells of a comparison differ significantly.

    Attributes
    ----------
    better, even, worse : list
        The names of the cells where ours is significantly lower, neither, or higher.
    """

    better: list[Key]
    even: list[Key]
    worse: list[Key]

    @property
    def n(self) -> int:
        """The number of cells."""
        return len(self.better) + len(self.even) + len(self.worse)


def paired_tests(
    cells: Mapping[Key, tuple[Sequence[float], Sequence[float]]], *, test_share: float
) -> Outcome[Key]:
    """Compare ours with theirs in each cell, over folds: the one standard for such comparisons.

    One-sided t-tests with Nadeau and Bengio's correction, Holm's over all cells, each side by
    itself, at `LEVEL`. Differences that are rounding of float64 count as none.

    Parameters
    ----------
    cells : mapping
        Ours and theirs, fold by fold, by the name of the cell; less is better.
    test_share : float
        The share of the rows that a fold tests on.

    Examples
    --------
    >>> from condrisk.paper._summary import paired_tests
    >>> cells = {"a": ([1.0, 1.1, 0.9], [3.0, 3.0, 3.1]), "b": ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0])}
    >>> paired_tests(cells, test_share=0.1)
    Outcome(better=['a'], even=['b'], worse=[])
    """
    gaps = [_differences(*pair) for pair in cells.values()]
    lower, higher = (
        holm([worse_p(sign * gap, test_share=test_share) for gap in gaps]) for sign in (-1, 1)
    )
    found = Outcome[Key]([], [], [])
    for key, below, above in zip(cells, lower, higher, strict=True):
        side = found.better if below < LEVEL else found.worse if above < LEVEL else found.even
        side.append(key)
    return found


def _differences(ours: Sequence[float], theirs: Sequence[float]) -> NDArray[np.float64]:
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    rounding = RELATIVE_ZERO * np.maximum(np.abs(a), np.abs(b))
    return np.where(np.abs(a - b) <= rounding, 0.0, a - b)
