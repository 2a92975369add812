"""Whether new rows have left the region where the risk was learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom, norm

from condrisk.app.models import TableModel
from condrisk.app.monitor._reference import Reference
from condrisk.app.tables import Checked, TableError, check_rows, clean_text
from condrisk.persistence import Column

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# The share of rows like those learnt on that a support takes for others.
RATE = 0.01
_MICROSECONDS = 24 * 3600 * 1_000_000  # of a day


def outside_columns(frame: pl.DataFrame, checked: Checked, columns: tuple[Column, ...]) -> Any:
    """Tell which checked rows leave what was seen of each column when fitting.

    Returns
    -------
    dict of str to ndarray of bool
        For each column: beyond its range, a category not seen, or missing where it never was.
    """
    return {
        column.name: _outside(frame[column.name].gather(checked.rows), checked, column)
        for column in columns
    }


def _outside(given: pl.Series, checked: Checked, column: Column) -> Flags:
    values = checked.good[column.name]
    empty = values.is_null()
    if column.kind == "text":
        known = column.categories
        strange = ~values.is_in(known) if known else pl.Series(np.zeros(len(values), dtype=bool))
        strange = strange.fill_null(False)
        return (strange | empty if column.missing == 0 else strange).to_numpy()
    if column.kind == "category":
        unseen = empty & clean_text(given).is_not_null()
        found = unseen | empty if column.missing == 0 else unseen
        return found.to_numpy()
    if column.kind in ("date", "datetime"):
        values = values.cast(pl.Datetime("us")).to_physical() / _MICROSECONDS
    if column.low is not None and column.high is not None:
        numbers = values.cast(pl.Float64).fill_nan(None)
        empty = numbers.is_null()
        beyond = ((numbers < column.low) | (numbers > column.high)).fill_null(False)
    else:
        beyond = pl.Series(np.zeros(len(values), dtype=bool))
    return (beyond | empty if column.missing == 0 else beyond).to_numpy()


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


def risk_p_value(risk: Floats, reference: Reference) -> float:
    """Return the p-value of the new risks having the mean that held-out rows have.

    A normal test of two samples. Its variance has a third part, that of the mean loss of the
    held-out rows around their risks: a model that was fitted again on all rows after it was
    measured has risks of another level, and it is by about so much that this may differ.
    """
    share = reference.n / reference.n.sum()
    spread = float(share @ (reference.risk - reference.mean_risk) ** 2)
    level = float(share @ reference.residual_square)
    variance = float(np.var(risk)) / len(risk) + (spread + level) / reference.rows
    difference = abs(float(risk.mean()) - reference.mean_risk)
    if variance == 0:
        return float(difference == 0)
    return float(2 * norm.sf(difference / np.sqrt(variance)))
