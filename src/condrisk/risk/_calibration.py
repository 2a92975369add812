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
    if (codes < 0).any():
        raise ValueError(
            f"calibration={method!r} needs rows of classes that the probability model knows, "
            f"{np.asarray(classes).tolist()[:10]}; got {np.asarray(y)[codes < 0].tolist()[0]!r}."
        )
    missing = np.setdiff1d(np.arange(len(classes)), codes)
    if len(missing):
        if method != "temperature":
            raise ValueError(
                f"calibration={method!r} needs every class of the probability model among the rows "
                f"that it is fitted on; class {np.asarray(classes).tolist()[missing[0]]!r} is not. "
                f'Give more rows of it, leave it out, or use calibration="temperature".'
            )
        scores, codes, sample_weight = _with_missing(scores, codes, sample_weight, missing)
    everything = np.arange(len(codes))
    calibrator = CalibratedClassifierCV(
        Scores(np.arange(len(classes)), response=response),
        method=method,
        cv=[(everything, everything)],  # nothing is fitted but the calibrator itself
        ensemble=False,
    )
    with config_context(enable_metadata_routing=False):
        return calibrator.fit(as_matrix(scores), codes, sample_weight=sample_weight)


def _with_missing(
    scores: NDArray[Any],
    codes: NDArray[np.intp],
    sample_weight: NDArray[Any] | None,
    missing: NDArray[np.intp],
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[Any]]:
    """Add a row without weight for each class that has none, so that scikit-learn knows of it."""
    weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    return (
        np.concatenate([scores, np.repeat(scores[:1], len(missing), axis=0)]),
        np.concatenate([codes, missing]),
        np.concatenate([weight, np.zeros(len(missing))]),
    )


def as_matrix(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores with a column per score; binary decision functions have just one."""
    return scores if scores.ndim == 2 else scores[:, None]
