"""Conditional risk of a classifier from estimated class probabilities."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import _check_method_params

from condrisk._crossfit import CrossFitted, Job, align, cross_fit, fit_on, respond, rows_of, seeded
from condrisk._delegate import is_frozen
from condrisk.losses import ClassLoss, Task
from condrisk.risk._base import BaseRisk
from condrisk.risk._calibration import as_matrix, fit_calibrator
from condrisk.risk._held_out import Pairs
from condrisk.risk._predictor import Routed
from condrisk.risk._responses import Responses


class PlugInRisk(BaseRisk):
    """Conditional risk of a classifier, by putting class probabilities into its expectation.

    The risk is Σₖ ℓ(f(x), k) pₖ(x): what each class would cost, weighted by how likely a second
    model, `probability`, takes it to be. With the true probabilities it *is* g, whatever f and
    the loss; its error is at most half the range of the loss times the L¹ error of p.

    * With a frozen predictor (`sklearn.frozen.FrozenEstimator`), the probability model is fitted
      on the rows given.
    * Otherwise predictor and probability model are both fitted on all rows, and cross-fitted
      through `cv` for the out-of-fold attributes and the calibration.
    * With ``predictor="precomputed"`` the predictor is external: its responses are given as
      ``prediction=`` wherever they are needed.

    Parameters
    ----------
    predictor : classifier or "precomputed"
        The model whose risk is wanted: cross-fitted here, frozen, or external.
    loss : str, Loss, array-like, callable or None, default=None
        What an error costs, as for `RegressionRisk`. None is the chance of being wrong.
    probability : classifier or None, default=None
        The model that estimates the class probabilities; frozen, it is used as it is. None is a
        clone of the predictor, fitted on the rows given. With a frozen predictor those are fresh
        rows, and the clone an honest second opinion. Otherwise they are the predictor's own rows
        and the clone is the predictor itself: the risk is then its own view of itself, and is too
        low by as much as it is overconfident (a forest that fits its rows perfectly reports a
        chance of being wrong far below the real one). Give another model, or a `calibration`.
    calibration : {"temperature", "sigmoid", "isotonic"} or None, default=None
        scikit-learn's calibration of the probabilities, always fitted on rows that the
        probability model was not fitted on: all rows given if it is frozen, its out-of-fold rows
        otherwise.
    cv : int, cross-validation splitter or iterable, default=5
        How to cross-fit, as for `RegressionRisk`. With a frozen predictor it is used only for the
        calibration of a probability model that is not frozen.
    refit : bool, default=True
        Whether to fit the predictor again on all rows. If False, `cv` must give exactly one split:
        the predictor is fitted on its first part, and the probability model on the second (with a
        `calibration`, on the first, so that the second is free for it).
    n_jobs : int or None, default=None
        How many fits to run at a time; the results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds and every part whose own random state is left open.

    Attributes
    ----------
    predictor_ : estimator
        The fitted predictor.
    probability_ : estimator
        The fitted probability model.
    calibrator_ : estimator or None
        What maps its scores to calibrated probabilities.
    loss_ : Loss
        The loss.
    held_out_ : HeldOut
        Losses of held-out rows, and risks estimated without them: what rules are fitted on.
        Estimated when first asked for, on at most 50,000 rows. Not part of a model file.
    classes_ : ndarray of shape (n_classes,)
        The labels that the predictor knows. Classes that only one of predictor and probability
        model knows are aligned by label, with probability zero where unknown.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    RegressionRisk : For any task, by regressing realised losses.
    condrisk.Deferral : Acts on the risk.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from condrisk import PlugInRisk
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> train = make_gaussian_mixture(500, random_state=0)
    >>> fresh = train.sample(5000, random_state=1)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(train.X, train.y)
    >>> risk = PlugInRisk(FrozenEstimator(tree), probability=LogisticRegression())
    >>> estimate = risk.fit(fresh.X, fresh.y).predict_risk(fresh.X)
    >>> truth = train.risk(tree, fresh.X, loss="zero_one")
    >>> bool(abs(estimate - truth).mean() < 0.05 * truth.mean())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRisk._parameter_constraints,
        "probability": [HasMethods(["fit", "predict"]), None],
        "calibration": [StrOptions({"temperature", "sigmoid", "isotonic"}), None],
    }

    def __init__(
        self,
        predictor: Any,
        *,
        loss: Any = None,
        probability: Any = None,
        calibration: Literal["temperature", "sigmoid", "isotonic"] | None = None,
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.predictor = predictor
        self.loss = loss
        self.probability = probability
        self.calibration = calibration
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- fitting -----------------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        probability = seeded(self._probability(), self.random_state)
        self._method = self._score_method(probability, y)
        scores: NDArray[Any] | None
        if self._has_to_fit_predictor() and self.refit:
            fitted, scores = self._fit_crossed(X, y, probability, routed)
        else:
            fitted, train = self._settle_predictor(X, y, prediction, routed)
            fitted, scores = self._fit_second(X, y, fitted, train, probability, routed)
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

    def _fit_crossed(
        self, X: Any, y: NDArray[Any], probability: Any, routed: Routed
    ) -> tuple[CrossFitted, NDArray[Any]]:
        """Fit both models on all rows and on each split; one fit serves both if they are one."""
        predictor = seeded(self.predictor, self.random_state)
        jobs = [Job(predictor, routed["predictor"], (self.loss_.response,))]
        if self.probability is None:
            methods = tuple(sorted({self.loss_.response, self._method}))
            jobs = [Job(predictor, routed["predictor"], methods)]
        elif not is_frozen(self.probability):
            jobs.append(Job(probability, routed["probability"], (self._method,)))
        splits = self._splits(X, y, routed)
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
        self, X: Any, y: NDArray[Any], prediction: Any, routed: Routed
    ) -> tuple[CrossFitted, NDArray[np.intp] | None]:
        """Return responses of a predictor that is given, or fitted on one split's first part."""
        methods: set[str] = {self.loss_.response}
        if not self._has_to_fit_predictor():
            return self._fixed_responses(X, prediction, methods), None
        split = self._splits(X, y, routed)[0]
        return self._one_split(X, y, split, methods, routed["predictor"]), split[0]

    def _fit_second(
        self,
        X: Any,
        y: NDArray[Any],
        fitted: CrossFitted,
        train: NDArray[np.intp] | None,
        probability: Any,
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
            splits = self._splits(X, y, routed)
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
        return self._calibrator_of(scores, y, weight)

    def _calibrator_of(
        self, scores: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None
    ) -> Any:
        return fit_calibrator(
            scores,
            y,
            classes=self.probability_.classes_,
            response=self._method,
            method=self.calibration or "temperature",
            sample_weight=weight,
        )

    def _held_out_risks(self, pairs: Pairs) -> NDArray[np.float64]:
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

    def _risk(self, X: Any, responses: Responses) -> NDArray[np.float64]:
        proba = self._proba(self._scores(X, responses), self.calibrator_)
        return self._expected(responses.get(self.loss_.response), proba)

    def _expected(self, response: NDArray[Any], proba: NDArray[np.float64]) -> NDArray[np.float64]:
        assert isinstance(self.loss_, ClassLoss)
        if response.ndim == 2 and response.shape[1] != len(self._labels):
            response = align(response, self.classes_, self._labels)
        risk = self.loss_.expected(response, proba, classes=self._labels)
        if not np.isfinite(risk).all():
            raise ValueError("the class probabilities of some rows are NaN or infinite.")
        return np.maximum(risk, self.loss_.minimum)  # rounding may fall an ulp below

    def _scores(self, X: Any, responses: Responses) -> NDArray[Any]:
        if self.probability_ is getattr(self, "predictor_", None):
            return responses.get(self._method)
        return respond(self.probability_, X, self._method)

    def _proba(self, scores: NDArray[Any], calibrator: Any) -> NDArray[np.float64]:
        proba = scores if calibrator is None else calibrator.predict_proba(as_matrix(scores))
        known = self.probability_.classes_
        return proba if np.array_equal(known, self._labels) else align(proba, known, self._labels)

    def _score_method(self, probability: Any, y: NDArray[Any]) -> str:
        """Return the method whose values are calibrated.

        scikit-learn's calibration prefers the decision function. That of a fold which lacks a
        class cannot be aligned with the others, probabilities can.
        """
        if self.calibration is None or not hasattr(probability, "decision_function"):
            return "predict_proba"
        rare = np.unique(y, return_counts=True)[1].min() < 2
        has_both = hasattr(probability, "predict_proba") and not is_frozen(probability)
        return "predict_proba" if rare and has_both else "decision_function"

    def _set_labels(self) -> None:
        """Order the labels: those of the predictor, then those that only the other model has."""
        known = self.classes_
        extra = np.setdiff1d(self.probability_.classes_, known)
        self._labels = np.concatenate([known, extra]) if len(extra) else known
        self._check_loss_classes(self._labels)

    # -- parts -------------------------------------------------------------------------------

    def _task(self) -> Task:
        if not self._is_precomputed() and not is_classifier(self.predictor):
            raise ValueError(
                f"predictor must be a classifier, since the risk is a sum over classes; got "
                f"{type(self.predictor).__name__}. For regressors there is RegressionRisk."
            )
        return "classification"

    def _parts(self) -> dict[str, Any]:
        probability = self._probability()
        if probability is self.predictor or probability is None or is_frozen(probability):
            return {}
        return {"probability": probability}

    def _probability(self) -> Any:
        """Return the probability model, not yet fitted unless frozen; None if there is none."""
        if self.probability is not None:
            return self.probability
        if self._is_precomputed():
            return None
        return self.predictor.estimator if is_frozen(self.predictor) else self.predictor

    def _probability_params(self, routed: Routed) -> dict[str, Any]:
        return routed.get("probability", routed.get("predictor", {}))

    def _check_parts(self) -> None:
        model = self._probability()
        if model is None:
            raise ValueError(
                'probability must be given because predictor is "precomputed": a classifier that '
                "estimates the class probabilities."
            )
        if hasattr(model, "predict_proba"):
            return
        if self.calibration is None or not hasattr(model, "decision_function"):
            raise ValueError(
                f"probability must have predict_proba, or decision_function and a calibration; "
                f"{type(model).__name__} has not."
            )
