"""Conditional risk of a classifier from estimated class probabilities."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils._param_validation import HasMethods, StrOptions

from condrisk._crossfit import (
    HeldOut,
    Job,
    align,
    answer,
    cross_fit,
    fit_on,
    make_splits,
    mean_by_row,
    rows_of,
    seeded,
)
from condrisk._delegate import is_frozen
from condrisk.losses import ClassLoss
from condrisk.risk._answers import Answers
from condrisk.risk._base import BaseRisk
from condrisk.risk._calibration import as_matrix, fit_calibrator
from condrisk.risk._predictor import Routed


class PlugInRisk(BaseRisk):
    """Conditional risk of a classifier, by putting class probabilities into its expectation.

    The risk is Σₖ ℓ(f(x), k) pₖ(x): what each class would cost, weighted by how likely a second
    model, `probability`, takes it to be. With the true probabilities it *is* g, whatever f and
    the loss; its error is at most half the range of the loss times the L¹ error of p.

    * With a frozen predictor (`sklearn.frozen.FrozenEstimator`), the probability model is fitted
      on the rows given.
    * Otherwise predictor and probability model are both fitted on all rows, and cross-fitted
      through `cv` for the out-of-fold attributes and the calibration.
    * With ``predictor=None`` the predictor lives elsewhere: its responses are given as
      ``prediction=`` wherever they are needed.

    Parameters
    ----------
    predictor : classifier or None
        The model whose risk is wanted.
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
    oof_loss_, oof_risk_ : ndarray of shape (n_samples,)
        After cross-fitting, the out-of-fold loss and risk of each row (the mean over the splits
        that held it out, NaN for a row that none did). Not part of a saved model.
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
        if self._has_to_fit_predictor() and self.refit:
            held_out, scored, scores = self._fit_crossed(X, y, probability, routed)
        else:
            held_out, train = self._settle_predictor(X, y, prediction, routed)
            scored, scores = self._fit_second(X, y, held_out.rows, train, probability, routed)
        self._set_labels()
        self.calibrator_ = self._fit_calibrator(scores, y, scored, sample_weight)
        loss = self._losses(y[held_out.rows], held_out.answers[0][self.loss_.response])
        self._remember(held_out, loss, n_rows=len(y))
        if held_out.n_splits > 1:
            risk = self._out_of_fold_risk(held_out, scores, y, sample_weight)
            self.oof_risk_ = mean_by_row(risk, held_out.rows, len(y))

    def _fit_crossed(
        self, X: Any, y: NDArray[Any], probability: Any, routed: Routed
    ) -> tuple[HeldOut, NDArray[np.intp], NDArray[Any] | None]:
        """Fit both models on all rows and on each split; one fit serves both if they are one."""
        predictor = seeded(self.predictor, self.random_state)
        jobs = [Job(predictor, routed["predictor"], (self.loss_.response,))]
        response = self._score_response(probability)
        if self.probability is None:
            responses = tuple(sorted({self.loss_.response, response}))
            jobs = [Job(predictor, routed["predictor"], responses)]
        elif not is_frozen(self.probability):
            jobs.append(Job(probability, routed["probability"], (response,)))
        splits = self._splits(X, y, routed)
        held_out = cross_fit(jobs, X, y, splits, classes=self._classes, n_jobs=self.n_jobs)
        self.predictor_ = clone(predictor).fit(X, y, **routed["predictor"])
        if self.probability is None:
            self.probability_ = self.predictor_
        elif is_frozen(self.probability):
            self.probability_ = probability
            scores = answer(probability, X, response)[held_out.rows]
            return held_out, held_out.rows, scores
        else:
            self.probability_ = clone(probability).fit(X, y, **routed["probability"])
        return held_out, held_out.rows, held_out.answers[-1][response]

    def _settle_predictor(
        self, X: Any, y: NDArray[Any], prediction: Any, routed: Routed
    ) -> tuple[HeldOut, NDArray[np.intp] | None]:
        """Return the answers of a predictor that is given, or fitted on one split's first part."""
        responses: set[str] = {self.loss_.response}
        if not self._has_to_fit_predictor():
            return self._fixed_answers(X, prediction, responses), None
        split = self._splits(X, y, routed)[0]
        return self._one_split(X, y, split, responses, routed["predictor"]), split[0]

    def _fit_second(
        self,
        X: Any,
        y: NDArray[Any],
        rows: NDArray[np.intp],
        train: NDArray[np.intp] | None,
        probability: Any,
        routed: Routed,
    ) -> tuple[NDArray[np.intp], NDArray[Any] | None]:
        """Fit the probability model once the predictor is settled.

        Returns rows that it was not fitted on with its scores there, for the calibration.
        """
        params = routed.get("probability", routed.get("predictor", {}))
        response = self._score_response(probability)
        if is_frozen(probability):
            self.probability_ = probability
        elif self.calibration is None:
            self.probability_ = fit_on(probability, X, y, rows, params)
            return rows, None
        elif train is None:
            splits = make_splits(
                self.cv,
                X,
                y,
                classifier=True,
                groups=routed["splitter"].get("groups"),
                random_state=self.random_state,
            )
            job = Job(probability, params, (response,))
            held_out = cross_fit([job], X, y, splits, classes=self._classes, n_jobs=self.n_jobs)
            self.probability_ = clone(probability).fit(X, y, **params)
            return held_out.rows, held_out.answers[0][response]
        elif self.probability is None:
            self.probability_ = self.predictor_
        else:
            self.probability_ = fit_on(probability, X, y, train, params)
        return rows, answer(self.probability_, rows_of(X, rows), response)

    def _fit_calibrator(
        self,
        scores: NDArray[Any] | None,
        y: NDArray[Any],
        rows: NDArray[np.intp],
        sample_weight: NDArray[Any] | None,
    ) -> Any:
        if self.calibration is None or scores is None:
            return None
        return fit_calibrator(
            scores,
            y[rows],
            classes=self.probability_.classes_,
            response=self._score_response(self.probability_),
            method=self.calibration,
            sample_weight=None if sample_weight is None else sample_weight[rows],
        )

    def _out_of_fold_risk(
        self,
        held_out: HeldOut,
        scores: NDArray[Any] | None,
        y: NDArray[Any],
        sample_weight: NDArray[Any] | None,
    ) -> NDArray[np.float64]:
        """Estimate the risk of each pair by models, and a calibration, that have not seen it."""
        assert scores is not None
        response = held_out.answers[0][self.loss_.response]
        risk = np.empty(len(scores))
        for k in held_out.splits:
            mine, others = held_out.of(k), held_out.others(k)
            calibrator = self._fit_calibrator(
                scores[others], y, held_out.rows[others], sample_weight
            )
            proba = self._proba(scores[mine], calibrator)
            risk[mine] = self._expected(response[mine], proba)
        return risk

    # -- probabilities and risk ----------------------------------------------------------------

    def _risk(self, X: Any, answers: Answers) -> NDArray[np.float64]:
        proba = self._proba(self._scores(X, answers), self.calibrator_)
        return self._expected(answers.get(self.loss_.response), proba)

    def _expected(self, response: NDArray[Any], proba: NDArray[np.float64]) -> NDArray[np.float64]:
        assert isinstance(self.loss_, ClassLoss)
        if response.ndim == 2 and response.shape[1] != len(self._labels):
            response = align(response, self.classes_, self._labels)
        risk = self.loss_.expected(response, proba, classes=self._labels)
        if not np.isfinite(risk).all():
            raise ValueError("the class probabilities of some rows are NaN or infinite.")
        return np.maximum(risk, self.loss_.minimum)  # rounding may fall an ulp below

    def _scores(self, X: Any, answers: Answers | None) -> NDArray[Any]:
        response = self._score_response(self.probability_)
        if answers is not None and self.probability_ is getattr(self, "predictor_", None):
            return answers.get(response)
        return answer(self.probability_, X, response)

    def _proba(self, scores: NDArray[Any], calibrator: Any = None) -> NDArray[np.float64]:
        proba = scores if calibrator is None else calibrator.predict_proba(as_matrix(scores))
        known = self.probability_.classes_
        return proba if np.array_equal(known, self._labels) else align(proba, known, self._labels)

    def _score_response(self, probability: Any) -> str:
        """Return the method whose values are calibrated, as scikit-learn's calibration picks it."""
        if self.calibration is not None and hasattr(probability, "decision_function"):
            return "decision_function"
        return "predict_proba"

    def _set_labels(self) -> None:
        """Order the labels: those of the predictor, then those that only the other model has."""
        known = self.classes_
        extra = np.setdiff1d(self.probability_.classes_, known)
        self._labels = np.concatenate([known, extra]) if len(extra) else known
        self._check_loss_size(len(self._labels))

    # -- parts -------------------------------------------------------------------------------

    def _task(self) -> str:
        if self.predictor is not None and not is_classifier(self.predictor):
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
        """Return the probability model, not yet fitted unless frozen."""
        if self.probability is None and is_frozen(self.predictor):
            return self.predictor.estimator
        return self.predictor if self.probability is None else self.probability

    def _check_parts(self) -> None:
        model = self._probability()
        if model is None:
            raise ValueError(
                "probability must be given because predictor is None: a classifier that "
                "estimates the class probabilities."
            )
        if hasattr(model, "predict_proba"):
            return
        if self.calibration is None or not hasattr(model, "decision_function"):
            raise ValueError(
                f"probability must have predict_proba, or decision_function and a calibration; "
                f"{type(model).__name__} has not."
            )
