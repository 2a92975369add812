"""Nadaraya and Watson's smoother with a Gaussian kernel, in bounded memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

Floats = NDArray[np.float64]

# Distances and weights of a block take 16 MB each, twice: the last block is still there when the
# next one is made.
_BLOCK = 1 << 21
# A point whose weights sum to less than this is one that the data say nothing about.
LEAST_WEIGHT = 1e-8


class Smoothed(NamedTuple):
    """Sums over the centres, each of shape (n_bandwidths, n_samples)."""

    weight: Floats
    weighted_loss: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether the centres say anything about the row."""
        return self.weight >= LEAST_WEIGHT

    def mean(self) -> Floats:
        """Return the weighted mean loss, near zero where nothing is known."""
        return self.weighted_loss / np.maximum(self.weight, LEAST_WEIGHT)


def smooth(
    X: Floats, centres: Floats, loss: Floats, bandwidths: Floats, *, block: int = _BLOCK
) -> Smoothed:
    """Sum exp(−‖x − xᵢ‖² / w²), and that times ℓᵢ, over the centres xᵢ, for each bandwidth w.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    centres : ndarray of shape (n_centres, n_features)
        The rows whose loss is known.
    loss : ndarray of shape (n_centres,)
        Their losses.
    bandwidths : ndarray of shape (n_bandwidths,)
        The bandwidths.
    block : int
        How many distances to hold at a time.

    Returns
    -------
    Smoothed
        The sums.
    """
    sums = np.empty((len(bandwidths), len(X), 2))
    # Both sums in one product, in one order: equal losses then have exactly that loss as mean.
    columns = np.column_stack([np.ones_like(loss), loss])
    with np.errstate(over="ignore", under="ignore"):  # far away the weight is zero
        for rows in gen_batches(len(X), max(1, block // len(centres))):
            # Not by way of dot products, which lose small distances between large numbers.
            squared = cdist(X[rows], centres, "sqeuclidean")
            kernel = np.empty_like(squared)
            for k, bandwidth in enumerate(bandwidths):
                np.exp(np.divide(squared, -(bandwidth**2), out=kernel), out=kernel)
                sums[k, rows] = kernel @ columns
    return Smoothed(sums[:, :, 0], sums[:, :, 1])
