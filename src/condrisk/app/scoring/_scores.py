"""What a model says about the rows of a batch, one line for each row, good or bad."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from condrisk.app.models import TableModel
from condrisk.app.tables import Checked, check_rows, to_polars

ADDED = ("prediction", "risk", "defer")
PARTS = ("floor", "gap", "correction")
_UNSEEN = b"unseen"


def added_names(*, parts: bool) -> tuple[str, ...]:
    """Return the names of the new columns."""
    return (*ADDED, *PARTS) if parts else ADDED


def prediction_type(model: TableModel) -> pa.DataType:
    """Return the type of the column of predictions."""
    return pa.float64() if model.classes is None else pa.array(model.classes).type


def score_table(
    model: TableModel,
    table: pa.Table,
    *,
    cost: float | None,
    bad: Mapping[int, str] | None = None,
    parts: bool = False,
) -> pa.Table:
    """Score rows that may be bad.

    Parameters
    ----------
    model : TableModel
        The model.
    table : pyarrow.Table
        Rows, with the columns of the model among theirs.
    cost : float or None
        The price of asking; None is the model's own.
    bad : mapping of int to str, optional
        Rows that are known to be bad already, with the reason.
    parts : bool, default=False
        Whether to say what the risk is made of.

    Returns
    -------
    pyarrow.Table
        A row for each row: prediction, risk, defer, with `parts` floor, gap and correction, and
        reason. For a bad row only the reason is
        there, for a good one all but the reason.
    """
    frame = to_polars(table.select(list(model.schema.names)), "the table")
    return _scored(model, frame, cost=cost, bad=dict(bad or {}), parts=parts)


def _scored(
    model: TableModel, frame: pl.DataFrame, *, cost: float | None, bad: dict[int, str], parts: bool
) -> pa.Table:
    checked = check_rows(model.schema, frame)
    good, rows = _without(checked, bad)
    reasons = checked.bad | bad
    prediction: Any = []
    risk, deferred = np.empty(0), np.empty(0, dtype=bool)
    if len(rows):
        decision = model.decide(good, cost=cost)
        prediction, risk, deferred = decision.prediction, decision.risk, decision.deferred
    columns = [
        pa.array(prediction, type=prediction_type(model)),
        pa.array(risk, type=pa.float64()),
        pa.array(deferred, type=pa.bool_()),
    ]
    if parts:
        made_of = model.decompose_risk(good) if len(rows) else [np.empty(0)] * len(PARTS)
        columns += [pa.array(part, type=pa.float64()) for part in made_of]
    columns.append(pa.nulls(len(rows), pa.string()))
    if reasons:
        where = _positions(rows, frame.height)
        columns = [column.take(where) for column in columns[:-1]]
        columns.append(pa.array([reasons.get(at) for at in range(frame.height)], pa.string()))
    scores = pa.table(columns, names=[*added_names(parts=parts), "reason"])
    return scores.replace_schema_metadata({_UNSEEN: json.dumps(checked.unseen).encode()})


def unseen_categories(scores: pa.Table) -> dict[str, int]:
    """Return, for columns of categories, in how many rows one was unknown to the model."""
    return json.loads(scores.schema.metadata[_UNSEEN])


def _without(checked: Checked, bad: dict[int, str]) -> tuple[pl.DataFrame, NDArray[np.intp]]:
    if not bad:
        return checked.good, checked.rows
    keep = ~np.isin(checked.rows, list(bad))
    return checked.good.filter(pl.Series(keep)), checked.rows[keep]


def _positions(rows: NDArray[np.intp], n_rows: int) -> pa.Array:
    """Return where in the good rows each row stands; null for the others."""
    where = np.zeros(n_rows, dtype=np.int64)
    where[rows] = np.arange(len(rows))
    absent = np.ones(n_rows, dtype=bool)
    absent[rows] = False
    return pa.array(where, mask=absent)
