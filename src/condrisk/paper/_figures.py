"""What is recorded of a method on rows that it has not seen, unrounded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condrisk.metrics import aurc, risk_error

COSTS = (0.2, 0.5, 1.0, 2.0)


def risk_figures(loss: NDArray[np.float64], risk: NDArray[np.float64]) -> dict[str, float | None]:
    """Return errors, bias and ranking of a risk; None for what a method without risk has not."""
    figures: dict[str, float | None] = {
        "predictor_loss": float(loss.mean()),
        "loss_variance": float(loss.var()),
        "risk_l1": None,
        "risk_l2": None,
        "risk_bias": None,
        "aurc": None,
    }
    if np.isfinite(risk).all():  # NaN: the method decides without an estimate of the risk
        figures |= {
            "risk_l1": risk_error(loss, risk, norm=1),
            "risk_l2": risk_error(loss, risk, norm=2),
            "risk_bias": float((risk - loss).mean()),
            "aurc": aurc(loss, risk),
        }
    return figures


def deferral_figures(
    loss: NDArray[np.float64], deferred: NDArray[np.bool_], cost: float
) -> dict[str, float]:
    """Return deferral loss and rate at a price, and what an oracle would have had."""
    return {
        "loss": float(np.where(deferred, cost, loss).mean()),
        "rate": float(deferred.mean()),
        "oracle": float(np.minimum(loss, cost).mean()),
    }
