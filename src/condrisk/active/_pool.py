"""Walking through a pool in chunks, with the best rows so far in memory and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples


class Kept(NamedTuple):
    """The rows of a pool that have the largest keys, from large to small."""

    rows: Any
    position: NDArray[np.intp]
    key: NDArray[np.float64]


def keep_largest(
    chunks: Iterable[Any], keys: Callable[[Any], tuple[NDArray[Any], NDArray[Any]]], n_kept: int
) -> Kept:
    """Return the `n_kept` rows with the largest keys over all chunks.

    Parameters
    ----------
    chunks : iterable of array-likes
        Parts of the pool; each is looked at once, and let go.
    keys : callable
        Takes a chunk and returns the keys of its rows, and what decides between equal ones.
    n_kept : int
        How many to keep; all, where the pool has fewer.
    """
    rows: Any = None
    n_seen = 0
    position, key, tie = np.empty(0, np.intp), np.empty(0), np.empty(0)
    for chunk in chunks:
        n_new = _num_samples(chunk)
        if not n_new:
            continue
        new_key, new_tie = keys(chunk)
        n_old = len(key)
        key, tie = np.append(key, new_key), np.append(tie, new_tie)
        position = np.append(position, np.arange(n_seen, n_seen + n_new))
        best = np.lexsort((tie, -key))[:n_kept]
        rows = _take(rows, chunk, best, n_old)
        position, key, tie = position[best], key[best], tie[best]
        n_seen += n_new
    if not n_seen:
        raise ValueError("The pool has no rows to choose from.")
    return Kept(rows, position, key)


def _take(rows: Any, chunk: Any, best: NDArray[np.intp], n_old: int) -> Any:
    """Return the best of old and new rows, without a copy of the chunk."""
    old, new = best[best < n_old], best[best >= n_old] - n_old
    if not len(new):
        return _safe_indexing(rows, old)
    if not len(old):
        return _safe_indexing(chunk, new)
    parts = stack([_safe_indexing(rows, old), _safe_indexing(chunk, new)])
    # Old ones stand before new ones now: back into the order of the keys.
    place = np.empty(len(best), np.intp)
    place[best < n_old] = np.arange(len(old))
    place[best >= n_old] = len(old) + np.arange(len(new))
    return _safe_indexing(parts, place)


def stack(parts: list[Any]) -> Any:
    """Put rows below each other, whatever they are held in."""
    home = type(parts[0]).__module__.split(".")[0]
    if home in ("pandas", "polars"):
        return import_module(home).concat(parts)
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate([np.asarray(part) for part in parts])
