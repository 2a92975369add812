"""What routing is worth on held-out rows, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import check_confidence, check_vector, check_weight
from condrisk.routing._curve import (
    Moves,
    RoutingCurve,
    _first_below,
    _gap_recovered,
    _least_share,
    _points,
    ends_of,
    routing_curve,
)
from condrisk.routing._tables import check_costs, check_losses, check_risks

Floats = NDArray[np.float64]

# Weights of so many rows, in all resamples of a part, are held at a time.
MOST_NUMBERS = 4_000_000


@dataclass(frozen=True)
class RoutingFigure:
    """A figure of routing, with its interval.

    Attributes
    ----------
    estimate : float
        On the rows as they are; NaN where it does not exist.
    lower, upper : float
        The ends of the interval. They are infinite where too many resamples had no such figure.
    """

    estimate: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.lower:.3f}, {self.upper:.3f}]"


@dataclass(frozen=True)
class RoutingFigures:
    """What routing is worth on held-out rows.

    Attributes
    ----------
    apgr : RoutingFigure
        Average performance gap recovered; see `RoutingCurve.apgr`.
    cpt : dict of float to RoutingFigure
        For each percentage, the least share of the cost that closes so much of the gap.
    loss_at : dict of float to RoutingFigure
        For each mean cost, the mean loss. Quality at a cost, where the loss is that of a wrong
        answer, is one minus it.
    cost_at : dict of float to RoutingFigure
        For each mean loss, the least mean cost that has it.
    curve : RoutingCurve
        The curve that they are read from.
    confidence : float
        Of each interval.
    n_rows : int
        From how many rows.
    """

    apgr: RoutingFigure
    cpt: dict[float, RoutingFigure]
    loss_at: dict[float, RoutingFigure]
    cost_at: dict[float, RoutingFigure]
    curve: RoutingCurve
    confidence: float
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data: value, low and high of each; None for what is not."""
        several = {"cpt": self.cpt, "loss_at": self.loss_at, "cost_at": self.cost_at}
        found: dict[str, Any] = {"apgr": _plain(self.apgr)}
        for name, figures in several.items():
            found[name] = [{"at": at, **_plain(figure)} for at, figure in figures.items()]
        return found | {"confidence": self.confidence, "rows": self.n_rows}


def _plain(figure: RoutingFigure) -> dict[str, float | None]:
    ends = {"value": figure.estimate, "low": figure.lower, "high": figure.upper}
    return {name: float(v) if np.isfinite(v) else None for name, v in ends.items()}


def routing_figures(
    losses: ArrayLike | Mapping[str, ArrayLike],
    risks: ArrayLike | Mapping[str, ArrayLike],
    costs: ArrayLike | Mapping[str, float],
    *,
    cpt: Sequence[float] = (50, 80),
    at_costs: Sequence[float] = (),
    at_losses: Sequence[float] = (),
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: Any = 0,
) -> RoutingFigures:
    """Measure routing on rows that it was not learnt from: APGR, CPT, loss at cost, cost at loss.

    The intervals are by the bootstrap over rows: they say how far the figures of *these* risks
    would differ on other rows. The gap between the models is part of each resample.

    Parameters
    ----------
    losses : array-like of shape (n_rows, n_models), or mapping of str to array-like
        Realised loss of each model's answer, without gaps.
    risks : array-like of shape (n_rows, n_models), or mapping of str to array-like
        Estimated loss of each model's answer.
    costs : array-like of shape (n_models,), or mapping of str to float
        What an answer of each model costs.
    cpt : sequence of float, default=(50, 80)
        Percentages of the gap between the cheapest and the best single model.
    at_costs : sequence of float, default=()
        Mean costs at which the mean loss is wanted.
    at_losses : sequence of float, default=()
        Mean losses for which the least mean cost is wanted.
    sample_weight : array-like of shape (n_rows,), default=None
        Weight of each row. None: all rows count the same.
    confidence : float, default=0.95
        Of each interval.
    n_resamples : int, default=1000
        How many resamples.
    random_state : None, int or numpy.random.Generator, default=0
        Seeds them.

    Returns
    -------
    RoutingFigures
        The figures, and the curve.

    Examples
    --------
    >>> from condrisk.datasets import make_routing
    >>> from condrisk.routing import routing_figures
    >>> world = make_routing(2000, random_state=0)
    >>> found = routing_figures(world.losses, world.risk(world.X), world.costs)
    >>> found.apgr.lower < found.apgr.estimate < found.apgr.upper
    True
    >>> sorted(found.cpt)
    [50, 80]
    """
    check_confidence(confidence)
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples!r}")
    curve = routing_curve(losses, risks, costs, sample_weight=sample_weight)
    names, price_of = check_costs(costs)
    table = check_losses(losses, names, price_of)
    estimates = check_risks(risks, names, price_of, len(table))
    weight = check_weight(sample_weight, check_vector(table[:, 0], "losses"), "losses")
    wanted = _Wanted(tuple(cpt), tuple(at_costs), tuple(at_losses))
    moves = Moves.of(table, estimates, price_of)
    draws = np.concatenate(
        [
            wanted.read(moves, part, part @ table, price_of)
            for part in _resamples(len(table), weight, n_resamples, random_state, len(moves.row))
        ]
    )
    own = np.full(len(table), 1 / len(table)) if weight is None else weight / weight.sum()
    estimate = wanted.read(moves, own[None], own[None] @ table, price_of)[0]
    figures = iter([_figure(e, d, confidence) for e, d in zip(estimate, draws.T, strict=True)])
    return RoutingFigures(
        apgr=next(figures),
        cpt={at: next(figures) for at in wanted.cpt},
        loss_at={at: next(figures) for at in wanted.costs},
        cost_at={at: next(figures) for at in wanted.losses},
        curve=curve,
        confidence=confidence,
        n_rows=len(table),
    )


@dataclass(frozen=True)
class _Wanted:
    """Which figures are read from a curve, in this order after the APGR."""

    cpt: tuple[float, ...]
    costs: tuple[float, ...]
    losses: tuple[float, ...]

    def read(self, moves: Moves, shares: Floats, alone: Floats, costs: Floats) -> Floats:
        """Return the figures, a row for each set of weights, from the loss of each model alone."""
        cost, loss, _ = _points(moves, shares)
        # The two models that are compared are those of all rows together.
        low, high = ends_of(costs, alone.mean(axis=0))
        between = float(costs[low]), float(costs[high]), alone[:, low], alone[:, high]
        columns = [_gap_recovered(cost, loss, *between)]
        columns += [_least_share(cost, loss, *between, percent) for percent in self.cpt]
        pairs = list(zip(cost, loss, strict=True))
        columns += [np.array([np.interp(at, x, y) for x, y in pairs]) for at in self.costs]
        columns += [_first_below(cost, loss, np.full(len(loss), at)) for at in self.losses]
        return np.column_stack(columns)


def _resamples(
    n_rows: int, weight: Floats | None, n_resamples: int, random_state: Any, n_moves: int
) -> Any:
    """Yield the shares of the rows in resamples, some resamples at a time."""
    rng = np.random.default_rng(random_state)
    at_once = max(1, MOST_NUMBERS // max(n_rows, n_moves))
    for start in range(0, n_resamples, at_once):
        size = min(at_once, n_resamples - start)
        counts = rng.multinomial(n_rows, np.full(n_rows, 1 / n_rows), size=size)
        mass = counts if weight is None else counts * weight
        yield mass / mass.sum(axis=1, keepdims=True)


def _figure(estimate: float, draws: Floats, confidence: float) -> RoutingFigure:
    """Return the percentile interval; a resample without the figure counts as beyond both ends."""
    tail = (1 - confidence) / 2
    low = np.quantile(np.where(np.isnan(draws), -np.inf, draws), tail, method="lower")
    high = np.quantile(np.where(np.isnan(draws), np.inf, draws), 1 - tail, method="higher")
    return RoutingFigure(float(estimate), float(low), float(high))
