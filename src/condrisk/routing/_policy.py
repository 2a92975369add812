"""From the estimated loss of each model at each row to the model that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.deferral import ExpertRule
from condrisk.routing._curve import Moves

Floats = NDArray[np.float64]
Choices = NDArray[np.intp]


def by_price(risks: Floats, costs: Floats, price: float) -> Choices:
    """Return the model of least risk + price × cost of each row; of equals the cheapest."""
    order = np.argsort(costs, kind="stable")
    return order[np.argmin((risks + price * costs)[:, order], axis=1)]


def by_target(risks: Floats, costs: Floats, target: float) -> Choices:
    """Return the cheapest model whose risk meets the target; where none does, that of least risk.

    Of models of equal cost, and where none meets the target, the one of least risk.
    """
    best = by_price(risks, costs, 0.0)
    by_cost = np.where(risks <= target, costs, np.inf)
    least = by_cost.min(axis=1)
    among = np.where(by_cost == least[:, None], risks, np.inf)
    return np.where(np.isfinite(least), np.argmin(among, axis=1), best)


def price_of_budget(
    risks: Floats, costs: Floats, budget: float, fixed: Floats, weight: Floats
) -> float:
    """Return the least price at which rows like these cost at most the budget on average.

    Parameters
    ----------
    risks : ndarray of shape (n_rows, n_models)
        Estimated losses of rows like those to come.
    costs : ndarray of shape (n_models,)
        Costs of the models.
    budget : float
        The greatest mean cost.
    fixed : ndarray of shape (n_rows,)
        The cost of rows whose model is known already; NaN for those that are routed by the price.
    weight : ndarray of shape (n_rows,)
        Weights.
    """
    share = weight / weight.sum()
    open_ = np.isnan(fixed)
    spent = float(share[~open_] @ fixed[~open_])
    moves = Moves.of(risks[open_], risks[open_], costs)
    spent += float(share[open_] @ moves.first_cost)
    slack = 1e-9 * max(1.0, abs(budget))
    if spent > budget + slack:
        raise ValueError(
            f"budget={budget:g} is less than rows cost at the least, {spent:g} on average."
        )
    added = np.cumsum(share[open_][moves.row] * moves.cost)[moves.ends]
    worth = moves.price > 0  # beyond, a dearer model does not even have less risk
    n_fitting = int(np.sum(worth & (spent + added <= budget + slack)))
    prices = np.append(moves.price[worth], 0.0)
    if n_fitting == len(prices) - 1:
        return 0.0
    before = prices[n_fitting - 1] if n_fitting else 2 * prices[0]
    return float((before + prices[n_fitting]) / 2)  # between two prices, where no row is undecided


def within_capacity(
    risks: Floats, costs: Floats, price: float, names: list[str], capacity: Mapping[str, int]
) -> Choices:
    """Return the assignment of least total risk + price × cost that keeps every capacity."""
    unknown = [name for name in capacity if name not in names]
    if unknown:
        raise ValueError(f"capacity names {unknown[0]!r}, which is none of the models {names}.")
    free = [k for k, name in enumerate(names) if name not in capacity]
    if not free:
        raise ValueError("capacity must leave one model without a limit, for rows beyond it.")
    base = free[int(np.argmin(costs[free]))]
    others = [k for k in range(len(names)) if k != base]
    rule = ExpertRule(
        [_Column(k) for k in others],
        capacity=[capacity.get(names[k]) for k in others],
    )
    paid = risks + price * costs
    assigned = rule.assign(paid[:, base], X=paid)
    return np.where(assigned < 0, base, np.array(others)[np.maximum(assigned, 0)])


class _Column:
    """A column of estimated losses, as the risk of an expert."""

    def __init__(self, number: int) -> None:
        self.number = number

    def predict_risk(self, X: Any) -> Floats:
        """Return the risk of each row."""
        return X[:, self.number]
