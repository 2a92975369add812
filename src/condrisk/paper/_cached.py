"""Fitted models that keep their responses: many methods need those of the same model and rows."""

from __future__ import annotations

import threading
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class _Cached(BaseEstimator):
    """A fitted model, with its responses by method and by the very object that held the rows."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self._responses: list[tuple[str, Any, Any]] = []
        self._one_asks = threading.RLock()

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: it is fitted."""
        return self

    def _respond(self, method: str, X: Any) -> Any:
        with self._one_asks:
            for known, rows, response in self._responses:
                if known == method and rows is X:
                    return response
            response = getattr(self.estimator, method)(X)
            self._responses.append((method, X, response))
            return response

    def __sklearn_is_fitted__(self) -> bool:
        return True


class CachedRegressor(RegressorMixin, _Cached):
    """A fitted regressor that predicts the same rows only once."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return predictions."""
        return self._respond("predict", X)


class CachedClassifier(ClassifierMixin, _Cached):
    """A trained network that sees the same images only once."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return self.estimator.classes_

    @property
    def embedding_size_(self) -> int:
        """The length of an embedding."""
        return self.estimator.embedding_size_

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return class probabilities."""
        return self._respond("predict_proba", X)

    def embed(self, X: Any) -> NDArray[Any]:
        """Return embeddings."""
        return self._respond("embed", X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
