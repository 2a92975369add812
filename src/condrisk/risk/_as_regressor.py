"""A fitted risk as a regressor, for tools that know regressors only."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted


class RiskAsRegressor(RegressorMixin, BaseEstimator):
    """The view of a fitted risk whose `predict` is g(x); see `BaseRisk.as_regressor`.

    As with `sklearn.frozen.FrozenEstimator`, `fit` changes nothing and a clone is the view itself.

    Parameters
    ----------
    risk : BaseRisk
        The fitted risk estimator.

    Attributes
    ----------
    n_features_in_ : int
        The number of features of the risk.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where the risk knows such. An attribute of its own, since SHAP sets it to None.
    """

    def __init__(self, risk: Any) -> None:
        self.risk = risk

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Change nothing: the risk is fitted."""
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Estimate the risk g(x) of each row."""
        with warnings.catch_warnings():
            if getattr(self, "feature_names_in_", ()) is None:  # a tool that gives arrays
                warnings.filterwarnings("ignore", "X does not have valid feature names")
            return np.asarray(self.risk.predict_risk(X))

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return R² of g(x) as a forecast of the losses `y`."""
        return float(super().score(X, y, sample_weight))

    @property
    def n_features_in_(self) -> int:
        """The number of features of the risk."""
        return int(self.risk.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.risk).input_tags
        return tags


class AsRegressorMixin:
    """Gives risk estimators `as_regressor`."""

    def as_regressor(self) -> RiskAsRegressor:
        """Return a regressor of scikit-learn whose `predict` is `predict_risk`.

        For tools that know regressors: partial dependence, permutation importance, SHAP and the
        like then explain the risk, and not the prediction. Where such a tool wants targets, they
        are losses: ``risk.loss_values(X, y)``. skl2onnx converts it after
        `condrisk.app.export.register_converter`.

        Returns
        -------
        RiskAsRegressor
            A view of this fitted estimator, not a copy.

        Examples
        --------
        >>> from sklearn.inspection import permutation_importance
        >>> from sklearn.linear_model import LinearRegression, Ridge
        >>> from condrisk import RegressionRisk
        >>> from condrisk.datasets import make_heteroscedastic
        >>> world = make_heteroscedastic(500, random_state=0)  # σ²(x) = exp(x₁)
        >>> risk = RegressionRisk(LinearRegression(), regressor=Ridge()).fit(world.X, world.y)
        >>> losses = risk.loss_values(world.X, world.y)
        >>> found = permutation_importance(risk.as_regressor(), world.X, losses, random_state=0)
        >>> int(found.importances_mean.argmax())
        0
        """
        check_is_fitted(self, "loss_")
        view = RiskAsRegressor(self)
        if hasattr(self, "feature_names_in_"):
            view.feature_names_in_ = self.feature_names_in_
        return view
