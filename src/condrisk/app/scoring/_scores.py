"""What a model says about the rows of a batch, one line for each row, good or bad."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from condrisk.app._dtypes import MAX_NUMBER
from condrisk.app._numbers import Amounts, unit_of
from condrisk.app.models import TableModel
from condrisk.app.tables import Checked, TableError, check_rows, to_polars
from condrisk.persistence import Column

ADDED = ("prediction", "risk", "defer", "outside")
PARTS = ("floor", "gap", "correction")
RAISED_BY = "raised_by"
LEAST_SHARE = 1e-6
_UNSEEN = b"unseen"


@dataclass(frozen=True)
class Wanted:
    """What is to be said of each row, beside prediction, risk, decision and what is outside.

    Attributes
    ----------
    cost : float or None
        The cost of deferring; None is the model's own.
    cost_column : str or None
        The column with the cost of each row, which counts instead.
    parts, probabilities : bool
        Whether to add what the risk is made of, and the probability of each class.
    explain : tuple of Column
        The columns of which some raise the risk of a row most; empty to leave that out.
    defer_outside : bool
        Whether rows outside what was seen are deferred.
    """

    cost: float | None = None
    cost_column: str | None = None
    parts: bool = False
    probabilities: bool = False
    explain: tuple[Column, ...] = ()
    defer_outside: bool = False

    def names(self, model: TableModel) -> tuple[str, ...]:
        """Return the names of the new columns."""
        return (
            *ADDED,
            *(PARTS if self.parts else ()),
            *(f"p_{label}" for label in model.classes or [] if self.probabilities),
            *((RAISED_BY,) if self.explain else ()),
        )

    def columns(self, model: TableModel) -> list[str]:
        """Return the names of the columns that are read."""
        own = list(model.schema.names)
        extra = self.cost_column
        return own if extra is None or extra in own else [*own, extra]

    def check(self, model: TableModel) -> None:
        """Raise `TableError` where the model cannot say it."""
        if self.cost is not None and self.cost_column is not None:
            raise TableError("cost and cost_column are two ways to give the cost: give one.")
        if self.cost_column is None:
            model.check_cost(self.cost)
        elif not model.uses_cost:
            raise TableError("cost_column has no use: the rule of the model does not use a cost.")
        if self.parts:
            model.check_parts()
        if self.probabilities:
            model.check_probabilities()


def prediction_type(model: TableModel) -> pa.DataType:
    """Return the type of the column of predictions."""
    return pa.float64() if model.classes is None else pa.array(model.classes).type


def score_table(
    model: TableModel, table: pa.Table, wanted: Wanted, *, bad: Mapping[int, str] | None = None
) -> pa.Table:
    """Score rows that may be bad.

    Parameters
    ----------
    model : TableModel
        The model.
    table : pyarrow.Table
        Rows, with the columns of the model among theirs.
    wanted : Wanted
        What is to be said of each.
    bad : mapping of int to str, optional
        Rows that are known to be bad already, with the reason.

    Returns
    -------
    pyarrow.Table
        A row for each row: what is wanted, and reason. For a bad row only the reason is there, for
        a good one all but the reason.
    """
    frame = to_polars(table.select(wanted.columns(model)), "the table")
    checked = check_rows(model.schema, frame)
    known_bad = dict(bad or {})
    costs = None
    if wanted.cost_column is not None:
        costs, wrong = _costs(frame[wanted.cost_column])
        known_bad = wrong | known_bad
    checked = _without(checked, known_bad)
    columns = _columns(model, frame, checked, wanted, costs)
    columns.append(pa.nulls(len(checked.rows), pa.string()))
    if checked.bad:
        where = _positions(checked.rows, frame.height)
        columns = [column.take(where) for column in columns[:-1]]
        columns.append(pa.array([checked.bad.get(at) for at in range(frame.height)], pa.string()))
    scores = pa.table(columns, names=[*wanted.names(model), "reason"])
    return scores.replace_schema_metadata({_UNSEEN: json.dumps(checked.unseen).encode()})


def _columns(
    model: TableModel, frame: pl.DataFrame, checked: Checked, wanted: Wanted, costs: Any
) -> list[pa.Array]:
    """Return the new columns of the good rows."""
    good = checked.good
    if not good.height:
        return _no_columns(model, wanted)
    cost = wanted.cost if costs is None else costs[checked.rows]
    decision = model.decide(good, cost=cost)
    outside = model.outside(good, model.unseen(frame, checked))
    deferred = np.asarray(decision.deferred)
    if wanted.defer_outside:
        deferred = deferred | outside.any
    words = [", ".join(names) or None for names in outside.names()]
    columns = [
        pa.array(decision.prediction, type=prediction_type(model)),
        pa.array(decision.risk, type=pa.float64()),
        pa.array(deferred, type=pa.bool_()),
        pa.array(words, type=pa.string()),
    ]
    if wanted.parts:
        columns += [pa.array(part, type=pa.float64()) for part in model.decompose_risk(good)]
    if wanted.probabilities:
        columns += [pa.array(p, type=pa.float64()) for p in model.class_probabilities(good).T]
    if wanted.explain:
        found = model.explain(good, np.asarray(decision.risk), columns=wanted.explain)
        amounts = Amounts(model.manifest["loss"], unit_of(model.target))
        most = (_raised_by(found.most(row), amounts) for row in range(good.height))
        columns.append(pa.array(most, pa.string()))
    return columns


def _raised_by(most: list[tuple[str, float]], amounts: Amounts) -> str | None:
    """Say what raises a risk; of wrong answers, not what does by less than one in a million."""
    told = [
        f"{name} (+{amounts.text(change)})".replace("\u00a0", " ")
        for name, change in most
        if not (amounts.in_percent and change < LEAST_SHARE)
    ]
    return ", ".join(told) or None


def _no_columns(model: TableModel, wanted: Wanted) -> list[pa.Array]:
    kinds = {"prediction": prediction_type(model), "defer": pa.bool_()}
    kinds |= dict.fromkeys(("outside", RAISED_BY), pa.string())
    return [pa.array([], kinds.get(name, pa.float64())) for name in wanted.names(model)]


def _costs(column: pl.Series) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return the cost of each row, and what is wrong with rows that have none."""
    if column.dtype == pl.String:
        column = column.str.strip_chars()
    costs = column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    wrong = np.flatnonzero(~((costs >= 0) & (costs <= MAX_NUMBER)))
    return costs, {
        int(row): f"column {column.name!r} holds {column[int(row)]!r}, but the cost of deferring "
        f"must be a number of at least 0."
        for row in wrong
    }


def unseen_categories(scores: pa.Table) -> dict[str, int]:
    """Return, for columns of categories, in how many rows one was unknown to the model."""
    return json.loads(scores.schema.metadata[_UNSEEN])


def _without(checked: Checked, bad: dict[int, str]) -> Checked:
    """Return the good rows that are not known to be bad for another reason."""
    if not bad:
        return checked
    keep = ~np.isin(checked.rows, list(bad))
    good = checked.good.filter(pl.Series(keep))
    return Checked(good, checked.rows[keep], bad | checked.bad, checked.unseen)


def _positions(rows: NDArray[np.intp], n_rows: int) -> pa.Array:
    """Return where in the good rows each row stands; null for the others."""
    where = np.zeros(n_rows, dtype=np.int64)
    where[rows] = np.arange(len(rows))
    absent = np.ones(n_rows, dtype=bool)
    absent[rows] = False
    return pa.array(where, mask=absent)
