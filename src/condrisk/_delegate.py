"""Find the estimator that knows about risk inside Pipelines and searches, and use it."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline


class Assessment(NamedTuple):
    """What is known of some rows, every response of the predictor computed once.

    Attributes
    ----------
    prediction : ndarray of shape (n_samples,)
        The predictor's own predictions.
    risk : ndarray of shape (n_samples,)
        Their estimated expected loss.
    loss : ndarray of shape (n_samples,) or None
        Their realised loss; None where no targets were given.
    """

    prediction: NDArray[Any]
    risk: NDArray[Any]
    loss: NDArray[Any] | None


def find(estimator: Any, X: Any, method: str) -> tuple[Any, Any]:
    """Return the part of `estimator` that has `method`, and `X` as that part sees it."""
    if hasattr(estimator, method):
        return estimator, X
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:
            X = X if is_passed_over(step) else step.transform(X)
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


def is_passed_over(step: Any) -> bool:
    """Tell whether new rows go past a step of a Pipeline: one that resamples, or none at all."""
    return step in (None, "passthrough") or hasattr(step, "fit_resample")


def keeps_rows(estimator: Any) -> bool:
    """Tell whether the rows that a risk estimator is fitted on are those that `estimator` got."""
    if not isinstance(estimator, Pipeline):
        return True
    return not any(hasattr(step, "fit_resample") for _, step in estimator.steps)


def is_frozen(estimator: Any) -> bool:
    """Tell whether `estimator` is a `FrozenEstimator`."""
    from sklearn.frozen import FrozenEstimator  # not loaded by `import sklearn.ensemble`

    return isinstance(estimator, FrozenEstimator)


def has_risk(estimator: Any) -> bool:
    """Tell whether `estimator`, fitted or not, is a risk estimator or ends in one."""
    return hasattr(risk_part(estimator), "predict_risk")


def risk_part(estimator: Any) -> Any:
    """Return the risk estimator inside `estimator`, fitted or not; itself if there is none."""
    if hasattr(estimator, "predict_risk") and not is_frozen(estimator):
        return estimator
    if isinstance(estimator, Pipeline):
        return risk_part(estimator.steps[-1][1])
    for inner in ("best_estimator_", "estimator"):  # of a search or of a FrozenEstimator
        if hasattr(estimator, inner):
            return risk_part(getattr(estimator, inner))
    return estimator


def predict_risk(estimator: Any, X: Any, **params: Any) -> NDArray[Any]:
    """Estimate the conditional risk of each row, wherever in `estimator` the method lives.

    Parameters
    ----------
    estimator : estimator
        A fitted risk estimator or `Deferral`, or a Pipeline or search that ends in one.
    X : array-like of shape (n_samples, n_features)
        The rows, as `estimator` itself would take them.
    **params : dict
        Passed on to the method, such as ``prediction=`` for an external predictor.

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


def assess(
    estimator: Any, X: Any, y: Any = None, *, prediction: ArrayLike | None = None
) -> Assessment:
    """Return predictions, risks and, given `y`, losses, of a risk estimator in `estimator`."""
    owner, X = find(estimator, X, "predict_risk")
    given = {} if prediction is None else {"prediction": prediction}
    if hasattr(owner, "assess"):
        return Assessment(*owner.assess(X, y, **given))
    loss = None if y is None else owner.loss_values(X, y, **given)
    return Assessment(owner.predict(X, **given), owner.predict_risk(X, **given), loss)
