"""Conditional risk: plug-in risks, corrected by realised losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import _check_method_params

from condrisk._crossfit import CrossFitted, Split, respond, rows_of, seeded
from condrisk._delegate import is_frozen
from condrisk._expected_loss import class_loss_points, class_risk_and_floor
from condrisk._mixing import fit_pool, log_probabilities
from condrisk.losses import LOG_LOSS_FLOOR, ClassLoss, Task, encode
from condrisk.risk._base import BaseRisk, check_regressor, groups_of
from condrisk.risk._held_out import Pairs
from condrisk.risk._hybrid_numbers import NumberHybrid
from condrisk.risk._loss_law import LossLawMixin, LossPoints
from condrisk.risk._predictor import Routed
from condrisk.risk._probabilities import ProbabilityModelsRisk
from condrisk.risk._responses import Responses


class HybridRisk(ProbabilityModelsRisk, NumberHybrid, LossLawMixin):
    """Conditional risk: plug-in estimates, corrected by realised losses.

    For a regressor, the plug-in risk of `PlugInRisk` is wrong where its distribution is: with a
    mean m and a variance v that are estimates, z − (f − m)² − v has the conditional mean
    2(m − f)(μ − m) + (μ − m)² + σ² − v, and not zero. So realised losses minus plug-in risks, on
    rows that neither has seen, are regressed on the row, the prediction and the distribution, and
    what is found is added as far as held-out rows bear it out.

    For a classifier, a plug-in risk Σₖ ℓ(f(x), k) pₖ(x) is as good as its p, and a small error of
    p times a huge loss is a large error of the risk. Two things are learnt here on rows that no
    model was fitted on, and both have few parameters, so that few such rows will do:

    1. one p out of many: softmax(Σⱼ wⱼ log pⱼ + b) over the probability models and the predictor
       itself, with the least log loss. It is temperature scaling for several models at once.
    2. the risk itself: the plug-in risk of that p, times what makes it right on average. With a
       `regressor`, realised losses are regressed on plug-in risks and log-probabilities instead.

    How to give the rows:

    * With a frozen predictor and frozen probability models, `fit` takes rows that none of them
      was fitted on.
    * What is not frozen is cross-fitted: its responses are out of fold, and then it is fitted on
      all rows.

    Parameters
    ----------
    predictor : classifier, regressor or "precomputed"
        The model whose risk is wanted: cross-fitted here, frozen, or external, and then its
        responses are given as ``prediction=``.
    loss : str, Loss, array-like, callable or None, default=None
        What an error costs, as for `RegressionRisk`. None is the chance of being wrong for
        classifiers and the squared error for regressors.
    probability : classifier, list of classifiers or None, default=None
        For classifiers, the models that estimate class probabilities; frozen ones are used as
        they are. None is a clone of the predictor.
    distribution : estimator or None, default=None
        For regressors, the model of the target's distribution, as for `PlugInRisk`.
    regressor : regressor or None, default=None
        For classifiers, what learns the losses from the pooled plug-in risk, the plug-in risk and
        log-probabilities of each model, and the predictor's response; None: the pooled risk times
        a number. For regressors, what learns loss minus plug-in risk from the distribution and
        the response; None: a line and extra-trees, followed as far as held-out rows bear out.
    features : {"plug-in", "plug-in+x"}, default="plug-in"
        Whether the `regressor` also sees the row itself.
    clip : bool, default=True
        Whether estimates below the least value of the loss, or above its greatest, are moved to it.
    cv : int, cross-validation splitter or iterable, default=5
        How to cross-fit what is not frozen, as for `RegressionRisk`.
    refit : bool, default=True
        Whether to fit predictor and probability models again on all rows. If False, `cv` must give
        exactly one split: they are fitted on its first part, and the regressor on the second.
    n_jobs : int or None, default=None
        How many fits to run at a time; the results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds and every part whose own random state is left open.
    verbose : bool or int, default=False
        Whether `fit` prints each part as it begins.

    Attributes
    ----------
    predictor_ : estimator
        The fitted predictor.
    probabilities_ : list of estimators
        The fitted probability models, for classifiers.
    pool_ : Pool
        The weight of each model, the predictor's last, and the shift of each class, for
        classifiers.
    scale_ : float
        What the pooled plug-in risk is multiplied by, for classifiers.
    distribution_ : estimator or list of estimators
        The fitted distribution, for regressors; of several outputs one for each.
    regressor_ : estimator or None
        The fitted regressor of losses.
    encoder_ : TableEncoder or None
        For regressors, what makes numbers of the rows for learners of ours; None where there is no
        such learner, or where they are numbers already.
    loss_ : Loss
        The loss.
    held_out_ : HeldOut
        Losses of held-out rows, and risks estimated without them: what rules are fitted on.
        Estimated when first asked for, on at most 50,000 rows. Not part of a model file.
    classes_ : ndarray of shape (n_classes,)
        The labels that the predictor knows.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    PlugInRisk : One second model, without correction.
    RegressionRisk : For any task, from the row alone.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from condrisk import HybridRisk, PlugInRisk
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> world = make_gaussian_mixture(2000, random_state=0)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(world.X[:1000], world.y[:1000])
    >>> hybrid = HybridRisk(FrozenEstimator(forest), loss="log_loss", probability=GaussianNB())
    >>> hybrid = hybrid.fit(world.X[1000:], world.y[1000:])
    >>> fresh = world.sample(5000, random_state=1)
    >>> truth = world.risk(forest, fresh.X, loss="log_loss")
    >>> bool(abs(hybrid.predict_risk(fresh.X).mean() / truth.mean() - 1) < 0.15)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseRisk._parameter_constraints,
        "probability": [HasMethods(["fit", "predict_proba"]), list, tuple, None],
        "distribution": [HasMethods(["fit", "predict"]), None],
        "regressor": [HasMethods(["fit", "predict"]), None],
        "features": [StrOptions({"plug-in", "plug-in+x"})],
        "clip": ["boolean"],
    }

    def __init__(
        self,
        predictor: Any,
        *,
        loss: Any = None,
        probability: Any = None,
        distribution: Any = None,
        regressor: Any = None,
        features: Literal["plug-in", "plug-in+x"] = "plug-in",
        clip: bool = True,
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.predictor = predictor
        self.loss = loss
        self.probability = probability
        self.distribution = distribution
        self.regressor = regressor
        self.features = features
        self.clip = clip
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -----------------------------------------------------------------------------

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        if self._task() != "classification":
            self._fit_to_numbers(X, y, prediction, sample_weight, routed)
            return
        fitted, probabilities = self._cross_fitted_probabilities(X, y, prediction, routed)
        responses = fitted.responses[0]
        self._check_loss_classes(self._labels)
        loss = self._losses(y[fitted.rows], responses[self.loss_.response])
        weight = None if sample_weight is None else sample_weight[fitted.rows]
        logs = log_probabilities([*probabilities, *self._own_probabilities(responses)])
        codes = encode(y[fitted.rows], self._labels)
        self.pool_ = fit_pool(logs, codes, weight)
        folds = self._folds_of(fitted, groups_of(routed, fitted.rows))
        pooled = self._pooled_out_of_fold(logs, codes, weight, responses, folds)
        self.scale_ = _ratio(loss, pooled, weight)
        work: dict[str, Any] = {"arrays": {"pooled": pooled}}
        self.regressor_ = None
        if self.regressor is not None:
            rows = rows_of(X, fitted.rows)
            inputs = self._inputs(rows, responses, probabilities, self.scale_ * pooled)
            work = self._fit_regressor(X, inputs, loss, fitted, routed)
        self._remember(fitted, loss, weight=sample_weight, routed=routed, **work)

    def _pooled_out_of_fold(
        self,
        logs: NDArray[np.float64],
        codes: NDArray[np.intp],
        weight: NDArray[Any] | None,
        responses: dict[str, NDArray[Any]],
        folds: list[Split],
    ) -> NDArray[np.float64]:
        """Return the plug-in risk of each pair by a pool that was fitted without it."""
        everything = np.arange(len(codes))
        pooled = np.empty(len(codes))
        for others, own in folds or [(everything, everything)]:
            inner = None if weight is None else weight[others]
            proba = fit_pool(logs[others], codes[others], inner)(logs[own])
            pooled[own] = self._plug_in(_rows(responses, own), proba)
        return pooled

    def _fit_regressor(
        self,
        X: Any,
        inputs: Any,
        loss: NDArray[np.float64],
        fitted: CrossFitted,
        routed: Routed,
    ) -> dict[str, Any]:
        """Fit the regressor; return what held-out risks can be estimated from."""
        params = _check_method_params(X, routed["regressor"], indices=fitted.rows)
        regressor = seeded(self.regressor, self.random_state)
        self.regressor_ = clone(regressor).fit(inputs, loss, **params)
        return {"arrays": {"inputs": inputs}, "model": regressor, "params": params}

    def _held_out_risks(self, pairs: Pairs) -> NDArray[np.float64]:
        if pairs.model is not None:
            return self._regressed_out_of_fold(pairs)
        pooled, risk = pairs.arrays["pooled"], np.empty(len(pairs.losses))
        for others, own in pairs.folds:
            weight = None if pairs.weights is None else pairs.weights[others]
            risk[own] = pooled[own] * _ratio(pairs.losses[others], pooled[others], weight)
        return self._clipped(risk)

    # -- inputs of the regressor ---------------------------------------------------------------

    def _plug_in(
        self, responses: dict[str, NDArray[Any]], proba: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        assert isinstance(self.loss_, ClassLoss)
        response = responses[self.loss_.response]
        if response.ndim == 2:
            response = self._aligned(response, self.classes_)
        return self.loss_.expected(response, proba, classes=self._labels)

    def _inputs(
        self,
        X: Any,
        responses: dict[str, NDArray[Any]],
        probabilities: list[NDArray[np.float64]],
        pooled: NDArray[np.float64],
    ) -> Any:
        """Return pooled and single plug-in risks, log-probabilities, the predictor's response."""
        columns = [pooled[:, None]]
        for proba in probabilities:
            logs = np.log(np.maximum(proba, LOG_LOSS_FLOOR))
            columns += [self._plug_in(responses, proba)[:, None], logs]
        columns.append(self._own_view(responses))
        inputs = np.hstack(columns)
        if self.features == "plug-in":
            return inputs
        if sparse.issparse(X):
            return sparse.hstack([X, sparse.csr_array(inputs)], format="csr")
        return np.column_stack([np.asarray(X), inputs])

    def _own_view(self, responses: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Return the predictor's log-probabilities, or which label it gives."""
        values = responses[self._view()]
        if values.ndim == 2:
            proba = self._aligned(values, self.classes_)
            return np.log(np.maximum(proba, LOG_LOSS_FLOOR))
        return (encode(values, self._labels)[:, None] == np.arange(len(self._labels))).astype(float)

    def _risk(self, X: Any, responses: Responses) -> NDArray[np.float64]:
        if self._task() != "classification":
            return self._number_risk(X, responses)
        probabilities = self._probabilities_at(X)
        known = {name: responses.get(name) for name in self._methods()}
        pooled = self.scale_ * self._plug_in(known, self._pooled(known, probabilities))
        if self.regressor_ is None:
            return self._clipped(pooled)
        return self._clipped(self.regressor_.predict(self._inputs(X, known, probabilities, pooled)))

    def _probabilities_at(self, X: Any) -> list[NDArray[np.float64]]:
        return [
            self._aligned(respond(model, X, "predict_proba"), model.classes_)
            for model in self.probabilities_
        ]

    def _pooled(
        self, known: dict[str, NDArray[Any]], probabilities: list[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        return self.pool_(log_probabilities([*probabilities, *self._own_probabilities(known)]))

    # -- what the pooled probabilities, or the distribution, say about the loss -----------------

    def _class_law(self, X: Any, responses: Responses) -> tuple[NDArray[Any], Any]:
        """Return the response of the predictor and the pooled probabilities."""
        known = {name: responses.get(name) for name in self._methods()}
        response = known[self.loss_.response]
        if response.ndim == 2:
            response = self._aligned(response, self.classes_)
        return response, self._pooled(known, self._probabilities_at(X))

    def _plug_in_and_floor(
        self, X: Any, responses: Responses
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self._task() != "classification":
            return self._expected_and_least(X, responses.get(self.loss_.response))
        return class_risk_and_floor(self.loss_, *self._class_law(X, responses), self._labels)

    def _loss_points(self, X: Any, responses: Responses) -> Iterator[LossPoints]:
        if self._task() != "classification":
            yield from self._losses_of_points(X, responses.get(self.loss_.response))
        else:
            yield class_loss_points(self.loss_, *self._class_law(X, responses), self._labels)

    # -- parts -------------------------------------------------------------------------------

    def _task(self) -> Task | None:
        return self._task_by_parts()

    def _parts(self) -> dict[str, Any]:
        if self._task() != "classification":
            model = self._distribution()
            parts = {} if is_frozen(model) else {"distribution": model}
            return parts if self.regressor is None else parts | {"regressor": self.regressor}
        models = zip(self._names(), self._models(), strict=False)
        parts = {name: model for name, model in models if not is_frozen(model)}
        return parts if self.regressor is None else parts | {"regressor": self.regressor}

    def _takes_several(self) -> bool:
        return self._task() != "classification"

    def _check_parts(self) -> None:
        self._check_outputs()
        check_regressor(self.regressor)
        if self._task() != "classification":
            self._refuse(probability=self.probability)
            self._check_distribution()
            return
        self._refuse(distribution=self.distribution)
        models = self._models()
        if not models:
            raise ValueError(
                "probability must be given, where the predictor is external or the list is "
                "empty: a classifier that estimates the class probabilities, or several."
            )
        for model in models:
            if not hasattr(model, "predict_proba"):
                raise ValueError(
                    f"probability must have predict_proba; {type(model).__name__} has not."
                )


def _rows(responses: dict[str, NDArray[Any]], index: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    return {name: values[index] for name, values in responses.items()}


def _ratio(
    loss: NDArray[np.float64], risk: NDArray[np.float64], weight: NDArray[Any] | None
) -> float:
    """Return what the risk has to be multiplied by to be right on average."""
    total = float(np.average(risk, weights=weight))
    return float(np.average(loss, weights=weight)) / total if total > 0 else 1.0
