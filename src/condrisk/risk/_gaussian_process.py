"""A Gaussian process whose length scales are learnt on few rows, and which then uses all of them.

scikit-learn's holds the derivative of the kernel by every length scale, n × n × d numbers, and
learns on all rows; this one needs n × n, and a fraction of a second.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

Floats = NDArray[np.float64]

# Rows to learn the kernel on, and steps to learn it in.
LEARNING_ROWS = 300
LEARNING_STEPS = 25
# Added to the diagonal: rows that are alike must not make it singular.
JITTER = 1e-6
ROOT_5 = np.sqrt(5.0)


class Kernel(NamedTuple):
    """Matérn 5/2 with a length scale for each feature, and independent noise."""

    scales: Floats
    signal: float
    noise: float

    @classmethod
    def of(cls, logs: Floats) -> Kernel:
        """Return the kernel with these logarithms: of the scales, the signal and the noise."""
        return cls(np.exp(logs[:-2]), float(np.exp(logs[-2])), float(np.exp(logs[-1])))

    def between(self, A: Floats, B: Floats) -> Floats:
        """Return the covariance of the signal at two sets of rows."""
        squared = _squared_distances(A / self.scales, B / self.scales)
        far = ROOT_5 * np.sqrt(squared)
        return self.signal * (1 + far + 5 / 3 * squared) * np.exp(-far)


class GaussianProcess:
    """Regression by a Gaussian process, with the standard deviation of a new target.

    Parameters
    ----------
    seed : int
        Picks the rows that the kernel is learnt on.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the kernel on some rows, then condition on all of them."""
        self._middle, self._spread = X.mean(axis=0), _positive(X.std(axis=0))
        self._mean, self._scale = float(y.mean()), float(_positive(y.std()))
        rows, target = self._standard(X), (y - self._mean) / self._scale
        few = np.random.RandomState(self.seed).permutation(len(rows))[:LEARNING_ROWS]
        self.kernel = learn_kernel(rows[few], target[few])
        covariance = self.kernel.between(rows, rows)
        covariance.flat[:: len(rows) + 1] += self.kernel.noise + JITTER
        self._root = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        self._weights = cho_solve((self._root, True), target, check_finite=False)
        self._rows = rows
        return self

    def predict(self, X: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the target at each row."""
        covariance = self.kernel.between(self._standard(X), self._rows)
        mean = self._mean + self._scale * (covariance @ self._weights)
        known = solve_triangular(self._root, covariance.T, lower=True, check_finite=False)
        variance = np.maximum(self.kernel.signal - (known**2).sum(axis=0), 0) + self.kernel.noise
        return mean, self._scale * np.sqrt(variance)

    def _standard(self, X: Floats) -> Floats:
        return (X - self._middle) / self._spread


def learn_kernel(X: Floats, y: Floats) -> Kernel:
    """Return the kernel of greatest posterior density, under wide priors.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows of mean zero and variance one.
    y : ndarray of shape (n_rows,)
        Targets, likewise.
    """
    n_features = X.shape[1]
    start = np.append(np.full(n_features, 0.3 + 0.5 * np.log(n_features)), [0.3, -2.0])
    limits = [(-3.0, 7.0)] * n_features + [(-4.0, 6.0), (-12.0, 2.0)]
    found = minimize(
        _cost, start, args=(X, y), jac=True, bounds=limits, options={"maxiter": LEARNING_STEPS}
    )
    return Kernel.of(found.x)


def _cost(logs: Floats, X: Floats, y: Floats) -> tuple[float, Floats]:
    """Return minus the log posterior density of a kernel, and its gradient."""
    kernel = Kernel.of(logs)
    scaled = X / kernel.scales
    squared = _squared_distances(scaled, scaled)
    far = ROOT_5 * np.sqrt(squared)
    decay = np.exp(-far)
    signal = kernel.signal * (1 + far + 5 / 3 * squared) * decay
    root = cholesky(
        signal + (kernel.noise + JITTER) * np.eye(len(X)), lower=True, check_finite=False
    )
    inverse = cho_solve((root, True), np.eye(len(X)), check_finite=False)
    weights = inverse @ y
    cost = 0.5 * y @ weights + np.log(np.diag(root)).sum()
    # The derivative of the cost by the covariance, and of that by squared distances.
    outer = 0.5 * (inverse - np.outer(weights, weights))
    by_distance = outer * (5 / 3 * kernel.signal * (1 + far) * decay)
    # Σᵢⱼ Gᵢⱼ (xᵢ − xⱼ)² for each feature, without a matrix a feature.
    total = by_distance.sum(axis=1)
    products = np.einsum("id,id->d", scaled, by_distance @ scaled)
    gradient = np.append(
        2 * (total @ scaled**2 - products), [(outer * signal).sum(), kernel.noise * outer.trace()]
    )
    prior, by_log = _prior(logs)
    return float(cost + prior), gradient + by_log


def _prior(logs: Floats) -> tuple[float, Floats]:
    """Return minus the log density of wide normal priors, and its gradient."""
    middle = np.append(np.full(len(logs) - 2, 1.0), [0.5, -2.5])
    width = np.append(np.full(len(logs) - 1, 2.0), [3.0])
    off = (logs - middle) / width
    return float(0.5 * off @ off), off / width


def _squared_distances(A: Floats, B: Floats) -> Floats:
    squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.maximum(squared, 0.0)


def _positive(spread: Any) -> Any:
    """Return the spread, one where there is none."""
    return np.where(spread > 0, spread, 1.0)
