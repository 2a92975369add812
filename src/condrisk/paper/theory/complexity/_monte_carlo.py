"""Empirical complexities, over all signs where these are few and over random ones otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk.paper.theory._checks import (
    Matrix,
    check_count,
    check_interval,
    check_matrix,
    check_non_negative,
)
from condrisk.paper.theory.complexity._closed_form import dual_norm
from condrisk.paper.theory.complexity._complexity import Complexity, LowerBound

Signs = NDArray[np.int8]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Entries of one block of signs: enough for fast matrix products, and few enough that the block
# and what is computed from it stay within some tens of megabytes.
BLOCK_ENTRIES = 1 << 20


def linear_complexity(
    X: ArrayLike,
    *,
    radius: float,
    norm: Literal[1, 2, "inf"] = 2,
    n_draws: int = 10_000,
    random_state: Any = None,
) -> Complexity:
    """Empirical complexity of the linear functions x ↦ w·x with ‖w‖ ≤ radius.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows. A column of ones makes room for an intercept.
    radius : float
        The greatest norm of the weights.
    norm : {1, 2, "inf"}, default=2
        Which norm of the weights.
    n_draws : int, default=10_000
        How many sign vectors to draw. Where there are no more than that (n ≤ 13 rows by default),
        each is taken once and the result is exact.
    random_state : None, int or numpy.random.Generator
        Seeds the signs.

    Returns
    -------
    Complexity
        Of kind "exact" or "estimate", scope "empirical".

    See Also
    --------
    linear_bound : An upper bound in closed form.

    Notes
    -----
    For given signs Σᵢ σᵢ w·xᵢ = w·S with S = Σᵢ σᵢ xᵢ, and the greatest value of w·S over a ball
    is the radius times the dual norm of S: for norms 1, 2 and inf the greatest entry, the length
    and the sum of the absolute entries. So each draw costs one product of signs and rows, and
    only the mean over the draws is random.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import linear_complexity
    >>> linear_complexity([[1.0], [1.0]], radius=1.0).value  # E|σ₁ + σ₂| / 2
    0.5
    """
    rows = check_matrix(X, "X", "rows by features")
    size = check_non_negative(radius, "radius")
    dual = dual_norm(norm)

    def supremum(signs: Signs) -> Floats:
        return size / len(rows) * np.linalg.norm(signs @ rows, ord=dual, axis=1)

    mean = _mean_over_signs(supremum, len(rows), n_draws, random_state, width=rows.shape[1])
    return _empirical(mean, f"linear functions, {norm}-norm of the weights ≤ {size:g}")


def finite_complexity(
    values: ArrayLike, *, n_draws: int = 10_000, random_state: Any = None
) -> Complexity:
    """Empirical complexity of a finite class, from the values of its members on the rows.

    Parameters
    ----------
    values : array-like of shape (n_members, n_samples)
        The value of each member at each row.
    n_draws : int, default=10_000
        How many sign vectors to draw. Where there are no more than that, each is taken once and
        the result is exact.
    random_state : None, int or numpy.random.Generator
        Seeds the signs.

    Returns
    -------
    Complexity
        Of kind "exact" or "estimate", scope "empirical".

    See Also
    --------
    massart_bound : An upper bound that needs no draws.

    Notes
    -----
    For given signs the supremum is the greatest entry of values @ σ / n. Any function may first be
    subtracted from all members, because E Σ σᵢ c(xᵢ) = 0: the mean member is, which makes no draw
    negative and the estimate less noisy.

    Examples
    --------
    >>> from condrisk.paper.theory.complexity import finite_complexity
    >>> finite_complexity([[0.0, 0.0], [1.0, 1.0]]).value  # E max(0, σ₁ + σ₂) / 2
    0.25
    """
    members = check_matrix(values, "values", "members by rows")
    centred = (members - members.mean(axis=0)).T

    def supremum(signs: Signs) -> Floats:
        # About the mean member the greatest is at least zero, up to rounding.
        return np.maximum((signs @ centred).max(axis=1), 0.0) / len(centred)

    mean = _mean_over_signs(supremum, len(centred), n_draws, random_state, width=len(members))
    return _empirical(mean, f"{len(members)} functions")


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
    >>> from condrisk.paper.theory.complexity import stump_complexity
    >>> stump_complexity([[0.0], [1.0]]).value  # two rows can be given any two signs
    1.0
    >>> stump_complexity([[0.0], [0.0]]).value  # tied rows cannot
    0.5
    """
    rows = check_matrix(X, "X", "rows by features")
    start, end = check_interval(lower, upper, names=("lower", "upper"))
    columns = rows.T
    orders = np.argsort(columns, axis=1, kind="stable")
    fits = _threshold_fits(columns, orders)

    def supremum(signs: Signs) -> Floats:
        return (end - start) / 2 * _greatest_split(signs, orders, fits) / len(rows)

    mean = _mean_over_signs(supremum, len(rows), n_draws, random_state)
    return _empirical(mean, f"stumps with values in [{start:g}, {end:g}]")


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
    >>> from condrisk.paper.theory.complexity import greedy_tree_complexity
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> shallow = greedy_tree_complexity(X, max_depth=1, random_state=0)
    >>> deep = greedy_tree_complexity(X, max_depth=4, random_state=0)
    >>> shallow.value < deep.value
    True
    """
    rows = check_matrix(X, "X", "rows by features")
    depth = check_count(max_depth, "max_depth", minimum=0)
    start, end = check_interval(lower, upper, names=("lower", "upper"))
    columns = rows.T
    orders = np.argsort(columns, axis=1, kind="stable")

    def reached(signs: Signs) -> Floats:
        sums = [_sum_over_leaves(draw, columns, orders, depth) for draw in signs]
        return (end - start) / 2 * np.array(sums) / len(rows)

    mean = _mean_over_signs(reached, len(rows), n_draws, random_state)
    name = f"trees of depth ≤ {depth} with values in [{start:g}, {end:g}], grown greedily"
    return LowerBound(value=mean.value, standard_error=mean.standard_error, name=name)


def _threshold_fits(columns: Matrix, orders: Integers) -> NDArray[np.bool_]:
    """Tell after which of the sorted rows a threshold fits: not between rows that are tied."""
    values = np.take_along_axis(columns, orders, axis=1)
    changes = values[:, 1:] != values[:, :-1]
    return np.pad(changes, ((0, 0), (0, 1)), constant_values=True)


def _greatest_split(signs: Signs, orders: Integers, fits: NDArray[np.bool_]) -> Integers:
    """Return max |2L − T| over features and thresholds for each draw."""
    by_row = np.ascontiguousarray(signs.T)
    total = by_row.sum(axis=0, dtype=np.int32)
    best = np.abs(total)
    for order, fit in zip(orders, fits, strict=True):
        below = np.cumsum(by_row[order], axis=0, dtype=np.int32)[fit]
        # The greatest |2L − T| is at the greatest or the least L.
        np.maximum(best, 2 * below.max(axis=0) - total, out=best)
        np.maximum(best, total - 2 * below.min(axis=0), out=best)
    return best.astype(np.int64)


def _sum_over_leaves(signs: Signs, columns: Matrix, orders: Integers, depth: int) -> int:
    """Grow one tree and return the sum of |sum of the signs| over its leaves."""
    nodes, reached = [(orders, depth)], 0
    while nodes:
        node, levels = nodes.pop()
        sides = _split(signs, columns, node) if levels > 0 else ()
        nodes += [(side, levels - 1) for side in sides]
        if not sides:
            reached += abs(int(signs[node[0]].sum()))
    return reached


def _split(signs: Signs, columns: Matrix, orders: Integers) -> tuple[Integers, ...]:
    """Split a node where |L| + |T − L| is greatest; return its sides, none where it stays whole.

    A node is given by its rows in the order of each feature, shape (n_features, n_rows).
    """
    below = signs[orders].cumsum(axis=1)
    total = below[0, -1]
    n_features, n_rows = orders.shape
    if abs(total) == n_rows:  # all signs are equal
        return ()
    gain = np.abs(below) + np.abs(total - below)
    gain[~_threshold_fits(columns, orders)] = -1
    feature, last = divmod(int(gain.argmax()), n_rows)
    if last == n_rows - 1:
        return ()
    is_below = np.zeros(len(signs), dtype=bool)
    is_below[orders[feature, : last + 1]] = True
    # Each feature has the same rows below, so that both sides are rectangular again.
    goes_below = is_below[orders]
    return tuple(orders[side].reshape(n_features, -1) for side in (goes_below, ~goes_below))


class _Mean(NamedTuple):
    """The mean of a function of signs, and its standard error (zero when all were taken)."""

    value: float
    standard_error: float
    exact: bool


def _mean_over_signs(
    function: Callable[[Signs], Floats], n: int, n_draws: Any, random_state: Any, *, width: int = 1
) -> _Mean:
    """Average a function over sign vectors: all of them if `n_draws` suffice, random ones if not.

    It takes a block of shape (draws, n) and returns one value per draw; `width` is the number of
    entries it makes for each draw, if greater than n.
    """
    draws = check_count(n_draws, "n_draws", minimum=2)
    exact = n < 63 and 1 << n <= draws
    size = max(1, BLOCK_ENTRIES // max(n, width))
    if exact:
        blocks = all_signs(n, size)
    else:
        blocks = random_signs(n, draws, size, np.random.default_rng(random_state))
    values = np.concatenate([function(block) for block in blocks])
    error = 0.0 if exact else float(values.std(ddof=1) / np.sqrt(len(values)))
    return _Mean(float(values.mean()), error, exact)


def _empirical(mean: _Mean, name: str) -> Complexity:
    return Complexity(
        value=mean.value,
        kind="exact" if mean.exact else "estimate",
        standard_error=mean.standard_error,
        scope="empirical",
        name=name,
    )


def random_signs(n: int, n_draws: int, size: int, rng: np.random.Generator) -> Iterator[Signs]:
    """Yield `n_draws` vectors of n independent signs, at most `size` at a time."""
    # Whole words for each draw, so that the draws do not depend on the size of the blocks.
    words = -(-n // 64)
    for start in range(0, n_draws, size):
        draws = min(size, n_draws - start)
        bits = rng.integers(0, 1 << 64, size=(draws, words), dtype=np.uint64)
        yield _as_signs(bits, n)


def all_signs(n: int, size: int) -> Iterator[Signs]:
    """Yield each of the 2ⁿ sign vectors once, at most `size` at a time."""
    for start in range(0, 1 << n, size):
        numbers = np.arange(start, min(start + size, 1 << n), dtype=np.uint64)
        yield _as_signs(numbers[:, np.newaxis], n)


def _as_signs(words: NDArray[np.uint64], n: int) -> Signs:
    octets = words.astype("<u8", copy=False).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=n, bitorder="little")
    return 1 - 2 * bits.view(np.int8)
