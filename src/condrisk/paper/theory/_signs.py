"""Random signs in blocks, and the mean of a supremum over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Signs = NDArray[np.int8]

# Entries of one block of signs: enough for fast matrix products, and few enough that the block
# and what is computed from it stay within some tens of megabytes.
BLOCK_ENTRIES = 1 << 20


class MeanOverSigns(NamedTuple):
    """The mean of a function of signs, and its standard error (zero when all were taken)."""

    value: float
    standard_error: float
    exact: bool


def mean_over_signs(
    supremum: Callable[[Signs], NDArray[np.float64]],
    *,
    n: int,
    n_draws: int,
    random_state: Any,
    width: int = 1,
) -> MeanOverSigns:
    """Average `supremum` over sign vectors: all of them if `n_draws` suffice, random ones if not.

    `supremum` takes a block of shape (draws, n) and returns one value a draw; `width` is the
    number of entries it makes for each draw, if greater than n.
    """
    exact = n < 63 and 1 << n <= n_draws
    size = max(1, BLOCK_ENTRIES // max(n, width))
    if exact:
        blocks = all_signs(n, size)
    else:
        blocks = random_signs(n, n_draws, size, np.random.default_rng(random_state))
    values = np.concatenate([supremum(block) for block in blocks])
    error = 0.0 if exact else float(values.std(ddof=1) / np.sqrt(len(values)))
    return MeanOverSigns(float(values.mean()), error, exact)


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
