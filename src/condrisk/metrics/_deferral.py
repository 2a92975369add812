"""What a decision to accept or defer costs, and how far a risk is from the losses."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from condrisk._blocks import TiedBlocks, running_sum, tied_blocks
from condrisk._validation import (
    Vector,
    check_cost,
    check_costs,
    check_vector,
    check_vectors,
    check_weight,
)

N_DEFAULT_COSTS = 101


class CostCurve(NamedTuple):
    """Mean deferral loss at each of several prices, and what it compares with."""

    cost: Vector
    deferral_loss: Vector
    deferral_rate: Vector
    always_defer: Vector
    never_defer: Vector
    oracle: Vector


def deferral_loss(
    loss: ArrayLike, risk: ArrayLike, cost: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean loss where the risk is at most the cost, and mean cost of deferring elsewhere.

    A row with ``risk <= cost`` is accepted and costs its loss; any other is deferred and costs
    the price. It is also called the rejection or the learning-to-defer loss.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    cost : float or array-like of shape (n_samples,)
        Cost of deferring: one for all rows, or one for each. Not negative.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    float
        The weighted mean of ``loss`` where ``risk <= cost`` and of ``cost`` elsewhere.

    Examples
    --------
    >>> from condrisk.metrics import deferral_loss
    >>> deferral_loss([0.1, 3.0, 0.3], [0.2, 2.0, 0.4], 0.5)
    0.3
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    price = check_cost(cost, losses, "loss")
    weight = check_weight(sample_weight, losses, "loss")
    return float(np.average(np.where(risks <= price, losses, price), weights=weight))


def deferral_rate(
    risk: ArrayLike, cost: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of the rows that are deferred: those whose risk exceeds the cost.

    Parameters
    ----------
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    cost : float or array-like of shape (n_samples,)
        Cost of deferring: one for all rows, or one for each. Not negative.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    float
        Between 0 (all accepted) and 1 (all deferred).

    Examples
    --------
    >>> from condrisk.metrics import deferral_rate
    >>> deferral_rate([0.2, 2.0, 0.4, 0.5], 0.5)
    0.25
    """
    risks = check_vector(risk, "risk")
    price = check_cost(cost, risks, "risk")
    weight = check_weight(sample_weight, risks, "risk")
    return float(np.average(risks > price, weights=weight))


def risk_error(
    loss: ArrayLike, risk: ArrayLike, *, norm: int = 2, sample_weight: ArrayLike | None = None
) -> float:
    """Mean distance between the estimated risk and the realised loss.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    norm : {1, 2}, default=2
        2 for the mean squared difference, 1 for the mean absolute difference.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    float
        The weighted mean of ``abs(risk - loss) ** norm``.

    Notes
    -----
    The squared error is the proper one: it is least, in expectation, at the conditional mean of
    the loss, which is what a risk estimates, and on rows that neither of two estimates has seen,
    the difference of their squared errors against the loss is in expectation the difference
    against the true risk. The absolute error is least at the conditional *median*. Losses are
    skewed, so an estimate that is too low on average can win it; it is here because published
    tables use it.

    Examples
    --------
    >>> from condrisk.metrics import risk_error
    >>> risk_error([0.0, 4.0], [1.0, 2.0])
    2.5
    >>> risk_error([0.0, 4.0], [1.0, 2.0], norm=1)
    1.5
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    if norm not in (1, 2):
        raise ValueError(f"norm must be 1 (absolute) or 2 (squared), got {norm!r}")
    return float(np.average(np.abs(risks - losses) ** norm, weights=weight))


def cost_curve(
    loss: ArrayLike,
    risk: ArrayLike,
    *,
    costs: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CostCurve:
    """Deferral loss as a function of the cost of deferring.

    The rows are sorted once, however many prices there are.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    costs : array-like of shape (n_costs,), default=None
        Prices, in any order, not negative. None: 101 evenly spaced ones, from 0 to the 95 %
        quantile of `risk` or of `loss`, whichever is greater (to 1 if neither is positive).
        Beyond the greatest risk nothing is deferred, beyond the greatest loss nothing should be.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    CostCurve
        A named tuple of arrays of shape (n_costs,):

        - ``cost``: the prices;
        - ``deferral_loss``: as :func:`deferral_loss` gives it;
        - ``deferral_rate``: as :func:`deferral_rate` gives it;
        - ``always_defer``: the loss of deferring every row, which is the price;
        - ``never_defer``: the loss of accepting every row, which is the mean loss;
        - ``oracle``: the loss of the rule that knows the losses, the mean of
          ``minimum(loss, cost)``. No rule is below it.

    Examples
    --------
    >>> from condrisk.metrics import cost_curve
    >>> curve = cost_curve([0.0, 1.0, 3.0, 2.0], [0.5, 0.5, 2.0, 1.0], costs=[0.25, 1.0, 4.0])
    >>> curve.deferral_loss
    array([0.25, 1.  , 1.5 ])
    >>> curve.oracle
    array([0.1875, 0.75  , 1.5   ])
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    by_risk, by_loss = (tied_blocks(losses, key, weight) for key in (risks, losses))
    at = _default_costs(by_risk, by_loss) if costs is None else check_costs(costs)
    rule_loss, rate = _loss_and_rate(by_risk, at)
    oracle_loss, _ = _loss_and_rate(by_loss, at)
    never = np.full_like(at, np.average(losses, weights=weight))
    return CostCurve(at, rule_loss, rate, at.copy(), never, oracle_loss)


def _loss_and_rate(blocks: TiedBlocks, costs: Vector) -> tuple[Vector, Vector]:
    """Deferral loss and rate at each price, from sums over the rows of least risk."""
    n_accepted = np.searchsorted(blocks.risk, costs, side="right")
    weight_below = np.append(0.0, running_sum(blocks.weight))
    loss_below = np.append(0.0, running_sum(blocks.loss))
    total = weight_below[-1]
    rate = 1.0 - weight_below[n_accepted] / total
    return loss_below[n_accepted] / total + costs * rate, rate


def _default_costs(by_risk: TiedBlocks, by_loss: TiedBlocks) -> Vector:
    # Ends at a value of the data, not at a computed one such as a mean: that would change in the
    # last digit with the order of the rows, and a row whose risk is just the price with it.
    greatest = max(_quantile(by_risk, 0.95), _quantile(by_loss, 0.95))
    return np.linspace(0.0, greatest if greatest > 0 else 1.0, N_DEFAULT_COSTS)


def _quantile(blocks: TiedBlocks, level: float) -> float:
    """Return the least value at or below which lies at least this share of the weight."""
    coverage = running_sum(blocks.weight) / blocks.weight.sum()
    # Rounding of the weights must not move the quantile to the next row.
    return float(blocks.risk[np.searchsorted(coverage, level - 1e-9)])
