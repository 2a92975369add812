"""Rows to experts: the assignment of the greatest total gain that keeps every capacity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_array, vstack

Floats = NDArray[np.float64]
Choices = NDArray[np.intp]

NOBODY = -1
# Up to so many entries the assignment is solved on a dense matrix, beyond as a sparse programme.
DENSE_ENTRIES = 200_000


def assign_batch(gain: Floats, capacity: NDArray[np.intp]) -> Choices:
    """Return for each row the expert to ask, or -1, such that the total gain is greatest.

    Parameters
    ----------
    gain : ndarray of shape (n_rows, n_experts)
        What is saved by deferring a row to an expert, against not deferring it.
    capacity : ndarray of shape (n_experts,)
        How many of these rows each expert can take.

    Returns
    -------
    ndarray of shape (n_rows,)
        No row is deferred where nothing is saved.
    """
    n_rows = len(gain)
    free = capacity >= n_rows
    chosen, floor = _best_of(gain, free)
    limited = np.flatnonzero(~free & (capacity > 0))
    if not len(limited):
        return chosen
    # Only what a limited expert wins over an unlimited one is worth a place.
    extra = gain[:, limited] - floor[:, None]
    rows = np.flatnonzero((extra > 0).any(axis=1))
    places = _solve(extra[rows], np.minimum(capacity[limited], len(rows)))
    assigned = places != NOBODY
    chosen[rows[assigned]] = limited[places[assigned]]
    return chosen


def assign_greedily(gain: Floats, left: NDArray[np.intp]) -> Choices:
    """Give each row in its turn the best expert with a place left; `left` is used up."""
    chosen = np.full(len(gain), NOBODY, dtype=np.intp)
    for row, gains in enumerate(gain):
        open_gains = np.where(left > 0, gains, 0.0)
        best = int(np.argmax(open_gains))
        if open_gains[best] > 0:
            chosen[row] = best
            left[best] -= 1
    return chosen


def _best_of(gain: Floats, allowed: NDArray[np.bool_]) -> tuple[Choices, Floats]:
    """Return the best of some experts for each row, and its gain; nobody has a gain of zero."""
    experts = np.flatnonzero(allowed)
    chosen = np.full(len(gain), NOBODY, dtype=np.intp)
    if not len(experts):
        return chosen, np.zeros(len(gain))
    best = experts[np.argmax(gain[:, experts], axis=1)]
    floor = gain[np.arange(len(gain)), best]
    chosen[floor > 0] = best[floor > 0]
    return chosen, np.maximum(floor, 0.0)


def _solve(gain: Floats, capacity: NDArray[np.intp]) -> Choices:
    """Return the best assignment to experts whose places may not do for all rows."""
    chosen, _ = _best_of(gain, np.ones(len(capacity), dtype=bool))
    counts = np.bincount(chosen[chosen != NOBODY], minlength=len(capacity))
    if (counts <= capacity).all():
        return chosen
    if len(capacity) == 1:
        chosen[np.argsort(-gain[:, 0], kind="stable")[capacity[0] :]] = NOBODY
        return chosen
    if len(gain) * int(capacity.sum()) <= DENSE_ENTRIES:
        return _by_matching(gain, capacity)
    return _by_programme(gain, capacity)


def _by_matching(gain: Floats, capacity: NDArray[np.intp]) -> Choices:
    """Solve on a matrix with a column for each place of each expert."""
    places = np.repeat(np.arange(len(capacity)), capacity)
    matrix = np.maximum(gain, 0.0)[:, places]
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    used = matrix[rows, columns] > 0  # a place that wins nothing stays empty
    chosen = np.full(len(gain), NOBODY, dtype=np.intp)
    chosen[rows[used]] = places[columns[used]]
    return chosen


def _by_programme(gain: Floats, capacity: NDArray[np.intp]) -> Choices:
    """Solve as a linear programme over the pairs that win something.

    The constraints are those of a transport problem, whose vertices are whole numbers, and the
    simplex method ends in a vertex.
    """
    rows, experts = np.nonzero(gain > 0)
    pairs = np.arange(len(rows))
    ones = np.ones(len(pairs))
    once = coo_array((ones, (rows, pairs)), shape=(len(gain), len(pairs)))
    full = coo_array((ones, (experts, pairs)), shape=(len(capacity), len(pairs)))
    weights = gain[rows, experts]
    solution: Any = linprog(
        -weights / weights.max(),
        A_ub=vstack([once, full], format="csr"),
        b_ub=np.concatenate([np.ones(len(gain)), capacity]),
        bounds=(0, None),
        method="highs-ds",
    )
    if not solution.success:
        raise RuntimeError(f"capacity: the assignment was not solved: {solution.message}")
    used = solution.x > 0.5
    chosen = np.full(len(gain), NOBODY, dtype=np.intp)
    chosen[rows[used]] = experts[used]
    return chosen
