"""How good an estimate of g is, on rows with realised losses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condrisk.metrics import aurc, deferral_loss

Floats = NDArray[np.float64]

# Prices of deferring are these quantiles of the held-out training losses.
LEVELS = (0.5, 0.7, 0.85, 0.95)
# In QLIKE, losses and estimates count as this share of the training mean where they are less:
# a realised loss may be 0, whose logarithm is not finite.
FLOOR = 0.01


def scores(realised: Floats, risk: Floats, prices: Floats, typical: float) -> dict[str, float]:
    """Return the figures of one estimate.

    Parameters
    ----------
    realised : ndarray of shape (n_samples,)
        Losses of the rows to test on.
    risk : ndarray of shape (n_samples,)
        Their estimates.
    prices : ndarray of shape (n_prices,)
        Prices of deferring, one for each of `LEVELS`.
    typical : float
        The training mean of the loss.

    Returns
    -------
    dict of str to float
        Mean squared and absolute error, QLIKE, AURC, the mean estimate, deferral loss at each
        price, and the share of the row with the largest squared error in the sum of all.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.given_model._scores import scores
    >>> found = scores(np.array([1.0, 3.0]), np.array([1.0, 2.0]), np.full(4, 1.5), 2.0)
    >>> found["squared"], found["worst row"], found["deferral 0.5"]
    (0.5, 1.0, 1.25)
    """
    squared = (realised - risk) ** 2
    total = float(squared.sum())
    found = {
        "squared": float(squared.mean()),
        "absolute": float(np.abs(realised - risk).mean()),
        "QLIKE": qlike(realised, risk, FLOOR * typical),
        "AURC": aurc(realised, risk),
        "mean": float(risk.mean()),
        "worst row": float(squared.max()) / total if total else 0.0,
    }
    for level, price in zip(LEVELS, prices, strict=True):
        found[f"deferral {level:g}"] = deferral_loss(realised, risk, price)
    return found


def qlike(realised: Floats, risk: Floats, floor: float) -> float:
    """Return the mean of z / g − log(z / g) − 1, with z and g at least `floor`.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.given_model._scores import qlike
    >>> qlike(np.array([2.0, 1.0]), np.array([2.0, 1.0]), 0.01)
    0.0
    """
    if not floor > 0:
        return 0.0
    ratio = np.maximum(realised, floor) / np.maximum(risk, floor)
    return float(np.mean(ratio - np.log(ratio) - 1))
