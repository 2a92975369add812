"""Labels that come back: experts' answers exist only for the rows that were deferred."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from condrisk._validation import check_vectors

# Chance alone gets this far from the recorded propensities once in two million times.
MOST_DEVIATIONS = 5.0


def feedback_weights(deferred: ArrayLike, propensity: ArrayLike) -> NDArray[np.float64]:
    """Weights that make rows with an answer stand for all rows: inverse propensities.

    Parameters
    ----------
    deferred : array-like of bool, shape (n_samples,)
        For each row that came in, whether it was deferred, so that its target is known.
    propensity : array-like of shape (n_samples,)
        The chance with which it was deferred, as known at that time
        (`condrisk.deferral.ExploringRule.propensity`). Above 0, also for rows not asked: the
        weights are right only if every row had a chance.

    Returns
    -------
    ndarray of shape (n_samples,)
        ``1 / propensity`` where asked, 0 elsewhere. Each row that came in counts once on
        average, so they go together with calibration rows of weight one.

    Warns
    -----
    UserWarning
        If more or fewer rows were asked than the propensities allow: then they are not the
        chances with which it was decided.

    See Also
    --------
    refit_risk : Learns g again from the answers.
    effective_sample_size : What the weights leave of the rows.

    Examples
    --------
    >>> from condrisk.shift import feedback_weights
    >>> feedback_weights([True, False, True], [1.0, 0.25, 0.25])
    array([1., 0., 4.])
    """
    flags = np.asarray(deferred)
    if flags.dtype != bool:
        raise TypeError(f"deferred must be made of booleans, got dtype {flags.dtype}")
    _, chance = check_vectors(deferred=flags, propensity=propensity)
    if chance.min() <= 0 or chance.max() > 1:
        raise ValueError(
            f"propensity must lie above 0 and at most at 1, got {chance.min()} to {chance.max()}: "
            f"of rows that are never deferred nothing can be learnt. Explore, as ExploringRule "
            f"does."
        )
    lost = np.count_nonzero((chance == 1) & ~flags)
    if lost:
        raise ValueError(
            f"deferred is False for {lost} row(s) of propensity 1: a row that was sure to be "
            f"deferred has an answer, or its propensity was lower."
        )
    deviation = flags.sum() - chance.sum()
    spread = np.sqrt((chance * (1 - chance)).sum())
    if abs(deviation) > MOST_DEVIATIONS * max(spread, 1.0):
        warnings.warn(
            f"deferred has {flags.sum()} rows, where the propensities make {chance.sum():.0f} "
            f"(± {spread:.0f}) likely: they are not the chances with which it was decided, and "
            f"what is learnt with these weights is biased.",
            UserWarning,
            stacklevel=2,
        )
    return np.where(flags, 1 / chance, 0.0)


def refit_risk(
    risk: Any, X: Any, y: Any, *, sample_weight: ArrayLike | None = None, **params: Any
) -> Any:
    """Learn g again on rows whose targets have come back; the predictor stays as it is.

    Nothing is cross-fitted and the predictor is not fitted, so this costs one fit of what learns
    the risk. The rows must be new to the predictor: calibration rows and experts' answers are.

    Parameters
    ----------
    risk : risk estimator
        Fitted, such as `RegressionRisk`.
    X : array-like of shape (n_samples, n_features)
        Rows that the predictor was not fitted on.
    y : array-like of shape (n_samples,)
        Their targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights: one for calibration rows, `feedback_weights` for rows that were deferred.
    **params : dict
        Passed on to `fit`, such as ``prediction=``.

    Returns
    -------
    risk estimator
        Of the same kind and parameters, its predictor frozen.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import Deferral, RegressionRisk
    >>> from condrisk.datasets import make_heteroscedastic
    >>> from condrisk.deferral import ExploringRule
    >>> from condrisk.shift import feedback_weights, refit_risk
    >>> world = make_heteroscedastic(300, random_state=0)
    >>> trees = RandomForestRegressor(20, min_samples_leaf=20)
    >>> risk = RegressionRisk(LinearRegression(), regressor=trees, random_state=0)
    >>> rule = ExploringRule(rate=0.1, random_state=0)
    >>> model = Deferral(risk, cost=1.0, rule=rule).fit(world.X, world.y)
    >>> day = world.sample(2000, random_state=1)
    >>> chance = model.rule_.propensity(model.predict_risk(day.X), cost=1.0)
    >>> deferred = model.defer(day.X)  # only these targets come back
    >>> weight = feedback_weights(deferred, chance)
    >>> learnt = refit_risk(
    ...     model.risk_, day.X[deferred], day.y[deferred], sample_weight=weight[deferred]
    ... )
    >>> calm, noisy = learnt.predict_risk([[-1, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
    >>> bool(noisy > 2 * calm)
    True
    """
    from sklearn.frozen import FrozenEstimator  # not loaded by `import sklearn.ensemble`

    if isinstance(risk, FrozenEstimator):
        risk = risk.estimator
    if not hasattr(risk, "predict_risk") or not hasattr(risk, "predictor"):
        raise ValueError(
            f"risk must be a fitted risk estimator such as RegressionRisk; got "
            f"{type(risk).__name__}."
        )
    check_is_fitted(risk, "loss_")
    fresh = clone(risk)
    if hasattr(risk, "predictor_"):  # an external predictor is not here
        fitted = risk.predictor_
        frozen = fitted if isinstance(fitted, FrozenEstimator) else FrozenEstimator(fitted)
        fresh.set_params(predictor=frozen)
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    return fresh.fit(X, y, **given, **params)
