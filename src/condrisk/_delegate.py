"""Find the estimator that knows about risk inside Pipelines and searches."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.pipeline import Pipeline


def find(estimator: Any, X: Any, method: str) -> tuple[Any, Any]:
    """Return the part of `estimator` that has `method`, and `X` as that part sees it."""
    if hasattr(estimator, method):
        return estimator, X
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = X if step in (None, "passthrough") else step.transform(X)
        return find(estimator.steps[-1][1], X, method)
    if hasattr(estimator, "best_estimator_"):
        return find(estimator.best_estimator_, X, method)
    if isinstance(getattr(estimator, "estimator", None), Pipeline) and is_frozen(estimator):
        return find(estimator.estimator, X, method)
    if has_risk(estimator):
        raise AttributeError(
            f"estimator: this {type(estimator).__name__} has no fitted risk estimator yet: fit it "
            f"first (a search with refit switched on)."
        )
    raise AttributeError(
        f"estimator: {type(estimator).__name__} has no {method}, nor does anything inside it. "
        f"Wrap the predictor in RegressionRisk or PlugInRisk."
    )


def is_frozen(estimator: Any) -> bool:
    """Tell whether `estimator` is a `FrozenEstimator`."""
    from sklearn.frozen import FrozenEstimator  # not loaded by `import sklearn.ensemble`

    return isinstance(estimator, FrozenEstimator)


def has_risk(estimator: Any) -> bool:
    """Tell whether `estimator`, fitted or not, is a risk estimator or ends in one."""
    if isinstance(estimator, Pipeline):
        return has_risk(estimator.steps[-1][1])
    inner = getattr(estimator, "estimator", None)  # of a search or of a FrozenEstimator
    return hasattr(estimator, "predict_risk") or (inner is not None and has_risk(inner))


def predict_risk(estimator: Any, X: Any, **params: Any) -> NDArray[Any]:
    """Estimate the conditional risk of each row, wherever in `estimator` the method lives.

    Parameters
    ----------
    estimator : estimator
        A fitted risk estimator or `Deferral`, or a Pipeline or search that ends in one.
    X : array-like of shape (n_samples, n_features)
        The rows, as `estimator` itself would take them.
    **params : dict
        Passed on to the method, such as ``prediction=`` for a predictor that lives elsewhere.

    Returns
    -------
    ndarray of shape (n_samples,)
        The expected loss at each row.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from condrisk import RegressionRisk, predict_risk
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(300, random_state=0)
    >>> model = make_pipeline(StandardScaler(), RegressionRisk(LinearRegression(), random_state=0))
    >>> predict_risk(model.fit(world.X, world.y), world.X).shape
    (300,)
    """
    owner, X = find(estimator, X, "predict_risk")
    return owner.predict_risk(X, **params)


def loss_values(estimator: Any, X: Any, y: Any, **params: Any) -> NDArray[Any]:
    """Return the realised loss of each row, wherever in `estimator` the method lives."""
    owner, X = find(estimator, X, "loss_values")
    return owner.loss_values(X, y, **params)
