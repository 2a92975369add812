"""Whether new rows have left the region where the risk was learnt."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom, norm

from condrisk.app.models import TableModel
from condrisk.app.monitor._reference import Reference
from condrisk.app.tables import TableError, check_rows

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# The share of rows like those learnt on that a support takes for others.
RATE = 0.01


class Support:
    """Where rows that the model was fitted on are, so that others can be told from them."""

    def __init__(self, model: TableModel, frame: pl.DataFrame) -> None:
        from condrisk.deferral import SupportRule

        self._numbers = model.numbers  # text has no distances
        X = self._numbers(check_rows(model.schema, frame).good)
        if len(X) < 50:
            raise TableError(f"the reference has {len(X)} usable rows; at least 50 are needed.")
        zeros = np.zeros(len(X))
        self._rule = SupportRule(rate=RATE).fit(zeros, zeros, X=X)

    def outside(self, good: pl.DataFrame) -> Flags:
        """Tell which rows have less support than all but one in a hundred of those fitted on."""
        X = self._numbers(good)
        return self._rule.defer(np.zeros(len(X)), X=X, cost=1.0)


def outside_p_value(n_outside: int, n_rows: int, usual: float) -> float:
    """Return the probability of so many rows outside, or more, where `usual` is their share."""
    return float(binom.sf(n_outside - 1, n_rows, min(usual, 1.0)))


def risk_p_value(mean: float, variance: float, n_rows: float, reference: Reference) -> float:
    """Return the p-value of the new risks having the mean that held-out rows have.

    A normal test of two samples. Its variance has a third part, that of the mean loss of the
    held-out rows around their risks: a model that was fitted again on all rows after it was
    measured has risks of another level, and it is by about so much that this may differ.
    """
    share = reference.n / reference.n.sum()
    spread = float(share @ (reference.risk - reference.mean_risk) ** 2)
    level = float(share @ reference.residual_square)
    whole = variance / n_rows + (spread + level) / reference.rows
    difference = abs(mean - reference.mean_risk)
    if whole == 0:
        return float(difference == 0)
    return float(2 * norm.sf(difference / np.sqrt(whole)))
