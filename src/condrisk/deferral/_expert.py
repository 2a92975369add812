"""The expert errs too: whom to ask, if anybody, when every answer has a risk and a price."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval
from sklearn.utils._param_validation import Real as RealNumber

from condrisk._delegate import has_risk, predict_risk
from condrisk._validation import Vector, check_cost, check_vector, validated
from condrisk.deferral._assignment import assign_batch, assign_greedily
from condrisk.deferral._expert_risk import denoised_risk

UNLIMITED = np.iinfo(np.intp).max


def risk_of_expert(expert: Any, X: Any, n_rows: int, name: str) -> Vector:
    """Return an expert's risk at each row: a known number, or what an estimator says."""
    if isinstance(expert, Real):
        return np.full(n_rows, float(expert))
    if X is None:
        raise ValueError(f"X must be given: {name} estimates the expert's risk from it.")
    try:
        risk = check_vector(predict_risk(expert, X), f"the risk of {name}")
    except NotFittedError as error:
        raise NotFittedError(
            f"{name} is not fitted. Fit it on rows that the expert answered, and give it as "
            f"sklearn.frozen.FrozenEstimator({type(expert).__name__}(…)): what holds it is "
            f"cloned, and only what is frozen stays fitted."
        ) from error
    if len(risk) != n_rows:
        raise ValueError(f"X must have one row for each risk, got {len(risk)} and {n_rows}.")
    return risk


def check_expert(expert: Any, name: str) -> None:
    """Raise unless `expert` is a risk estimator or a finite number."""
    if isinstance(expert, Real) and not isinstance(expert, bool) and np.isfinite(float(expert)):
        return
    if not has_risk(expert):
        raise ValueError(
            f"{name} must be an estimator of the expert's risk such as ExpertRisk, or a number, "
            f"the known risk at every row; got {expert!r}."
        )


class ExpertRule(BaseEstimator):
    """Ask the expert whose price and risk together are least, if they are less than the risk.

    A row x goes to the expert e with the least cost + fee_e + g_e(x), provided that it is less
    than g(x), the risk of the model's answer; otherwise the model's answer is accepted. With the
    true risks no other rule has a lower expected loss. With capacities, a batch (the rows of one
    call) is assigned as a whole: the sum of the estimated losses and prices is the least that any
    assignment within the capacities has.

    Parameters
    ----------
    experts : estimator, float, or list of those
        The risk of each expert: an `ExpertRisk` or another estimator with `predict_risk`, fitted
        and frozen (`sklearn.frozen.FrozenEstimator`), or a number, the known risk at every row.
    fee : float or sequence of float, default=0.0
        The cost of deferring, one for all experts or one for each, in units of the loss.
    capacity : int, sequence of (int or None), or None, default=None
        How many rows of a batch an expert can take, one number for each of them; None if there is
        no limit.
    noise : float, default=0.0
        If the labels behind the model's risk were flipped with this probability, its risk is
        corrected before it is compared; see `denoised_risk`.

    See Also
    --------
    ExpertRisk : Learns the risk of an expert.
    Cascade : Asks one after the other.

    Notes
    -----
    A `Deferral` with this rule takes ``cost`` as a cost of deferring, on top of the fees.

    With capacities the assignment is exact: by sorting for one expert, by
    `scipy.optimize.linear_sum_assignment` for small batches, else by a linear programme of which
    the simplex method finds a vertex in whole numbers, within the tolerance of the solver. Where
    rows come one at a time, `stream` gives each the best expert with a place left, which may cost
    more than the best assignment of all of them.

    Examples
    --------
    >>> from condrisk.deferral import ExpertRule
    >>> rule = ExpertRule([0.05, 0.15], fee=[0.2, 0.05])
    >>> rule.assign([0.1, 0.22, 0.6])  # the second is wrong more often, but asks for less
    array([-1,  1,  1])
    >>> ExpertRule([0.05, 0.15], fee=[0.2, 0.05], capacity=[None, 1]).assign([0.1, 0.22, 0.6])
    array([-1, -1,  1])
    >>> ExpertRule(0.1, fee=0.1).defer([0.1, 0.2, 0.3])
    array([False, False,  True])
    """

    #: The cost of deferring is added to the fees.
    uses_cost = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "experts": "no_validation",  # by _check, whose messages say which expert
        "fee": "no_validation",
        "capacity": "no_validation",
        "noise": [Interval(RealNumber, 0, 0.5, closed="left")],
    }

    def __init__(
        self, experts: Any, *, fee: Any = 0.0, capacity: Any = None, noise: float = 0.0
    ) -> None:
        self.experts = experts
        self.fee = fee
        self.capacity = capacity
        self.noise = noise

    @validated(nested=True)
    def fit(
        self,
        risk: ArrayLike | None = None,
        loss: ArrayLike | None = None,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        calibration: tuple[ArrayLike, ...] | None = None,
        loss_bound: float | None = None,
    ) -> Self:
        """Check the parameters: the rule has nothing to learn, its experts are fitted already.

        Parameters
        ----------
        risk, loss : array-like of shape (n_samples,)
            Ignored.
        X : array-like, optional
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Ignored.
        calibration : tuple, optional
            Ignored.
        loss_bound : float, optional
            Ignored.

        Returns
        -------
        self : object
            The rule.
        """
        self._check()
        return self

    def expected_costs(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return what deferring to each expert is estimated to cost: fee, risk and `cost`.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks of the model's answers; only their number matters here.
        X : array-like of shape (n_samples, n_features), optional
            The rows; needed unless the risks of all experts are numbers.
        cost : float or array-like of shape (n_samples,), optional
            A cost of deferring to any expert, on top of the fees; none if not given.

        Returns
        -------
        ndarray of shape (n_samples, n_experts)
            In units of the loss.
        """
        experts, fees, _ = self._check()
        values = check_vector(risk, "risk")
        extra = np.zeros(()) if cost is None else check_cost(cost, values, "risk")
        risks = [
            risk_of_expert(expert, X, len(values), f"experts[{number}]")
            for number, expert in enumerate(experts)
        ]
        return np.column_stack(risks) + fees + np.broadcast_to(extra, len(values))[:, None]

    def assign(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.intp]:
        """Decide which expert each row goes to.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks of the model's answers. With capacities, these rows are one batch.
        X : array-like of shape (n_samples, n_features), optional
            The rows; needed unless the risks of all experts are numbers.
        cost : float or array-like of shape (n_samples,), optional
            A cost of deferring to any expert, on top of the fees; none if not given.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            The position of the expert in `experts`; -1 where the model's answer is accepted.
        """
        return assign_batch(self._gain(risk, X, cost), self._check()[2])

    def defer(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Decide about which rows to ask anybody.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks of the model's answers. With capacities, these rows are one batch.
        X : array-like of shape (n_samples, n_features), optional
            The rows; needed unless the risks of all experts are numbers.
        cost : float or array-like of shape (n_samples,), optional
            A cost of deferring to any expert, on top of the fees; none if not given.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the row is deferred.
        """
        return self.assign(risk, X=X, cost=cost) >= 0

    def stream(self) -> ExpertStream:
        """Return the rule for rows that come one after the other and use up the capacities.

        Returns
        -------
        ExpertStream
            With `assign`, as here, and `left`.
        """
        return ExpertStream(self, self._check()[2])

    def cost_values(
        self,
        loss: ArrayLike,
        expert_loss: ArrayLike,
        assigned: ArrayLike,
        *,
        cost: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return what each row has really cost, given who answered it.

        Parameters
        ----------
        loss : array-like of shape (n_samples,)
            Realised loss of the model's answer.
        expert_loss : array-like of shape (n_samples, n_experts) or (n_samples,)
            Realised loss of each expert's answer; what stands at those not asked is ignored.
        assigned : array-like of int, shape (n_samples,)
            Who answered, as `assign` gives it.
        cost : float or array-like of shape (n_samples,), optional
            A cost of deferring to any expert, on top of the fees; none if not given.

        Returns
        -------
        ndarray of shape (n_samples,)
            The loss of the model, or the loss of the expert, the fee and the price.
        """
        _, fees, _ = self._check()
        values = check_vector(loss, "loss")
        who = np.asarray(assigned)
        theirs = np.asarray(expert_loss, dtype=np.float64).reshape(len(values), -1)
        if theirs.shape[1] != len(fees):
            raise ValueError(
                f"expert_loss must have a column for each of the {len(fees)} experts, "
                f"got {theirs.shape[1]}."
            )
        if who.shape != values.shape or not np.isin(who, np.arange(-1, len(fees))).all():
            raise ValueError("assigned must be the position of an expert, or -1, for each row.")
        extra = np.zeros(()) if cost is None else check_cost(cost, values, "loss")
        deferred = np.flatnonzero(who >= 0)
        paid = values.copy()
        paid[deferred] = theirs[deferred, who[deferred]] + fees[who[deferred]]
        paid[deferred] += np.broadcast_to(extra, len(values))[deferred]
        return check_vector(paid, "expert_loss of the experts asked")

    # -- inside -----------------------------------------------------------------------------

    def _gain(self, risk: ArrayLike, X: Any, cost: ArrayLike | None) -> NDArray[np.float64]:
        """Return what each expert is estimated to save against the model's answer."""
        expected_costs = self.expected_costs(risk, X=X, cost=cost)
        return denoised_risk(check_vector(risk, "risk"), self.noise)[:, None] - expected_costs

    def _check(self) -> tuple[list[Any], Vector, NDArray[np.intp]]:
        """Return the experts, their fees and their capacities."""
        several = isinstance(self.experts, list | tuple)
        experts = list(self.experts) if several else [self.experts]
        if not experts:
            raise ValueError("experts is empty: give at least one.")
        for number, expert in enumerate(experts):
            check_expert(expert, f"experts[{number}]" if several else "experts")
        fees = check_fees(self.fee, len(experts))
        return experts, fees, _check_capacity(self.capacity, len(experts))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class ExpertStream:
    """An `ExpertRule` for rows that come one after the other; made by `ExpertRule.stream`.

    Parameters
    ----------
    rule : ExpertRule
        The rule.
    left : ndarray of int, shape (n_experts,)
        How many rows each expert can still take; counted down as rows are assigned.

    Examples
    --------
    >>> from condrisk.deferral import ExpertRule
    >>> stream = ExpertRule([0.05, 0.2], fee=0.1, capacity=[2, None]).stream()
    >>> stream.assign([0.4, 0.1]), stream.assign([0.9, 0.9])
    (array([ 0, -1]), array([0, 1]))
    """

    def __init__(self, rule: ExpertRule, left: NDArray[np.intp]) -> None:
        self.rule = rule
        self.left = left

    def assign(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.intp]:
        """Decide which expert each row goes to, in the order of the rows.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks of the model's answers.
        X : array-like of shape (n_samples, n_features), optional
            The rows; needed unless the risks of all experts are numbers.
        cost : float or array-like of shape (n_samples,), optional
            A cost of deferring to any expert, on top of the fees; none if not given.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            The position of the best expert with a place left; -1 where the model's answer is
            accepted.
        """
        return assign_greedily(self.rule._gain(risk, X, cost), self.left)


def check_fees(fee: Any, n_fees: int) -> Vector:
    """Return one fee for each of `n_fees` experts."""
    try:
        fees = np.asarray(fee)
    except ValueError:  # lists of different lengths
        fees = np.asarray(None)
    if (
        fees.dtype.kind not in "iuf"
        or fees.shape not in ((), (n_fees,))
        or not np.isfinite(fees).all()
        or (fees < 0).any()
    ):
        raise ValueError(
            f"fee must be one number, or one for each of the {n_fees} experts, finite "
            f"and not negative; got {fee!r}."
        )
    return np.broadcast_to(fees, n_fees).astype(np.float64)


def _check_capacity(capacity: Any, n_experts: int) -> NDArray[np.intp]:
    several = isinstance(capacity, Sequence | np.ndarray) and not isinstance(capacity, str)
    if not several and capacity is not None and n_experts > 1:
        raise ValueError(
            f"capacity must be given for each of the {n_experts} experts, as a list of whole "
            f"numbers or None; got {capacity!r}."
        )
    values = list(capacity) if several else [capacity] * n_experts
    if len(values) != n_experts:
        raise ValueError(
            f"capacity must have one value for each of the {n_experts} experts, got {len(values)}."
        )
    for value in values:
        if value is not None and (
            not isinstance(value, Integral) or isinstance(value, bool) or value < 0
        ):
            raise ValueError(
                f"capacity must be made of whole numbers of at least 0, or None; got {value!r}."
            )
    return np.array([UNLIMITED if value is None else int(value) for value in values], dtype=np.intp)
