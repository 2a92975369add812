"""Columns in a few bins each: what model files keep of them, and what new rows are counted in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Bins have so many rows or more, as far as there are so many.
MOST_BINS, ROWS_PER_BIN = 10, 25
# Of wide tables, the columns that say most about the risk.
MOST_COLUMNS = 40
# An effect is shrunk as if so many rows of the bin had none.
SHRINK_ROWS = 10.0


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A column in bins, as held-out rows fill them, and how the risk goes with the bins.

    Attributes
    ----------
    name : str
        Its name.
    edges : ndarray
        Of numbers, the inner edges; of categories, the codes that have a bin of their own.
    is_category : bool
        Which of the two.
    count : ndarray of shape (n_bins,)
        Held-out rows in each bin. The last bin is of missing values; of categories the one before
        is of all others.
    effect : ndarray of shape (n_bins,)
        By how much the risk is higher in the bin, all other columns equal: the coefficients of an
        additive model of the risk.
    """

    name: str
    edges: Floats
    is_category: bool
    count: Floats
    effect: Floats

    def codes(self, values: ArrayLike) -> Codes:
        """Return the bin of each value: a number or the code of a category, NaN where missing."""
        return bin_codes(np.asarray(values, dtype=np.float64), self.edges, self.is_category)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as a manifest holds it."""
        return {
            "name": self.name,
            "edges": self.edges.tolist(),
            "is_category": self.is_category,
            "count": self.count.tolist(),
            "effect": self.effect.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BinnedColumn:
        """Return the column that `to_dict` described."""
        edges, count, effect = (
            np.asarray(data[key], dtype=np.float64) for key in ("edges", "count", "effect")
        )
        return cls(str(data["name"]), edges, bool(data["is_category"]), count, effect)


def bin_codes(values: Floats, edges: Floats, is_category: bool) -> Codes:
    """Return the bin of each value; missing ones are in the last."""
    n = len(edges) + 1
    if is_category:
        place = np.minimum(np.searchsorted(edges, values), max(len(edges) - 1, 0))
        known = edges[place] == values if len(edges) else np.zeros(len(values), dtype=bool)
        found = np.where(known, place, len(edges))
    else:
        found = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), n, found)


def bin_columns(columns: Mapping[str, tuple[Floats, bool]], risk: Floats) -> list[BinnedColumn]:
    """Put columns into bins, and find how the risk goes with them.

    Parameters
    ----------
    columns : mapping of str to (values, is_category)
        Numbers, or codes of categories; NaN is missing.
    risk : ndarray of shape (n_rows,)
        The estimated risk of each row.

    Returns
    -------
    list of BinnedColumn
        At most 40, in the order of the columns.

    Notes
    -----
    The effects are those of an additive model of the risk, all columns at once, so that of two
    columns that go together both are not told to explain the same. Ridge regression; the mean
    effect of a column over the rows is zero.
    """
    made = {name: _edges(values, kind) for name, (values, kind) in columns.items()}
    codes = {name: bin_codes(values, made[name], kind) for name, (values, kind) in columns.items()}
    told = {name: _explained(code, risk) for name, code in codes.items()}
    kept = sorted(told, key=lambda name: -told[name])[:MOST_COLUMNS]
    names = [name for name in columns if name in kept]
    sizes = [len(made[name]) + 2 for name in names]
    effects = _effects([codes[name] for name in names], sizes, risk)
    return [
        BinnedColumn(
            name,
            made[name],
            columns[name][1],
            np.bincount(codes[name], minlength=size).astype(np.float64),
            effect,
        )
        for name, size, effect in zip(names, sizes, effects, strict=True)
    ]


def _edges(values: Floats, is_category: bool) -> Floats:
    known = values[np.isfinite(values)]
    if is_category:
        found, counts = np.unique(known, return_counts=True)
        return np.sort(found[np.argsort(-counts, kind="stable")[: MOST_BINS - 1]])
    if not len(known):
        return np.empty(0)
    n_bins = min(MOST_BINS, max(2, len(known) // ROWS_PER_BIN))
    quantiles = np.quantile(known, np.linspace(0, 1, n_bins + 1)[1:-1], method="higher")
    return np.unique(quantiles[quantiles > known.min()])


def _explained(codes: Codes, risk: Floats) -> float:
    """Return how much of the variance of the risk lies between the bins of a column."""
    count = np.bincount(codes)
    sums = np.bincount(codes, weights=risk - risk.mean())
    return float((sums**2 / np.maximum(count, 1)).sum())


def _effects(codes: Sequence[Codes], sizes: Sequence[int], risk: Floats) -> list[Floats]:
    """Return the coefficients of an additive model, column by column."""
    if not codes:
        return []
    starts = np.concatenate([[0], np.cumsum(sizes)])
    design = np.zeros((len(risk), int(starts[-1])))
    for start, code in zip(starts, codes, strict=False):
        design[np.arange(len(risk)), start + code] = 1.0
    mean = design.mean(axis=0)
    centred = design - mean
    gram = centred.T @ centred + SHRINK_ROWS * np.eye(design.shape[1])
    beta = np.linalg.solve(gram, centred.T @ (risk - risk.mean()))
    parts = [beta[a:b] for a, b in pairwise(starts)]
    shares = [mean[a:b] for a, b in pairwise(starts)]
    return [part - share @ part for part, share in zip(parts, shares, strict=True)]


def column_values(values: Any, kind: str) -> tuple[Floats, bool] | None:
    """Return a plain column as numbers and whether they are codes; None for text and dates.

    Parameters
    ----------
    values : ndarray
        As `condrisk.persistence.Schema.rows` takes a column.
    kind : str
        Of the column.
    """
    if kind == "category":
        codes = np.asarray(values, dtype=np.float64)
        return np.where(codes < 0, np.nan, codes), True
    if kind in ("number", "boolean"):
        return np.asarray(values, dtype=np.float64), False
    return None
