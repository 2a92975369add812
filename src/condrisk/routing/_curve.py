"""Mean loss against mean cost, as more and more rows go to dearer models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import check_vector, check_weight
from condrisk.routing._tables import check_costs, check_losses, check_risks

Floats = NDArray[np.float64]


class RoutingCurve(NamedTuple):
    """Mean loss at each mean cost that routing by estimated risks can have.

    Between two points the curve is a line: some of the rows that move together are moved, drawn
    at random.

    Attributes
    ----------
    cost, loss : ndarray of shape (n_points,)
        Mean cost, from that of the cheapest model up to that of the dearest, and mean loss.
    price : ndarray of shape (n_points,)
        The loss that one unit of cost must save; falling from infinity to minus infinity. At a
        point each row has gone to the model of least risk + price × cost.
    model_cost, model_loss : ndarray of shape (n_models,)
        Cost and mean loss of each model alone, in the order of the models.
    oracle_cost, oracle_loss : ndarray
        The same curve for routing that knows the losses: no other is below it.
    """

    cost: Floats
    loss: Floats
    price: Floats
    model_cost: Floats
    model_loss: Floats
    oracle_cost: Floats
    oracle_loss: Floats

    @property
    def ends(self) -> tuple[int, int]:
        """The models that are compared: the cheapest, and the one of least mean loss."""
        return ends_of(self.model_cost, self.model_loss)

    @property
    def apgr(self) -> float:
        """Average performance gap recovered: 0.5 for random routing; NaN where there is no gap.

        The share of the gap in mean loss between the cheapest and the best single model that
        routing closes, averaged over all costs between theirs.
        """
        return float(_gap_recovered(self.cost, self.loss[None], *self._ends_at())[0])

    def cpt(self, percent: float) -> float:
        """Return the least share of the cost that closes `percent` % of the gap.

        Call-performance threshold: 0 is the cheapest model for every row, 1 the best single model
        for every row. With two models it is the share of rows that go to the better one. NaN where
        there is no gap, or where it is never closed so far.
        """
        return float(_least_share(self.cost, self.loss[None], *self._ends_at(), percent)[0])

    def loss_at(self, cost: float) -> float:
        """Return the mean loss at a mean cost; beyond the ends that of the nearest end."""
        return float(np.interp(cost, self.cost, self.loss))

    def cost_at(self, loss: float) -> float:
        """Return the least mean cost with a mean loss of at most this; NaN where there is none."""
        return float(_first_below(self.cost, self.loss[None], np.array([loss]))[0])

    def to_dict(self, n_points: int = 101) -> dict[str, list[float]]:
        """Return the curve as plain data, at so many costs that a picture shows no difference."""
        grid = np.linspace(self.cost[0], self.cost[-1], n_points)
        return {
            "cost": grid.tolist(),
            "loss": np.interp(grid, self.cost, self.loss).tolist(),
            "oracle": np.interp(grid, self.oracle_cost, self.oracle_loss).tolist(),
            "model_cost": self.model_cost.tolist(),
            "model_loss": self.model_loss.tolist(),
        }

    def _ends_at(self) -> tuple[float, float, Floats, Floats]:
        low, high = self.ends
        losses = self.model_loss
        costs = self.model_cost
        return float(costs[low]), float(costs[high]), losses[[low]], losses[[high]]


def routing_curve(
    losses: ArrayLike | Mapping[str, ArrayLike],
    risks: ArrayLike | Mapping[str, ArrayLike],
    costs: ArrayLike | Mapping[str, float],
    *,
    sample_weight: ArrayLike | None = None,
) -> RoutingCurve:
    """Compute the mean loss at every mean cost that routing by risk can have.

    Each row goes to the model of least risk + price × cost. From a price of infinity, where all
    rows have the cheapest model, to one of minus infinity, where all have the dearest, rows move
    one after the other: those first for which a unit of cost saves the most estimated loss.

    Parameters
    ----------
    losses : array-like of shape (n_rows, n_models), or mapping of str to array-like
        Realised loss of each model's answer, on rows that the risks were not learnt from.
    risks : array-like of shape (n_rows, n_models), or mapping of str to array-like
        Estimated loss of each model's answer.
    costs : array-like of shape (n_models,), or mapping of str to float
        What an answer of each model costs.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    RoutingCurve
        The curve, the models alone and the oracle; with `apgr`, `cpt`, `loss_at` and `cost_at`.

    Notes
    -----
    Rows of equal price move together, so that the order of the rows does not matter.

    Examples
    --------
    >>> from condrisk.routing import routing_curve
    >>> losses = {"small": [0, 1, 1, 0], "large": [0, 0, 0, 0]}
    >>> risks = {"small": [0.1, 0.8, 0.6, 0.3], "large": [0.1, 0.1, 0.1, 0.1]}
    >>> curve = routing_curve(losses, risks, {"small": 0.0, "large": 1.0})
    >>> curve.cost, curve.loss
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([0.5 , 0.25, 0.  , 0.  , 0.  ]))
    >>> curve.apgr, curve.cpt(50), curve.loss_at(0.25), curve.cost_at(0.0)
    (0.75, 0.25, 0.25, 0.5)
    """
    names, price_of = check_costs(costs)
    table = check_losses(losses, names, price_of)
    if np.isnan(table).any():
        raise ValueError(
            "losses must not have gaps: a curve needs the loss of every model on every row. Leave "
            "out rows that not every model answered."
        )
    estimates = check_risks(risks, names, price_of, len(table))
    weight = check_weight(sample_weight, check_vector(table[:, 0], "losses"), "losses")
    share = np.full(len(table), 1 / len(table)) if weight is None else weight / weight.sum()
    cost, loss, price = _points(Moves.of(table, estimates, price_of), share[None])
    oracle_cost, oracle_loss, _ = _points(Moves.of(table, table, price_of), share[None])
    return RoutingCurve(
        cost[0], loss[0], price, price_of, share @ table, oracle_cost[0], oracle_loss[0]
    )


class Moves(NamedTuple):
    """Every change of model on the way from the cheapest to the dearest, in order of price.

    Attributes
    ----------
    row : ndarray of int, shape (n_moves,)
        Which row moves.
    cost, loss : ndarray of shape (n_moves,)
        What that adds to its cost and its realised loss.
    ends : ndarray of int, shape (n_prices,)
        After which move all rows of one price have moved.
    price : ndarray of shape (n_prices,)
        Those prices, falling.
    first_cost, first_loss : ndarray of shape (n_rows,)
        Of each row before any move.
    """

    row: NDArray[np.intp]
    cost: Floats
    loss: Floats
    ends: NDArray[np.intp]
    price: Floats
    first_cost: Floats
    first_loss: Floats

    @classmethod
    def of(cls, losses: Floats, risks: Floats, costs: Floats) -> Moves:
        """Find the moves along the lower convex hull of each row's (cost, risk)."""
        rows = np.arange(len(losses))
        now = _cheapest(risks, costs)
        first_cost, first_loss = costs[now], losses[rows, now]
        found: list[tuple[Any, ...]] = []
        for _ in range(len(costs) - 1):
            slope, following = _next_on_hull(risks, costs, now)
            moving = np.flatnonzero(slope > -np.inf)
            if not len(moving):
                break
            old, new = now[moving], following[moving]
            added = losses[moving, new] - losses[moving, old]
            found.append((moving, costs[new] - costs[old], added, slope[moving]))
            now[moving] = new
        if not found:
            empty = np.empty(0)
            none = np.empty(0, dtype=np.intp)
            return cls(none, empty, empty, none, empty, first_cost, first_loss)
        row, cost, loss, price = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(-price, kind="stable")
        price = price[order]
        ends = np.flatnonzero(np.append(price[1:] != price[:-1], True))
        return cls(row[order], cost[order], loss[order], ends, price[ends], first_cost, first_loss)


def _cheapest(risks: Floats, costs: Floats) -> NDArray[np.intp]:
    """Return the cheapest model of each row; of several the one of least risk."""
    among = np.flatnonzero(costs == costs.min())
    return among[np.argmin(risks[:, among], axis=1)]


def _next_on_hull(
    risks: Floats, costs: Floats, now: NDArray[np.intp]
) -> tuple[Floats, NDArray[np.intp]]:
    """Return the price at which each row moves on, -inf where it never does, and where to."""
    rows = np.arange(len(risks))
    rise = costs[None, :] - costs[now][:, None]
    saved = risks[rows, now][:, None] - risks
    slope = np.divide(saved, rise, out=np.full_like(saved, -np.inf), where=rise > 0)
    best = slope.max(axis=1)
    # Of several on one line the dearest: the row passes all of them at this price.
    reached = np.where((slope == best[:, None]) & (rise > 0), costs[None, :], -np.inf)
    return best, np.argmax(reached, axis=1)


def _points(moves: Moves, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Return costs and losses after the rows of each price have moved, for each set of weights.

    `shares` has shape (n_sets, n_rows); costs and losses have shape (n_sets, n_prices + 1).
    """
    start = np.stack([shares @ moves.first_cost, shares @ moves.first_loss])
    moved = shares[:, moves.row]
    steps = np.stack([moved * moves.cost, moved * moves.loss])
    after = start[:, :, None] + np.cumsum(steps, axis=2)[:, :, moves.ends]
    cost, loss = np.concatenate([start[:, :, None], after], axis=2)
    return cost, loss, np.append(np.inf, moves.price)


def ends_of(costs: Floats, losses: Floats) -> tuple[int, int]:
    """Return the cheapest model and the one of least mean loss; of equals, the cheaper."""
    order = np.lexsort((costs, losses))
    return int(np.lexsort((losses, costs))[0]), int(order[0])


def _gap_recovered(
    cost: Floats, loss: Floats, low: float, high: float, weak: Floats, strong: Floats
) -> Floats:
    """Return the mean share of the gap closed over costs from `low` to `high`, set by set."""
    costs = np.broadcast_to(cost, loss.shape)
    found = np.full(len(loss), np.nan)
    for k, (x, y) in enumerate(zip(costs, loss, strict=True)):
        if weak[k] > strong[k] and high > low:
            inside = (x > low) & (x < high)
            grid = np.concatenate([[low], x[inside], [high]])
            closed = (weak[k] - np.interp(grid, x, y)) / (weak[k] - strong[k])
            found[k] = np.trapezoid(closed, grid) / (high - low)
    return found


def _least_share(
    cost: Floats,
    loss: Floats,
    low: float,
    high: float,
    weak: Floats,
    strong: Floats,
    percent: float,
) -> Floats:
    wanted = weak - percent / 100 * (weak - strong)
    there = (_first_below(cost, loss, wanted) - low) / (high - low) if high > low else np.nan
    return np.where(weak > strong, there, np.nan)


def _first_below(cost: Floats, loss: Floats, wanted: Floats) -> Floats:
    """Return the least cost at which each curve is at or below what is wanted, NaN for none."""
    costs = np.broadcast_to(cost, loss.shape)
    slack = 1e-12 * np.maximum(1.0, np.abs(wanted))  # a sum of shares may round to just above
    reached = loss <= (wanted + slack)[:, None]
    at = np.argmax(reached, axis=1)
    rows = np.arange(len(loss))
    before = np.maximum(at - 1, 0)
    x0, x1 = costs[rows, before], costs[rows, at]
    y0, y1 = loss[rows, before], loss[rows, at]
    part = np.divide(y0 - wanted, y0 - y1, out=np.ones_like(y0), where=(at > 0) & (y0 > y1))
    return np.where(reached.any(axis=1), x0 + np.clip(part, 0.0, 1.0) * (x1 - x0), np.nan)
