"""What rules are fitted on: held-out losses, and risks that were estimated without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from condrisk._crossfit import Split, mean_by_row

Floats = NDArray[np.float64]

# Estimated on at most so many rows: enough for any threshold, and a bound on what is kept.
MOST_ROWS = 50_000


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """Return the positions of n rows in an order that has nothing to do with folds.

    Shuffled folds are what the same seed makes of the rows by itself: the first rows of its own
    permutation would all be of one fold.
    """
    return np.random.RandomState([seed, n % 2**32]).permutation(n)


def drawn(n: int, most: int, seed: int) -> NDArray[np.intp]:
    """Return the positions of so many of n rows, drawn at random, in order."""
    return np.sort(shuffled(n, seed)[:most])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Losses of rows that the predictor was not fitted on, and risks that g learnt without them.

    Attributes
    ----------
    rows : ndarray of int, shape (n_held_out,)
        Positions of the rows among those given to `fit`, increasing.
    losses, risks : ndarray of shape (n_held_out,)
        The realised loss of each row, and its risk as estimated from the losses of other rows; for
        a row that several splits held out, the mean over these.
    weights, groups : ndarray of shape (n_held_out,) or None
        What `fit` was given for these rows.
    """

    rows: NDArray[np.intp]
    losses: Floats
    risks: Floats
    weights: Floats | None = None
    groups: NDArray[Any] | None = None


class Pairs(NamedTuple):
    """Held-out rows with their losses, and what it takes to estimate their risks without them.

    Attributes
    ----------
    rows : ndarray of int, shape (n_pairs,)
        The row of each pair; a row that several splits hold out has several pairs.
    losses : ndarray of shape (n_pairs,)
        The loss of each pair.
    folds : list of (others, own)
        For each fold, the pairs to learn from and the pairs to estimate.
    weights, groups : ndarray of shape (n_pairs,) or None
        Of the rows.
    arrays : dict of str to array-like with n_pairs rows
        Inputs of the estimate.
    model : estimator or None
        What has to be fitted on each fold, not fitted yet.
    params : dict
        Its fit parameters.
    """

    rows: NDArray[np.intp]
    losses: Floats
    folds: list[Split]
    weights: Floats | None = None
    groups: NDArray[Any] | None = None
    arrays: dict[str, Any] = {}  # noqa: RUF012 - a default that nobody changes
    model: Any = None
    params: dict[str, Any] = {}  # noqa: RUF012

    def drawn(self, seed: int) -> NDArray[np.intp]:
        """Return at most `MOST_ROWS` of the pairs, drawn at random, as positions."""
        n = len(self.rows)
        return np.arange(n) if n <= MOST_ROWS else np.sort(shuffled(n, seed)[:MOST_ROWS])

    def thinned(self, seed: int) -> Pairs:
        """Return at most `MOST_ROWS` of the pairs, drawn at random, as copies."""
        return self.at(self.drawn(seed))

    def at(self, kept: NDArray[np.intp]) -> Pairs:
        """Return some of the pairs, as copies."""
        place = np.full(len(self.rows), -1)
        place[kept] = np.arange(len(kept))
        folds = [(place[a][place[a] >= 0], place[b][place[b] >= 0]) for a, b in self.folds]
        return self._replace(
            rows=self.rows[kept],
            losses=self.losses[kept],
            folds=[(others, own) for others, own in folds if len(others) and len(own)],
            weights=None if self.weights is None else self.weights[kept],
            groups=None if self.groups is None else _safe_indexing(self.groups, kept),
            arrays={name: _safe_indexing(part, kept) for name, part in self.arrays.items()},
            params=_check_method_params(self.losses, self.params, indices=kept),
        )

    def with_risks(self, risks: Floats) -> HeldOut:
        """Return losses and risks of each row, averaged over its pairs."""
        rows, first, place = np.unique(self.rows, return_index=True, return_inverse=True)
        return HeldOut(
            rows,
            mean_by_row(self.losses, place, len(rows)),
            mean_by_row(risks, place, len(rows)),
            None if self.weights is None else self.weights[first],
            None if self.groups is None else np.asarray(self.groups)[first],
        )
