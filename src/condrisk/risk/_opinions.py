"""What probability models, and the predictor itself, say of rows they were not fitted on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from condrisk._crossfit import (
    HeldOut,
    Job,
    align,
    answer,
    cross_fit,
    fit_on,
    make_splits,
    rows_of,
    seeded,
)
from condrisk._delegate import is_frozen
from condrisk.risk._base import BaseRisk
from condrisk.risk._predictor import Routed


class OpinionatedRisk(BaseRisk):
    """Base of a risk that listens to one or several probability models, frozen or not."""

    probability: Any
    n_jobs: int | None
    probabilities_: list[Any]
    _labels: NDArray[Any]
    _settled: list[bool]

    def _opinions(
        self, X: Any, y: NDArray[Any], prediction: Any, routed: Routed
    ) -> tuple[HeldOut, list[NDArray[np.float64]]]:
        """Settle all models; return their answers on rows that none of them was fitted on."""
        models = [seeded(model, self.random_state) for model in self._models()]
        params = [routed.get(name, {}) for name in self._names()]
        if self._has_to_fit_predictor() and not self.refit:
            held_out = self._fit_first_part(X, y, models, params, routed)
        else:
            held_out = self._fit_crossed(X, y, prediction, models, params, routed)
        self._set_labels()
        rows = rows_of(X, held_out.rows)
        crossed = iter(held_out.answers[1:])
        opinions = [
            self._aligned(answer(model, rows, "predict_proba"), model.classes_)
            if settled
            else self._aligned(next(crossed)["predict_proba"], self._classes)
            for model, settled in zip(self.probabilities_, self._settled, strict=True)
        ]
        return held_out, opinions

    def _fit_first_part(
        self,
        X: Any,
        y: NDArray[Any],
        models: list[Any],
        params: list[dict[str, Any]],
        routed: Routed,
    ) -> HeldOut:
        """Fit all models on the first part of one split; return answers on the second."""
        split = self._splits(X, y, routed)[0]
        held_out = self._one_split(X, y, split, self._responses(), routed["predictor"])
        self.probabilities_ = [
            model if is_frozen(model) else fit_on(model, X, y, split[0], own)
            for model, own in zip(models, params, strict=True)
        ]
        self._settled = [True] * len(models)
        return held_out

    def _fit_crossed(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: Any,
        models: list[Any],
        params: list[dict[str, Any]],
        routed: Routed,
    ) -> HeldOut:
        """Cross-fit what is not frozen, and fit it on all rows; return out-of-fold answers."""
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
            jobs = [Job(predictor, routed["predictor"], tuple(sorted(self._responses()))), *jobs]
            self.predictor_ = clone(predictor).fit(X, y, **routed["predictor"])
        else:
            fixed = self._fixed_answers(X, prediction, self._responses())
        fits = iter(clone(job.estimator).fit(X, y, **job.fit_params) for job in opened)
        self.probabilities_ = [
            model if settled else next(fits)
            for model, settled in zip(models, self._settled, strict=True)
        ]
        if not jobs:
            assert fixed is not None
            return fixed
        splits = self._make_splits(X, y, routed)
        held_out = cross_fit(jobs, X, y, splits, classes=self._classes, n_jobs=self.n_jobs)
        if fixed is None:
            return held_out
        known = {name: values[held_out.rows] for name, values in fixed.answers[0].items()}
        return held_out._replace(answers=(known, *held_out.answers))

    def _make_splits(self, X: Any, y: NDArray[Any], routed: Routed) -> Any:
        groups = routed["splitter"].get("groups")
        return make_splits(
            self.cv, X, y, classifier=True, groups=groups, random_state=self.random_state
        )

    def _own_opinion(self, answers: dict[str, NDArray[Any]]) -> list[NDArray[np.float64]]:
        """Return the predictor's own probabilities, if it has such."""
        values = answers[self._view()]
        return [self._aligned(values, self.classes_)] if values.ndim == 2 else []

    def _responses(self) -> set[str]:
        return {self.loss_.response, self._view()}

    def _view(self) -> str:
        """Return the most telling response that the predictor has."""
        if self.predictor is None:
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
        if self.probability is None:
            own = self.predictor.estimator if is_frozen(self.predictor) else self.predictor
            return [] if own is None else [own]
        if isinstance(self.probability, (list, tuple)):
            return list(self.probability)
        return [self.probability]

    def _names(self) -> list[str]:
        if isinstance(self.probability, (list, tuple)):
            return [f"probability_{k}" for k in range(len(self.probability))]
        return ["probability"]
