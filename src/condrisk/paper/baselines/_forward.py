"""What trained networks answer, in numpy: predicting needs no torch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import gen_batches

Floats = NDArray[np.float64]
Weights = dict[str, NDArray[np.float64]]

# The hidden units of so many rows take a few tens of megabytes.
_BLOCK_ROWS = 1 << 16


def predictions(weights: Weights, X: Floats, net: int) -> Floats:
    """Return the predictions of one net of a stack, shape (n_samples,)."""
    out = np.empty(len(X))
    for rows, hidden in _hidden(weights, X, net):
        out[rows] = hidden @ weights["answer"][net] + weights["answer_bias"][net]
    return out


def predictions_and_selection(weights: Weights, X: Floats, net: int) -> tuple[Floats, Floats]:
    """Return predictions and selection of one net of a stack, each of shape (n_samples,)."""
    out, selection = np.empty(len(X)), np.empty(len(X))
    for rows, hidden in _hidden(weights, X, net):
        out[rows] = hidden @ weights["answer"][net] + weights["answer_bias"][net]
        inner = hidden @ weights["inner"][net] + weights["inner_bias"][net]
        select = np.maximum(inner, 0.0) @ weights["select"][net] + weights["select_bias"][net]
        selection[rows] = expit(select)
    return out, selection


def _hidden(weights: Weights, X: Floats, net: int) -> Iterator[tuple[slice, Floats]]:
    """Return the hidden units block by block: batch norms are folded into the weights."""
    for rows in gen_batches(len(X), _BLOCK_ROWS):
        centred = X[rows] - weights["centre"]
        hidden = centred @ weights["hidden"][net] + weights["hidden_bias"][net]
        yield rows, np.maximum(hidden, 0.0, out=hidden)
