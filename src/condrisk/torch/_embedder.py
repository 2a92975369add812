"""The embedding of a trained network, as features for another estimator."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    _fit_context,
    clone,
)
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted, validate_data

from condrisk._delegate import is_frozen


class Embedder(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetaEstimatorMixin, BaseEstimator
):
    """Transformer from images or rows to the embedding of a network.

    Before an estimator in a pipeline, it lets that learn from what the network learnt: the
    regressor of losses on a frozen representation, for instance.

    Parameters
    ----------
    estimator : estimator
        A `TorchClassifier` or `TorchRegressor`. Frozen (`sklearn.frozen.FrozenEstimator`), it is
        used as it is; otherwise a clone is fitted.

    Attributes
    ----------
    estimator_ : estimator
        The fitted network.
    n_features_in_ : int
        The length of the second axis of `X`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neural_network import MLPRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from torch import nn
    >>> from condrisk import RegressionRisk
    >>> from condrisk.torch import Embedder, TorchClassifier
    >>> def mlp(num_classes, in_features):
    ...     return nn.Sequential(nn.Linear(in_features, 64), nn.ReLU(), nn.Linear(64, num_classes))
    >>> digits = load_digits()
    >>> X, y = digits.data, digits.target
    >>> net = TorchClassifier(mlp, epochs=4, batch_size=64, device="cpu", random_state=0)
    >>> net = FrozenEstimator(net.fit(X[:600], y[:600]))
    >>> mlp = MLPRegressor(hidden_layer_sizes=(256,), learning_rate_init=0.01, random_state=0)
    >>> mlp = make_pipeline(Embedder(net), mlp)
    >>> risk = RegressionRisk(net, loss="log_loss", regressor=mlp, features="x")
    >>> risk.fit(X[600:1200], y[600:1200]).predict_risk(X[1200:]).shape
    (597,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"estimator": [HasMethods(["embed"])]}

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the network unless it is frozen.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels) or (n_samples, n_features)
            Images or rows.
        y : array-like of shape (n_samples,), optional
            Targets for the network; not used if it is frozen.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the network; not used if it is frozen.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        validate_data(self, X, skip_check_array=True)
        # A frozen one is its own clone, and its fit does nothing.
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight=sample_weight)
        if self.estimator_.embedding_size_ is None:
            self.estimator_.embed(X)  # says why there is none
        self._n_features_out = self.estimator_.embedding_size_
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the embedding of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width, channels) or (n_samples, n_features)
            Images or rows.

        Returns
        -------
        ndarray of float32 of shape (n_samples, embedding_size)
            The embeddings.
        """
        check_is_fitted(self, "estimator_")
        if getattr(X, "ndim", 2) > 1:  # a single dimension is for the network to refuse
            validate_data(self, X, skip_check_array=True, reset=False)
        return self.estimator_.embed(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = not is_frozen(self.estimator)
        tags.transformer_tags.preserves_dtype = []  # single precision, whatever comes in
        return tags
