"""Rows far from each other: greedy k-centre."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

# Distances to rows that are labelled are taken in blocks of this many numbers.
_BLOCK = 5_000_000


def k_center(X: ArrayLike, n_rows: int, *, labelled: ArrayLike | None = None) -> NDArray[np.intp]:
    """Choose rows such that every row is close to a chosen or labelled one.

    Each choice is the row that is farthest from those that are labelled or chosen already. The
    largest distance that is left is at most twice the least that any choice of as many rows
    could leave. Of rows that are equally far the first is taken.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows to choose from. Distances are Euclidean: columns should have similar scales.
    n_rows : int
        How many to choose.
    labelled : array-like of shape (n_labelled, n_features) or None, default=None
        Rows that have labels already. None: the first choice is the row closest to the mean.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Positions in `X`, in the order of choice.

    Examples
    --------
    >>> from condrisk.active import k_center
    >>> k_center([[0.0], [1.0], [5.0], [9.0]], 2, labelled=[[0.0]])
    array([3, 2])
    """
    rows = _matrix(X, "X")
    check_count(n_rows, "n_rows", len(rows))
    if labelled is None or not len(np.asarray(labelled)):
        start = rows.mean(axis=0, keepdims=True)
        first = int(np.argmin(cdist(rows, start)[:, 0]))
        distance, chosen = cdist(rows, rows[[first]])[:, 0], [first]
    else:
        known = _matrix(labelled, "labelled")
        if known.shape[1] != rows.shape[1]:
            raise ValueError(
                f"labelled must have as many columns as X, got {known.shape[1]} and "
                f"{rows.shape[1]}."
            )
        distance, chosen = distance_to(rows, known), []
    distance[chosen] = -1.0
    while len(chosen) < n_rows:
        k = int(np.argmax(distance))
        chosen.append(k)
        distance = np.minimum(distance, cdist(rows, rows[[k]])[:, 0])
        distance[chosen] = -1.0
    return np.array(chosen, dtype=np.intp)


def distance_to(rows: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each row to the nearest of the known ones."""
    step = max(1, _BLOCK // len(known))
    parts = [cdist(rows[k : k + step], known).min(axis=1) for k in range(0, len(rows), step)]
    return np.concatenate(parts)


def check_count(count: int, name: str, n_rows: int) -> None:
    """Raise unless as many rows can be chosen."""
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {count!r}.")
    if count > n_rows:
        raise ValueError(
            f"{name} must be at most the number of rows to choose from, got {count} and {n_rows}."
        )


def _matrix(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} must have rows and columns, got an array of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: distances are measured in it.")
    return array
