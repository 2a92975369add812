"""One call: a predictor if none is given, several estimates of its risk, and the best of them."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from condrisk._crossfit import HeldOut, align, mean_by_row, rows_of
from condrisk._pool import Pool, fit_pool, log_opinions
from condrisk.learners._stack import StackedClassifier, StackedRegressor
from condrisk.losses import ClassLoss, encode, get_loss
from condrisk.metrics import deferral_loss
from condrisk.risk._answers import Answers
from condrisk.risk._base import BaseRisk
from condrisk.risk._predictor import Routed
from condrisk.risk._risk_committee import RiskCommittee

Floats = NDArray[np.float64]
# Of a time budget, the share for the predictor.
PREDICTOR_SHARE = 0.7


class StackAnswers(Answers):
    """The responses of a stack, all found by asking its models once."""

    def get(self, response: str) -> NDArray[Any]:
        """Return the response."""
        if not self._known:
            self._known = self._predictor.answers(self._X)
        return self._known[response]


class AutoRisk(BaseRisk):
    """Conditional risk without choices to make: several estimates, mixed by held-out rows.

    The losses of the predictor on rows that it was not fitted on are regressed on the row, the
    predictor's response and, where it is built here, on how far its models disagree. Extra-trees
    learn the losses, forests and extra-trees their roots, with the conditional variance added
    back; for classifiers there are also the plug-in risk of the calibrated probabilities and, as
    in `HybridRisk`, that of a pool with other probability models. Each judges the rows that it has
    not seen, and the mixture is the one with the least squared error, which is a strictly
    consistent score for the mean; or, with `cost`, the candidate of least deferral loss.

    Parameters
    ----------
    predictor : estimator or None, default=None
        The model whose risk is wanted: fitted here by cross-fitting, or frozen, and then `fit`
        takes rows that it was not fitted on. None builds a strong one, `StackedRegressor`, whose
        own cross-fitting serves the risk as well: nothing is fitted twice.
    loss : str, Loss, array-like, callable or None, default=None
        What an error costs, as for `RegressionRisk`.
    cost : float or None, default=None
        The price of asking at which the risk is to be good. None: at every price.
    cv : int, cross-validation splitter or iterable, default=5
        The folds of the cross-fitting; no row may be held out twice.
    time_budget : float or None, default=None
        Seconds after which nothing more is begun than has to be. What is found then depends on
        the machine.
    n_jobs : int or None, default=None
        How many fits, or trees, to run at a time; the results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds the folds and every part whose own random state is left open.

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
        candidates.
    oof_loss_, oof_risk_ : ndarray of shape (n_samples,)
        Losses out of fold, and the risk of each row by what has not seen its loss. Not part of a
        saved model.
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
    } | {"cost": [float, int, None], "time_budget": [float, int, None]}
    # What is chosen elsewhere and settled here.
    refit = True
    clip = True

    def __init__(
        self,
        predictor: Any = None,
        *,
        loss: Any = None,
        cost: float | None = None,
        cv: Any = 5,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.predictor = predictor
        self.loss = loss
        self.cost = cost
        self.cv = cv
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- the predictor ------------------------------------------------------------------------

    def _model(self) -> Any:
        if self.predictor is not None:
            return self.predictor
        budget = None if self.time_budget is None else PREDICTOR_SHARE * self.time_budget
        kind = StackedClassifier if self._wants_classes() else StackedRegressor
        return kind(cv=self.cv, time_budget=budget, random_state=self.random_state)

    def _wants_classes(self) -> bool:
        """Tell whether the loss is one of classes; without a loss it is the squared error."""
        if self.loss is None:
            return False
        loss = get_loss(self.loss)
        return isinstance(loss, ClassLoss) or loss.task == "classification"

    def _is_stack(self) -> bool:
        return self.predictor is None

    def _answers(self, X: Any, prediction: Any, *, needed: bool = True) -> Answers:
        answers = super()._answers(X, prediction, needed=needed)
        return StackAnswers(self.predictor_, X) if self._is_stack() else answers

    # -- fitting ------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Any]:
        return {}

    def _check_parts(self) -> None:
        self._check_response("AutoRisk", self._feature_response())

    def _feature_response(self) -> str:
        return "predict_proba" if self._task() == "classification" else "predict"

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        prediction: ArrayLike | None,
        sample_weight: NDArray[Any] | None,
        routed: Routed,
    ) -> None:
        began = time.perf_counter()
        _as_numbers(X)  # before anything is fitted
        held_out = self._held_out(X, y, prediction, routed)
        answers, rows = held_out.answers[0], held_out.rows
        if self._task() == "classification":
            self._check_loss_size(len(self.classes_))
        loss = self._losses(y[rows], answers[self.loss_.response])
        self._remember(held_out, loss, n_rows=len(y))
        weight = None if sample_weight is None else sample_weight[rows]
        self.seconds_ = self._predictor_seconds(time.perf_counter() - began)
        until = np.inf if self.time_budget is None else began + self.time_budget
        self._fit_opinions(rows_of(X, rows), y[rows], held_out, weight, routed, until)
        at_hand = self._at_hand(answers, self._other_held_out())
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.committee_ = RiskCommittee(seed, self.n_jobs).fit(
            self._inputs(rows_of(X, rows), answers, at_hand),
            loss,
            weight,
            at_hand,
            least=min(self.loss_.minimum, float(loss.min())),
            until=until,
        )
        self.seconds_ |= self.committee_.seconds
        self._judge(loss, weight)
        chosen = self.committee_.held_out.pop(self._chosen)
        del self.committee_.held_out
        self.oof_risk_ = mean_by_row(self._clipped(chosen), rows, len(y))

    def _held_out(
        self, X: Any, y: NDArray[Any], prediction: ArrayLike | None, routed: Routed
    ) -> HeldOut:
        """Return the predictor's answers on rows that it was not fitted on."""
        responses = {self.loss_.response, self._feature_response()}
        if self._is_stack():
            params = {**routed["predictor"], **routed["splitter"]}
            self.predictor_ = self._model().fit(X, y, **params)
            found = self.predictor_.held_out_
            rows = np.arange(len(y))
            return HeldOut(rows, found.fold, int(found.fold.max()) + 1, (found.answers,))
        held_out = self._cross_fitted(X, y, prediction, routed, responses)
        if len(np.unique(held_out.rows)) < len(held_out.rows):
            raise ValueError("cv must hold out no row twice: trees judge rows they have not seen.")
        return held_out

    def _predictor_seconds(self, total: float) -> dict[str, float]:
        if not self._is_stack():
            return {"predictor": total}
        return {f"predictor, {name}": took for name, took in self.predictor_.seconds_.items()}

    # -- classes: probabilities put into the loss -----------------------------------------------

    def _fit_opinions(
        self,
        X: Any,
        y: NDArray[Any],
        held_out: HeldOut,
        weight: NDArray[Any] | None,
        routed: Routed,
        until: float,
    ) -> None:
        """Learn how to calibrate the predictor's probabilities, and how to pool them with others'.

        A stack is a pool already; to any other predictor one is added, if there is time.
        """
        self._pools: dict[str, Pool] = {}
        self.other_opinion_: StackedClassifier | None = None
        if not isinstance(self.loss_, ClassLoss) or self._task() != "classification":
            return
        codes = encode(y, self.classes_)
        own = held_out.answers[0]["predict_proba"]
        self._pools["plug-in"] = fit_pool(log_opinions([own]), codes, weight)
        start = time.perf_counter()
        if self._is_stack() or start > until or len(np.unique(y)) < 2:
            return
        stack = StackedClassifier(
            cv=self._folds_of(held_out),
            time_budget=None if np.isinf(until) else until - start,
            random_state=self.random_state,
        )
        groups = routed["splitter"].get("groups") if held_out.n_splits == 1 else None
        self.other_opinion_ = stack.fit(X, y, weight, groups=groups)
        both = log_opinions([own, self._other_held_out()])
        self._pools["hybrid"] = fit_pool(both, codes, weight)
        self.seconds_["hybrid"] = time.perf_counter() - start

    def _folds_of(self, held_out: HeldOut) -> Any:
        """Return the folds that the predictor had, or for one that was not fitted here, five."""
        if held_out.n_splits > 1:
            return [(held_out.others(k), held_out.of(k)) for k in held_out.splits]
        return self.cv if isinstance(self.cv, int) else 5

    def _other_held_out(self) -> Any:
        if self.other_opinion_ is None:
            return None
        return self._aligned(self.other_opinion_.held_out_.answers["predict_proba"])

    def _aligned(self, proba: Floats) -> Floats:
        assert self.other_opinion_ is not None
        return align(proba, self.other_opinion_.classes_, self.classes_)

    def _at_hand(self, answers: Any, other: Floats | None) -> dict[str, Floats]:
        """Return estimates that no regression is needed for: the plug-in risks of a classifier."""
        found = {}
        for name, pool in self._pools.items():
            own = _get(answers, "predict_proba")
            opinions = [own] if name == "plug-in" or other is None else [own, other]
            assert isinstance(self.loss_, ClassLoss)
            response = _get(answers, self.loss_.response)
            proba = pool(log_opinions(opinions))
            found[name] = self.loss_.expected(response, proba, classes=self.classes_)
        return found

    def _inputs(self, X: Any, answers: Any, at_hand: dict[str, Floats]) -> Floats:
        """Return what the risk is regressed on."""
        response = _get(answers, self._feature_response())
        columns = [_as_numbers(X), response, *at_hand.values()]
        if self._is_stack():
            columns.append(_get(answers, "signs"))
        return np.column_stack(columns)

    def _judge(self, loss: Floats, weight: Floats | None) -> None:
        """Make the leaderboard, and choose by it where a price is given."""
        board: list[dict[str, Any]] = []
        committee = self.committee_
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

    def _risk(self, X: Any, answers: Answers) -> Floats:
        other = None
        if self.other_opinion_ is not None:
            other = self._aligned(self.other_opinion_.predict_proba(X))
        at_hand = self._at_hand(answers, other)
        return self._clipped(self.committee_.predict(self._inputs(X, answers, at_hand), at_hand))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _as_numbers(X: Any) -> Floats:
    """Return rows as an array of numbers, where missing ones are NaN."""
    return check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")


def _get(answers: Any, response: str) -> NDArray[Any]:
    """Return a response out of a dict, which held-out answers are, or out of `Answers`."""
    return answers[response] if isinstance(answers, dict) else answers.get(response)
