"""Gaussian processes with held-out predictions of their training rows in closed form.

scikit-learn's holds the derivative of the kernel by every length scale, n × n × d numbers, and
learns on all rows; this one learns on few rows, in a fraction of a second, and uses all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dtrtri
from scipy.optimize import minimize

Floats = NDArray[np.float64]

# Rows to learn a kernel on, and steps to learn it in.
LEARNING_ROWS = 300
LEARNING_STEPS = 20
# Deviations are found from so many rows: what they need is kept in the model, its square.
REFERENCE_ROWS = 2000
# Added to the diagonal: rows that are alike must not make it singular.
JITTER = 1e-6
# New rows are compared with the known ones so many at a time.
CHUNK_ROWS = 1000
# Rows that are closer than this, in length scales, differ by rounding.
SAME_PLACE = 1e-5
ROOT_3 = np.sqrt(3.0)


class Kernel(NamedTuple):
    """Matérn with a length scale for each feature, and independent noise."""

    scales: Floats
    signal: float
    noise: float
    smoothness: float

    @classmethod
    def of(cls, logs: Floats, smoothness: float) -> Kernel:
        """Return the kernel with these logarithms: of the scales, the signal and the noise."""
        return cls(np.exp(logs[:-2]), float(np.exp(logs[-2])), float(np.exp(logs[-1])), smoothness)

    def between(self, A: Floats, B: Floats) -> Floats:
        """Return the covariance of the signal at two sets of rows."""
        squared = _squared_distances(A / self.scales, B / self.scales)
        return self.signal * _correlation(squared, self.smoothness)[0]

    def among(self, A: Floats) -> Floats:
        """Return the covariance of targets at a set of rows."""
        covariance = self.between(A, A)
        covariance.flat[:: len(A) + 1] += self.noise + JITTER
        return covariance


class GaussianProcess:
    """Regression by two Gaussian processes that learn their kernels on different rows.

    Each is conditioned on all rows, and the average predicts. What one predicts for the rows that
    the other learnt on has, without those targets, a closed form: neither kernel nor condition
    has seen them.

    Parameters
    ----------
    seed : int
        Picks the rows that the kernels are learnt on.
    smoothness : {0.5, 1.5}
        Of the Matérn kernel.

    Attributes
    ----------
    held_out : tuple of ndarray of shape (n_rows,)
        Mean and standard deviation of the target of each training row, without that target.
    """

    def __init__(self, seed: int, smoothness: float) -> None:
        self.seed, self.smoothness = seed, smoothness

    def fit(self, X: Floats, y: Floats, fold: NDArray[np.intp], *, leave_one_out: bool) -> Self:
        """Learn the kernels on some rows, then condition on all of them.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows.
        y : ndarray of shape (n_rows,)
            Targets.
        fold : ndarray of shape (n_rows,)
            Even folds teach one kernel, odd ones the other.
        leave_one_out : bool
            Hold out each row by itself; otherwise with its fold.
        """
        self._middle, self._spread = X.mean(axis=0), _positive(X.std(axis=0))
        self._rows = self._standard(X)
        order = np.random.RandomState(self.seed).permutation(len(X))
        self._reference = np.sort(order[:REFERENCE_ROWS])
        self._parts = []
        mean, deviation = np.empty(len(y)), np.empty(len(y))
        for half in (0, 1):
            part = _Part(self._rows, y, order[fold[order] % 2 == half], self.smoothness)
            part.hold_out(self._rows, self._reference, fold, leave_one_out=leave_one_out)
            others = fold % 2 != half
            mean[others], deviation[others] = part.held_out[0][others], part.held_out[1][others]
            del part.held_out
            self._parts.append(part)
        self.held_out = mean, deviation
        return self

    def predict(self, X: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the target at each row."""
        chunks = [
            self._predict_chunk(X[start : start + CHUNK_ROWS])
            for start in range(0, len(X), CHUNK_ROWS)
        ]
        means, variances = zip(*chunks, strict=True)
        return np.concatenate(means), np.sqrt(np.concatenate(variances))

    def _predict_chunk(self, X: Floats) -> tuple[Floats, Floats]:
        rows = self._standard(X)
        found = [part.predict(rows, self._rows, self._reference) for part in self._parts]
        mean = np.mean([mean for mean, _ in found], axis=0)
        return mean, np.mean([deviation**2 for _, deviation in found], axis=0)

    def _standard(self, X: Floats) -> Floats:
        return (X - self._middle) / self._spread


class _Part:
    """One of the two processes."""

    def __init__(self, rows: Floats, y: Floats, learning: Any, smoothness: float) -> None:
        few = learning[:LEARNING_ROWS]
        self.mean, self.scale = float(y[few].mean()), float(_positive(y[few].std()))
        target = (y - self.mean) / self.scale
        self.kernel = learn_kernel(rows[few], target[few], smoothness)
        root = cholesky(self.kernel.among(rows), lower=True, overwrite_a=True, check_finite=False)
        self.weights = cho_solve((root, True), target, check_finite=False)
        self._target, self._root = target, root

    def hold_out(
        self,
        rows: Floats,
        reference: NDArray[np.intp],
        fold: NDArray[np.intp],
        *,
        leave_one_out: bool,
    ) -> None:
        """Find the prediction of each row without its target, or without those of its fold."""
        if leave_one_out:
            inverse_root = dtrtri(self._root, lower=1)[0]
            precision = np.einsum("ij,ij->j", inverse_root, inverse_root)
            mean = self._target - self.weights / precision
        else:
            mean = self._mean_without_folds(fold)
        del self._root, self._target
        covariance = self.kernel.among(rows[reference])
        self.reference_root = cholesky(covariance, lower=True, check_finite=False)
        deviation = self._deviations(rows, rows[reference], self.reference_root)
        if leave_one_out:
            inverse_root = dtrtri(self.reference_root, lower=1)[0]
            deviation[reference] = 1 / np.sqrt(np.einsum("ij,ij->j", inverse_root, inverse_root))
        else:
            for k in np.unique(fold):
                known = reference[fold[reference] != k]
                root = cholesky(self.kernel.among(rows[known]), lower=True, check_finite=False)
                deviation[fold == k] = self._deviations(rows[fold == k], rows[known], root)
        self.held_out = self.mean + self.scale * mean, self.scale * deviation

    def _mean_without_folds(self, fold: NDArray[np.intp]) -> Floats:
        """Return y − P⁻¹w on each fold: P its block of the inverse covariance, w its weights."""
        mean = np.empty(len(fold))
        for k in np.unique(fold):
            inside = np.flatnonzero(fold == k)
            unit = np.zeros((len(fold), len(inside)))
            unit[inside, np.arange(len(inside))] = 1.0
            half = solve_triangular(self._root, unit, lower=True, check_finite=False)
            mean[inside] = self._target[inside] - np.linalg.solve(
                half.T @ half, self.weights[inside]
            )
        return mean

    def predict(
        self, new: Floats, rows: Floats, reference: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        mean = self.mean + self.scale * (self.kernel.between(new, rows) @ self.weights)
        return mean, self.scale * self._deviations(new, rows[reference], self.reference_root)

    def _deviations(self, new: Floats, known: Floats, root: Floats) -> Floats:
        covariance = self.kernel.between(new, known)
        explained = solve_triangular(root, covariance.T, lower=True, check_finite=False)
        left = np.maximum(self.kernel.signal - (explained**2).sum(axis=0), 0)
        return np.sqrt(left + self.kernel.noise)


def learn_kernel(X: Floats, y: Floats, smoothness: float) -> Kernel:
    """Return the kernel of greatest posterior density, under wide priors.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows of mean zero and variance one.
    y : ndarray of shape (n_rows,)
        Targets, likewise.
    smoothness : {0.5, 1.5}
        Of the Matérn kernel.
    """
    n_features = X.shape[1]
    start = np.append(np.full(n_features, 0.3 + 0.5 * np.log(n_features)), [0.3, -2.0])
    limits = [(-3.0, 7.0)] * n_features + [(-4.0, 6.0), (-12.0, 2.0)]
    found = minimize(
        _cost,
        start,
        args=(X, y, smoothness),
        jac=True,
        bounds=limits,
        options={"maxiter": LEARNING_STEPS},
    )
    return Kernel.of(found.x, smoothness)


def _cost(logs: Floats, X: Floats, y: Floats, smoothness: float) -> tuple[float, Floats]:
    """Return minus the log posterior density of a kernel, and its gradient."""
    kernel = Kernel.of(logs, smoothness)
    scaled = X / kernel.scales
    correlation, slope = _correlation(_squared_distances(scaled, scaled), smoothness)
    signal = kernel.signal * correlation
    root = cholesky(
        signal + (kernel.noise + JITTER) * np.eye(len(X)), lower=True, check_finite=False
    )
    inverse = cho_solve((root, True), np.eye(len(X)), check_finite=False)
    weights = inverse @ y
    cost = 0.5 * y @ weights + np.log(np.diag(root)).sum()
    # The derivative of the cost by the covariance, and of that by squared distances.
    outer = 0.5 * (inverse - np.outer(weights, weights))
    by_distance = outer * (kernel.signal * slope)
    # Σᵢⱼ Gᵢⱼ (xᵢ − xⱼ)² for each feature, without a matrix a feature.
    total = by_distance.sum(axis=1)
    products = np.einsum("id,id->d", scaled, by_distance @ scaled)
    gradient = np.append(
        2 * (total @ scaled**2 - products), [(outer * signal).sum(), kernel.noise * outer.trace()]
    )
    prior, by_log = _prior(logs)
    return float(cost + prior), gradient + by_log


def _correlation(squared: Floats, smoothness: float) -> tuple[Floats, Floats]:
    """Return the correlation at squared distances, and minus twice its derivative by them."""
    if smoothness == 0.5:
        far = np.sqrt(squared)
        decay = np.exp(-far)
        # The slope has a pole at no distance, where it counts for nothing: it is multiplied by it.
        return decay, np.divide(decay, far, out=np.zeros_like(far), where=far > SAME_PLACE)
    far = ROOT_3 * np.sqrt(squared)
    decay = np.exp(-far)
    return (1 + far) * decay, 3 * decay


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
