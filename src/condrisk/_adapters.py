"""Conditional distributions as other packages answer them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from condrisk._distributions import Conditional, standard_points, with_moments

Floats = NDArray[np.float64]

# Distributions that have points for each row are asked for so many rows at a time.
ROWS_AT_A_TIME = 2000


def _levels() -> tuple[Floats, Floats]:
    """Return levels to read quantiles at, closer in the tails, and the mass each stands for."""
    middle, tail = np.linspace(0, 1, 401)[1:-1], np.geomspace(1e-6, 1 / 400, 12)[:-1]
    edges = np.concatenate([[0.0], tail, middle, 1 - tail[::-1], [1.0]])
    return (edges[1:] + edges[:-1]) / 2, np.diff(edges)


LEVELS, MASSES = _levels()


def has_distribution(model: Any) -> bool:
    """Tell whether a model answers conditional distributions in a way that is known here."""
    return _reader(model) is not None


def conditional_of(model: Any, X: Any) -> Conditional:
    """Return the distribution that a fitted model gives to each row."""
    read = _reader(model)
    assert read is not None, "fit has checked it"
    return read(model, X)


def conditionals_of(model: Any, X: Any) -> Iterator[tuple[NDArray[np.intp], Conditional]]:
    """Yield some rows and the distributions that a fitted model gives them, until all are through.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows, of a kind that can be indexed.
    """
    n_rows = _num_samples(X)
    for start in range(0, n_rows, ROWS_AT_A_TIME):
        rows = np.arange(start, min(start + ROWS_AT_A_TIME, n_rows))
        yield rows, conditional_of(model, _safe_indexing(X, rows))


def _reader(model: Any) -> Callable[[Any, Any], Conditional] | None:
    if hasattr(model, "predict_conditional"):
        return lambda model, X: model.predict_conditional(X)
    if hasattr(model, "pred_dist"):
        return _from_ngboost
    if hasattr(model, "predict_quantiles") and hasattr(model, "predict_var"):
        return _from_skpro
    arguments = _arguments_of_predict(model)
    if "quantiles" in arguments:
        return _from_quantile_forest
    if "return_std" in arguments:
        return _from_normal
    return None


def _arguments_of_predict(model: Any) -> set[str]:
    """Return the names of what `predict` takes; a frozen estimator has that of its own."""
    inner = getattr(model, "estimator", model) if hasattr(model, "__sklearn_is_fitted__") else model
    try:
        return set(inspect.signature(inner.predict).parameters)
    except (AttributeError, TypeError, ValueError):
        return set()


def _from_ngboost(model: Any, X: Any) -> Conditional:
    """NGBoost: a frozen distribution of scipy for all rows, with quantiles at one level a call."""
    law = model.pred_dist(np.asarray(X))
    points = np.column_stack([np.asarray(law.ppf(level), dtype=float) for level in LEVELS])
    mean = np.asarray(law.mean(), dtype=float).ravel()
    found = getattr(law, "dist", law)
    std = np.asarray(found.std(), dtype=float).ravel()
    return Conditional(mean, std, MASSES, with_moments(points, MASSES, mean, std))


def _from_skpro(model: Any, X: Any) -> Conditional:
    """Read skpro's frames: a column for each quantile, one for the variance."""
    points = np.asarray(model.predict_quantiles(X, alpha=LEVELS.tolist()), dtype=float)
    mean = np.asarray(model.predict(X), dtype=float).ravel()
    std = np.sqrt(np.asarray(model.predict_var(X), dtype=float).ravel())
    return Conditional(mean, std, MASSES, with_moments(points, MASSES, mean, std))


def _from_quantile_forest(model: Any, X: Any) -> Conditional:
    """quantile-forest: quantiles of the training targets that share a row's leaves."""
    inside = np.clip(LEVELS, 0, 1).tolist()
    points = np.asarray(model.predict(X, quantiles=inside), dtype=float)
    mean = points @ MASSES
    std = np.sqrt(((points - mean[:, None]) ** 2) @ MASSES)
    return Conditional(mean, std, MASSES, points)


def _from_normal(model: Any, X: Any) -> Conditional:
    """scikit-learn's Gaussian processes and Bayesian linear models: a normal distribution."""
    mean, std = model.predict(X, return_std=True)
    points, weights = standard_points(ndtri(LEVELS), MASSES)
    return Conditional(np.asarray(mean).ravel(), np.asarray(std).ravel(), weights, points)
