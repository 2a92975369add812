"""What a fitted method does on rows that it has not seen, as a record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.deferral import Deferral
from condrisk.paper._figures import COSTS, deferral_figures, risk_figures
from condrisk.paper._records import Record
from condrisk.paper.rwr._fitting import Fitted


def evaluate(
    fitted: Fitted,
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    keep_rows: bool = False,
) -> Record:
    """Return what a fitted method does on rows that it has not seen, unrounded.

    A method whose answers depend on the cost is evaluated at each; what does not belong to one
    cost is then the mean over costs.
    """
    start = time.perf_counter()
    decisions = dict(_decisions(fitted.model, X))
    seconds = time.perf_counter() - start
    risks, by_cost = [], {}
    for cost, (prediction, risk, deferred) in decisions.items():
        loss = (y - prediction) ** 2
        risks.append(risk_figures(loss, risk))
        by_cost[f"{cost:g}"] = deferral_figures(loss, deferred, cost)
    record: Record = {name: _mean([figures[name] for figures in risks]) for name in risks[0]}
    record["costs"] = by_cost
    if keep_rows:
        prediction, risk, _ = decisions[COSTS[0]]
        rows = {"y": y, "prediction": prediction, "risk": risk}
        record["rows"] = {name: values.tolist() for name, values in rows.items()}
    record["seconds"] = {
        "predictor": fitted.predictor_seconds,
        "risk": fitted.risk_seconds,
        "predict": seconds,
    }
    return record


def _decisions(model: Any, X: NDArray[np.float64]) -> Iterator[tuple[float, tuple[Any, Any, Any]]]:
    """Yield prediction, risk and decision at each price, computing no response twice."""
    decision = None
    for cost in COSTS:
        if decision is None or not isinstance(model, Deferral):
            decision = model.decide(X, cost=cost)
            deferred = decision.deferred
        else:
            deferred = model.rule_.defer(decision.risk, X=X, cost=cost)
        yield cost, (decision.prediction, decision.risk, deferred)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    # Equal values give that value, whatever rounding says.
    return known[0] if len(set(known)) == 1 else float(np.mean(known))
