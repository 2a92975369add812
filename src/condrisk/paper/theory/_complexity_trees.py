"""Rademacher complexity of decision stumps, and a lower bound for deeper trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk.paper.theory._checks import Matrix, check_count, check_interval, check_matrix
from condrisk.paper.theory._complexity import as_complexity
from condrisk.paper.theory._complexity_types import Complexity, LowerBound
from condrisk.paper.theory._signs import Signs, mean_over_signs

Integers = NDArray[np.int64]


def stump_complexity(
    X: ArrayLike,
    *,
    lower: float = -1.0,
    upper: float = 1.0,
    n_draws: int = 10_000,
    random_state: Any = None,
) -> Complexity:
    """Empirical complexity of all decision stumps with values in [lower, upper].

    A stump compares one feature with a threshold and has one value on each side. Constants are
    among them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    lower, upper : float, default=-1.0, 1.0
        The range of the values; the values may be anything in it.
    n_draws : int, default=10_000
        How many sign vectors to draw. Where there are no more than that, each is taken once and
        the result is exact.
    random_state : None, int or numpy.random.Generator
        Seeds the signs.

    Returns
    -------
    Complexity
        Of kind "exact" or "estimate", scope "empirical". With one feature and no ties it is the
        same for all rows, and so the expected one of every continuous law.

    See Also
    --------
    stump_bound : An upper bound that holds for all rows.

    Notes
    -----
    Let T be the sum of all signs and L that of the rows below the threshold, mid the middle of
    the range and half half its length. The best values a and b give aL + b(T − L) = mid·T +
    half·(|L| + |T − L|), and |L| + |T − L| = max(|T|, |2L − T|). Since E T = 0 the complexity is
    half/n times the mean of max |2L − T| over features and thresholds, the one below all rows
    (L = 0) among them. L is a cumulative sum over the sorted rows, read only where the feature's
    value changes.

    Examples
    --------
    >>> from condrisk.paper.theory import stump_complexity
    >>> stump_complexity([[0.0], [1.0]]).value  # two rows can be given any two signs
    1.0
    >>> stump_complexity([[0.0], [0.0]]).value  # tied rows cannot
    0.5
    """
    rows = check_matrix(X, "X", "rows by features")
    start, end = check_interval(lower, upper, names=("lower", "upper"))
    draws = check_count(n_draws, "n_draws", minimum=2)
    orders, ends = _sorted(rows)

    def supremum(signs: Signs) -> NDArray[np.float64]:
        return _greatest_split(signs, orders, ends) / len(rows)

    mean = mean_over_signs(supremum, n=len(rows), n_draws=draws, random_state=random_state)
    name = f"stumps with values in [{start:g}, {end:g}]"
    return as_complexity(mean, name=name, factor=(end - start) / 2)


def greedy_tree_complexity(
    X: ArrayLike,
    *,
    max_depth: int,
    lower: float = -1.0,
    upper: float = 1.0,
    n_draws: int = 100,
    random_state: Any = None,
) -> LowerBound:
    """Lower bound of the empirical complexity of decision trees, by growing greedy ones.

    For each draw of signs a tree is grown that splits each node where the two sides' sums of
    signs are greatest in absolute value. A better tree may exist, so the mean is at most the
    complexity: it shows that a class is rich, and is of no use in a bound.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    max_depth : int
        The greatest depth of the trees.
    lower, upper : float, default=-1.0, 1.0
        The range of the leaves' values.
    n_draws : int, default=100
        How many sign vectors to draw.
    random_state : None, int or numpy.random.Generator
        Seeds the signs.

    Returns
    -------
    LowerBound
        Which every bound function refuses.

    Notes
    -----
    With leaf values at the ends of the range a tree reaches mid·T + half·Σ_leaves |sum of its
    signs|, and E T = 0. A split never lowers the sum, since |L| + |R| ≥ |L + R|. With depth 1 the
    greedy tree is the best one, and the value that of `stump_complexity`.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.paper.theory import greedy_tree_complexity
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> shallow = greedy_tree_complexity(X, max_depth=1, random_state=0)
    >>> deep = greedy_tree_complexity(X, max_depth=4, random_state=0)
    >>> shallow.value < deep.value
    True
    """
    rows = check_matrix(X, "X", "rows by features")
    depth = check_count(max_depth, "max_depth", minimum=0)
    start, end = check_interval(lower, upper, names=("lower", "upper"))
    draws = check_count(n_draws, "n_draws", minimum=2)
    ranks = np.column_stack([np.unique(column, return_inverse=True)[1] for column in rows.T])

    def supremum(signs: Signs) -> NDArray[np.float64]:
        return _grown(signs, ranks, depth) / len(rows)

    # Growing takes some ten integers an entry, so the blocks are made smaller.
    mean = mean_over_signs(
        supremum, n=len(rows), n_draws=draws, random_state=random_state, width=8 * len(rows)
    )
    half = (end - start) / 2
    name = f"trees of depth ≤ {depth} with values in [{start:g}, {end:g}], grown greedily"
    return LowerBound(value=half * mean.value, standard_error=half * mean.standard_error, name=name)


def _sorted(rows: Matrix) -> tuple[list[Integers], list[Integers]]:
    """For each feature, the order of the rows and the last position of each run of ties."""
    orders = [np.argsort(column, kind="stable") for column in rows.T]
    ends = [
        np.flatnonzero(np.append(np.diff(column[order]) > 0, True))
        for column, order in zip(rows.T, orders, strict=True)
    ]
    return orders, ends


def _greatest_split(
    signs: Signs, orders: list[Integers], ends: list[Integers]
) -> NDArray[np.float64]:
    """Return max |2L − T| over features and thresholds for each draw."""
    by_row = np.ascontiguousarray(signs.T)
    total = by_row.sum(axis=0, dtype=np.int32)
    best = np.abs(total)
    for order, end in zip(orders, ends, strict=True):
        below = np.cumsum(by_row[order], axis=0, dtype=np.int32)
        if len(end) < len(below):
            below = below[end]
        # The greatest |2L − T| is at the greatest or the least L.
        np.maximum(best, 2 * below.max(axis=0) - total, out=best)
        np.maximum(best, total - 2 * below.min(axis=0), out=best)
    return best.astype(np.float64)


def _grown(signs: Signs, ranks: Integers, depth: int) -> NDArray[np.float64]:
    """Grow one tree for each draw, all together, and return the sum of |leaf sums|."""
    n_draws, n = signs.shape
    flat = signs.ravel().astype(np.int64)
    row = np.tile(np.arange(n), n_draws)
    draw = np.repeat(np.arange(n_draws), n)
    node, n_nodes = draw, n_draws
    for _ in range(depth):
        children = 2 * node + _goes_above(node, row, flat, ranks)
        # Numbered without gaps: a deep tree has fewer leaves than numbers for them.
        labels, node = np.unique(children, return_inverse=True)
        if len(labels) == n_nodes:
            break
        n_nodes = len(labels)
    owner = np.empty(n_nodes, dtype=np.int64)
    owner[node] = draw
    sums = np.abs(np.bincount(node, weights=flat))
    return np.bincount(owner, weights=sums).astype(np.float64)


def _goes_above(
    node: Integers, row: Integers, signs: Integers, ranks: Integers
) -> NDArray[np.bool_]:
    """Split each node at its best feature and threshold; tell which entries go above it."""
    totals = np.bincount(node, weights=signs).astype(np.int64)
    best = np.full(len(totals), -1, dtype=np.int64)
    feature, threshold = np.zeros_like(best), np.zeros_like(best)
    for j in range(ranks.shape[1]):
        rank = ranks[row, j]
        order = np.lexsort((rank, node))
        gain, position = _best_threshold(node[order], rank[order], signs[order], totals)
        better = gain > best
        best[better], feature[better] = gain[better], j
        threshold[better] = rank[order[position[better]]]
    return ranks[row, feature[node]] > threshold[node]


def _best_threshold(
    node: Integers, rank: Integers, signs: Integers, totals: Integers
) -> tuple[Integers, Integers]:
    """For each node, the best |L| + |T − L| and the position of the last row below.

    All are sorted by node, then by rank.
    """
    starts = np.flatnonzero(np.append(True, np.diff(node) != 0))
    running = np.cumsum(signs)
    below = running - np.append(0, running)[starts][node]
    gain = np.abs(below) + np.abs(totals[node] - below)
    # Between rows of equal rank there is no threshold.
    tied = np.append((np.diff(node) == 0) & (np.diff(rank) == 0), False)
    gain[tied] = -1
    greatest = np.maximum.reduceat(gain, starts)
    hits = np.flatnonzero(gain == greatest[node])
    _, first = np.unique(node[hits], return_index=True)
    return greatest, hits[first]
