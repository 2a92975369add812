"""What the estimators of conditional risk share: predictor, loss, splits and metadata."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    _fit_context,
    is_classifier,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
)

from condrisk._crossfit import HeldOut, mean_by_row, rows_of
from condrisk._routing import add_part, add_splitter, route_fit
from condrisk.losses import Loss, get_loss
from condrisk.risk._answers import Answers
from condrisk.risk._predictor import PredictorMixin, Routed

# What the out-of-fold attributes hold belongs to the training rows, not to the model.
_NOT_SAVED = ("oof_loss_", "oof_risk_", "_calibration_rows", "_calibration_loss")


def _predictor_has(method: str) -> Any:
    def check(self: BaseRisk) -> bool:
        predictor = getattr(self, "predictor_", self._model())
        getattr(predictor, method)  # its AttributeError names what is missing
        return True

    return check


def _weights(sample_weight: ArrayLike | None, X: Any) -> NDArray[Any] | None:
    if sample_weight is None:
        return None
    return _check_sample_weight(sample_weight, X, ensure_non_negative=True)


def check_regressor(regressor: Any) -> None:
    """Refuse a classifier where losses are to be learnt; None stands for the default."""
    if regressor is not None and is_classifier(regressor):
        raise ValueError(
            f"regressor must be a regressor, since losses are numbers; "
            f"got the classifier {type(regressor).__name__}."
        )


# A risk beyond this is as good as infinite; below it, means over many rows are still numbers.
LARGEST_RISK = 1e300


class BaseRisk(PredictorMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the risk estimators: keeps the predictor's type and adds `predict_risk`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "predictor": [HasMethods(["fit", "predict"]), None],
        "loss": [str, callable, "array-like", Loss, None],
        "cv": ["cv_object"],
        "refit": ["boolean"],
        "n_jobs": [int, None],
        "random_state": ["random_state"],
    }

    predictor: Any
    loss: Any
    cv: Any
    refit: bool
    clip: bool
    n_jobs: int | None
    random_state: Any

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        prediction: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the predictor unless it is frozen, then the estimate of its risk.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. If the predictor is frozen, rows that it was not fitted on.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for each part that takes them; a part that does not is named in a warning.
        prediction : array-like of shape (n_samples,) or (n_samples, n_classes), optional
            Only with ``predictor=None``: what the predictor that lives elsewhere says of each row
            (numbers, labels, or class probabilities in the sorted order of the labels).
        **params : dict
            ``groups`` goes to the splitter, everything else to the predictor's fit. With
            scikit-learn's metadata routing switched on, each part gets what it requests.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._check_rows(X, y)
        weight = _weights(sample_weight, X)
        self._check_prediction_use(prediction)
        self.loss_ = get_loss(self.loss, task=self._task())
        self._check_response(f"loss {self.loss_.name!r}", self.loss_.response)
        self._check_parts()
        for name in _NOT_SAVED:
            self.__dict__.pop(name, None)
        routed = route_fit(self, self._parts_to_fit(), weight, params)
        self._fit(X, y, prediction, weight, routed)
        return self

    @abstractmethod
    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        """Fit predictor and risk on validated rows."""

    @abstractmethod
    def _risk(self, X: Any, answers: Answers) -> NDArray[np.float64]:
        """Estimate the risk of rows on which the predictor's answers are at hand."""

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return the estimators beside the predictor that are fitted in fit."""

    @abstractmethod
    def _check_parts(self) -> None:
        """Raise where the parts do not fit together."""

    # -- using it ---------------------------------------------------------------------------

    def predict(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predictor's own answer, untouched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only with ``predictor=None``: what the predictor that lives elsewhere says.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or numbers.
        """
        return self._answers(X, prediction).get("predict")

    @available_if(_predictor_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the predictor's own class probabilities, shape (n_samples, n_classes)."""
        return self._answers(X, None).get("predict_proba")

    @available_if(_predictor_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the predictor's own decision function."""
        return self._answers(X, None).get("decision_function")

    def predict_risk(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[np.float64]:
        """Estimate g(x), the expected loss of the predictor's answer at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only with ``predictor=None``, and only where the estimate depends on the response:
            what the predictor that lives elsewhere says.

        Returns
        -------
        ndarray of shape (n_samples,)
            The estimated risk.
        """
        return self._risk(X, self._answers(X, prediction, needed=self._risk_uses_response()))

    def loss_values(
        self, X: Any, y: Any, *, prediction: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the realised loss ℓ(f(x), y) of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets. A class that the predictor has never seen costs what the loss says of
            probability zero; a cost matrix has no price for it and raises.
        prediction : array-like, optional
            Only with ``predictor=None``: what the predictor that lives elsewhere says.

        Returns
        -------
        ndarray of shape (n_samples,)
            The losses.
        """
        answers = self._answers(X, prediction)
        return self._losses(self._check_y(y, X), answers.get(self.loss_.response))

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        prediction: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean squared difference between realised loss and estimated risk.

        In expectation it ranks estimates by their squared error against g itself, so a search
        over the regressor or the calibration picks what estimates the risk best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that neither predictor nor risk were fitted on.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.
        prediction : array-like, optional
            Only with ``predictor=None``: what the predictor that lives elsewhere says.

        Returns
        -------
        float
            At most zero; larger is better.
        """
        answers = self._answers(X, prediction)
        loss = self._losses(self._check_y(y, X), answers.get(self.loss_.response))
        squared = (loss - self._risk(X, answers)) ** 2
        return -float(np.average(squared, weights=_weights(sample_weight, X)))

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, where the predictor is a classifier."""
        if self._task() != "classification":
            raise AttributeError(f"{type(self).__name__} of a regressor has no classes_.")
        check_is_fitted(self, "loss_")
        return self._known_classes()

    # -- inside -----------------------------------------------------------------------------

    def _parts_to_fit(self) -> dict[str, Any]:
        predictor = {"predictor": self._model()} if self._has_to_fit_predictor() else {}
        return predictor | self._parts()

    def _remember(self, held_out: HeldOut, loss: NDArray[np.float64], *, n_rows: int) -> None:
        """Keep what a rule is fitted on: out-of-fold losses, or the rows the risk came from."""
        if self._has_to_fit_predictor():
            self.oof_loss_ = mean_by_row(loss, held_out.rows, n_rows)
        if held_out.n_splits == 1:
            self._calibration_rows = held_out.rows
            self._calibration_loss = loss

    def _calibration(
        self, X: Any, prediction: Any
    ) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
        """Return rows of the training data, their losses and risks, for fitting a rule."""
        if hasattr(self, "oof_risk_"):
            rows = np.flatnonzero(np.isfinite(self.oof_risk_))
            return rows, self.oof_loss_[rows], self.oof_risk_[rows]
        rows = self._calibration_rows
        given = None if prediction is None else _safe_indexing(np.asarray(prediction), rows)
        risk = self.predict_risk(rows_of(X, rows), prediction=given)
        return rows, self._calibration_loss, risk

    def _clipped(self, risk: Any) -> NDArray[np.float64]:
        """Return what a regressor of losses says, at least the least loss if `clip` is set."""
        # A log-linear regressor overflows far away from its rows.
        risk = np.minimum(np.asarray(risk, dtype=np.float64).ravel(), LARGEST_RISK)
        if not np.isfinite(risk).all():
            raise ValueError("the regressor's estimate of the risk is NaN or -inf on some rows.")
        return np.maximum(risk, self.loss_.minimum) if self.clip else risk

    # -- scikit-learn -------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which part takes which metadata.

        Returns
        -------
        MetadataRouter
            The routing of scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, part in self._parts_to_fit().items():
            add_part(router, **{name: part})
        return add_splitter(router, self.cv)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        parts = [part for part in (self._model(), *self._parts().values()) if part is not None]
        tags.input_tags.sparse = all(get_tags(part).input_tags.sparse for part in parts)
        tags.input_tags.allow_nan = all(get_tags(part).input_tags.allow_nan for part in parts)
        if self._model() is None:
            stand_in = DummyClassifier if self._task() == "classification" else DummyRegressor
            tags.estimator_type = get_tags(stand_in()).estimator_type
        else:
            inner = get_tags(self._model())
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = inner.classifier_tags
            tags.regressor_tags = inner.regressor_tags
            if tags.classifier_tags is not None:
                tags.classifier_tags.multi_label = False
            if tags.regressor_tags is not None:
                tags.regressor_tags.poor_score = True  # score is minus an error, not an R²
            tags.target_tags.one_d_labels = inner.target_tags.one_d_labels
            tags.target_tags.positive_only = inner.target_tags.positive_only
            tags.input_tags.positive_only = inner.input_tags.positive_only
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name in _NOT_SAVED:
            state.pop(name, None)
        return state
