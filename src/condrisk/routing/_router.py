"""Which of several models answers a row: the cheapest that is good enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Integral
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted
from threadpoolctl import threadpool_limits

from condrisk._crossfit import make_partition, rows_of, seeded
from condrisk._state import leaves_rows_out
from condrisk._validation import validated
from condrisk.learners import TableEncoder
from condrisk.routing._decision import RoutingDecision
from condrisk.routing._joint import JointLosses
from condrisk.routing._policy import by_price, by_target, price_of_budget, within_capacity
from condrisk.routing._rule import check_keep, check_rule, fit_rule, rows_held_back, statement
from condrisk.routing._tables import check_costs, check_losses

Floats = NDArray[np.float64]

# Fewer answers of a model than this teach nothing about it.
FEWEST_ANSWERS = 20
# On few rows threads of linear algebra wait for each other, badly so on a busy machine.
FEW_ROWS = 20_000
# Risks of so many rows tell what a budget allows.
MOST_RISKS = 10_000


class HeldOutRisks:
    """Estimates of training rows by what has not seen their losses, and the losses.

    Attributes
    ----------
    risks, losses : ndarray of shape (n_rows, n_models)
        Estimated and realised losses; a realised one is NaN where the model has not answered.
    rows : ndarray of int, shape (n_rows,)
        The positions of the rows among those of `fit`.
    weight : ndarray of shape (n_rows,) or None
        Their weights.
    """

    def __init__(
        self, risks: Floats, losses: Floats, rows: NDArray[np.intp], weight: Floats | None
    ) -> None:
        self.risks = risks
        self.losses = losses
        self.rows = rows
        self.weight = weight


class ModelRouter(BaseEstimator):
    """Choose for each row which of several models answers it.

    Each model has a cost and, at x, an expected loss g_m(x) = E[loss of model m | x]. All g_m are
    learnt together from rows that the models have answered: the rows are encoded once, one forest
    and one decomposition serve all models, and the differences between models are learnt directly
    as far as held-out rows say that this is better. `route` then takes for each row the cheapest
    model that meets a target, the best models within a budget, or the model of least
    risk + price × cost.

    Nothing is about language models: rows may be texts, embeddings, frames of any columns, and
    losses any numbers, those of a wrong answer 1 and of a right one 0. Then one minus the risk is
    the chance of a right answer.

    Parameters
    ----------
    costs : mapping of str to float
        What an answer of each model costs, in any unit.
    first : str or None, default=None
        The model that has answered every row before it is decided who else does: a cascade. What
        its answer tells, such as its own confidence, may be among the columns of `X`; its cost is
        spent on every row, and any other model's comes on top. None: nobody has answered yet.
    rule : rule with a guarantee or None, default=None
        Decides which rows are left with the cheapest model (or with `first`), such as
        `condrisk.deferral.RiskControlRule`: with its guarantee about the mean loss of these. Rows
        that it is tested on are held back from learning. `route` chooses among the other models
        for the other rows. Losses seen do not tell how large a loss can be, so the rule needs its
        `cap`: 1 for errors, which are 0 or 1.
    cv : int, cross-validation splitter or iterable, default=5
        The folds, which together must hold out each row once.
    n_jobs : int or None, default=None
        How many trees to grow at a time.
    random_state : int, RandomState instance or None, default=None
        Seeds folds, trees and the rule.

    Attributes
    ----------
    models_ : list of str
        The names of the models.
    costs_ : ndarray of shape (n_models,)
        What is spent on a row that each model answers, the cost of `first` included.
    held_out_ : HeldOutRisks
        Risks of training rows by what has not seen their losses. Not part of a model file.
    difference_share_ : float
        How far differences between models come from what was learnt directly about them, from 0
        to 1; the rest is the difference of models learnt alone.
    rule_ : rule or None
        Fitted.
    guarantee_ : str or None
        What the rule guarantees about the rows left with the cheapest model, or that none is left
        with it because nothing could be shown; None without a rule.
    encoder_ : TableEncoder or None
        What makes numbers of the rows; None where they are numbers already.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    condrisk.routing.routing_curve : Mean loss at every mean cost.
    condrisk.routing.routing_figures : What routing is worth, with intervals.
    condrisk.deferral.Cascade : Models that are fitted here, and an expert at the end.

    Notes
    -----
    A gap in the losses of a model is a row that it has not answered. That must not depend on
    anything but `X`: a model that was asked about hard rows only looks worse than it is.

    The learners are extra-trees, grown on random combinations of what is to be learnt and shrunk by
    several strengths, and ridge regressions of several strengths; the mixture of these and the
    mean is convex and found on held-out rows, which also calibrates it.

    Examples
    --------
    >>> from condrisk.datasets import make_routing
    >>> from condrisk.routing import ModelRouter
    >>> world = make_routing(1000, random_state=0)
    >>> router = ModelRouter(world.costs, random_state=0).fit(world.X, world.losses)
    >>> decision = router.route(world.X, price=0.05)
    >>> sorted(set(decision.model.tolist()))
    ['large', 'medium', 'small']
    >>> bool(router.route(world.X, budget=1.0).cost.mean() < 1.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "costs": "no_validation",  # by check_costs, whose messages say more
        "first": [str, None],
        "rule": [HasMethods(["fit"]), None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        costs: Mapping[str, float],
        *,
        first: str | None = None,
        rule: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.costs = costs
        self.first = first
        self.rule = rule
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- fitting ------------------------------------------------------------------------------

    @validated(nested=True)
    def fit(
        self,
        X: Any,
        losses: Any,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn the loss of each model at each row.

        Parameters
        ----------
        X : list of str, frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows that the models have answered: texts, embeddings, tables; see
            `condrisk.learners.TableEncoder`.
        losses : mapping of str to array-like, frame, or array-like of shape (n_samples, n_models)
            The realised loss of each model's answer, by its name or in the order of `costs`; NaN
            or None where it has not answered.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        self : object
            The fitted router.
        """
        names, costs = self._check_models()
        table = check_losses(losses, names, costs)
        X = _texts_as_rows(X)
        n_rows = _num_samples(X)
        if n_rows != len(table):
            raise ValueError(f"losses must have a row for each of the {n_rows} rows of X.")
        self._check_answers(table, names)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, table, ensure_non_negative=True)
        check_rule(self.rule)
        self.rule_ = None if self.rule is None else seeded(self.rule, self.random_state)
        kept = np.empty(0, dtype=np.intp)
        if self.rule_ is not None:
            kept = rows_held_back(self.rule_, table[:, int(np.argmin(costs))], weight, groups)
        used = np.setdiff1d(np.arange(n_rows), kept)
        used = used[~np.isnan(table[used]).all(axis=1)]
        if weight is not None:
            used = used[weight[used] > 0]
        self._check_answers(table[used], names)
        self.models_, self.costs_ = names, costs
        own = None if groups is None else np.asarray(groups)[used]
        own_weight = None if weight is None else weight[used]
        self._learn(rows_of(X, used), table[used], own_weight, own, used)
        self._fit_rule(X, table, weight, kept)
        return self

    def _check_models(self) -> tuple[list[str], Floats]:
        names, costs = check_costs(self.costs)
        if names is None:
            raise TypeError(
                "costs must be a mapping from the name of each model to its cost, such as "
                "{'small': 0.2, 'large': 3.0}."
            )
        if self.first is None:
            return names, costs
        if self.first not in names:
            raise ValueError(f"first must be one of the models {names}, got {self.first!r}.")
        spent = costs[names.index(self.first)]
        on_top = [0.0 if name == self.first else 1.0 for name in names]
        return names, spent + np.array(on_top) * costs

    @staticmethod
    def _check_answers(table: Floats, names: list[str]) -> None:
        answers = np.sum(~np.isnan(table), axis=0)
        for name, count in zip(names, answers.tolist(), strict=True):
            if count < FEWEST_ANSWERS:
                raise ValueError(
                    f"losses: {name!r} has {count} answers to learn from; at least "
                    f"{FEWEST_ANSWERS} are needed."
                )

    def _learn(
        self,
        X: Any,
        table: Floats,
        weight: Floats | None,
        groups: NDArray[Any] | None,
        used: NDArray[np.intp],
    ) -> None:
        encoder = TableEncoder(rich_text=True)
        numbers = np.asarray(encoder.fit_transform(X), dtype=np.float64)
        self.encoder_ = None if encoder.is_identity_ else encoder
        self.n_features_in_ = getattr(encoder, "n_features_in_", 1)
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        folds = make_partition(
            self.cv, numbers, table[:, 0], classifier=False, groups=groups, random_state=seed
        )
        self._losses = JointLosses(
            folds,
            grouped=groups is not None,
            blocks=encoder.blocks(),
            seed=seed,
            n_jobs=self.n_jobs,
        )
        mass = np.ones(len(table)) if weight is None else weight / weight.mean()
        with threadpool_limits(1 if len(table) < FEW_ROWS else None):
            risks = self._losses.fit(numbers, table, mass)
        self.difference_share_ = self._losses.difference_share
        self.held_out_ = HeldOutRisks(risks, table, used, weight)

    # -- a rule with a guarantee ----------------------------------------------------------------

    @property
    def guarantee_(self) -> str | None:
        """What the rule guarantees about the rows left with the cheapest model."""
        check_is_fitted(self, "models_")
        return statement(self.rule_, self.models_[self._cheapest])

    @property
    def _cheapest(self) -> int:
        """The model whose rows the rule is about: the one that answers first, or the cheapest."""
        return int(np.argmin(self.costs_))

    def _fit_rule(
        self, X: Any, table: Floats, weight: Floats | None, kept: NDArray[np.intp]
    ) -> None:
        k, found = self._cheapest, self.held_out_
        if self.rule_ is not None:
            risk = self.predict_risk(rows_of(X, kept))[:, k] if len(kept) else np.empty(0)
            learnt = found.rows, found.risks[:, k]
            fit_rule(self.rule_, X, table[:, k], weight, learnt, (kept, risk))
        # For budgets, which must work from a file too; no row can be told from its risks.
        n_rows, seed = len(found.risks), self._losses.seed
        some = np.random.default_rng(seed).permutation(n_rows)[:MOST_RISKS]
        mass = np.ones(n_rows) if found.weight is None else found.weight / found.weight.mean()
        stays = np.zeros(len(some), dtype=bool)
        if self.rule_ is not None:
            stays = self._kept_by_rule(found.risks[some], rows_of(X, found.rows[some]))
        self._known_risks = found.risks[some], mass[some], stays

    # -- using it -----------------------------------------------------------------------------

    def predict_risk(self, X: Any) -> Floats:
        """Estimate the expected loss of each model at each row.

        Parameters
        ----------
        X : list of str, frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_models)
            A column for each of `models_`, between the least and the greatest loss seen of it.
        """
        check_is_fitted(self, "models_")
        X = _texts_as_rows(X)
        if self.encoder_ is not None:
            numbers = self.encoder_.transform(X)
        else:
            from sklearn.utils.validation import validate_data

            numbers = validate_data(
                self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
            )
        return self._losses.predict(np.asarray(numbers, dtype=np.float64))

    def route(
        self,
        X: Any,
        *,
        price: float | None = None,
        budget: float | None = None,
        target: float | None = None,
        capacity: Mapping[str, int] | None = None,
        keep: Any = None,
    ) -> RoutingDecision:
        """Choose the model of each row. Give one of price, budget and target.

        Parameters
        ----------
        X : list of str, frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        price : float, optional
            What one unit of cost is worth, in units of the loss: each row has the model of least
            risk + price × cost. 0 is the best model whatever it costs.
        budget : float, optional
            The greatest mean cost of a row: the price is the least at which rows like those of
            `fit` cost no more. Each row is routed by itself, so that a batch may cost somewhat more
            or less.
        target : float, optional
            The greatest expected loss of a row: each has the cheapest model whose risk is at most
            this, and where none meets it, the one of least risk.
        capacity : mapping of str to int, optional
            With `price`: how many of these rows a model can take. The rows are then assigned as a
            whole, at the least sum of risk + price × cost. One model must be without a limit.
        keep : rule for a batch, or array-like of bool of shape (n_samples,), optional
            Rows that stay with the cheapest model, in place of what `rule` says: a
            `condrisk.deferral.BatchControlRule` that was fitted on the cheapest model's risks of
            this very batch, whose guarantee the decision then tells; or flags. The other rows go
            to the other models.

        Returns
        -------
        RoutingDecision
            With `model`, `risk`, `cost` and `to_frame()`.
        """
        check_is_fitted(self, "models_")
        _check_wishes(price, budget, target, capacity)
        X = _texts_as_rows(X)
        risks = self.predict_risk(X)
        if keep is None:
            kept, guarantee = self._kept_by_rule(risks, X), self.guarantee_
        else:
            kept, guarantee = check_keep(keep, len(risks))
        others = np.arange(len(self.models_))
        if self.rule_ is not None or keep is not None:
            others = np.delete(others, self._cheapest)
        chosen = np.full(len(risks), self._cheapest)
        open_ = np.flatnonzero(~kept)
        if budget is not None:
            price = self._price_of(float(budget), others, None if keep is None else kept.mean())
        if len(open_):
            part, costs = risks[np.ix_(open_, others)], self.costs_[others]
            if target is not None:
                found = by_target(part, costs, float(target))
            elif capacity is None:
                found = by_price(part, costs, float(price or 0.0))
            else:
                names = [self.models_[k] for k in others]
                found = within_capacity(part, costs, float(price or 0.0), names, capacity)
            chosen[open_] = others[found]
        return RoutingDecision(
            np.array(self.models_, dtype=object)[chosen],
            risks[np.arange(len(risks)), chosen],
            self.costs_[chosen],
            None if price is None else float(price),
            guarantee,
            X,
        )

    def _price_of(self, budget: float, others: NDArray[np.intp], share_kept: float | None) -> float:
        """Return the price at which rows like those of `fit` cost at most the budget."""
        risks, weight, kept = self._known_risks
        cheapest = self._cheapest
        if share_kept is not None:  # as many as of this batch, those of least risk
            kept = np.zeros(len(risks), dtype=bool)
            kept[
                np.argsort(risks[:, cheapest], kind="stable")[: round(share_kept * len(risks))]
            ] = 1
        fixed = np.where(kept, self.costs_[cheapest], np.nan)
        return price_of_budget(risks[:, others], self.costs_[others], budget, fixed, weight)

    def _kept_by_rule(self, risks: Floats, X: Any) -> NDArray[np.bool_]:
        """Return which rows the rule leaves with the cheapest model."""
        if self.rule_ is None:
            return np.zeros(len(risks), dtype=bool)
        return ~np.asarray(self.rule_.defer(risks[:, self._cheapest], X=X), dtype=bool)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out():
            state.pop("held_out_", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _texts_as_rows(X: Any) -> Any:
    """Return rows; a sequence of texts alone is one column of text."""
    if hasattr(X, "to_list") and not hasattr(X, "columns"):  # a series of pandas or polars
        X = X.to_list()
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "OU":
        X = X.tolist()
    if isinstance(X, list | tuple) and X and all(isinstance(row, str) for row in X):
        texts = np.empty((len(X), 1), dtype=object)
        texts[:, 0] = X
        return texts
    return X


def _check_wishes(price: Any, budget: Any, target: Any, capacity: Any) -> None:
    given = {"price": price, "budget": budget, "target": target}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        found = "none" if not named else " and ".join(named)
        raise ValueError(f"route needs one of price, budget and target; got {found}.")
    value = given[named[0]]
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{named[0]} must be a number, got {value!r}.")
    if not np.isfinite(value) or (named[0] != "target" and value < 0):
        raise ValueError(f"{named[0]} must be finite and not negative, got {value!r}.")
    if capacity is None:
        return
    if price is None:
        raise ValueError(
            "capacity needs price: rows are assigned at the least risk + price × cost."
        )
    if not isinstance(capacity, Mapping) or not all(map(_is_count, capacity.values())):
        raise TypeError(
            f"capacity must be a mapping from models to how many rows they can take, got "
            f"{capacity!r}."
        )


def _is_count(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return bool(whole and value >= 0)
