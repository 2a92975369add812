"""Regression worlds: the mean is linear, the noise is not the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from condrisk.datasets._world import Floats, RegressionLaw, RegressionWorld, check_count


def _exponential(x: Floats) -> Floats:
    return np.exp(x)


def _bounded(x: Floats) -> Floats:
    return 1.0 + np.sin(2.0 * x) / 2.0


_VARIANCES: dict[str, Callable[[Floats], Floats]] = {
    "exponential": _exponential,
    "bounded": _bounded,
}


@dataclass(frozen=True)
class Heteroscedastic(RegressionLaw):
    """The mean is the sum of all features over √d, the variance a function of the first."""

    kind: str

    def mean(self, X: Floats) -> Floats:
        """Return E[y | x] of each row."""
        return _scaled_sum(X)

    def variance(self, X: Floats) -> Floats:
        """Return Var[y | x] of each row."""
        return _VARIANCES[self.kind](X[:, 0])


@dataclass(frozen=True)
class HiddenNoise(RegressionLaw):
    """The mean is the scaled sum of all features but the last, which alone sets the variance."""

    def mean(self, X: Floats) -> Floats:
        """Return E[y | x] of each row."""
        return _scaled_sum(X[:, :-1])

    def variance(self, X: Floats) -> Floats:
        """Return Var[y | x] of each row."""
        return 0.25 + X[:, -1] ** 2


def _scaled_sum(X: Floats) -> Floats:
    """Return the sum of each row, scaled to variance one whatever the number of features."""
    return X.sum(axis=1) / np.sqrt(X.shape[1])


def make_heteroscedastic(
    n_samples: int = 1000,
    *,
    n_features: int = 5,
    variance: Literal["exponential", "bounded"] = "exponential",
    random_state: Any = None,
) -> RegressionWorld:
    """Draw a regression with a linear mean and a noise that varies with the first feature.

    The d features are standard normal and independent. Given x, the target is normal with mean
    (x₁ + … + x_d)/√d, so that linear regression is well specified, and a variance that depends
    on x₁ alone.

    Parameters
    ----------
    n_samples : int, default=1000
        How many rows.
    n_features : int, default=5
        How many features, at least one.
    variance : {"exponential", "bounded"}, default="exponential"
        Either exp(x₁), with a long tail, or 1 + sin(2x₁)/2, between 0.5 and 1.5.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same rows every time.

    Returns
    -------
    RegressionWorld
        The rows `X`, `y` and the functions `mean`, `variance`, `density` and `risk`.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(n_features=1, variance="bounded", random_state=0)
    >>> world.X.shape, world.y.shape
    ((1000, 1), (1000,))
    >>> model = LinearRegression().fit(world.X, world.y)
    >>> fresh = world.sample(5, random_state=1)
    >>> bool((world.risk(model, fresh.X) >= world.variance(fresh.X)).all())
    True
    """
    if variance not in _VARIANCES:
        raise ValueError(f"variance must be one of {sorted(_VARIANCES)}, got {variance!r}.")
    law = Heteroscedastic(check_count(n_features, "n_features", 1), variance)
    return RegressionWorld.from_law(law, n_samples, random_state)


def make_hidden_noise(
    n_samples: int = 1000, *, n_features: int = 5, random_state: Any = None
) -> RegressionWorld:
    """Draw a regression whose risk depends on a feature that no predictor can use.

    The d features are standard normal and independent. Given x, the target is normal with mean
    (x₁ + … + x_{d−1})/√(d − 1) and variance ¼ + x_d². The last feature says nothing about the
    mean or the median, so the best predictor ignores it, but it decides how large the errors are.
    The errors are not correlated with it either: only their size is.

    Parameters
    ----------
    n_samples : int, default=1000
        How many rows.
    n_features : int, default=5
        How many features, at least two: the last one sets the noise.
    random_state : None, int or numpy.random.Generator
        Where the randomness comes from; an int gives the same rows every time.

    Returns
    -------
    RegressionWorld
        The rows `X`, `y` and the functions `mean`, `variance`, `density` and `risk`.

    Examples
    --------
    >>> from condrisk.datasets import make_hidden_noise
    >>> world = make_hidden_noise(n_features=2, random_state=0)
    >>> x = [[1.0, 0.0], [1.0, 2.0]]
    >>> world.mean(x)
    array([1., 1.])
    >>> world.variance(x)
    array([0.25, 4.25])
    """
    law = HiddenNoise(check_count(n_features, "n_features", 2))
    return RegressionWorld.from_law(law, n_samples, random_state)
