"""How a fitted model's predictions vary together: posteriors, and members of ensembles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array

from condrisk._delegate import is_frozen

Floats = NDArray[np.float64]

ENSEMBLES = (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)


class Posterior(NamedTuple):
    """What a model does not know about rows, and what nobody can.

    Attributes
    ----------
    covariance : ndarray of shape (n_samples, n_samples)
        Of the function that the model estimates; over classes, the sum.
    noise : ndarray of shape (n_samples,) or None
        The variance of a label given that function, where the model has an opinion on it.
    """

    covariance: Floats
    noise: Floats | None


def posterior_of(model: Any, X: Any) -> Posterior:
    """Return the covariance of a fitted model's predictions on rows."""
    if is_frozen(model):
        return posterior_of(model.estimator, X)
    if isinstance(model, Pipeline):
        inner = model[:-1].transform(X) if len(model.steps) > 1 else X
        return posterior_of(model.steps[-1][1], inner)
    if hasattr(model, "best_estimator_"):
        return posterior_of(model.best_estimator_, X)
    if hasattr(model, "posterior"):
        covariance, noise = model.posterior(X)
        return Posterior(np.asarray(covariance), None if noise is None else np.asarray(noise))
    if isinstance(model, ENSEMBLES):
        return _of_members(members(model, X), classes=is_classifier(model))
    from sklearn.gaussian_process import GaussianProcessRegressor

    if isinstance(model, GaussianProcessRegressor):
        return _of_process(model, X)
    raise TypeError(
        f"model must say how its predictions vary together: a forest, a bagging or voting "
        f"ensemble, a GaussianProcessRegressor, or a model whose posterior(X) returns covariance "
        f"and noise; got {type(model).__name__}."
    )


def members(ensemble: Any, X: Any) -> Floats:
    """Return what each member says: (n_members, n_samples), or (…, n_classes) of probabilities."""
    X = check_array(X, accept_sparse="csr")
    everything = range(X.shape[1])
    columns = getattr(ensemble, "estimators_features_", [everything] * len(ensemble.estimators_))
    answers = []
    for member, chosen in zip(ensemble.estimators_, columns, strict=True):
        mine = X if len(chosen) == X.shape[1] else X[:, chosen]
        if not is_classifier(ensemble):
            answers.append(member.predict(mine))
            continue
        # Inside an ensemble labels are numbers, and a bootstrap may lack some of them.
        proba = np.zeros((X.shape[0], len(ensemble.classes_)))
        proba[:, member.classes_.astype(int)] = member.predict_proba(mine)
        answers.append(proba)
    return np.array(answers, dtype=np.float64)


def _of_members(answers: Floats, *, classes: bool) -> Posterior:
    if len(answers) < 2:
        raise ValueError("model must have at least two members.")
    apart = answers - answers.mean(axis=0)
    noise = (answers * (1 - answers)).sum(axis=2).mean(axis=0) if classes else None
    # Over classes, covariances add up: the loss is the sum of their squared errors.
    flat = np.moveaxis(apart, 1, -1).reshape(-1, answers.shape[1])
    return Posterior(flat.T @ flat / len(answers), noise)


def _of_process(model: Any, X: Any) -> Posterior:
    X = check_array(X)
    if np.ndim(model.y_train_) > 1 and model.y_train_.shape[1] > 1:
        raise ValueError("model must have one target; a Gaussian process has several here.")
    kernel, scale = model.kernel_, float(np.square(model._y_train_std).max())
    # Called with two arguments, a kernel leaves out white noise, also on the diagonal.
    quiet = kernel(X, X)
    alpha = np.mean(model.alpha)
    noise = np.maximum(kernel.diag(X) - quiet.diagonal(), 0.0) + alpha
    half = solve_triangular(model.L_, kernel(model.X_train_, X), lower=True)
    return Posterior(scale * (quiet - half.T @ half), scale * noise)
