"""What happened to a chunk: did x move, or y given x, which columns, and how much each explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from condrisk._bins import BinnedColumn

Floats = NDArray[np.float64]
Cause = Literal["none", "x", "y given x", "x and y given x", "unknown"]

# Bins with fewer rows than this to be expected are taken together.
FEWEST_EXPECTED = 5.0


@dataclass(frozen=True)
class MovedColumn:
    """A column whose values are distributed otherwise than in the held-out rows.

    Attributes
    ----------
    name : str
        Its name.
    p_value : float
        Of so large a difference by chance.
    explained : float
        By how much the expected loss has changed because of it, all other columns equal.
    """

    name: str
    p_value: float
    explained: float


def moved_columns(
    binned: tuple[BinnedColumn, ...], counts: list[NDArray[np.intp]], level: float
) -> tuple[MovedColumn, ...]:
    """Return the columns that have moved by more than chance gives, the weightiest first.

    Parameters
    ----------
    binned : tuple of BinnedColumn
        Columns as the held-out rows are distributed.
    counts : list of ndarray
        New rows in each bin, column by column.
    level : float
        The largest probability of any column that has not moved.
    """
    found = []
    for column, count in zip(binned, counts, strict=True):
        p = two_sample_p_value(column.count, count.astype(np.float64))
        if p < level / len(binned):
            new, old = count / count.sum(), column.count / column.count.sum()
            explained = float((new - old) @ column.effect)
            found.append(MovedColumn(column.name, p, explained))
    return tuple(sorted(found, key=lambda moved: -abs(moved.explained)))


def two_sample_p_value(old: Floats, new: Floats) -> float:
    """Return the p-value of counts in the same bins coming from one distribution: χ²."""
    n_old, n_new = old.sum(), new.sum()
    both = old + new
    rare = both * min(n_old, n_new) / (n_old + n_new) < FEWEST_EXPECTED
    if rare.any():
        old, new = (np.append(part[~rare], part[rare].sum()) for part in (old, new))
        both = old + new
    old, new, both = old[both > 0], new[both > 0], both[both > 0]
    if len(both) < 2:
        return 1.0
    ratio = np.sqrt(n_new / n_old)
    statistic = float(((ratio * old - new / ratio) ** 2 / both).sum())
    return float(chi2.sf(statistic, len(both) - 1))


def cause_of(*, labelled: bool, x_moved: bool, left: bool, y_moved: bool) -> Cause:
    """Return what happened.

    Parameters
    ----------
    labelled : bool
        Whether there are labels. Without them a move of y given x cannot be seen.
    x_moved : bool
        Whether rows are distributed otherwise than the held-out ones, by any test.
    left : bool
        Whether rows have left the region where the risk was learnt: what losses are there was
        unknown, so that unexpected ones may be due to x or to y given x.
    y_moved : bool
        Whether losses differ from the expected ones.
    """
    if not labelled:
        return "x" if x_moved else "unknown"
    if y_moved and left:
        return "unknown"
    if y_moved:
        return "x and y given x" if x_moved else "y given x"
    return "x" if x_moved else "none"
