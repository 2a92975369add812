"""A regressor of losses that is made for means over many rows; `benchmarks.monitoring` needs it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from condrisk._crossfit import seeded
from condrisk.learners import LossRegressor

Floats = NDArray[np.float64]

N_FOLDS = 3
FEWEST_ROWS = 60


class MeanLossRegressor(RegressorMixin, BaseEstimator):
    """Regressor of losses whose mean over shifted rows is right to first order.

    What estimates the loss of a single row best shrinks towards the mean of all, since a realised
    loss is noisy. In a mean over hundreds of rows that noise is gone and the shrinkage is not: if
    riskier rows come, their mean loss is estimated too low. So a linear model of what a
    `LossRegressor` has left over out of fold is added to it. Its errors are then uncorrelated with
    every feature, and the mean loss is estimated without bias wherever the shift is one of the
    means of features. For decisions on single rows `LossRegressor` is the better choice.

    Parameters
    ----------
    alpha : float, default=0.03
        How much the linear model is shrunk, in units of the variance of a feature.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and regressors.

    Attributes
    ----------
    regressor_ : LossRegressor
        Fitted on all rows.
    linear_ : Ridge or None
        The linear model, on standardised features; None where there are too few rows.
    n_features_in_ : int
        The number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.mean_regressor import MeanLossRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> loss = (3 + X[:, 0]) * rng.exponential(size=1000)
    >>> regressor = MeanLossRegressor(random_state=0).fit(X, loss)
    >>> riskier = X[X[:, 0] > 1]
    >>> 4.2 < float(regressor.predict(riskier).mean()) < 4.9  # 3 + the mean of x₁ there: 4.5
    True
    """

    def __init__(self, *, alpha: float = 0.03, random_state: Any = None) -> None:
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the regressor, and a linear model of its errors on rows held out from it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; missing values may be NaN.
        y : array-like of shape (n_samples,)
            Their losses.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = validate_data(
            self, X, y, y_numeric=True, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if not self.alpha > 0:
            raise ValueError(f"alpha must be more than 0, got {self.alpha!r}.")
        used = weight > 0
        X, y, weight = X[used], np.asarray(y, dtype=np.float64)[used], weight[used]
        rng = check_random_state(self.random_state)
        regressor = seeded(LossRegressor(), rng)
        folds = KFold(N_FOLDS, shuffle=True, random_state=int(rng.randint(2**31 - 1)))
        self._lowest, self._highest = float(np.min(y)), float(np.max(y))
        self.regressor_ = clone(regressor).fit(X, y, weight)
        self._scaler = StandardScaler().fit(X, sample_weight=weight)
        self.linear_ = None
        if len(y) >= FEWEST_ROWS:
            left = np.empty(len(y))
            for train, held in folds.split(X):
                fitted = clone(regressor).fit(X[train], y[train], weight[train])
                left[held] = y[held] - fitted.predict(X[held])
            share = weight / weight.sum()
            self.linear_ = Ridge(self.alpha).fit(self._standard(X), left, sample_weight=share)
        return self

    def _standard(self, X: Floats) -> Floats:
        """Return rows of mean zero and variance one, the mean where a value is missing."""
        return np.nan_to_num(self._scaler.transform(X))

    def predict(self, X: Any) -> Floats:
        """Estimate the mean loss at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Between the least and the largest loss seen in fit.
        """
        check_is_fitted(self, "regressor_")
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        risk = self.regressor_.predict(X)
        if self.linear_ is not None:
            risk = risk + self.linear_.predict(self._standard(X))
        return np.clip(risk, self._lowest, self._highest)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
