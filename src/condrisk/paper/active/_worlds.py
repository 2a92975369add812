"""The sets of the study: rows to label, rows to test on, and how an error is measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from condrisk.datasets import load_cifar10, load_uci
from condrisk.paper.active._settings import CIFAR10, SEED, SETS, TRAP

Floats = NDArray[np.float64]

_N_CIFAR10, _N_TRAIN = 60_000, 50_000


@dataclass(frozen=True, eq=False)
class World:
    """One seed of a set.

    Attributes
    ----------
    X, y : ndarrays
        The rows that can be labelled, and their labels.
    X_test, y_test : ndarrays
        The rows to test on; in "trap", those whose labels are not noise.
    n_classes : int or None
        None for numbers.
    noisy : ndarray of bool or None
        In "trap", the rows whose labels are nothing but noise.
    """

    X: Floats
    y: NDArray[Any]
    X_test: Floats
    y_test: NDArray[Any]
    n_classes: int | None = None
    noisy: NDArray[np.bool_] | None = None

    def share_of_noise(self, rows: NDArray[np.intp]) -> float:
        """Return the share of some rows whose labels are nothing but noise."""
        return 0.0 if self.noisy is None else float(self.noisy[rows].mean())

    def error(self, prediction: NDArray[Any]) -> float:
        """Return the mean squared error, or the share of wrong labels."""
        if self.n_classes is None:
            return float(np.square(prediction - self.y_test).mean())
        return float((prediction != self.y_test).mean())


def make_world(name: str, seed: int, embeddings: str | None) -> World:
    """Return the rows of one seed of a set."""
    if name == TRAP:
        return _trap(np.random.default_rng([SEED, SETS.index(TRAP), seed]))
    if name == CIFAR10:
        X, y = _cifar10(str(embeddings))
        return World(X[:_N_TRAIN], y[:_N_TRAIN], X[_N_TRAIN:], y[_N_TRAIN:], n_classes=10)
    data = load_uci(name)
    train, test = data.folds[seed % len(data.folds)]
    # Scales of the columns are known without labels.
    scaler = StandardScaler().fit(data.data[train])
    X, X_test = scaler.transform(data.data[train]), scaler.transform(data.data[test])
    return World(X, data.target[train], X_test, data.target[test])


def _trap(rng: np.random.Generator) -> World:
    """Half of a square has classes that can be learnt, in the other half labels are coins."""
    X, X_test = rng.uniform(-1.7, 1.7, (2, 1000, 2))
    noisy = X[:, 0] > 0
    y = np.where(noisy, rng.integers(0, 2, len(X)), _side(X))
    # Among coins every answer is as good as any other: only the other half can tell.
    X_test = X_test[X_test[:, 0] <= 0]
    return World(X, y, X_test, _side(X_test), n_classes=2, noisy=noisy)


def _side(X: Floats) -> NDArray[np.int64]:
    return (X[:, 1] > 0.6 * np.sin(3 * X[:, 0])).astype(np.int64)


@lru_cache(maxsize=1)
def _cifar10(embeddings: str) -> tuple[Floats, NDArray[np.int64]]:
    X = check_embeddings(embeddings).astype(np.float64)
    return X / X.std(), np.asarray(load_cifar10().labels)


def check_embeddings(path: str | Path) -> NDArray[Any]:
    """Read embeddings, and raise if they are none of CIFAR-10."""
    found = np.load(path, mmap_mode="r")
    if found.ndim != 2 or len(found) != _N_CIFAR10:
        raise ValueError(
            f"embeddings must be an array with a row for each of the {_N_CIFAR10:,} images of "
            f"CIFAR-10, got one of shape {found.shape} in {str(path)!r}."
        )
    return found


@lru_cache(maxsize=1)
def checksum(path: str) -> str:
    """Return the SHA-256 of a file, which tells one file of embeddings from another."""
    return sha256(Path(path).read_bytes()).hexdigest()
