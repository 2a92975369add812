"""Clusters of rows that are copies of each other, exact or near ones.

Numbers are replaced by the share of rows that are smaller, read off a few quantiles, so that no
unit matters; text by codes. Rows that are equal then are exact copies. Of the distinct ones a
sample is compared with all others: a row is a near copy of another if their distance is below a
tenth of that to the 30th neighbour, and so small that by chance two rows in a thousand would have
a neighbour there. For that the number of neighbours within a distance r is taken to grow as r^d,
with d from the 4th and 8th neighbours among so few rows that most have no copy there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import _safe_indexing

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

# Fewer clusters show nothing; more are not needed.
FEWEST, MOST = 20, 500
# Distances are taken from so many rows to all others, in so many columns, to so many neighbours.
_MOST_ASKED, _MOST_COLUMNS, _N_NEIGHBORS = 1000, 32, 30
# Among many rows fewer are compared, so that there are at most so many distances.
_FEWEST_ASKED, _MOST_DISTANCES = 400, 200_000_000
# Near copies: at most this share of the distance to the last neighbour, and by chance this rare.
_NEAR, _BY_CHANCE = 0.1, 0.002
# Numbers are replaced by their place between so many quantiles.
_N_QUANTILES = 33
# Which are those of about so many rows, if there are more.
_ROWS_OF_QUANTILES = 50_000
# A row is told from others by its columns as the digits of a number in this base: irrational, so
# that rows which differ get numbers that differ.
_MIXING = 0.7548776662466927
# From so many columns on a tree of the rows is slower than all distances.
_MANY_COLUMNS = 7


class Clusters(NamedTuple):
    """Clusters of copies, exact and near ones.

    Attributes
    ----------
    rows : list of ndarray of int
        The rows of each cluster, two or more, in random order.
    outside : ndarray of int, shape (n_clusters,)
        A row that is near to the cluster and not in it.
    share : float
        The share of all rows that are in such a cluster.
    """

    rows: list[Rows]
    outside: Rows
    share: float

    def only(self, kept: NDArray[np.bool_]) -> Clusters:
        """Return some of the clusters."""
        sizes = np.array([len(rows) for rows in self.rows])
        rows = [rows for rows, keep in zip(self.rows, kept, strict=True) if keep]
        share = self.share * float(sizes[kept].sum() / sizes.sum())
        return Clusters(rows, self.outside[kept], share)


def coded_columns(X: Any) -> Floats | None:
    """Return places from 0 to 1 instead of numbers and codes instead of text, or None.

    None stands for what has no columns: sparse rows, lists of texts.
    """
    if issparse(X):
        return None
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object)  # rows of different lengths have one dimension then
    if len(X.shape) > 2:
        X = np.asarray(X).reshape(len(X), -1)
    if len(X.shape) < 2 or not X.shape[1]:
        return None
    some = np.arange(X.shape[1])
    if len(some) > _MOST_COLUMNS:
        some = np.random.default_rng(0).choice(some, _MOST_COLUMNS, replace=False)
    coded = np.empty((X.shape[0], len(some)), dtype=np.float32)
    for place, k in enumerate(some):
        coded[:, place] = _coded(np.asarray(_safe_indexing(X, int(k), axis=1)))
    return coded


def _coded(column: NDArray[Any]) -> Floats:
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError):
        _, codes = np.unique(column.astype(str), return_inverse=True)
        return codes.astype(np.float64)
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(values))
    some = values[finite]
    if len(some) > _ROWS_OF_QUANTILES:  # with both ends, between which all places are
        ends = some.min(), some.max()
        some = np.append(some[:: len(some) // _ROWS_OF_QUANTILES], ends)
    shares = np.linspace(0, 1, _N_QUANTILES)
    quantiles, first = np.unique(np.quantile(some, shares), return_index=True)
    return np.where(finite, np.interp(values, quantiles, shares[first]), -1.0)


def find_clusters(columns: Floats, rng: np.random.Generator) -> Clusters:
    """Return clusters of copies, all of them or for many rows those of some."""
    _, first, which = np.unique(_marks(columns), return_index=True, return_inverse=True)
    distinct = columns if len(first) == len(columns) else columns[first]
    which = np.arange(len(columns)) if distinct is columns else which
    n = len(distinct)
    if n < FEWEST:
        return Clusters([], np.empty(0, dtype=np.intp), 0.0)
    most = min(_MOST_ASKED, max(_FEWEST_ASKED, _MOST_DISTANCES // n))
    asked = rng.permutation(n)[:most]
    algorithm = "brute" if columns.shape[1] >= _MANY_COLUMNS else "kd_tree"
    search = NearestNeighbors(n_neighbors=min(_N_NEIGHBORS, n - 1) + 1, algorithm=algorithm)
    found = search.fit(distinct).kneighbors(distinct[asked])
    distances, neighbors = (part[:, 1:] for part in found)
    near = distances <= _near(distances, _dimension(distinct, rng))[:, None]
    labels = _connected(np.repeat(asked, near.sum(axis=1)), neighbors[near], n)
    of_rows = labels[which.ravel()]
    several = np.bincount(of_rows)[labels[asked]] > 1
    foreign = labels[neighbors] != labels[asked][:, None]
    # One member of each cluster speaks for it.
    usable = np.flatnonzero(several & foreign.any(axis=1))
    _, speaks = np.unique(labels[asked[usable]], return_index=True)
    speakers = rng.permutation(usable[speaks])[:MOST]
    nearest = neighbors[speakers, foreign[speakers].argmax(axis=1)]
    return Clusters(
        _members(of_rows, labels[asked[speakers]], rng),
        nearest if distinct is columns else first[nearest],
        float(np.average(several, weights=np.bincount(which.ravel())[asked])),
    )


def _marks(columns: Floats) -> NDArray[np.float64]:
    """Return a number for each row, the same for equal rows: sorting these needs no copy of all."""
    marks = np.zeros(len(columns))
    for column in columns.T:
        marks = marks * _MIXING + column
    return marks


def _near(distances: Floats, dimension: float) -> Floats:
    """Return, for each row, the distance within which a neighbour is a near copy."""
    by_chance = (_BY_CHANCE / distances.shape[1]) ** (1 / dimension)
    return np.asarray(min(_NEAR, by_chance) * distances[:, -1])


def _dimension(rows: Floats, rng: np.random.Generator) -> float:
    """Return d such that the number of neighbours within a distance r grows as r^d.

    From several samples of so few rows that most copies are not among them.
    """
    size = min(max(50, len(rows) // 20), _MOST_ASKED, len(rows))
    n_samples = min(6, min(len(rows), _MOST_ASKED) // size)
    order = rng.permutation(len(rows))[: n_samples * size].reshape(n_samples, size)
    far = min(8, size - 1)
    growth = []
    for some in order:
        distances, _ = NearestNeighbors(n_neighbors=far).fit(rows[some]).kneighbors()
        ends = np.maximum(distances[:, [far // 2 - 1, far - 1]], 1e-300)
        growth.append(np.diff(np.log(ends), axis=1))
    return float(np.log(2) / max(float(np.median(growth)), 1e-3))


def _connected(start: Rows, end: Rows, n: int) -> Rows:
    graph = coo_array((np.ones(len(start)), (start, end)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def _members(labels: Rows, wanted: Rows, rng: np.random.Generator) -> list[Rows]:
    """Return the rows that have each of the wanted labels, in random order."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[order], wanted)
    ends = np.searchsorted(labels[order], wanted, side="right")
    return [order[start:end] for start, end in zip(starts, ends, strict=True)]
