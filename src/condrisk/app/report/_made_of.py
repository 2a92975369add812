"""What the risk is made of: floor, gap and correction, on average over groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from condrisk._validation import Vector

# The group of the riskiest rows is this share of all, and at least one row.
RISKIEST_SHARE = 0.1


class MadeOf(NamedTuple):
    """The mean risk of a group of rows, and the means of its parts, which add up to it."""

    rows: int
    risk: float
    floor: float
    gap: float
    correction: float


def made_of(risk: Vector, parts: Sequence[ArrayLike]) -> tuple[MadeOf, MadeOf]:
    """Return the parts of the mean risk of all rows, and of the riskiest.

    Parameters
    ----------
    risk : ndarray of shape (n_rows,)
        The risk of each row.
    parts : sequence of three array-like of shape (n_rows,)
        Floor, gap and correction of each row.
    """
    columns = [np.asarray(part, dtype=np.float64) for part in parts]
    if len(columns) != 3 or any(column.shape != risk.shape for column in columns):
        raise ValueError(f"parts must be floor, gap and correction of each of {len(risk)} rows.")
    order = np.argsort(-risk, kind="stable")
    top = order[: max(1, int(RISKIEST_SHARE * len(risk)))]
    found = [
        MadeOf(len(rows), float(risk[rows].mean()), *(float(c[rows].mean()) for c in columns))
        for rows in (order, top)
    ]
    return found[0], found[1]
