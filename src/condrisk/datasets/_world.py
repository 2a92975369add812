"""A world: rows drawn from a law that is known, and the true risk of any predictor under it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf

from condrisk.losses import ClassLoss, absolute_error, encode, get_loss, squared_error

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Law(ABC):
    """The joint distribution of features and target."""

    n_features: int

    @abstractmethod
    def draw(self, n_samples: int, rng: np.random.Generator) -> tuple[Floats, NDArray[Any]]:
        """Return X and y of `n_samples` independent rows."""


class RegressionLaw(Law):
    """Standard normal features, and a normal target whose mean and variance depend on them."""

    @abstractmethod
    def mean(self, X: Floats) -> Floats:
        """Return E[y | x] of each row."""

    @abstractmethod
    def variance(self, X: Floats) -> Floats:
        """Return Var[y | x] of each row."""

    def draw(self, n_samples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return X and y of `n_samples` independent rows."""
        X = rng.standard_normal((n_samples, self.n_features))
        noise = rng.standard_normal(n_samples)
        return X, self.mean(X) + np.sqrt(self.variance(X)) * noise


@dataclass(frozen=True)
class ClassLaw(Law):
    """A law whose target is one of the classes 0, …, n_classes − 1."""

    n_classes: int

    @abstractmethod
    def proba(self, X: Floats) -> Floats:
        """Return p(y | x) of each row, a column per class."""


LawT = TypeVar("LawT", bound=Law)


@dataclass(frozen=True, eq=False)
class _World(Generic[LawT]):
    X: Floats = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    law: LawT

    @classmethod
    def from_law(cls, law: LawT, n_samples: int, random_state: Any) -> Self:
        """Draw `n_samples` rows from `law`."""
        n_samples = check_count(n_samples, "n_samples", 1)
        X, y = law.draw(n_samples, np.random.default_rng(random_state))
        return cls(X=X, y=y, law=law)

    def sample(self, n_samples: int, *, random_state: Any = None) -> Self:
        """Draw fresh rows from the same law.

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : None, int or numpy.random.Generator
            Where the randomness comes from; an int gives the same rows every time.

        Returns
        -------
        RegressionWorld or ClassificationWorld
            A world of the same kind.
        """
        return self.from_law(self.law, n_samples, random_state)

    def _rows(self, X: ArrayLike) -> Floats:
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.law.n_features:
            raise ValueError(
                f"X must have shape (n_samples, {self.law.n_features}), got {rows.shape}."
            )
        if not np.isfinite(rows).all():
            raise ValueError("X must be finite, got NaN or infinity.")
        return rows


class RegressionWorld(_World[RegressionLaw]):
    """Rows of a regression whose law is known: y given x is normal.

    `make_heteroscedastic` and `make_hidden_noise` return it. Its methods are closed forms and take
    any rows, not only those in `X`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features, standard normal and independent.
    y : ndarray of shape (n_samples,)
        The target.
    law : object
        What the rows were drawn from.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(n_features=4, random_state=0)
    >>> zero = DummyRegressor(strategy="constant", constant=0.0).fit(world.X, world.y)
    >>> x = [[0.0, 2.0, 2.0, 2.0]]
    >>> world.mean(x), world.variance(x)
    (array([3.]), array([1.]))
    >>> world.risk(zero, x)  # squared error: 3² + 1
    array([10.])
    """

    def mean(self, X: ArrayLike) -> Floats:
        """Return E[y | x] of each row."""
        return self.law.mean(self._rows(X))

    def variance(self, X: ArrayLike) -> Floats:
        """Return Var[y | x] of each row: what no predictor can get rid of."""
        return self.law.variance(self._rows(X))

    def density(self, y: ArrayLike, X: ArrayLike) -> Floats:
        """Return p(y | x), for one value of `y` per row of `X`."""
        mean, variance = self.mean(X), self.variance(X)
        values = np.asarray(y, dtype=np.float64)
        if values.shape != mean.shape:
            raise ValueError(
                f"y must have one value per row of X, shape {mean.shape}, got {values.shape}."
            )
        return np.exp(-0.5 * (values - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)

    def risk(self, predictor: Any, X: ArrayLike, *, loss: Any = None) -> Floats:
        """Return the true g(x) = E[ℓ(f(x), y) | x] of a fitted predictor.

        Parameters
        ----------
        predictor : object with `predict`
            The f whose risk it is; it gets `X` as it is.
        X : array-like of shape (n_samples, n_features)
            Any rows.
        loss : {"squared_error", "absolute_error"} or one of these as a `Loss`, optional
            By default the squared error, whose risk is (f(x) − mean)² + variance. That of the
            absolute error is the mean of a folded normal distribution.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        found = get_loss(loss, task="regression").for_outputs(1)
        if found not in (squared_error, absolute_error):
            raise ValueError(
                f"loss must be 'squared_error' or 'absolute_error', whose risk has a closed form "
                f"here, got {found!r}."
            )
        variance = self.variance(X)
        bias = _predictions(predictor, X, len(variance)) - self.mean(X)
        if found == squared_error:
            return bias**2 + variance
        return _folded_normal_mean(bias, np.sqrt(variance))


class ClassificationWorld(_World[ClassLaw]):
    """Rows of a classification whose law is known.

    `make_gaussian_mixture` and `make_separable` return it. Its methods are closed forms and take
    any rows, not only those in `X`.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of shape (n_samples,)
        The class of each row, an integer. A class may be missing by chance.
    law : object
        What the rows were drawn from.
    classes : ndarray of shape (n_classes,)
        The labels 0, 1, …, in the order of the columns of `proba`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> world = make_gaussian_mixture(n_classes=2, separation=2.0, random_state=0)
    >>> zero = DummyClassifier(strategy="constant", constant=0).fit(world.X, world.y)
    >>> x = [[0.0, 0.0], [1.0, 0.0]]
    >>> world.proba(x)
    array([[0.5  , 0.5  ],
           [0.880..., 0.119...]])
    >>> world.risk(zero, x)  # the chance of being wrong
    array([0.5  , 0.119...])
    >>> world.risk(zero, x, loss=[[0, 1], [10, 0]])
    array([5.   , 1.19...])
    """

    @property
    def classes(self) -> NDArray[np.intp]:
        """The labels, in the order of the columns of `proba`."""
        return np.arange(self.law.n_classes)

    def proba(self, X: ArrayLike) -> Floats:
        """Return p(y | x), shape (n_samples, n_classes); rows sum to one."""
        return self.law.proba(self._rows(X))

    def risk(self, predictor: Any, X: ArrayLike, *, loss: Any = None) -> Floats:
        """Return the true g(x) = E[ℓ(f(x), y) | x] = Σₖ ℓ(f(x), k) pₖ(x) of a fitted predictor.

        Parameters
        ----------
        predictor : object with `predict`, or with `predict_proba` and `classes_`
            The f whose risk it is; it gets `X` as it is. A class that it has not seen has
            probability zero.
        X : array-like of shape (n_samples, n_features)
            Any rows.
        loss : str, Loss, cost matrix or callable, optional
            As `condrisk.losses.get_loss` takes it; by default zero-one, the chance of being
            wrong. A cost matrix has a row and a column for each of `classes`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        found = cast(ClassLoss, get_loss(loss, task="classification").for_outputs(1))
        proba = self.proba(X)
        if found.response == "predict":
            response = _part(predictor, "predict")(X)
        else:
            response = self._aligned_proba(predictor, X, len(proba))
        return found.expected(response, proba, classes=self.classes)

    def _aligned_proba(self, predictor: Any, X: ArrayLike, n_rows: int) -> Floats:
        """Return the predictor's probabilities, with a column for each class of the world."""
        known = np.asarray(_part(predictor, "classes_"))
        columns = encode(known, self.classes)
        if (columns < 0).any():
            raise ValueError(
                f"predictor must know no classes but {self.classes.tolist()}, "
                f"its classes_ are {known.tolist()}."
            )
        given = np.asarray(_part(predictor, "predict_proba")(X))
        if given.shape != (n_rows, len(known)):
            raise ValueError(
                f"predictor must give a probability for each row and each of its classes, "
                f"shape {(n_rows, len(known))}, got {given.shape}."
            )
        aligned = np.zeros((n_rows, len(self.classes)))
        aligned[:, columns] = given
        return aligned


def check_count(value: Any, name: str, least: int) -> int:
    """Return `value` as an int of at least `least`, or say what is wrong with it."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def _part(predictor: Any, name: str) -> Any:
    """Return an attribute of the predictor that the loss needs."""
    if not hasattr(predictor, name):
        raise TypeError(
            f"predictor must have {name} for this loss, {type(predictor).__name__} has not."
        )
    return getattr(predictor, name)


def _predictions(predictor: Any, X: ArrayLike, n_rows: int) -> Floats:
    """Return the predictor's numbers, one per row."""
    values = np.asarray(_part(predictor, "predict")(X))
    if values.shape != (n_rows,) or values.dtype.kind not in "biuf":
        raise ValueError(
            f"predictor must predict one number per row, shape ({n_rows},), "
            f"got {values.dtype} of shape {values.shape}."
        )
    return values.astype(np.float64)


def _folded_normal_mean(location: Floats, scale: Floats) -> Floats:
    """Return E|Z| of a normal Z with this mean and standard deviation."""
    ratio = location / scale
    return scale * np.sqrt(2 / np.pi) * np.exp(-0.5 * ratio**2) + location * erf(ratio / np.sqrt(2))
