"""Class probabilities beside a classifier in `AutoRisk`: calibrated, and pooled with a stack's."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk._budget import Clock
from condrisk._crossfit import CrossFitted, Split, align
from condrisk._mixing import Pool, fit_pool, log_probabilities
from condrisk.learners import StackedClassifier
from condrisk.losses import AveragedLoss, ClassLoss, encode
from condrisk.risk._base import BaseRisk, groups_of
from condrisk.risk._label_chances import label_risk_and_floor
from condrisk.risk._predictor import Routed
from condrisk.risk._responses import Responses

Floats = NDArray[np.float64]
Given = dict[str, NDArray[Any]]

# Of the time that is left, the share for a second model.
SECOND_SHARE = 0.5


class ClassPools(BaseRisk):
    """Base of a risk that pools the probabilities of a classifier with those of a stack."""

    second_model_: StackedClassifier | None
    seconds_: dict[str, float]
    _pools: dict[str, Pool]

    def _is_built(self) -> bool:
        raise NotImplementedError

    def _feature_method(self) -> str:
        raise NotImplementedError

    def _fit_probabilities(
        self,
        X: Any,
        y: NDArray[Any],
        fitted: CrossFitted,
        weight: NDArray[Any] | None,
        routed: Routed,
        clock: Clock,
    ) -> None:
        """Learn to calibrate the predictor's probabilities, and to pool them with a second model's.

        A stack is a pool already; to any other predictor one is added, if there is time.
        """
        self._pools, self.second_model_ = {}, None
        one_loss = isinstance(self.loss_, ClassLoss) and self._task() == "classification"
        if not one_loss or y.ndim == 2:
            return
        codes = encode(y, self.classes_)
        own = self._own_probabilities(fitted.responses[0])
        if own:
            self._pools["plug-in"] = fit_pool(log_probabilities(own), codes, weight)
        start = time.perf_counter()
        if self._is_built() or len(np.unique(y)) < 2:
            return
        self.seconds_["hybrid"] = 0.0
        if not clock.left():
            return
        stack = StackedClassifier(
            cv=self._stack_folds(fitted),
            time_budget=clock.share(SECOND_SHARE),
            random_state=self.random_state,
        )
        groups = groups_of(routed, fitted.rows) if fitted.n_splits == 1 else None
        self.second_model_ = stack.fit(X, y, weight, groups=groups)
        both = log_probabilities([*own, *self._second_held_out()])
        self._pools["hybrid"] = fit_pool(both, codes, weight)
        self.seconds_["hybrid"] = time.perf_counter() - start

    def _stack_folds(self, fitted: CrossFitted) -> int | list[Split]:
        """Return the folds that the predictor had, or for one that was not fitted here, five."""
        if fitted.n_splits > 1:
            return fitted.folds()
        return self.cv if isinstance(self.cv, int) else 5

    def _own_probabilities(self, responses: Responses | Given) -> list[Floats]:
        """Return the predictor's own probabilities, if it has such."""
        if self._feature_method() != "predict_proba":
            return []
        return [get_response(responses, "predict_proba")]

    def _second_held_out(self) -> list[Floats]:
        if self.second_model_ is None:
            return []
        return [self._aligned(self.second_model_.held_out_.responses["predict_proba"])]

    def _aligned(self, proba: Floats) -> Floats:
        assert self.second_model_ is not None
        return align(proba, self.second_model_.classes_, self.classes_)

    def _plug_in_risks(
        self, responses: Responses | Given, second: list[Floats]
    ) -> dict[str, Floats]:
        """Return estimates that no regression is needed for: the plug-in risks of a classifier."""
        found = {}
        of_labels = isinstance(self._classes, list) and self._feature_method() == "predict_proba"
        if of_labels and isinstance(self.loss_, AveragedLoss):
            chances = get_response(responses, "predict_proba")
            response = get_response(responses, self.loss_.response)
            found["plug-in"], _ = label_risk_and_floor(self.loss_, response, chances)
        for name, pool in self._pools.items():
            own = self._own_probabilities(responses)
            proba = pool(log_probabilities(own if name == "plug-in" else [*own, *second]))
            assert isinstance(self.loss_, ClassLoss)
            response = get_response(responses, self.loss_.response)
            found[name] = self.loss_.expected(response, proba, classes=self.classes_)
        return found

    def _class_law(self, X: Any, responses: Responses) -> tuple[NDArray[Any], Floats]:
        """Return the response of the predictor, and the best probabilities at hand."""
        if not self._pools:
            raise ValueError(
                "there are no class probabilities here to say more of the loss than its mean: the "
                "predictor has none and no second model was fitted."
            )
        own = self._own_probabilities(responses)
        if "hybrid" in self._pools:
            logs = log_probabilities([*own, *self._second_at(self._encoded(X))])
            return responses.get(self.loss_.response), self._pools["hybrid"](logs)
        return responses.get(self.loss_.response), self._pools["plug-in"](log_probabilities(own))

    def _second_at(self, X: Any) -> list[Floats]:
        """Return the probabilities of the second model, if there is one."""
        if self.second_model_ is None:
            return []
        return [self._aligned(self.second_model_.predict_proba(X))]


def get_response(responses: Responses | Given, method: str) -> NDArray[Any]:
    """Return a response out of a dict, which held-out responses are, or out of `Responses`."""
    return responses[method] if isinstance(responses, dict) else responses.get(method)
