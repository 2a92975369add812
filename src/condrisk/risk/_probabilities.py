"""Class probabilities of several models, and of the predictor, on rows they were not fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from condrisk._crossfit import CrossFitted, Job, align, cross_fit, fit_on, respond, rows_of, seeded
from condrisk._delegate import is_frozen
from condrisk.risk._base import BaseRisk
from condrisk.risk._predictor import Routed


class ProbabilityModelsRisk(BaseRisk):
    """Base of a risk that uses one or several probability models, frozen or not."""

    probability: Any
    n_jobs: int | None
    probabilities_: list[Any]
    _labels: NDArray[Any]
    _settled: list[bool]

    def _cross_fitted_probabilities(
        self, X: Any, y: NDArray[Any], prediction: Any, routed: Routed
    ) -> tuple[CrossFitted, list[NDArray[np.float64]]]:
        """Settle all models; return their responses to rows that none of them was fitted on."""
        models = [seeded(model, self.random_state) for model in self._models()]
        params = [routed.get(name, {}) for name in self._names()]
        if self._has_to_fit_predictor() and not self.refit:
            fitted = self._fit_first_part(X, y, models, params, routed)
        else:
            fitted = self._fit_crossed(X, y, prediction, models, params, routed)
        self._set_labels()
        rows = rows_of(X, fitted.rows)
        crossed = iter(fitted.responses[1:])
        found = [
            self._aligned(respond(model, rows, "predict_proba"), model.classes_)
            if settled
            else self._aligned(next(crossed)["predict_proba"], self._classes)
            for model, settled in zip(self.probabilities_, self._settled, strict=True)
        ]
        return fitted, found

    def _fit_first_part(
        self,
        X: Any,
        y: NDArray[Any],
        models: list[Any],
        params: list[dict[str, Any]],
        routed: Routed,
    ) -> CrossFitted:
        """Fit all models on the first part of one split; return responses to the second."""
        split = self._splits(X, y, routed)[0]
        fitted = self._one_split(X, y, split, self._methods(), routed["predictor"])
        self.probabilities_ = [
            model if is_frozen(model) else fit_on(model, X, y, split[0], own)
            for model, own in zip(models, params, strict=True)
        ]
        self._settled = [True] * len(models)
        return fitted

    def _fit_crossed(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: Any,
        models: list[Any],
        params: list[dict[str, Any]],
        routed: Routed,
    ) -> CrossFitted:
        """Cross-fit what is not frozen, and fit it on all rows; return out-of-fold responses."""
        self._settled = [is_frozen(model) for model in models]
        opened = [
            Job(model, own, ("predict_proba",))
            for model, own, settled in zip(models, params, self._settled, strict=True)
            if not settled
        ]
        jobs = list(opened)
        fixed = None
        if self._has_to_fit_predictor():
            predictor = seeded(self.predictor, self.random_state)
            jobs = [Job(predictor, routed["predictor"], tuple(sorted(self._methods()))), *jobs]
            self.predictor_ = clone(predictor).fit(X, y, **routed["predictor"])
        else:
            fixed = self._fixed_responses(X, prediction, self._methods())
        fits = iter(clone(job.estimator).fit(X, y, **job.fit_params) for job in opened)
        self.probabilities_ = [
            model if settled else next(fits)
            for model, settled in zip(models, self._settled, strict=True)
        ]
        if not jobs:
            assert fixed is not None
            return fixed
        splits = self._splits(X, y, routed)
        fitted = cross_fit(jobs, X, y, splits, classes=self._classes, n_jobs=self.n_jobs)
        if fixed is None:
            return fitted
        known = {name: values[fitted.rows] for name, values in fixed.responses[0].items()}
        return fitted._replace(responses=(known, *fitted.responses))

    def _own_probabilities(self, responses: dict[str, NDArray[Any]]) -> list[NDArray[np.float64]]:
        """Return the predictor's own probabilities, if it has such."""
        values = responses[self._view()]
        return [self._aligned(values, self.classes_)] if values.ndim == 2 else []

    def _methods(self) -> set[str]:
        return {self.loss_.response, self._view()}

    def _view(self) -> str:
        """Return the most telling response that the predictor has."""
        if self._is_precomputed():
            return self.loss_.response
        return "predict_proba" if hasattr(self.predictor, "predict_proba") else "predict"

    def _aligned(self, proba: NDArray[Any], known: Any) -> NDArray[np.float64]:
        return proba if np.array_equal(known, self._labels) else align(proba, known, self._labels)

    def _set_labels(self) -> None:
        """Order the labels: those of the predictor, then those that only other models have."""
        known = self.classes_
        others = [model.classes_ for model in self.probabilities_]
        extra = np.setdiff1d(np.concatenate([*others, np.asarray(self._classes)]), known)
        self._labels = np.concatenate([known, extra]) if len(extra) else known

    def _models(self) -> list[Any]:
        """Return the probability models, not yet fitted unless frozen."""
        if self.probability is None and self._is_external():
            return []
        if self.probability is None:
            return [self.predictor.estimator if is_frozen(self.predictor) else self.predictor]
        if isinstance(self.probability, (list, tuple)):
            return list(self.probability)
        return [self.probability]

    def _names(self) -> list[str]:
        if isinstance(self.probability, (list, tuple)):
            return [f"probability_{k}" for k in range(len(self.probability))]
        return ["probability"]
