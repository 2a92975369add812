"""The fat Cantor set: closed intervals, their measure, and who belongs to them.

At depth 0 the set is [0, 1]. The step to depth d takes an open interval of length 4⁻ᵈ out of the
middle of each of the 2ᵈ⁻¹ intervals. What is left in the limit contains no interval and has the
measure ½. At depth d each interval has the length 2⁻ᵈ⁻¹(1 + 2⁻ᵈ).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk.paper.theory._checks import check_count, check_positive

Floats = NDArray[np.float64]

# 1 + 2⁻ᵈ and 1 + 3·2⁻ᵈ fit into the 53 bits of a double up to here, so all lengths are exact.
_DEEPEST = 52
# 2²⁰ intervals are 16 MiB; their ends are exact as well.
_DEEPEST_LISTED = 20


def fat_cantor_measure(depth: int) -> float:
    """Return the measure of the fat Cantor set at a depth: ½ + 2^(−depth−1).

    Parameters
    ----------
    depth : int
        How many times the middles were taken out.

    Returns
    -------
    float

    Examples
    --------
    >>> from condrisk.paper.theory._cantor import fat_cantor_measure
    >>> fat_cantor_measure(0), fat_cantor_measure(1), fat_cantor_measure(5)
    (1.0, 0.75, 0.515625)
    """
    return 0.5 + 2.0 ** -(check_count(depth, "depth", minimum=0) + 1)


def fat_cantor_intervals(depth: int) -> Floats:
    """Return the closed intervals that make up the fat Cantor set at a depth.

    Parameters
    ----------
    depth : int
        How many times the middles were taken out, at most 20.

    Returns
    -------
    ndarray of shape (2**depth, 2)
        The first and last point of each interval, from left to right; exact.

    Examples
    --------
    >>> from condrisk.paper.theory._cantor import fat_cantor_intervals
    >>> fat_cantor_intervals(1)
    array([[0.   , 0.375],
           [0.625, 1.   ]])
    """
    starts = np.zeros(1)
    for level in range(1, _check_depth(depth, most=_DEEPEST_LISTED) + 1):
        starts = np.stack([starts, starts + _offset(level)], axis=1).ravel()
    return np.column_stack([starts, starts + _length(depth)])


def in_fat_cantor(x: ArrayLike, *, depth: int) -> NDArray[np.bool_]:
    """Tell which points belong to the fat Cantor set at a depth.

    The answer is exact for every double: a point is followed from interval to interval, and no
    step rounds.

    Parameters
    ----------
    x : array-like
        Points, of any shape; none of those outside [0, 1] belongs to the set.
    depth : int
        How many times the middles were taken out, at most 52.

    Returns
    -------
    ndarray of bool, of the shape of `x`

    Examples
    --------
    >>> from condrisk.paper.theory._cantor import in_fat_cantor
    >>> in_fat_cantor([0.0, 0.375, 0.4, 0.625, 2.0], depth=10)
    array([ True,  True, False,  True, False])
    """
    return distance_to_fat_cantor(x, depth=depth) == 0.0


def distance_to_fat_cantor(x: ArrayLike, *, depth: int) -> Floats:
    """Return the distance of points to the fat Cantor set at a depth.

    Parameters
    ----------
    x : array-like
        Points, of any shape.
    depth : int
        How many times the middles were taken out, at most 52.

    Returns
    -------
    ndarray of float, of the shape of `x`
        Zero for the points of the set, and for no others.

    Notes
    -----
    The ends of an interval that is taken out stay in the set at every depth, so the nearer one
    is the nearest point of the set.

    Examples
    --------
    >>> from condrisk.paper.theory._cantor import distance_to_fat_cantor
    >>> distance_to_fat_cantor([-1.0, 0.5, 0.375], depth=10)
    array([1.   , 0.125, 0.   ])
    """
    depth = _check_depth(depth, most=_DEEPEST)
    points = np.asarray(x, dtype=np.float64)
    if not np.isfinite(points).all():
        raise ValueError("x must be finite, got NaN or infinity")
    distance = np.maximum(np.maximum(-points, points - 1.0), 0.0)
    inside = distance == 0.0
    # Positions within the interval that holds them; 0.0 is an end, hence in the set for good.
    position = np.where(inside, points, 0.0)
    for level in range(1, depth + 1):
        length, offset = _length(level), _offset(level)
        removed = (position > length) & (position < offset)
        if removed.any():
            gap = np.minimum(position - length, offset - position)
            distance = np.where(removed, gap, distance)
        # Exact (Sterbenz): offset lies between half the position and the position.
        position = np.where(position >= offset, position - offset, position)
        position[removed] = 0.0
    return distance


def distance_regressor_error(lipschitz: float, *, depth: int | None = None) -> float:
    """Return how far x ↦ min(1, m·dist(x, C)) is from the indicator of not being in C.

    It is m-Lipschitz, and by the closed form below its mean distance over [0, 1] vanishes as m
    grows: no class that contains all continuous functions keeps away from that indicator.

    Parameters
    ----------
    lipschitz : float
        The constant m.
    depth : int, optional
        The depth of the set; by default the set in the limit.

    Returns
    -------
    float
        ∫ |1[x ∉ C] − min(1, m·dist(x, C))| dx over [0, 1].

    Notes
    -----
    The integral is over the gaps alone. Within a gap of length L it is 1/m if L ≥ 2/m, and
    L − mL²/4 if not. There are 2ᵏ⁻¹ gaps of length 4⁻ᵏ for k = 1, …, depth. With J the last k
    for which the gap is at least 2/m, and u = √m / 2ᴶ between √2 and 2√2, the sum over all k is
    (1/u + u/2 − u³/56)/√m − 1/m, which is below 1.3711/√m.

    Examples
    --------
    >>> from condrisk.paper.theory._cantor import distance_regressor_error
    >>> [round(distance_regressor_error(m), 3) for m in (1, 100, 10_000)]
    [0.482, 0.127, 0.013]
    """
    m = check_positive(lipschitz, "lipschitz")
    # Gaps beyond level 64 cover 2⁻⁶⁵ in all.
    levels = 64 if depth is None else check_count(depth, "depth", minimum=0)
    k = np.arange(1, levels + 1)
    gap = 4.0**-k
    lost = np.where(gap * m >= 2, 1 / m, gap - m * gap**2 / 4)
    return float((2.0 ** (k - 1) * lost).sum())


def _length(level: int) -> float:
    """Return the length of an interval of the set at this depth."""
    return 2.0 ** -(level + 1) * (1 + 2.0**-level)


def _offset(level: int) -> float:
    """Return where the right one of two intervals starts, within the one it was cut from."""
    return 2.0 ** -(level + 1) * (1 + 3 * 2.0**-level)


def _check_depth(depth: Any, *, most: int) -> int:
    levels = check_count(depth, "depth", minimum=0)
    if levels > most:
        raise ValueError(f"depth must be at most {most}, got {levels}")
    return levels
