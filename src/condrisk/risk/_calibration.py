"""scikit-learn's probability calibration, applied to scores that are at hand already."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from condrisk.losses import encode


def _responds_with(method: str) -> Any:
    return lambda self: self.response == method


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose input is its own response.

    Cross-fitting has computed the out-of-fold scores already. This lets scikit-learn calibrate
    those scores instead of fitting every model a second time to get them.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels behind the scores.
    response : {"decision_function", "predict_proba"}
        The method that the scores come from.
    """

    def __init__(self, classes: NDArray[Any], *, response: str) -> None:
        self.classes = classes
        self.response = response

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return self.classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Do nothing: the scores are given."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the label of the highest score."""
        best = np.argmax(X, axis=1) if X.shape[1] > 1 else (X[:, 0] > 0).astype(int)
        return self.classes[best]

    @available_if(_responds_with("predict_proba"))
    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the scores."""
        return X

    @available_if(_responds_with("decision_function"))
    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the scores, one a row in the binary case."""
        return X[:, 0] if X.shape[1] == 1 else X


def fit_calibrator(
    scores: NDArray[Any],
    y: NDArray[Any],
    *,
    classes: NDArray[Any],
    response: str,
    method: str,
    sample_weight: NDArray[Any] | None,
) -> Any:
    """Fit scikit-learn's calibration of `method` on held-out scores and labels.

    It is given positions in `classes` instead of labels, and gives probabilities in that order:
    its temperature scaling mistakes any labels that are numbers for positions.
    """
    from sklearn.calibration import CalibratedClassifierCV  # not loaded by sklearn.ensemble

    codes = encode(y, classes)
    seen = np.unique(codes)
    if not np.array_equal(seen, np.arange(len(classes))):
        raise ValueError(
            f"calibration={method!r} needs every class of the probability model among the rows "
            f"that it is fitted on, and no other: the model has {len(classes)} classes, those "
            f"rows {len(seen)}. Give more rows, or use calibration=None."
        )
    everything = np.arange(len(y))
    calibrator = CalibratedClassifierCV(
        Scores(seen, response=response),
        method=method,
        cv=[(everything, everything)],  # nothing is fitted but the calibrator itself
        ensemble=False,
    )
    with config_context(enable_metadata_routing=False):
        return calibrator.fit(as_matrix(scores), codes, sample_weight=sample_weight)


def as_matrix(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores with a column per score; binary decision functions have just one."""
    return scores if scores.ndim == 2 else scores[:, None]
