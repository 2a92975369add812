"""A small network with batch norm as a regressor."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from condrisk.paper.baselines._forward import predictions
from condrisk.paper.baselines._heads import RegressionHead
from condrisk.paper.baselines._stack import Training, train

TRAINING_CONSTRAINTS: dict[str, list[Any]] = {
    "hidden_units": [Interval(Integral, 1, None, closed="left")],
    "max_epochs": [Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 2, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
}


class NetRegressor(RegressorMixin, BaseEstimator):
    """Network BatchNorm → Linear → BatchNorm → ReLU → Linear under the squared error.

    It is the predictor of the method known as NN+kNNRej (see `KernelRejector`) and the trunk of
    `SelectiveNet`: Adam with the weight decay as part of the gradient, a fixed number of epochs,
    targets as they are. Training needs torch, predicting does not.

    Parameters
    ----------
    hidden_units : int, default=64
        The width of the hidden layer.
    max_epochs : int, default=800
        How often to go through the rows.
    batch_size : int, default=256
        Rows a step. A last batch of a single row joins the one before it.
    learning_rate : float, default=5e-4
        Adam's step size.
    weight_decay : float, default=1e-4
        The factor of the parameters in their gradient.
    random_state : int, RandomState instance or None, default=None
        Seeds the initial weights and the order of the batches.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        The trained weights, batch norms folded into the linear layers, with a leading axis of
        length one.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    Notes
    -----
    Neither the shift of the first batch norm nor the bias of the first linear layer is a
    parameter here: the second batch norm takes both away again.

    Examples
    --------
    >>> from condrisk.paper.baselines import NetRegressor
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(400, random_state=0)
    >>> net = NetRegressor(max_epochs=20, random_state=0).fit(world.X, world.y)
    >>> net.predict(world.X).shape
    (400,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = TRAINING_CONSTRAINTS

    def __init__(
        self,
        *,
        hidden_units: int = 64,
        max_epochs: int = 800,
        batch_size: int = 256,
        learning_rate: float = 5e-4,
        weight_decay: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.hidden_units = hidden_units
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, at least two.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        self.weights_ = train(
            X,
            y,
            RegressionHead(),
            hidden_units=self.hidden_units,
            training=training_of(self),
            rng=check_random_state(self.random_state),
        )
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return predictions(self.weights_, X, 0)


def training_of(estimator: Any) -> Training:
    """Return how an estimator with the parameters of a `NetRegressor` trains."""
    return Training(
        estimator.max_epochs,
        estimator.batch_size,
        estimator.learning_rate,
        estimator.weight_decay,
    )
