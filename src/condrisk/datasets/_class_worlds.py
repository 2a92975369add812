"""Classification worlds around K centres: one with overlapping classes, one without noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from condrisk.datasets._world import ClassificationWorld, ClassLaw, Floats, check_count


@dataclass(frozen=True)
class GaussianMixture(ClassLaw):
    """A normal cloud of identity covariance around the centre of each class."""

    separation: float
    priors: tuple[float, ...]

    def proba(self, X: Floats) -> Floats:
        """Return p(y | x) of each row, a column per class."""
        # The squares of x in the exponents are the same for all classes and cancel.
        centres = _centres(self.n_classes, self.n_features, self.separation)
        offsets = np.log(self.priors) - 0.5 * (centres**2).sum(axis=1)
        return softmax(X @ centres.T + offsets, axis=1)

    def draw(self, n_samples: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
        """Return X and y of `n_samples` independent rows."""
        y = rng.choice(self.n_classes, size=n_samples, p=self.priors)
        centres = _centres(self.n_classes, self.n_features, self.separation)
        return centres[y] + rng.standard_normal((n_samples, self.n_features)), y


@dataclass(frozen=True)
class NearestCentre(ClassLaw):
    """Standard normal features; the class is that of the nearest centre."""

    def proba(self, X: Floats) -> Floats:
        """Return p(y | x) of each row, a column per class: zeros and a one."""
        return np.eye(self.n_classes)[self._nearest(X)]

    def draw(self, n_samples: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.intp]]:
        """Return X and y of `n_samples` independent rows."""
        X = rng.standard_normal((n_samples, self.n_features))
        return X, self._nearest(X)

    def _nearest(self, X: Floats) -> NDArray[np.intp]:
        # On a line the centres span about four standard deviations, so that each has its share of
        # the rows; on a circle only the angle counts.
        centres = _centres(self.n_classes, self.n_features, 4.0 / self.n_classes)
        return np.argmax(X @ centres.T - 0.5 * (centres**2).sum(axis=1), axis=1)


def _centres(n_classes: int, n_features: int, separation: float) -> Floats:
    """Return points whose neighbours are `separation` apart, on a line or, from 2-D on, a circle.

    The circle lies in the plane of the first two features; the others are zero.
    """
    steps = np.arange(n_classes)
    centres = np.zeros((n_classes, n_features))
    if n_features == 1:
        centres[:, 0] = separation * (steps - (n_classes - 1) / 2)
    else:
        angles = 2 * np.pi * steps / n_classes
        radius = separation / (2 * np.sin(np.pi / n_classes))
        centres[:, :2] = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return centres


def make_gaussian_mixture(
    n_samples: int = 1000,
    *,
    n_classes: int = 3,
    n_features: int = 2,
    separation: float = 2.0,
    priors: ArrayLike | None = None,
    random_state: Any = None,
) -> ClassificationWorld:
    """Draw a classification of K overlapping normal clouds.

    Given its class, a row is normal with identity covariance around the centre of that class. The
    centres do not depend on the seed: they lie evenly on a circle in the plane of the first two
    features (on a line if there is one feature only), neighbours `separation` apart. All other
    features are noise. So p(y | x) is the softmax of linear functions of x, and scikit-learn's
    `LogisticRegression` is well specified.

    Parameters
    ----------
    n_samples : int, default=1000
        How many rows.
    n_classes : int, default=3
        How many classes K, at least two.
    n_features : int, default=2
        How many features, at least one.
    separation : float, default=2.0
        The distance between neighbouring centres, in standard deviations. At zero the features
        say nothing about the class.
    priors : array-like of shape (n_classes,), optional
        The probability of each class, positive and summing to one; by default all equal.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same rows every time.

    Returns
    -------
    ClassificationWorld
        The rows `X`, `y`, the labels `classes` and the functions `proba` and `risk`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> world = make_gaussian_mixture(n_classes=4, priors=[0.1, 0.2, 0.3, 0.4], random_state=0)
    >>> world.proba([[0.0, 0.0]])  # as far from every centre
    array([[0.1, 0.2, 0.3, 0.4]])
    >>> model = LogisticRegression().fit(world.X, world.y)
    >>> fresh = world.sample(5, random_state=1)
    >>> world.risk(model, fresh.X, loss="log_loss").shape
    (5,)
    """
    n_classes = check_count(n_classes, "n_classes", 2)
    n_features = check_count(n_features, "n_features", 1)
    if not 0 <= separation < np.inf:
        raise ValueError(f"separation must be a number of at least 0, got {separation!r}.")
    weights = _check_priors(priors, n_classes)
    law = GaussianMixture(n_features, n_classes, float(separation), weights)
    return ClassificationWorld.from_law(law, n_samples, random_state)


def make_separable(
    n_samples: int = 1000, *, n_classes: int = 3, n_features: int = 2, random_state: Any = None
) -> ClassificationWorld:
    """Draw a classification without noise: the class is a function of the features.

    The features are standard normal and independent, and the class is that of the nearest of K
    centres: equal sectors of the plane of the first two features (pieces of the line if there is
    one feature only). All probabilities are zero or one, and linear boundaries separate the
    classes. There is no gap between them, so a model fitted to a finite number of rows is still
    wrong near a boundary, and its risk is its loss there.

    Parameters
    ----------
    n_samples : int, default=1000
        How many rows.
    n_classes : int, default=3
        How many classes K, at least two.
    n_features : int, default=2
        How many features, at least one.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same rows every time.

    Returns
    -------
    ClassificationWorld
        The rows `X`, `y`, the labels `classes` and the functions `proba` and `risk`.

    Examples
    --------
    >>> from condrisk.datasets import make_separable
    >>> world = make_separable(n_classes=4, random_state=0)
    >>> world.proba([[1.0, 0.2], [-0.2, 1.0]])
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """
    n_classes = check_count(n_classes, "n_classes", 2)
    law = NearestCentre(check_count(n_features, "n_features", 1), n_classes)
    return ClassificationWorld.from_law(law, n_samples, random_state)


def _check_priors(priors: ArrayLike | None, n_classes: int) -> tuple[float, ...]:
    """Return the probability of each class, or say what is wrong with them."""
    if priors is None:
        return (1.0 / n_classes,) * n_classes
    values = np.asarray(priors, dtype=np.float64)
    if values.shape != (n_classes,):
        raise ValueError(
            f"priors must have one value per class, shape ({n_classes},), got {values.shape}."
        )
    if not (values > 0).all() or not np.isclose(values.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"priors must be positive and sum to one, got {values.tolist()}.")
    return tuple((values / values.sum()).tolist())
