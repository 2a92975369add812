"""The predictor inside a risk estimator: its task, its responses and its losses."""

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

from condrisk._crossfit import CrossFitted, Job, Split, cross_fit, fit_on, make_splits, seeded
from condrisk._delegate import is_frozen
from condrisk._validation import refuse_gradients
from condrisk.losses import CostMatrix, Loss, Task, get_loss
from condrisk.risk._external import first_response, has_tags, tells_task
from condrisk.risk._responses import (
    GivenResponses,
    Responses,
    check_prediction,
    check_some_are_classes,
    held_out_at_once,
)
from condrisk.risk._task import task_of_target

Routed = dict[str, dict[str, Any]]
PRECOMPUTED = "precomputed"


def _check_labels(y: NDArray[Any]) -> None:
    if y.dtype == object and np.any((y == None) | (y != y)):  # noqa: E711 - elementwise
        raise ValueError("y contains missing labels (None or NaN): drop those rows or name them.")
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)


class PredictorMixin:
    """What a risk estimator does with its predictor: cross-fitted, frozen or precomputed.

    The responses of a predictor are what its methods give: "predict", "predict_proba".
    """

    predictor: Any
    predictor_: Any
    loss: Any
    loss_: Loss
    cv: Any
    refit: bool
    n_jobs: int | None
    random_state: Any
    _classes: NDArray[Any] | None

    def _is_precomputed(self) -> bool:
        return isinstance(self.predictor, str) and self.predictor == PRECOMPUTED

    def _is_external(self) -> bool:
        """Tell whether nothing is known of the predictor but what it predicts."""
        if self._is_precomputed():
            return True
        return is_frozen(self.predictor) and not tells_task(self.predictor)

    def _has_to_fit_predictor(self) -> bool:
        return not self._is_precomputed() and not is_frozen(self.predictor)

    def _task(self) -> Task | None:
        """Return the task of the predictor, the loss or the target; None if none of them tells."""
        if self._is_external():
            if self.loss is None:
                return self.__dict__.get("_target_task")
            loss = get_loss(self.loss)
            return "classification" if loss.response == "predict_proba" else loss.task
        if not has_tags(self.predictor):
            raise ValueError(
                f"predictor must be an estimator of scikit-learn to be fitted here, but "
                f"{type(self.predictor).__name__} has no __sklearn_tags__: inherit from "
                f"RegressorMixin or ClassifierMixin and BaseEstimator, or give "
                f"FrozenEstimator(predictor), fitted on other rows."
            )
        if is_classifier(self.predictor):
            return "classification"
        if is_regressor(self.predictor):
            return "regression"
        raise ValueError(
            f"predictor must be a classifier or a regressor, got {type(self.predictor).__name__}."
        )

    def _risk_uses_response(self) -> bool:
        return True

    def _responses_to(self, X: Any, prediction: Any, *, needed: bool = True) -> Responses:
        """Return the predictor's responses to new rows, after checking those."""
        check_is_fitted(self, "loss_")
        refuse_gradients(X=X, prediction=prediction)
        if getattr(X, "ndim", 2) == 1 and hasattr(self, "n_features_in_"):
            raise ValueError(
                "X must have a row per example and a column per feature, got a single dimension. "
                "Reshape your data, for one example as X.reshape(1, -1)."
            )
        validate_data(self, X, skip_check_array=True, reset=False)
        self._check_finite(X)
        self._check_prediction_use(prediction)
        if not self._is_precomputed():
            return Responses(self.predictor_, X)
        if not needed and prediction is None:
            return GivenResponses(np.empty(0), None)
        return self._given(prediction, _num_samples(X))

    def _given(self, prediction: Any, n_rows: int) -> GivenResponses:
        return GivenResponses(check_prediction(prediction, n_rows, self._classes), self._classes)

    def _known_classes(self) -> Any:
        """Return the labels behind the columns of the response; None for regression."""
        if self._is_precomputed() or self._classes is None:
            return self._classes
        if self._is_external():
            return getattr(self.predictor_, "classes_", self._classes)
        return self.predictor_.classes_

    def _losses(self, y: NDArray[Any], response: NDArray[Any]) -> NDArray[np.float64]:
        loss = self.loss_(y, response, classes=self._known_classes())
        if not np.isfinite(loss).all():
            raise ValueError(
                f"loss {self.loss_.name!r} is not finite on some rows: the predictor's response "
                f"or y is NaN, infinite or too large there."
            )
        return loss

    def _check_loss_classes(self, classes: NDArray[Any]) -> None:
        if isinstance(self.loss_, CostMatrix):
            self.loss_.check_classes(classes)

    # -- validation ---------------------------------------------------------------------------

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        (X,) = indexable(X)
        validate_data(self, X, skip_check_array=True)
        if self._task() is None and self.loss is None:
            self._target_task = task_of_target(y, argument="loss")
        y = self._check_y(y, X)
        self._classes = np.unique(y) if self._task() == "classification" else None
        return X, y

    def _check_y(self, y: Any, X: Any) -> NDArray[Any]:
        """Return y as a validated column; several outputs are refused."""
        refuse_gradients(y=y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        task = self._task()
        if task == "classification":
            _check_labels(y)
        elif task == "regression":
            y = check_array(y, ensure_2d=False, input_name="y", dtype=[np.float64, np.float32])
        return y

    def _check_response(self, what: str, method: str) -> None:
        """Raise if the predictor cannot give the response that something needs."""
        if not self._is_precomputed() and not hasattr(self.predictor, method):
            raise ValueError(
                f"{what} needs the predictor's {method}, "
                f"which {type(self.predictor).__name__} does not have."
            )

    def _check_finite(self, X: Any) -> None:
        """Refuse NaN where the predictor would take it but another part of the estimate not."""
        if self._is_external() or not isinstance(X, np.ndarray) or X.dtype.kind != "f":
            return
        takes_nan = get_tags(self.predictor).input_tags.allow_nan
        if takes_nan and not get_tags(self).input_tags.allow_nan:
            assert_all_finite(X, input_name="X")

    def _check_prediction_use(self, prediction: Any) -> None:
        if prediction is not None and not self._is_precomputed():
            raise ValueError(
                f"prediction is only for an external predictor, predictor={PRECOMPUTED!r}; here "
                f"the predictor is {type(self.predictor).__name__}."
            )

    # -- fitting the predictor -----------------------------------------------------------------

    def _splits(self, X: Any, y: NDArray[Any], routed: Routed) -> list[Split]:
        """Return the splits of `cv`; exactly one unless the predictor is fitted again."""
        splits = make_splits(
            self.cv,
            X,
            y,
            classifier=self._task() == "classification",
            groups=routed["splitter"].get("groups"),
            random_state=self.random_state,
        )
        if self._has_to_fit_predictor() and not self.refit and len(splits) != 1:
            raise ValueError(
                f"refit=False keeps the predictor of one split, but cv gives {len(splits)}: use "
                f"a cv with exactly one split, such as ShuffleSplit(n_splits=1), or refit=True."
            )
        return splits

    def _fixed_responses(self, X: Any, prediction: Any, methods: set[str]) -> CrossFitted:
        """Return the responses of a predictor that is not fitted here, to all rows."""
        if self._is_precomputed():
            responses: Responses = self._given(prediction, _num_samples(X))
        else:
            self.predictor_ = self.predictor
            responses = Responses(self.predictor_, X)
        if not self._is_external():
            check_is_fitted(self.predictor_)
        elif self._is_precomputed() or "predict" in methods:
            check_some_are_classes(first_response(responses, self.predictor), self._classes)
        return held_out_at_once(np.arange(_num_samples(X)), responses, methods)

    def _cross_fitted(
        self, X: Any, y: NDArray[Any], prediction: Any, routed: Routed, methods: set[str]
    ) -> CrossFitted:
        """Settle the predictor; return its responses to rows that it was not fitted on."""
        if not self._has_to_fit_predictor():
            return self._fixed_responses(X, prediction, methods)
        splits = self._splits(X, y, routed)
        if not self.refit:
            return self._one_split(X, y, splits[0], methods, routed["predictor"])
        predictor = seeded(self.predictor, self.random_state)
        jobs = [Job(predictor, routed["predictor"], tuple(sorted(methods)))]
        self.predictor_ = clone(predictor).fit(X, y, **routed["predictor"])
        return cross_fit(jobs, X, y, splits, classes=self._classes, n_jobs=self.n_jobs)

    def _one_split(
        self,
        X: Any,
        y: NDArray[Any],
        split: Split,
        methods: set[str],
        fit_params: dict[str, Any],
    ) -> CrossFitted:
        """Fit the predictor on one split's training rows; return its responses to the others."""
        train, test = split
        predictor = seeded(self.predictor, self.random_state)
        self.predictor_ = fit_on(predictor, X, y, train, fit_params)
        return held_out_at_once(test, Responses(self.predictor_, _safe_indexing(X, test)), methods)
