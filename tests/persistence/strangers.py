"""Code of a user's own, as it would be in a package of theirs: what model files name."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression


class StrangerRisk(RegressorMixin, BaseEstimator):
    """A line, and its squared error by the first feature; it inherits nothing of condrisk."""

    def fit(self, X, y, *, sample_weight=None, prediction=None, **params):
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        half = len(X) // 2
        self.line_ = LinearRegression().fit(X[:half], y[:half])
        loss = (self.line_.predict(X[half:]) - y[half:]) ** 2
        self.coefficients_ = np.polyfit(X[half:, 0], np.log(loss + 1e-3), 1)
        return self

    def predict(self, X, *, prediction=None):
        return self.line_.predict(np.asarray(X, dtype=float))

    def predict_risk(self, X, *, prediction=None):
        return np.exp(np.polyval(self.coefficients_, np.asarray(X, dtype=float)[:, 0]))

    def loss_values(self, X, y, *, prediction=None):
        return (self.predict(X) - np.asarray(y)) ** 2


class Forgetful(StrangerRisk):
    """Keeps what it learnt outside of its attributes."""

    _learnt: dict = {}  # noqa: RUF012

    def fit(self, X, y, **params):
        super().fit(X, y)
        Forgetful._learnt[id(self)] = 5.0
        return self

    def predict_risk(self, X, *, prediction=None):
        return np.full(len(X), Forgetful._learnt.get(id(self), 1.0))


def late(y_true, response):
    """Cost of coming too late."""
    return np.maximum(np.asarray(y_true) - np.asarray(response), 0.0)


def touch(*arguments, **keywords):
    """Leave a mark: a file that calls this has run code."""
    from pathlib import Path

    Path("executed").touch()
