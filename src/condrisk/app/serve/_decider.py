"""From the rows of several requests to the decisions for each, in one call of the model."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import chain
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.models import TableModel
from condrisk.app.serve._fixed_tags import with_fixed_tags
from condrisk.app.serve._json_rows import Row
from condrisk.app.serve._metrics import Metrics
from condrisk.app.serve._refusal import MOST_REASONS, RefusedError, bad_rows
from condrisk.app.tables import check_rows

Floats = NDArray[np.float64]

# Up to that many rows are decided in the event loop, if that takes no longer than this. To wake a
# thread costs a part of it, and Python would hand over only after five milliseconds anyway.
AT_ONCE_ROWS = 64
AT_ONCE_SECONDS = 0.004
_PROBES = 5


class Job(NamedTuple):
    """What one request wants to know.

    `rows` have passed the check of the schema: tuples of values, or a frame of them. `cost` is
    None for the model's own. `unseen` has, for columns of categories, the positions of rows with
    one that was not seen when fitting. `extras` are what is to be said of each row beside the
    decision: "explain", "parts", "probabilities".
    """

    rows: list[Row] | pl.DataFrame
    cost: float | None
    unseen: Mapping[str, Sequence[int]] = MappingProxyType({})
    extras: tuple[str, ...] = ()


class Decided(NamedTuple):
    """Prediction, risk, decision and what is outside, row by row; and what else was asked for."""

    prediction: NDArray[Any]
    risk: Floats
    deferred: NDArray[np.bool_]
    outside: list[list[str]]
    extras: dict[str, list[Any]]

    def part(self, begin: int, end: int) -> Decided:
        """Return the decisions of some rows, from the first to the one after the last."""
        return Decided(
            self.prediction[begin:end],
            self.risk[begin:end],
            self.deferred[begin:end],
            self.outside[begin:end],
            {},
        )


class Decider:
    """Decides for all jobs of a batch at once, by `TableModel.decide` as every command does.

    Parameters
    ----------
    model : TableModel
        The model.
    metrics : Metrics
        Where rows are counted.
    defer_outside : bool, default=False
        Whether rows outside what was seen when fitting are deferred.
    """

    def __init__(self, model: TableModel, *, metrics: Metrics, defer_outside: bool = False) -> None:
        self._defer_outside = defer_outside
        self._model = copy.copy(model)
        self._model.model = with_fixed_tags(model.model)
        self._types = _types_of(model)
        # Of a wide model the first columns: nothing tells a service which rows will come.
        self._explaining = model.first_columns
        self._metrics = metrics

    def __call__(self, jobs: list[Job]) -> list[Decided | RefusedError]:
        """Return the decisions of each job.

        Parameters
        ----------
        jobs : list of Job
            What is asked.

        Returns
        -------
        list of Decided or RefusedError
            An error only for a job on its own: of a batch that the model does not take, each job
            has to be tried alone.
        """
        began = perf_counter()
        try:
            decided = self._all(jobs)
        except ValueError:
            if len(jobs) > 1:
                raise
            return [bad_rows(self._undecidable_rows(jobs[0]))]
        self._count(decided, perf_counter() - began)
        if len(jobs) == 1:
            return [self._with_extras(decided, jobs[0])]
        ends = np.cumsum([len(job.rows) for job in jobs]).tolist()
        begins = [0, *ends]
        parts = [decided.part(begin, end) for begin, end in zip(begins, ends, strict=False)]
        return [self._with_extras(part, job) for part, job in zip(parts, jobs, strict=True)]

    def _with_extras(self, decided: Decided, job: Job) -> Decided:
        """Add what a request asks for beside the decisions."""
        if not job.extras:
            return decided
        frame, model = self._frame([job]), self._model
        extras: dict[str, list[Any]] = {}
        if "probabilities" in job.extras:
            labels = list(map(str, model.classes or []))
            rows = model.class_probabilities(frame).tolist()
            extras["probabilities"] = [dict(zip(labels, row, strict=True)) for row in rows]
        if "parts" in job.extras:
            parts = (part.tolist() for part in model.decompose_risk(frame))
            names = ("floor", "gap", "correction")
            rows = zip(*parts, strict=True)
            extras["parts"] = [dict(zip(names, row, strict=True)) for row in rows]
        if "explain" in job.extras:
            found = model.explain(frame, decided.risk, columns=self._explaining)
            extras["raised_by"] = [
                [{"column": name, "change": change} for name, change in found.most(row)]
                for row in range(frame.height)
            ]
        return decided._replace(extras=extras)

    def rows_at_once(self, example: Row) -> int:
        """Try how many rows are decided as soon as a thread could be woken.

        Parameters
        ----------
        example : tuple
            A row.

        Returns
        -------
        int
            `AT_ONCE_ROWS`, or 0 if that many take longer or have no decision.
        """
        cost = 0.0 if self._model.cost is None else self._model.cost
        job = Job([example] * AT_ONCE_ROWS, cost)
        seconds = []
        for _ in range(_PROBES):
            began = perf_counter()
            try:
                self._all([job])
            except Exception:  # the example is none for this model; its requests will be told
                return 0
            seconds.append(perf_counter() - began)
        return AT_ONCE_ROWS if min(seconds) <= AT_ONCE_SECONDS else 0

    def _all(self, jobs: list[Job]) -> Decided:
        """Decide; a ValueError says that the model has no answer for some of the rows."""
        frame = self._frame(jobs)
        with np.errstate(all="ignore"):
            decision = self._model.decide(frame, cost=self._costs(jobs))
        outside = self._model.outside(frame, _unseen(jobs))
        deferred = np.asarray(decision.deferred)
        decided = Decided(
            np.asarray(decision.prediction),
            np.asarray(decision.risk),
            deferred | outside.any if self._defer_outside else deferred,
            outside.names(),
            {},
        )
        for name, values in (("prediction", decided.prediction), ("risk", decided.risk)):
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise ValueError(f"the {name} is NaN or infinite on some rows.")
        return decided

    def _frame(self, jobs: list[Job]) -> pl.DataFrame:
        lists = [job.rows for job in jobs if isinstance(job.rows, list)]
        if len(lists) == len(jobs):
            return self._framed(list(chain.from_iterable(lists)))
        return pl.concat([self._framed(job.rows) for job in jobs])

    def _framed(self, rows: list[Row] | pl.DataFrame) -> pl.DataFrame:
        if isinstance(rows, pl.DataFrame):
            return rows
        columns = zip(self._types.items(), zip(*rows, strict=True), strict=True)
        return pl.DataFrame([pl.Series(name, cells, kind) for (name, kind), cells in columns])

    def _undecidable_rows(self, job: Job) -> dict[int, str]:
        """Return rows that have no answer, and why, by halving until they are alone."""
        found: dict[int, str] = {}
        parts = [(0, len(job.rows))]
        while parts and len(found) < MOST_REASONS:
            begin, end = parts.pop()
            try:
                self._all([Job(job.rows[begin:end], job.cost)])
            except ValueError as error:
                if end - begin == 1:
                    found[begin] = f"the model has no answer for it: {error}"
                else:
                    half = (begin + end) // 2
                    parts += [(half, end), (begin, half)]
        return found

    def _costs(self, jobs: list[Job]) -> Floats | None:
        if not self._model.uses_cost:
            return None
        own = self._model.cost
        costs = [own if job.cost is None else job.cost for job in jobs]
        sizes = [len(job.rows) for job in jobs]
        return np.repeat(np.array(costs, dtype=np.float64), sizes)

    def _count(self, decided: Decided, seconds: float) -> None:
        metrics = self._metrics
        metrics.batch_rows.observe(len(decided.risk))
        metrics.batch_seconds.observe(seconds)
        metrics.deferred += int(np.count_nonzero(decided.deferred))
        metrics.risk += float(decided.risk.sum())


def _unseen(jobs: list[Job]) -> dict[str, list[int]]:
    """Return the rows with categories that were not seen, by their positions among all jobs."""
    found: dict[str, list[int]] = {}
    begin = 0
    for job in jobs:
        for name, rows in job.unseen.items():
            found.setdefault(name, []).extend(begin + int(row) for row in rows)
        begin += len(job.rows)
    return found


def _types_of(model: TableModel) -> dict[str, Any]:
    """Return the types of checked rows: those that a table without rows has after its check."""
    nothing = pl.DataFrame(schema=dict.fromkeys(model.schema.names, pl.Null))
    return dict(check_rows(model.schema, nothing).good.schema)
