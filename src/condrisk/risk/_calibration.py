"""scikit-learn's probability calibration, applied to scores that are at hand already."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from condrisk.losses import encode

# What scikit-learn adds to a probability before it takes the logarithm.
LOG_SHIFT = 1e-12
# A class is warned of where its probabilities are on average so many times its share, or its share
# so many times these, and so many standard errors of the share away from it.
SHIFTED, STANDARD_ERRORS = 1.5, 4.0
# Scores, positions of the labels and weights.
Rows = tuple[NDArray[Any], NDArray[np.intp], NDArray[Any] | None]


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
    floor : float, default=0.0
        The least probability; lower ones are lifted to it.
    """

    def __init__(self, classes: NDArray[Any], *, response: str, floor: float = 0.0) -> None:
        self.classes = classes
        self.response = response
        self.floor = floor

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
        """Return the scores, none of them below the floor."""
        if not self.floor:
            return X
        lifted = np.maximum(X, self.floor)
        return lifted / lifted.sum(axis=1, keepdims=True)

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

    A temperature can be fitted to any rows. Those of classes that the model does not know are
    ignored: at any temperature their probability is zero. Where all rows are right, the best
    temperature is zero and no risk would be left; the least sure row then counts once more, as
    wrong. A model of one class has nothing to calibrate: None. Probabilities of exactly zero, as
    forests, trees and neighbours give them, mean "too small to be seen": half of the least
    positive one takes their place. scikit-learn takes 1e-12, and where such a class is the true
    one, that one row makes all others unsure.
    """
    from sklearn.calibration import CalibratedClassifierCV  # not loaded by sklearn.ensemble

    scores, codes = as_matrix(scores), encode(y, classes)
    if method == "temperature":
        if len(classes) < 2:
            return None
        if (codes >= 0).any():
            scores, codes, sample_weight = _known(scores, codes, sample_weight)
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
    if method == "temperature":
        scores, codes, sample_weight = _with_one_error(scores, codes, sample_weight)
    everything = np.arange(len(codes))
    is_lifted = method == "temperature" and response == "predict_proba"
    floor = _floor(scores, sample_weight) if is_lifted else 0.0
    calibrator = CalibratedClassifierCV(
        Scores(np.arange(len(classes)), response=response, floor=floor),
        method=method,
        cv=[(everything, everything)],  # nothing is fitted but the calibrator itself
        ensemble=False,
    )
    with config_context(enable_metadata_routing=False):
        return calibrator.fit(scores, codes, sample_weight=sample_weight)


def warn_of_shifted_classes(
    proba: NDArray[Any], y: NDArray[Any], classes: NDArray[Any], weight: NDArray[Any] | None
) -> None:
    """Warn where the probabilities of a class are far from its share on average.

    A temperature moves all probabilities towards equal ones. Where a model is sure and wrong about
    a rare class, the best temperature makes that class look frequent.
    """
    is_class = np.asarray(y)[:, None] == classes
    known = is_class.any(axis=1)
    if not known.any():
        return
    proba, is_class = proba[known], is_class[known]
    weight = None if weight is None else weight[known]
    found, share = (np.average(table, axis=0, weights=weight) for table in (proba, is_class))
    ratio = np.maximum(found, share) / np.maximum(np.minimum(found, share), LOG_SHIFT)
    apart = np.abs(found - share) > STANDARD_ERRORS * np.sqrt(share * (1 - share) / len(proba))
    worst = int(np.argmax(np.where(apart & (share > 0), ratio, 0)))
    if apart[worst] and share[worst] > 0 and ratio[worst] > SHIFTED:
        warnings.warn(
            f"class {classes.tolist()[worst]!r} is {share[worst]:.2%} of the rows, but has a "
            f"probability of {found[worst]:.2%} on average after calibration by a temperature: "
            f"risks will be off as much. Use HybridRisk, or calibration='sigmoid', which can shift "
            f"a class.",
            stacklevel=2,
        )


def _known(scores: NDArray[Any], codes: NDArray[np.intp], weight: NDArray[Any] | None) -> Rows:
    """Leave out rows of classes that the model does not know."""
    known = codes >= 0
    return scores[known], codes[known], None if weight is None else weight[known]


def _floor(proba: NDArray[Any], weight: NDArray[Any] | None) -> float:
    """Return what stands for a probability of zero; zero where nothing has to."""
    proba = proba if weight is None else proba[weight > 0]
    if (proba > 0).all():
        return 0.0
    half = float(proba[proba > 0].min()) / 2
    return half if half > LOG_SHIFT else 0.0


def _with_one_error(
    scores: NDArray[Any], codes: NDArray[np.intp], weight: NDArray[Any] | None
) -> Rows:
    """Add the least sure row with another label, if every row that counts is right."""
    each = scores if scores.shape[1] > 1 else np.hstack([-scores, scores])
    others = each.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    margin = each[np.arange(len(codes)), codes] - others.max(axis=1)
    counts = np.ones(len(codes)) if weight is None else weight
    if (margin[counts > 0] < 0).any():
        return scores, codes, weight
    least = np.argmin(np.where(counts > 0, margin, np.inf))
    return (
        np.concatenate([scores, scores[[least]]]),
        np.append(codes, others[least].argmax()),
        np.append(counts, 1.0),
    )


def _with_missing(
    scores: NDArray[Any],
    codes: NDArray[np.intp],
    sample_weight: NDArray[Any] | None,
    missing: NDArray[np.intp],
) -> Rows:
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
