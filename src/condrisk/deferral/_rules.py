"""Rules: from an estimated risk to a decision."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, Real
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from condrisk._validation import check_cost, check_vector, check_weight, validated


class CostRule(BaseEstimator):
    """Accept iff the risk is at most the cost of deferring.

    With the true conditional risk no other rule has a lower expected deferral loss.

    Examples
    --------
    >>> from condrisk import CostRule
    >>> CostRule().defer([0.1, 0.5, 0.9], cost=0.5)
    array([False, False,  True])
    """

    #: Whether the cost of deferring decides; a rule that does not say so ignores it.
    uses_cost = True

    def fit(
        self,
        risk: ArrayLike,
        loss: ArrayLike,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        calibration: tuple[ArrayLike, ...] | None = None,
        loss_bound: float | None = None,
    ) -> Self:
        """Do nothing: the rule has nothing to learn.

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
        return self

    def defer(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Decide which rows to defer.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks.
        X : array-like, optional
            Ignored.
        cost : float or array-like of shape (n_samples,)
            The cost of deferring, one for all rows or one a row.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the row is deferred.
        """
        if cost is None:
            raise ValueError(
                "cost must be given: CostRule compares the risk with the cost of deferring."
            )
        risk = check_vector(risk, "risk")
        return risk > check_cost(cost, risk, "risk")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class BudgetRule(BaseEstimator):
    """Defer the riskiest rows, at most a given share of them.

    The threshold is the least risk seen in `fit` above which at most a share `rate` of the weight
    lies. On those rows the rate is never exceeded. New rows with risks like those of the n rows in
    `fit` are deferred with a chance of (⌊rate · n⌋ + 1) / (n + 1) on average, which is up to 1 / n
    above the rate, and varies more from fit to fit the fewer rows there were. Rows that tie with
    the threshold are accepted, so a constant risk defers none (unless ``rate=1``, which defers
    everything).

    Parameters
    ----------
    rate : float
        The largest share of rows to defer, from 0 to 1.

    Attributes
    ----------
    threshold_ : float
        Rows with a risk above it are deferred.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk import BudgetRule
    >>> rule = BudgetRule(0.2).fit(np.arange(10), np.zeros(10))
    >>> rule.threshold_
    7.0
    >>> rule.defer([3, 8])
    array([False,  True])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rate": [Interval(Real, 0, 1, closed="both")]
    }

    def __init__(self, rate: float) -> None:
        self.rate = rate

    @validated(nested=False)
    def fit(
        self,
        risk: ArrayLike,
        loss: ArrayLike | None = None,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        calibration: tuple[ArrayLike, ...] | None = None,
        loss_bound: float | None = None,
    ) -> Self:
        """Find the threshold.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Risks of rows like those to come.
        loss : array-like of shape (n_samples,), optional
            Ignored.
        X : array-like, optional
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        calibration : tuple (risk, loss) or (risk, loss, sample_weight), optional
            Pairs of rows that nothing was fitted on: used in place of the others.
        loss_bound : float, optional
            Ignored.

        Returns
        -------
        self : object
            The fitted rule.
        """
        if calibration is not None:
            risk, _, sample_weight = calibration_pairs(calibration)
        risk = check_vector(risk, "risk")
        weight = check_weight(sample_weight, risk, "risk")
        self.threshold_ = share_threshold(
            risk, np.ones_like(risk) if weight is None else weight, self.rate
        )
        return self

    def defer(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Decide which rows to defer.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks.
        X : array-like, optional
            Ignored.
        cost : float or array-like of shape (n_samples,), optional
            Ignored: the budget decides, whatever the price.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the row is deferred.
        """
        check_is_fitted(self)
        return check_vector(risk, "risk") > self.threshold_


def fit_rule(
    rule: Any,
    risk: ArrayLike,
    loss: ArrayLike,
    X: Any,
    sample_weight: ArrayLike | None,
    calibration: tuple[ArrayLike, ...] | None,
    loss_bound: float | None,
    X_calibration: Any = None,
) -> Any:
    """Fit a rule, giving it what there is: a rule of a user's own need not know of the rest."""
    known = {
        "sample_weight": sample_weight,
        "calibration": calibration,
        "X_calibration": X_calibration,
        "loss_bound": loss_bound,
    }
    for late in ("X_calibration", "loss_bound"):
        if not has_fit_parameter(rule, late):
            known[late] = None
    given = {name: value for name, value in known.items() if value is not None}
    return rule.fit(risk, loss, X=X, **given)


def calibration_pairs(calibration: Any) -> tuple[Any, Any, Any]:
    """Return risks, losses and weights (or None) of calibration rows."""
    if not isinstance(calibration, tuple | list) or len(calibration) not in (2, 3):
        raise ValueError("calibration must be a tuple (risk, loss) or (risk, loss, sample_weight).")
    risk, loss, *weight = calibration
    return risk, loss, weight[0] if weight else None


def share_threshold(risk: NDArray[Any], weight: NDArray[Any], rate: float) -> float:
    """Return the least t among the risks (or -inf) with at most a share `rate` above it."""
    values, where = np.unique(risk, return_inverse=True)
    weight_of = np.bincount(where, weights=weight)
    above = np.append(weight_of[::-1].cumsum()[::-1], 0.0)  # at or above each value, then none
    # A budget of 0.2 of ten rows is two rows, although 0.2 * 10 may round to just under 2.
    allowed = rate * above[0] * (1 + 1e-12)
    first = int(np.argmax(above <= allowed))
    return float(values[first - 1]) if first else -np.inf
