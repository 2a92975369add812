"""The predictor inside a risk estimator: its task, its responses and its losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
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
from condrisk._progress import announce
from condrisk._validation import check_target_is_numeric, refuse_gradients
from condrisk.losses import CostMatrix, Loss, Task, get_loss, hamming
from condrisk.risk._external import first_response, has_tags, kind_of
from condrisk.risk._outputs import check_n_outputs, check_outputs, has_several_outputs
from condrisk.risk._refusals import refuse_module
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
    n_outputs_: int
    _classes: Any

    def _is_precomputed(self) -> bool:
        return isinstance(self.predictor, str) and self.predictor == PRECOMPUTED

    def _is_external(self) -> bool:
        """Tell whether nothing is known of the predictor but what it predicts."""
        if self._is_precomputed():
            return True
        return is_frozen(self.predictor) and kind_of(self.predictor) is None

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
        kind = kind_of(self.predictor)
        if kind == "classifier":
            return "classification"
        if kind == "regressor":
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
        n_outputs = self.__dict__.get("n_outputs_", 1)
        found = check_prediction(prediction, n_rows, self._classes, n_outputs)
        return GivenResponses(found, self._classes)

    def _known_classes(self) -> Any:
        """Return the labels behind the columns of the response.

        None for regression, and of several outputs: there a column is an output.
        """
        if isinstance(self._classes, list):
            return None
        if self._is_precomputed() or self._classes is None:
            return self._classes
        if self._is_external():
            return getattr(self.predictor_, "classes_", self._classes)
        return self.predictor_.classes_

    def _own_classes(self) -> Any:
        """Return the labels of a classifier, for several outputs in its own form."""
        if not isinstance(self._classes, list):
            return self._known_classes()
        return getattr(self.__dict__.get("predictor_"), "classes_", self._classes)

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

    def _validate_params(self) -> None:
        refuse_module(self.predictor)
        super()._validate_params()  # type: ignore[misc]

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
        self.n_outputs_ = y.shape[1] if y.ndim == 2 else 1
        self._check_several(self.n_outputs_)
        self._classes = None
        if self._task() == "classification":
            several = [np.arange(2)] * self.n_outputs_
            self._classes = np.unique(y) if y.ndim == 1 else several
        return X, y

    def _check_y(self, y: Any, X: Any) -> NDArray[Any]:
        """Return y validated, as a column or with a column for each output."""
        refuse_gradients(y=y)
        task = self._task()
        if has_several_outputs(y):
            y = check_outputs(y, X, task)
        else:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            if task == "classification":
                _check_labels(y)
            elif task == "regression":
                check_target_is_numeric(y)
                y = check_array(y, ensure_2d=False, input_name="y", dtype=[np.float64, np.float32])
        check_n_outputs(y, self.__dict__.get("n_outputs_"))
        return y

    def _has_several(self) -> bool:
        """Tell whether y had several columns; of losses that were given nothing is known."""
        return self.__dict__.get("n_outputs_", 1) > 1

    def _takes_several(self) -> bool:
        """Tell whether y may have several columns, if the predictor takes them."""
        return True

    def _check_several(self, n_outputs: int) -> None:
        if n_outputs > 1 and not self._takes_several():
            raise ValueError(
                f"y must have one column for {type(self).__name__} of this predictor, got "
                f"{n_outputs}: use RegressionRisk, PlugInRisk or AutoRisk with a predictor of "
                f"several outputs, or fit one for each column."
            )

    def _loss_of(self, n_outputs: int) -> Loss:
        """Return the loss of rows with so many outputs."""
        if self.loss is None and n_outputs > 1 and self._task() == "classification":
            return hamming
        return get_loss(self.loss, task=self._task()).for_outputs(n_outputs)

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
        announce(f"{type(predictor).__name__}, all rows")
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
