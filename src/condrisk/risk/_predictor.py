"""The predictor inside a risk estimator: its task, its answers and its losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, check_array, column_or_1d, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from condrisk._crossfit import (
    HeldOut,
    Job,
    Split,
    cross_fit,
    fit_on,
    make_splits,
    seeded,
)
from condrisk._delegate import is_frozen
from condrisk.losses import CostMatrix, Loss, get_loss
from condrisk.risk._answers import Answers, GivenAnswers, check_prediction, one_held_out

Routed = dict[str, dict[str, Any]]


def _check_labels(y: NDArray[Any]) -> None:
    if y.dtype == object and np.any((y == None) | (y != y)):  # noqa: E711 - elementwise
        raise ValueError("y contains missing labels (None or NaN): drop those rows or name them.")
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)


class PredictorMixin:
    """What a risk estimator does with its predictor: given, frozen, or to be fitted."""

    predictor: Any
    predictor_: Any
    loss: Any
    loss_: Loss
    cv: Any
    refit: bool
    n_jobs: int | None
    random_state: Any
    _classes: NDArray[Any] | None

    def _model(self) -> Any:
        """Return the predictor to use, or to fit a clone of; None: it lives elsewhere."""
        return self.predictor

    def _task(self) -> Any:
        """Return "regression" or "classification", as the predictor or else the loss tells."""
        if self._model() is None:
            loss = get_loss(self.loss)
            if loss.response == "predict_proba":
                return "classification"
            return loss.task
        if is_classifier(self._model()):
            return "classification"
        if is_regressor(self._model()):
            return "regression"
        raise ValueError(
            f"predictor must be a classifier or a regressor, got {type(self.predictor).__name__}."
        )

    def _risk_uses_response(self) -> bool:
        return True

    def _answers(self, X: Any, prediction: Any, *, needed: bool = True) -> Answers:
        """Return the predictor's answers on new rows, after checking those."""
        check_is_fitted(self, "loss_")
        if getattr(X, "ndim", 2) == 1 and hasattr(self, "n_features_in_"):
            raise ValueError(
                "X must have a row per example and a column per feature, got a single dimension. "
                "Reshape your data, for one example as X.reshape(1, -1)."
            )
        validate_data(self, X, skip_check_array=True, reset=False)
        self._check_finite(X)
        self._check_prediction_use(prediction)
        if self._model() is not None:
            return Answers(self.predictor_, X)
        if not needed and prediction is None:
            return GivenAnswers(np.empty(0), None)
        return self._given(prediction, _num_samples(X))

    def _given(self, prediction: Any, n_rows: int) -> GivenAnswers:
        return GivenAnswers(check_prediction(prediction, n_rows, self._classes), self._classes)

    def _known_classes(self) -> Any:
        """Return the labels behind the columns of the response; None for regression."""
        if self._model() is None or self._classes is None:
            return self._classes
        return self.predictor_.classes_

    def _losses(self, y: NDArray[Any], response: NDArray[Any]) -> NDArray[np.float64]:
        loss = self.loss_(y, response, classes=self._known_classes())
        if not np.isfinite(loss).all():
            raise ValueError(
                f"loss {self.loss_.name!r} is not finite on some rows: the predictor's response "
                f"or y is NaN, infinite or too large there."
            )
        return loss

    def _check_loss_size(self, n_classes: int) -> None:
        if isinstance(self.loss_, CostMatrix):
            self.loss_.check_size(n_classes)

    # -- validation ---------------------------------------------------------------------------

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        (X,) = indexable(X)
        validate_data(self, X, skip_check_array=True)
        y = self._check_y(y, X)
        self._classes = np.unique(y) if self._task() == "classification" else None
        return X, y

    def _check_y(self, y: Any, X: Any) -> NDArray[Any]:
        """Return y as a validated column; several outputs are refused."""
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        task = self._task()
        if task == "classification":
            _check_labels(y)
        elif task == "regression":
            y = check_array(y, ensure_2d=False, input_name="y", dtype=[np.float64, np.float32])
        return y

    def _check_response(self, what: str, response: str) -> None:
        """Raise if the predictor cannot give the response that something needs."""
        if self._model() is not None and not hasattr(self._model(), response):
            raise ValueError(
                f"{what} needs the predictor's {response}, "
                f"which {type(self._model()).__name__} does not have."
            )

    def _check_finite(self, X: Any) -> None:
        """Refuse NaN where the predictor would take it but another part of the estimate not."""
        if self._model() is None or not isinstance(X, np.ndarray) or X.dtype.kind != "f":
            return
        if get_tags(self._model()).input_tags.allow_nan and not get_tags(self).input_tags.allow_nan:
            assert_all_finite(X, input_name="X")

    def _check_prediction_use(self, prediction: Any) -> None:
        if prediction is not None and self._model() is not None:
            raise ValueError(
                "prediction is only for a predictor that lives elsewhere: it needs predictor=None."
            )

    # -- fitting the predictor -----------------------------------------------------------------

    def _has_to_fit_predictor(self) -> bool:
        return self._model() is not None and not is_frozen(self._model())

    def _splits(self, X: Any, y: NDArray[Any], routed: Routed) -> list[Split]:
        splits = make_splits(
            self.cv,
            X,
            y,
            classifier=self._task() == "classification",
            groups=routed["splitter"].get("groups"),
            random_state=self.random_state,
        )
        if not self.refit and len(splits) != 1:
            raise ValueError(
                f"refit=False keeps the predictor of one split, but cv gives {len(splits)}: use "
                f"a cv with exactly one split, such as ShuffleSplit(n_splits=1), or refit=True."
            )
        return splits

    def _fixed_answers(self, X: Any, prediction: Any, responses: set[str]) -> HeldOut:
        """Return the answers of a predictor that is not fitted here, on all rows."""
        if self._model() is None:
            answers: Answers = self._given(prediction, _num_samples(X))
        else:
            self.predictor_ = self._model()
            check_is_fitted(self.predictor_)
            answers = Answers(self.predictor_, X)
        return one_held_out(np.arange(_num_samples(X)), answers, responses)

    def _cross_fitted(
        self, X: Any, y: NDArray[Any], prediction: Any, routed: Routed, responses: set[str]
    ) -> HeldOut:
        """Settle the predictor; return its answers on rows that it was not fitted on."""
        if not self._has_to_fit_predictor():
            return self._fixed_answers(X, prediction, responses)
        splits = self._splits(X, y, routed)
        if not self.refit:
            return self._one_split(X, y, splits[0], responses, routed["predictor"])
        predictor = seeded(self._model(), self.random_state)
        jobs = [Job(predictor, routed["predictor"], tuple(sorted(responses)))]
        self.predictor_ = clone(predictor).fit(X, y, **routed["predictor"])
        return cross_fit(jobs, X, y, splits, classes=self._classes, n_jobs=self.n_jobs)

    def _one_split(
        self,
        X: Any,
        y: NDArray[Any],
        split: Split,
        responses: set[str],
        fit_params: dict[str, Any],
    ) -> HeldOut:
        """Fit the predictor on one split's training rows; return its answers on the others."""
        train, test = split
        predictor = seeded(self._model(), self.random_state)
        self.predictor_ = fit_on(predictor, X, y, train, fit_params)
        return one_held_out(test, Answers(self.predictor_, _safe_indexing(X, test)), responses)
