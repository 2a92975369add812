"""From the rows of several requests to the decisions for each, in one call of the model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.models import TableModel
from condrisk.app.serve._json_rows import Row
from condrisk.app.serve._metrics import Metrics
from condrisk.app.serve._quick import Decided, quick_decide
from condrisk.app.serve._refusal import MOST_REASONS, RefusedError, bad_rows

Floats = NDArray[np.float64]


class Job(NamedTuple):
    """What one request wants to know.

    `rows` are numbers as `TableModel.encode` gives them, `prediction` are those of an external
    predictor, and `cost` is None for the model's own price.
    """

    rows: list[Row] | Floats
    prediction: Sequence[Any] | None
    cost: float | None

    def part(self, begin: int, end: int) -> Job:
        """Return the job of some of its rows.

        Parameters
        ----------
        begin, end : int
            The first row, and the one after the last.

        Returns
        -------
        Job
            With the same price.
        """
        prediction = None if self.prediction is None else self.prediction[begin:end]
        return Job(self.rows[begin:end], prediction, self.cost)


class Decider:
    """Decides for all jobs of a batch at once; no row's answer depends on the others.

    Parameters
    ----------
    model : TableModel
        The model.
    priced : bool
        Whether its rule looks at a price.
    metrics : Metrics
        Where rows are counted.

    Attributes
    ----------
    at_once : bool
        Whether deciding is quicker than handing the rows to a thread.
    """

    def __init__(self, model: TableModel, *, priced: bool, metrics: Metrics) -> None:
        self._model = model
        self._decide, self.at_once = quick_decide(model)
        self._priced = priced
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
            return [decided]
        ends = np.cumsum([len(job.rows) for job in jobs])[:-1]
        return [
            Decided(*parts) for parts in zip(*(np.split(x, ends) for x in decided), strict=True)
        ]

    def _all(self, jobs: list[Job]) -> Decided:
        """Decide; a ValueError says that the model has no answer for some of the rows."""
        sizes = [len(job.rows) for job in jobs]
        with np.errstate(all="ignore"):
            decided = self._decide(
                _stack(jobs, sizes), self._prices(jobs, sizes), self._predictions(jobs)
            )
        prediction = decided.prediction
        if prediction.dtype.kind == "f" and not np.isfinite(prediction).all():
            raise ValueError("the prediction is NaN or infinite on some rows.")
        return decided

    def _undecidable_rows(self, job: Job) -> dict[int, str]:
        """Return rows that have no answer, and why, by halving until they are alone."""
        found: dict[int, str] = {}
        parts = [(0, len(job.rows))]
        while parts and len(found) < MOST_REASONS:
            begin, end = parts.pop()
            try:
                self._all([job.part(begin, end)])
            except ValueError as error:
                if end - begin == 1:
                    found[begin] = f"the model has no answer for it: {error}"
                else:
                    half = (begin + end) // 2
                    parts += [(half, end), (begin, half)]
        return found

    def _prices(self, jobs: list[Job], sizes: list[int]) -> Floats | None:
        if not self._priced:
            return None
        own = self._model.cost
        prices = [own if job.cost is None else job.cost for job in jobs]
        return np.repeat(np.array(prices, dtype=np.float64), sizes)

    def _predictions(self, jobs: list[Job]) -> NDArray[Any] | None:
        name = self._model.prediction_column
        if name is None:
            return None
        values = list(chain.from_iterable(job.prediction or () for job in jobs))
        return self._model.predictions(pl.DataFrame({name: values}))

    def _count(self, decided: Decided, seconds: float) -> None:
        metrics = self._metrics
        metrics.batch_rows.observe(len(decided.risk))
        metrics.batch_seconds.observe(seconds)
        metrics.deferred += int(np.count_nonzero(decided.deferred))
        metrics.risk += float(decided.risk.sum())


def _stack(jobs: list[Job], sizes: list[int]) -> Floats:
    if all(type(job.rows) is list for job in jobs):
        return np.array(list(chain.from_iterable(job.rows for job in jobs)), dtype=np.float64)
    full = [job.rows for job, size in zip(jobs, sizes, strict=True) if size]
    return np.concatenate([np.asarray(rows, dtype=np.float64) for rows in full])
