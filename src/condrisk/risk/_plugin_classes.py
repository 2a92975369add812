"""Class probabilities put into a loss: how they are fitted, calibrated and used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import _check_method_params

from condrisk._crossfit import (
    CrossFitted,
    Job,
    Split,
    align,
    cross_fit,
    fit_on,
    respond,
    rows_of,
    seeded,
)
from condrisk._delegate import is_frozen
from condrisk.losses import AveragedLoss, ClassLoss
from condrisk.risk._base import BaseRisk
from condrisk.risk._calibration import as_matrix, fit_calibrator, warn_of_shifted_classes
from condrisk.risk._held_out import Pairs
from condrisk.risk._label_chances import (
    calibrated_chances,
    fit_label_calibrators,
    label_risk_and_floor,
    warn_of_shifted_labels,
)
from condrisk.risk._predictor import Routed
from condrisk.risk._responses import Responses


class ClassPlugIn(BaseRisk):
    """Base of a risk that puts the class probabilities of one model into the loss."""

    probability: Any
    calibration: Any
    probability_: Any
    calibrator_: Any
    _labels: NDArray[Any]
    _method: str

    # -- fitting -----------------------------------------------------------------------------

    def _fit_to_classes(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        probability = seeded(self._probability(), self.random_state)
        splits = self._splits_to_fit(X, y, probability, routed)
        self._method = self._score_method(probability, y, splits)
        scores: NDArray[Any] | None
        if self._has_to_fit_predictor() and self.refit:
            fitted, scores = self._fit_crossed(X, y, probability, splits, routed)
        else:
            fitted, train = self._settle_predictor(X, y, prediction, splits, routed)
            fitted, scores = self._fit_second(X, y, fitted, train, probability, splits, routed)
        self._set_labels()
        response = fitted.responses[0][self.loss_.response]
        self.calibrator_ = self._fit_calibrator(scores, y[fitted.rows], fitted, sample_weight)
        arrays = {"response": response, "y": y[fitted.rows]}
        if scores is None:
            # The probability model has seen all rows: without them it has to be fitted again.
            params = _check_method_params(X, self._probability_params(routed), indices=fitted.rows)
            arrays["X"] = rows_of(X, fitted.rows)
            work: dict[str, Any] = {"arrays": arrays, "model": probability, "params": params}
        else:
            work = {"arrays": arrays | {"scores": scores}}
        loss = self._losses(y[fitted.rows], response)
        self._remember(fitted, loss, weight=sample_weight, routed=routed, **work)

    def _splits_to_fit(
        self, X: Any, y: NDArray[Any], probability: Any, routed: Routed
    ) -> list[Split]:
        """Return the splits of `cv` where something is cross-fitted, and none otherwise."""
        calibrated = self.calibration is not None and not is_frozen(probability)
        needed = self._has_to_fit_predictor() or calibrated
        return self._splits(X, y, routed) if needed else []

    def _fit_crossed(
        self, X: Any, y: NDArray[Any], probability: Any, splits: list[Split], routed: Routed
    ) -> tuple[CrossFitted, NDArray[Any]]:
        """Fit both models on all rows and on each split; one fit serves both if they are one."""
        predictor = seeded(self.predictor, self.random_state)
        jobs = [Job(predictor, routed["predictor"], (self.loss_.response,))]
        if self.probability is None:
            methods = tuple(sorted({self.loss_.response, self._method}))
            jobs = [Job(predictor, routed["predictor"], methods)]
        elif not is_frozen(self.probability):
            jobs.append(Job(probability, routed["probability"], (self._method,)))
        fitted = cross_fit(jobs, X, y, splits, classes=self._classes, n_jobs=self.n_jobs)
        self.predictor_ = clone(predictor).fit(X, y, **routed["predictor"])
        if self.probability is None:
            self.probability_ = self.predictor_
        elif is_frozen(self.probability):
            self.probability_ = probability
            return fitted, respond(probability, X, self._method)[fitted.rows]
        else:
            self.probability_ = clone(probability).fit(X, y, **routed["probability"])
        return fitted, fitted.responses[-1][self._method]

    def _settle_predictor(
        self, X: Any, y: NDArray[Any], prediction: Any, splits: list[Split], routed: Routed
    ) -> tuple[CrossFitted, NDArray[np.intp] | None]:
        """Return responses of a predictor that is given, or fitted on one split's first part."""
        methods: set[str] = {self.loss_.response}
        if not self._has_to_fit_predictor():
            return self._fixed_responses(X, prediction, methods), None
        [split] = splits
        return self._one_split(X, y, split, methods, routed["predictor"]), split[0]

    def _fit_second(
        self,
        X: Any,
        y: NDArray[Any],
        fitted: CrossFitted,
        train: NDArray[np.intp] | None,
        probability: Any,
        splits: list[Split],
        routed: Routed,
    ) -> tuple[CrossFitted, NDArray[Any] | None]:
        """Fit the probability model once the predictor is settled.

        Returns the predictor's responses, and scores of a probability model that was not fitted
        on those rows; None where it was fitted on all of them.
        """
        params = self._probability_params(routed)
        if is_frozen(probability):
            self.probability_ = probability
        elif self.calibration is None:
            self.probability_ = fit_on(probability, X, y, fitted.rows, params)
            return fitted, None
        elif train is None:
            job = Job(probability, params, (self._method,))
            crossed = cross_fit([job], X, y, splits, classes=self._classes, n_jobs=self.n_jobs)
            self.probability_ = clone(probability).fit(X, y, **params)
            known = {name: part[crossed.rows] for name, part in fitted.responses[0].items()}
            return crossed._replace(responses=(known,)), crossed.responses[0][self._method]
        elif self.probability is None:
            self.probability_ = self.predictor_
        else:
            self.probability_ = fit_on(probability, X, y, train, params)
        return fitted, respond(self.probability_, rows_of(X, fitted.rows), self._method)

    def _fit_calibrator(
        self,
        scores: NDArray[Any] | None,
        y: NDArray[Any],
        fitted: CrossFitted,
        sample_weight: NDArray[Any] | None,
    ) -> Any:
        if self.calibration is None or scores is None:
            return None
        weight = None if sample_weight is None else sample_weight[fitted.rows]
        calibrator = self._calibrator_of(scores, y, weight)
        if self.calibration == "temperature" and y.ndim == 2:
            warn_of_shifted_labels(calibrated_chances(scores, calibrator), y, weight)
        elif self.calibration == "temperature" and calibrator is not None:
            warn_of_shifted_classes(
                calibrator.predict_proba(as_matrix(scores)), y, self.probability_.classes_, weight
            )
        return calibrator

    def _calibrator_of(
        self, scores: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None
    ) -> Any:
        method = self.calibration or "temperature"
        if y.ndim == 2:
            return fit_label_calibrators(scores, y, method, weight)
        return fit_calibrator(
            scores,
            y,
            classes=self.probability_.classes_,
            response=self._method,
            method=method,
            sample_weight=weight,
        )

    def _held_out_class_risks(self, pairs: Pairs) -> NDArray[np.float64]:
        y, response = pairs.arrays["y"], pairs.arrays["response"]
        scores = pairs.arrays.get("scores")
        if scores is None:
            jobs = [Job(pairs.model, pairs.params, (self._method,))]
            known = self.probability_.classes_
            found = cross_fit(
                jobs, pairs.arrays["X"], y, pairs.folds, classes=known, n_jobs=self.n_jobs
            )
            scores = found.responses[0][self._method]
        risk = np.empty(len(y))
        for others, own in pairs.folds:
            calibrator = None
            if self.calibration is not None:
                weight = None if pairs.weights is None else pairs.weights[others]
                calibrator = self._calibrator_of(scores[others], y[others], weight)
            risk[own] = self._expected(response[own], self._proba(scores[own], calibrator))
        return risk

    # -- probabilities and risk ----------------------------------------------------------------

    def _class_risk(self, X: Any, responses: Responses) -> NDArray[np.float64]:
        proba = self._proba(self._scores(X, responses), self.calibrator_)
        return self._expected(responses.get(self.loss_.response), proba)

    def _expected(self, response: NDArray[Any], proba: NDArray[np.float64]) -> NDArray[np.float64]:
        if isinstance(self.loss_, AveragedLoss):
            risk, _ = label_risk_and_floor(self.loss_, response, proba)
        else:
            assert isinstance(self.loss_, ClassLoss)
            risk = self.loss_.expected(self._of_labels(response), proba, classes=self._labels)
        if not np.isfinite(risk).all():
            raise ValueError("the class probabilities of some rows are NaN or infinite.")
        return np.maximum(risk, self.loss_.minimum)  # rounding may fall an ulp below

    def _class_law(self, X: Any, responses: Responses) -> tuple[NDArray[Any], Any]:
        """Return the response of the predictor and the probabilities, with the same classes."""
        response = self._of_labels(responses.get(self.loss_.response))
        return response, self._proba(self._scores(X, responses), self.calibrator_)

    def _of_labels(self, response: NDArray[Any]) -> NDArray[Any]:
        """Return a response whose probabilities are those of the labels known here."""
        if self.loss_.response == "predict" or response.shape[1] == len(self._labels):
            return response
        return align(response, self.classes_, self._labels)

    def _scores(self, X: Any, responses: Responses) -> NDArray[Any]:
        if self.probability_ is getattr(self, "predictor_", None):
            return responses.get(self._method)
        return respond(self.probability_, X, self._method)

    def _proba(self, scores: NDArray[Any], calibrator: Any) -> NDArray[np.float64]:
        if isinstance(self.loss_, AveragedLoss):
            return calibrated_chances(scores, calibrator)
        proba = scores if calibrator is None else calibrator.predict_proba(as_matrix(scores))
        known = self.probability_.classes_
        return proba if np.array_equal(known, self._labels) else align(proba, known, self._labels)

    def _score_method(self, probability: Any, y: NDArray[Any], splits: list[Split]) -> str:
        """Return the method whose values are calibrated.

        scikit-learn's calibration prefers the decision function. That of a fold which lacks a
        class cannot be aligned with the others, probabilities can.
        """
        one = y.ndim == 1 and hasattr(probability, "decision_function")
        if self.calibration is None or not one:
            return "predict_proba"
        n_classes = len(np.unique(y))
        lacking = any(len(np.unique(y[train])) < n_classes for train, _ in splits)
        has_both = hasattr(probability, "predict_proba") and not is_frozen(probability)
        return "predict_proba" if lacking and has_both else "decision_function"

    def _set_labels(self) -> None:
        """Order the labels: those of the predictor, then those that only the other model has."""
        if isinstance(self.loss_, AveragedLoss):
            return
        known = self.classes_
        extra = np.setdiff1d(self.probability_.classes_, known)
        self._labels = np.concatenate([known, extra]) if len(extra) else known
        self._check_loss_classes(self._labels)

    # -- the model ---------------------------------------------------------------------------

    def _probability(self) -> Any:
        """Return the probability model, not yet fitted unless frozen; None if there is none."""
        if self.probability is not None:
            return self.probability
        if self._is_external():
            return None
        return self.predictor.estimator if is_frozen(self.predictor) else self.predictor

    def _probability_params(self, routed: Routed) -> dict[str, Any]:
        return routed.get("probability", routed.get("predictor", {}))

    def _check_probability(self) -> None:
        model = self._probability()
        if model is None:
            raise ValueError(
                "probability must be given because the predictor is external: a classifier that "
                "estimates the class probabilities."
            )
        if hasattr(model, "predict_proba"):
            return
        if self._has_several():
            raise ValueError(
                f"probability must have predict_proba where y has several columns of labels; "
                f"{type(model).__name__} has not."
            )
        if self.calibration is None or not hasattr(model, "decision_function"):
            raise ValueError(
                f"probability must have predict_proba, or decision_function and a calibration; "
                f"{type(model).__name__} has not."
            )
