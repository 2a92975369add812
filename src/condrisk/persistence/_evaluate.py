"""What a model does on rows that it has not seen: figures with intervals, and a profile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrisk.assessment import calibration_test, deferral_savings
from condrisk.inference import betting_interval

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
MAX_GROUPS = 200
# So many held-out rows are kept one by one, as their risk and loss alone.
MOST_KEPT = 10_000
# Betting looks at each row many times; with more rows than this, the approximation is as good.
MOST_BETS = 200_000
# What the intervals are called in a manifest.
BETTING = "a method that holds for any number of rows"
STUDENT = "Student's t, which holds approximately"


def evaluate(
    risk: Floats,
    loss: Floats,
    deferred: NDArray[np.bool_] | None,
    *,
    cost: float | Floats | None,
    least: float,
    most: float,
) -> dict[str, Any]:
    """Return deferral rate and losses on held-out rows, each with its interval.

    Parameters
    ----------
    risk, loss : ndarray of shape (n_rows,)
        Estimated risk and realised loss.
    deferred : ndarray of bool, shape (n_rows,), or None
        Which rows are deferred; None where there is no rule.
    cost : float, ndarray of shape (n_rows,), or None
        The cost of deferring; without one there is no deferral loss.
    least, most : float
        Limits of the loss.
    """
    found: dict[str, Any] = {
        "rows": len(loss),
        "confidence": CONFIDENCE,
        "interval": BETTING if _can_bet(loss, least, most) else STUDENT,
        "deferral_rate": None,
        "deferral_loss": None,
        "always": None,
        "never": mean_interval(loss, least, most),
        "accepted_loss": None,
        "mean_risk": float(risk.mean()),
        "savings": None,
        "calibration": None,
    }
    if len(loss) > 1:  # of a single row there is no interval
        found["calibration"] = calibration_test(loss, risk, confidence=CONFIDENCE).to_dict()
    if deferred is None:
        return found
    accepted = loss[~deferred]
    found["deferral_rate"] = mean_interval(deferred.astype(np.float64), 0.0, 1.0)
    if len(accepted):
        found["accepted_loss"] = mean_interval(accepted, least, most)
    if cost is not None:
        paid = np.where(deferred, cost, loss)
        low, high = float(np.min(cost)), float(np.max(cost))
        found["deferral_loss"] = mean_interval(paid, min(least, low), max(most, high))
        found["always"] = {"value": float(np.mean(cost)), "low": low, "high": high}
        if low < high:
            found["always"] = mean_interval(np.asarray(cost), low, high)
        if len(loss) > 1:
            savings = deferral_savings(loss, deferred, cost, confidence=CONFIDENCE)
            found["savings"] = savings.to_dict()
    return found


def mean_interval(values: Floats, least: float, most: float) -> dict[str, float]:
    """Return a mean with limits for its expectation: by betting where values are bounded."""
    if _can_bet(values, least, most):
        if least == most:
            return {"value": least, "low": least, "high": most}
        found = betting_interval(values, confidence=CONFIDENCE, lower=least, upper=most)
        return {"value": found.estimate, "low": found.lower, "high": found.upper}
    value = float(values.mean())
    if len(values) < 2:
        return {"value": value, "low": value, "high": value}
    from scipy.stats import t

    step = t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return {
        "value": value,
        "low": max(value - float(step), least),
        "high": min(value + float(step), most),
    }


def _can_bet(values: Floats, least: float, most: float) -> bool:
    return bool(np.isfinite([least, most]).all()) and len(values) <= MOST_BETS


def profile(risk: Floats, loss: Floats) -> list[list[float]]:
    """Return groups of rows sorted by risk, from which figures at any price can be told.

    Returns
    -------
    list of [n, mean risk, lowest risk, highest risk, mean loss, mean loss²]
        At most 200 of equal size; rows of the same risk may be in two of them.
    """
    order = np.argsort(risk, kind="stable")
    groups = np.array_split(order, min(MAX_GROUPS, len(order)))
    return [
        [
            len(rows),
            float(risk[rows].mean()),
            float(risk[rows].min()),
            float(risk[rows].max()),
            float(loss[rows].mean()),
            float((loss[rows] ** 2).mean()),
        ]
        for rows in groups
    ]


def kept_rows(risk: Floats, loss: Floats) -> NDArray[np.intp]:
    """Return which held-out rows are kept one by one: all or a sample, in random order."""
    return np.random.default_rng(0).permutation(len(risk))[:MOST_KEPT]
