"""Rows in order of risk, those of equal risk taken together.

Whatever is computed from blocks does not depend on the order in which the rows came, because
nothing can tell the rows of one block apart.
"""

from collections.abc import Iterator
from math import isqrt
from typing import NamedTuple

import numpy as np

from condrisk._validation import Vector

# Rows handled at a time: few enough that their temporary arrays stay in cache, and that plain
# sums over them are accurate.
CHUNK = 1 << 13


class TiedBlocks(NamedTuple):
    """One entry for each distinct risk, in increasing order.

    `loss` is the sum of weight × loss over the rows of the block, `weight` the sum of their
    weights, which is never zero.
    """

    risk: Vector
    loss: Vector
    weight: Vector


def tied_blocks(loss: Vector, risk: Vector, weight: Vector | None) -> TiedBlocks:
    """Sort the rows by risk and add up those of equal risk; rows without weight are left out."""
    return TiedBlocks(*map(np.concatenate, zip(*iter_blocks(loss, risk, weight), strict=True)))


def iter_blocks(loss: Vector, risk: Vector, weight: Vector | None) -> Iterator[TiedBlocks]:
    """Yield the blocks in order of risk, as many at a time as some thousand rows make."""
    if weight is not None and weight.min() == 0:
        kept = weight > 0
        loss, risk, weight = loss[kept], risk[kept], weight[kept]
    order = np.argsort(risk)
    unfinished = TiedBlocks(np.empty(0), np.empty(0), np.empty(0))
    for start in range(0, len(order), CHUNK):
        rows = order[start : start + CHUNK]
        blocks = _merge_ties(unfinished, _take(rows, loss, risk, weight))
        # The next rows may have the same risk as the last of these.
        yield TiedBlocks(*(field[:-1] for field in blocks))
        unfinished = TiedBlocks(*(field[-1:] for field in blocks))
    yield unfinished


def _take(rows: np.ndarray, loss: Vector, risk: Vector, weight: Vector | None) -> TiedBlocks:
    if weight is None:
        return TiedBlocks(risk.take(rows), loss.take(rows), np.ones(len(rows)))
    weights = weight.take(rows)
    return TiedBlocks(risk.take(rows), loss.take(rows) * weights, weights)


def _merge_ties(first: TiedBlocks, second: TiedBlocks) -> TiedBlocks:
    """Put one after the other what is sorted by risk, and add up the entries of equal risk."""
    risk, loss, weight = map(np.concatenate, zip(first, second, strict=True))
    starts = run_starts(risk)
    return TiedBlocks(risk[starts], segment_sums(loss, starts), segment_sums(weight, starts))


def run_starts(values: np.ndarray) -> np.ndarray:
    """Return the positions at which a value differs from the one before it."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1]))


def segment_sums(values: Vector, starts: np.ndarray) -> Vector:
    """Sum of `values` from each start to the next, or to the end."""
    return values if len(starts) == len(values) else np.add.reduceat(values, starts)


def running_sum(values: Vector) -> Vector:
    """Cumulative sum, in two levels so that rounding errors grow with √n instead of n."""
    n_columns = isqrt(len(values)) + 1
    n_rows = -(-len(values) // n_columns)
    table = np.zeros((n_rows, n_columns))
    table.ravel()[: len(values)] = values
    np.cumsum(table, axis=1, out=table)
    table[1:] += np.cumsum(table[:-1, -1])[:, np.newaxis]
    return table.ravel()[: len(values)]
