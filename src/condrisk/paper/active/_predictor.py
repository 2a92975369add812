"""The predictor of the study: a Gaussian process in closed form, for numbers and for classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import euclidean_distances

Floats = NDArray[np.float64]

# Length scales in units of the root of the number of features, noise in units of the signal.
LENGTHS = np.geomspace(0.2, 20.0, 9)
NOISES = np.geomspace(1e-3, 3.0, 9)
# With more rows, length and noise are chosen on as many of them.
MOST_FOR_CHOICE = 200
LEAST_PROBABILITY = 1e-3


class KernelProcess(BaseEstimator):
    """Gaussian process with a Matérn 3/2 kernel; length and noise by marginal likelihood on a grid.

    Classes are learnt as numbers, one column of zeros and ones for each, under one kernel. What
    it says about rows left out is in closed form.

    Parameters
    ----------
    n_classes : int or None, default=None
        For labels 0, 1, …; None for numbers.

    Attributes
    ----------
    left_out_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What it would predict for each of its own rows without that row: numbers, or probabilities.
    """

    def __init__(self, *, n_classes: int | None = None) -> None:
        self.n_classes = n_classes

    def fit(self, X: Floats, y: NDArray[Any]) -> Self:
        """Fit on rows with labels."""
        target = y[:, None] if self.n_classes is None else np.eye(self.n_classes)[y]
        self.X_ = X
        self.mean_ = target.mean(axis=0)
        apart = target - self.mean_
        step = max(1, -(-len(X) // MOST_FOR_CHOICE))
        self.length_, self.ratio_, self.signal_ = _choose(X[::step], apart[::step])
        kernel = _matern(euclidean_distances(X, X), self.length_)
        self.inverse_ = np.linalg.inv(kernel + self.ratio_ * np.eye(len(X)))
        self.weights_ = self.inverse_ @ apart
        self.left_out_ = self._output(target - self.weights_ / self.inverse_.diagonal()[:, None])
        return self

    def _output(self, raw: Floats) -> Floats:
        if self.n_classes is None:
            return raw[:, 0]
        positive = np.maximum(raw, LEAST_PROBABILITY)
        return positive / positive.sum(axis=1, keepdims=True)

    def response(self, X: Floats) -> Floats:
        """Return numbers, or probabilities."""
        kernel = _matern(euclidean_distances(X, self.X_), self.length_)
        return self._output(self.mean_ + kernel @ self.weights_)

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return numbers, or labels."""
        found = self.response(X)
        return found if self.n_classes is None else found.argmax(axis=1)

    def posterior(self, X: Floats) -> tuple[Floats, Floats]:
        """Return covariance and noise, of all classes together."""
        cross = _matern(euclidean_distances(X, self.X_), self.length_)
        scale = self.signal_ * len(self.mean_)
        covariance = (
            _matern(euclidean_distances(X, X), self.length_) - cross @ self.inverse_ @ cross.T
        )
        return scale * covariance, np.full(len(X), scale * self.ratio_)

    def variance(self, X: Floats) -> Floats:
        """Return the diagonal of the covariance."""
        cross = _matern(euclidean_distances(X, self.X_), self.length_)
        scale = self.signal_ * len(self.mean_)
        return scale * np.maximum(1.0 - np.einsum("ij,ij->i", cross @ self.inverse_, cross), 0.0)


def _matern(distance: Floats, length: float) -> Floats:
    scaled = np.sqrt(3.0) * distance / length
    return (1.0 + scaled) * np.exp(-scaled)


def _choose(X: Floats, apart: Floats) -> tuple[float, float, float]:
    """Return length, noise and signal of the largest marginal likelihood on the grid."""
    distance, best = euclidean_distances(X, X), (-np.inf, 0.0, 0.0, 0.0)
    for length in LENGTHS * np.sqrt(X.shape[1]):
        values, vectors = np.linalg.eigh(_matern(distance, length))
        power = np.square(vectors.T @ apart).mean(axis=1)
        total = np.maximum(values, 0.0)[:, None] + NOISES
        # A constant target has no signal: any positive number will do.
        signal = np.maximum((power[:, None] / total).mean(axis=0), 1e-12)
        likelihood = -(np.log(signal) + np.log(total).mean(axis=0))
        k = int(np.argmax(likelihood))
        best = max(best, (float(likelihood[k]), float(length), float(NOISES[k]), float(signal[k])))
    return best[1:]
