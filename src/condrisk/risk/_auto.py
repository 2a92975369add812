"""One call: a predictor if none is given, several estimates of its risk, and the best of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _num_samples

from condrisk._budget import Clock
from condrisk._crossfit import CrossFitted, rows_of
from condrisk._expected_loss import class_loss_points, class_risk_and_floor
from condrisk._routing import routing_enabled
from condrisk.learners import (
    BayesDecision,
    DistributionRegressor,
    StackedClassifier,
    StackedRegressor,
)
from condrisk.losses import AveragedLoss, Loss, Task, encode, get_loss, squared_error, zero_one
from condrisk.metrics import deferral_loss
from condrisk.risk._auto_classes import ClassPools, Given, get_response
from condrisk.risk._auto_numbers import NumberMixture
from condrisk.risk._base import BaseRisk, groups_of, settled
from condrisk.risk._committee import BASE, RiskCommittee
from condrisk.risk._held_out import Pairs, drawn
from condrisk.risk._hybrid_numbers import as_numbers
from condrisk.risk._loss_law import LossLawMixin, LossPoints
from condrisk.risk._mixture import RiskMixture
from condrisk.risk._predictor import Routed
from condrisk.risk._responses import Responses, held_out_at_once
from condrisk.risk._task import task_of_target
from condrisk.risk._training import Some, Training, as_many_as_fit

Floats = NDArray[np.float64]
# Of a time budget, the share for the predictor.
PREDICTOR_SHARE = 0.7
# Regressions of losses beside probabilities, which they can only mend, learn from at most so many
# rows.
MOST_REGRESSED = 300_000
_EVERYTHING = {"sample_weight": True, "groups": True}


class StackResponses(Responses):
    """The responses of a stack, all computed by calling its models once."""

    def get(self, method: str) -> NDArray[Any]:
        """Return the response."""
        if not self._known:
            self._known = self._predictor.responses(self._X)
        return self._known[method]


class AutoRisk(ClassPools, NumberMixture, LossLawMixin):
    """Conditional risk without choices to make: several estimates, mixed by held-out rows.

    * For a regressor that is given: its plug-in risk under a `DistributionRegressor`; that risk
      corrected by realised losses, as in `HybridRisk`; and regressions of the losses, on the row
      alone and on the row, the prediction and the distribution. The corrected risk is the base,
      and another candidate has a share as far as its gain on held-out rows is sure.
    * For a classifier: the plug-in risk of its calibrated probabilities, that of their pool with a
      stack's, and regressions of the losses on the row, the response and both: extra-trees on the
      losses, forests and extra-trees on their roots with the conditional variance added back; on
      up to 300 rows also a forest on the row alone.
    * For a predictor that is built here, such regressions on the row, the response and how far
      the models of the stack disagree.

    Each judges the rows that it has not seen, and the mixture is the one with the least squared
    error, which is a strictly consistent score for the mean; or, with `cost`, the candidate of
    least deferral loss. Rows may be frames with columns of any type, texts, or sparse: the models
    built here encode them by `condrisk.learners.TableEncoder`.

    Parameters
    ----------
    predictor : estimator, "precomputed" or None, default=None
        The model whose risk is wanted: cross-fitted here; frozen, and then `fit` takes rows that
        it was not fitted on; or external, and then its responses are given as ``prediction=``.
        None builds a strong one, `StackedRegressor` or `StackedClassifier`, whose own
        cross-fitting serves the risk as well: nothing is fitted twice. Where the loss asks for
        something else than the mean or the most probable label, it is a `BayesDecision` around it:
        what it predicts has the least expected loss.
    loss : str, Loss, array-like, callable or None, default=None
        What an error costs, as for `RegressionRisk`, also of several outputs of a predictor given.
    task : {"regression", "classification"} or None, default=None
        Which predictor to build. None: what the loss implies; otherwise text, booleans,
        categories or two values are classes and numbers with fractions are not. Where neither
        tells, `fit` asks for it.
    cost : float or None, default=None
        The cost of deferring at which the risk is to be good. None: at every cost.
    cv : int, cross-validation splitter or iterable, default=5
        The folds of the cross-fitting; no row may be held out twice.
    time_budget : float or None, default=None
        Limit in seconds, for all that follows the cross-fitting of a predictor that is given, and
        for everything where it is built here. How long a part will take is estimated on few rows:
        one that takes too long is left out, and where all would, fewer rows are used, drawn at
        random. One model and the mean are always fitted. What is found then depends on the machine.
    n_jobs : int or None, default=None
        How many fits, or trees, to run at a time; the results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds and every part whose own random state is left open.
    verbose : bool or int, default=False
        Whether `fit` prints each part as it begins.

    Attributes
    ----------
    predictor_ : estimator
        The fitted predictor.
    leaderboard_ : list of dict
        Each candidate with its held-out squared error as a share of that of a constant ("score"),
        its deferral loss at `cost` if that was given, its share in the mixture and the seconds
        that it took; the best first.
    seconds_ : dict of str to float
        What each part took: the models of the predictor, or the predictor as a whole, then the
        candidates. Zero for what the time budget did not allow for.
    held_out_ : HeldOut
        Losses of held-out rows, and their risks by what has not seen these losses: what rules are
        fitted on. Of more than 50,000 rows a random sample. Not part of a model file.
    task_ : {"regression", "classification"} or None
        The task.
    encoder_ : TableEncoder or None
        What makes numbers of the rows for all models but the predictor, which gets them untouched;
        None where they are numbers already.
    loss_ : Loss
        The loss.
    classes_ : ndarray of shape (n_classes,)
        The labels, for classifiers.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    RegressionRisk : Where the regressor of losses is to be chosen.
    HybridRisk : For classifiers with several probability models.

    Examples
    --------
    >>> from condrisk import AutoRisk
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(500, random_state=0)  # σ²(x) = exp(x₁)
    >>> risk = AutoRisk(random_state=0).fit(world.X, world.y)
    >>> calm, noisy = risk.predict_risk([[-2, 0, 0, 0, 0], [2, 0, 0, 0, 0]])
    >>> bool(noisy > 3 * calm)
    True
    >>> [row["candidate"] for row in risk.leaderboard_][-1]  # the worst
    'mean'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in BaseRisk._parameter_constraints.items()
        if name != "refit"
    } | {
        "predictor": [*BaseRisk._parameter_constraints["predictor"], None],
        "task": [StrOptions({"regression", "classification"}), None],
        "cost": [float, int, None],
        "time_budget": [float, int, None],
    }
    # What is chosen elsewhere and settled here.
    refit = True
    clip = True
    distribution = None
    regressor = None
    task_: Task | None
    committee_: RiskCommittee | None

    def __init__(
        self,
        predictor: Any = None,
        *,
        loss: Any = None,
        task: Task | None = None,
        cost: float | None = None,
        cv: Any = 5,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.predictor = predictor
        self.loss = loss
        self.task = task
        self.cost = cost
        self.cv = cv
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- the predictor ------------------------------------------------------------------------

    def _is_built(self) -> bool:
        return self.predictor is None

    def _has_to_fit_predictor(self) -> bool:
        return self._is_built() or super()._has_to_fit_predictor()

    def _task(self) -> Task | None:
        """Return the task, for a predictor that is built here as far as it is known."""
        if not self._is_built():
            return super()._task()
        return self.__dict__.get("task_") or self.task or _implied_task(self.loss)

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        self.__dict__.pop("task_", None)
        if self.task is not None and not self._is_built():
            raise ValueError("task is for a predictor that is built here, predictor=None.")
        if self._task() is None and self._is_built() and y is not None:
            self.task_ = task_of_target(y)
        X, y = super()._check_rows(X, y)
        self.task_ = self._task()
        return X, y

    def _takes_several(self) -> bool:
        return not self._is_built()

    def _build(self, budget: float | None = None) -> Any:
        """Return the predictor that is built where none is given."""
        params = {"cv": self.cv, "time_budget": budget, "random_state": self.random_state}
        classes, decides = self._task() == "classification", self._has_to_decide()
        model: Any = StackedClassifier(**params) if classes else StackedRegressor(**params)
        if decides and not classes:
            model = DistributionRegressor(**params, n_jobs=self.n_jobs)
        # It takes whatever a caller gives: with metadata routing that has to be said.
        model = model.set_fit_request(**_EVERYTHING) if routing_enabled() else model
        return BayesDecision(model, loss=self.loss) if decides else model

    def _has_to_decide(self) -> bool:
        """Tell whether the best prediction is another than the mean, or the most probable label."""
        if self.loss is None:
            return False
        loss = get_loss(self.loss)
        return loss not in (squared_error, zero_one) and loss.response == "predict"

    def _decides_numbers(self) -> bool:
        return self._is_built() and self._task() == "regression" and self._has_to_decide()

    def _responses_to(self, X: Any, prediction: Any, *, needed: bool = True) -> Responses:
        responses = super()._responses_to(X, prediction, needed=needed)
        return StackResponses(self.predictor_, X) if self._is_built() else responses

    def _check_response(self, what: str, method: str) -> None:
        if not self._is_built():  # a stack has them all
            super()._check_response(what, method)

    def _check_finite(self, X: Any) -> None:
        if not self._is_built():  # a stack takes missing values, and so do the trees
            super()._check_finite(X)

    # -- fitting ------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Any]:
        return {}

    def _parts_to_fit(self) -> dict[str, Any]:
        return {"predictor": self._build()} if self._is_built() else super()._parts_to_fit()

    def _check_parts(self) -> None:
        pass

    def _feature_method(self) -> str:
        """Return the most telling response that the predictor has."""
        if self._task() != "classification":
            return "predict"
        if self._is_precomputed():
            return self.loss_.response
        has_proba = self._is_built() or hasattr(self.predictor, "predict_proba")
        return "predict_proba" if has_proba else "predict"

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        clock, began = Clock(self.time_budget), time.perf_counter()
        training = Training(X, self._learn_encoding(X), y, sample_weight, routed)
        fitted = None
        if not self._is_built():
            fitted = self._cross_fit_predictor(X, y, prediction, routed)
            clock = Clock(self.time_budget)
        self.seconds_ = {"predictor": time.perf_counter() - began}
        some = as_many_as_fit(
            training,
            fitted,
            clock,
            lambda few: self._fit_parts(few, Clock(0)),
            settled(self.random_state),
        )
        self._fit_parts(some, clock)
        assert self._held_out is not None
        if len(some.rows) < len(y):
            self._held_out = replace(self._held_out, rows=some.rows[self._held_out.rows])

    def _fit_parts(self, some: Some, clock: Clock) -> None:
        """Fit the predictor, where it is built here, and its risk, in the time there is."""
        self._forget()
        X, encoded, y, sample_weight, routed = some.training
        fitted = some.fitted
        if fitted is None:
            fitted = self._fit_built(X, y, routed, clock)
        if self._task() == "classification":
            self._check_loss_classes(self.classes_)
        responses, rows = fitted.responses[0], fitted.rows
        loss = self._losses(y[rows], responses[self.loss_.response])
        weight = None if sample_weight is None else sample_weight[rows]
        groups = groups_of(routed, rows)
        of_each = y.ndim == 1 or isinstance(self.loss_, AveragedLoss)
        if self._task() == "regression" and not self._is_built() and of_each:
            pairs = Pairs(rows, loss, self._folds_of(fitted, groups), weight, groups)
            params = {"sample_weight": sample_weight, "groups": routed["splitter"].get("groups")}
            self._fit_mixture(encoded, y, fitted, pairs, params, clock)
            return
        self._fit_probabilities(rows_of(encoded, rows), y[rows], fitted, weight, routed, clock)
        self._fit_committee(encoded, loss, fitted, sample_weight, routed, clock)
        if self._decides_numbers():
            self.distribution_ = self.predictor_.model_
        elif self._task() == "regression" and self._is_built():
            self._fit_around(X, encoded, y, weight, groups, clock)

    def _fit_to_losses(
        self,
        X: Any,
        loss: Floats,
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        began = time.perf_counter()
        encoded = self._learn_encoding(X)
        self._forget()
        self.task_ = None
        if prediction is None and self._is_precomputed():
            rows = np.arange(_num_samples(X))
            fitted = held_out_at_once(rows, Responses(None, X), set())
        else:
            fitted = self._fixed_responses(X, prediction, {self._feature_method()})
        self.seconds_ = {"predictor": time.perf_counter() - began}
        self._fit_committee(encoded, loss, fitted, sample_weight, routed, Clock(self.time_budget))

    def _forget(self) -> None:
        """Have none of the parts that only some predictors need."""
        self._pools, self.second_model_, self._uses_responses = {}, None, True
        self.mixture_ = self.committee_ = self.distribution_ = self.correction_ = None

    # -- what else the distribution says of the loss ---------------------------------------------

    def _rows_of_law(self, X: Any, encoded: Any) -> Any:
        # Around a stack that was built here, which has an encoder of its own.
        return X if self._is_built() else encoded

    def _plug_in_and_floor(self, X: Any, responses: Responses) -> tuple[Floats, Floats]:
        if self._task() == "classification":
            law = self._class_law(X, responses)
            return class_risk_and_floor(self.loss_, *law, self.classes_)
        self._check_has_distribution()
        return self._expected_and_least(X, responses.get("predict"))

    def _loss_points(self, X: Any, responses: Responses) -> Iterator[LossPoints]:
        if self._task() == "classification":
            law = self._class_law(X, responses)
            yield class_loss_points(self.loss_, *law, self.classes_)
            return
        self._check_has_distribution()
        yield from self._losses_of_points(X, responses.get("predict"))

    # -- classes, and stacks built here: regressions of the loss, mixed ----------------------------

    def _fit_committee(
        self,
        X: Any,
        loss: Floats,
        fitted: CrossFitted,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
        clock: Clock,
    ) -> None:
        """Regress the losses in several ways, and mix these by rows they have not seen."""
        responses, rows = fitted.responses[0], fitted.rows
        weight = None if sample_weight is None else sample_weight[rows]
        groups = groups_of(routed, rows)
        independent = groups is None and isinstance(self.cv, int)
        folds = [] if independent else self._folds_of(fitted, groups) or []
        pairs = Pairs(rows, loss, folds, weight, groups)
        self._uses_responses = bool(responses)
        plug_in = self._known_risks(responses, self._second_held_out())
        if BASE in plug_in and len(rows) > MOST_REGRESSED:
            some = drawn(len(rows), MOST_REGRESSED, settled(self.random_state))
            pairs = pairs.at(some)
            responses = {name: values[some] for name, values in responses.items()}
            plug_in = {name: risk[some] for name, risk in plug_in.items()}
        rows = pairs.rows
        learnt = pairs if self._task() == "classification" else self._without_outliers(pairs)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.committee_ = RiskCommittee(seed, self.n_jobs).fit(
            self._inputs(rows_of(X, rows), responses, plug_in),
            learnt.losses,
            pairs.weights,
            plug_in,
            n_columns=as_numbers(rows_of(X, rows[:1])).shape[1],
            folds=pairs.folds or None,
            least=min(self.loss_.minimum, float(loss.min())),
            clock=clock,
        )
        self.seconds_ |= self.committee_.seconds
        self._settle(self.committee_, pairs._replace(folds=[]), learnt.losses)

    def _held_out_risks(self, pairs: Pairs) -> Floats:
        raise AssertionError("the committee has estimated these in fit")

    def _cross_fit_predictor(
        self, X: Any, y: NDArray[Any], prediction: ArrayLike | None, routed: Routed
    ) -> CrossFitted:
        """Return the responses of a given predictor to rows that it was not fitted on."""
        methods = {self.loss_.response, self._feature_method()}
        fitted = self._cross_fitted(X, y, prediction, routed, methods)
        if len(np.unique(fitted.rows)) < len(fitted.rows):
            raise ValueError("cv must hold out no row twice: trees judge rows they have not seen.")
        return fitted

    def _fit_built(self, X: Any, y: NDArray[Any], routed: Routed, clock: Clock) -> CrossFitted:
        """Build the predictor; return its responses to rows that it was not fitted on."""
        params = {**routed["predictor"], **routed["splitter"]}
        self.predictor_ = self._build(clock.share(PREDICTOR_SHARE)).fit(X, y, **params)
        stack = getattr(self.predictor_, "model_", self.predictor_)
        stack = getattr(stack, "mean_", stack)
        self.seconds_ = {f"predictor, {name}": took for name, took in stack.seconds_.items()}
        found = self.predictor_.held_out_
        n_folds = int(found.fold.max()) + 1
        return CrossFitted(np.arange(len(y)), found.fold, n_folds, (found.responses,))

    def _inputs(self, X: Any, responses: Responses | Given, plug_in: dict[str, Floats]) -> Floats:
        """Return what the risk is regressed on."""
        columns = [as_numbers(X)]
        if self._uses_responses:
            response = get_response(responses, self._feature_method())
            if self._task() == "classification" and response.ndim == 1:
                response = encode(response, self.classes_)[:, None] == np.arange(len(self.classes_))
            columns.append(response)
        columns += plug_in.values()
        if self._is_built():
            columns.append(get_response(responses, "uncertainty"))
        return np.column_stack(columns)

    def _known_risks(self, responses: Responses | Given, second: list[Floats]) -> dict[str, Floats]:
        """Return the expected loss by what is known of the target's distribution."""
        if self._decides_numbers():
            return {"plug-in": get_response(responses, "risk")}
        return self._plug_in_risks(responses, second)

    def _risk_uses_response(self) -> bool:
        return self._uses_responses

    def _settle(self, committee: RiskCommittee | RiskMixture, pairs: Pairs, learnt: Floats) -> None:
        """Choose by the losses to learn from; keep the held-out risks of what was chosen."""
        pairs = pairs.at(committee.rows)
        self._judge(committee, learnt[committee.rows], pairs.weights)
        chosen = committee.held_out.pop(self._chosen)
        del committee.held_out, committee.rows
        self._held_out = pairs.with_risks(self._clipped(chosen))

    def _judge(
        self, committee: RiskCommittee | RiskMixture, loss: Floats, weight: Floats | None
    ) -> None:
        """Make the leaderboard, and choose by it where a cost is given."""
        board: list[dict[str, Any]] = []
        constant = np.average((loss - np.average(loss, weights=weight)) ** 2, weights=weight)
        for name, risk in committee.held_out.items():
            squared = np.average((loss - risk) ** 2, weights=weight)
            row: dict[str, Any] = {
                "candidate": name,
                "score": float(squared / constant) if constant else 1.0,
            }
            if self.cost is not None:
                row["deferral_loss"] = deferral_loss(loss, risk, self.cost, sample_weight=weight)
            row["share"] = committee.shares.get(name, float("nan"))
            row["seconds"] = self.seconds_.get(name, 0.0)
            board.append(row)
        by = "score" if self.cost is None else "deferral_loss"
        # Of equals the mixture is the safest.
        self.leaderboard_ = sorted(board, key=lambda r: (r[by], r["candidate"] != "mixture"))
        self._chosen = "mixture" if self.cost is None else self.leaderboard_[0]["candidate"]
        if self._chosen != "mixture":
            committee.keep(self._chosen)

    def _risk(self, X: Any, responses: Responses) -> Floats:
        if self.mixture_ is not None:
            return self._mixed_risk(X, responses)
        rows = self._encoded(X)
        plug_in = self._known_risks(responses, self._second_at(rows))
        inputs = self._inputs(rows, responses, plug_in)
        assert self.committee_ is not None
        return self._clipped(self.committee_.predict(inputs, plug_in))

    def __sklearn_tags__(self) -> Any:
        if not self._is_built():
            tags = super().__sklearn_tags__()
        else:
            tags = get_tags(self.__dict__.get("predictor_") or self._build())
            if tags.regressor_tags is not None:
                tags.regressor_tags.poor_score = True  # score is minus an error, not an R²
        return tags


def _implied_task(loss: Any) -> Task | None:
    """Return the task that a loss implies; None where it is the default, or fits both."""
    if loss is None:
        return None
    found: Loss = get_loss(loss)
    return "classification" if found.response == "predict_proba" else found.task
