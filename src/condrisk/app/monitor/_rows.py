"""A table read once, batch by batch: what monitoring takes from each row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl
from joblib import cpu_count
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from condrisk._bins import BinnedColumn, column_values
from condrisk.app._names import listed, nearest
from condrisk.app.models import TableModel, plain_values
from condrisk.app.monitor._chunks import read_times
from condrisk.app.monitor._drift import Support
from condrisk.app.tables import Checked, TableError, check_rows, clean_text

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Batch:
    """What is taken from the usable rows of some rows of a table.

    Attributes
    ----------
    risk, loss : ndarray of shape (n_rows,)
        Estimated risk, and realised loss, NaN where there is no label.
    times : polars.Series or None
        When each was made.
    outside : ndarray of bool, shape (n_rows, n_columns)
        Which rows leave what was seen of each of `columns`; the last is for rows without support.
    columns : tuple of str
        Their names, "" for the last.
    codes : ndarray of int, shape (n_rows, n_binned)
        The bin of each binned column, counted through over all columns.
    seen : int
        How many rows there were, usable or not.
    bad : dict of int to str
        Rows that could not be used, and why.
    """

    risk: Floats
    loss: Floats
    times: pl.Series | None
    outside: NDArray[np.bool_]
    columns: tuple[str, ...]
    codes: NDArray[np.intp]
    seen: int
    bad: dict[int, str]


class Reader:
    """Takes from rows what monitoring needs of them.

    Parameters
    ----------
    model : TableModel
        The model.
    binned : sequence of BinnedColumn, default=()
        Columns whose distribution is followed.
    time : str, optional
        The column that holds the times.
    support : Support, optional
        Where the rows lie that the model was fitted on.
    """

    def __init__(
        self,
        model: TableModel,
        *,
        binned: tuple[BinnedColumn, ...] = (),
        time: str | None = None,
        support: Support | None = None,
    ) -> None:
        self._model, self._time, self._support = model, time, support
        columns = {column.name: column for column in model.schema.columns}
        self.binned = tuple(column for column in binned if column.name in columns)
        self._kinds = [columns[column.name] for column in self.binned]
        sizes = [len(column.count) for column in self.binned]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.n_bins = int(self._starts[-1])

    def __call__(self, frame: pl.DataFrame) -> Batch:
        """Return what there is of some rows."""
        model, checked = self._model, check_rows(self._model.schema, frame)
        good = checked.good
        n = len(checked.rows)
        found = model.outside(good, model.unseen(frame, checked), margin=0.0)
        outside, columns = found.flags, found.columns
        if self._support is not None:
            beyond = self._support.outside(good) if n else np.zeros(0, dtype=bool)
            outside, columns = np.column_stack([outside, beyond]), (*columns, "")
        times = None
        if self._time is not None:
            times = _times(frame, self._time).gather(checked.rows)
        return Batch(
            model.predict_risk(good) if n else np.empty(0),
            _losses(model, frame, checked),
            times,
            outside,
            columns,
            self._codes(good),
            frame.height,
            dict(checked.bad),
        )

    def _codes(self, good: pl.DataFrame) -> NDArray[np.intp]:
        codes = np.empty((good.height, len(self.binned)), dtype=np.intp)
        for k, (column, kind) in enumerate(zip(self.binned, self._kinds, strict=True)):
            values = column_values(plain_values(good[kind.name], kind), kind.kind)
            assert values is not None
            codes[:, k] = column.codes(values[0]) + self._starts[k]
        return codes

    def split(self, counts: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return the counts of all bins, column by column."""
        return np.split(counts, self._starts[1:-1]) if self.binned else []


def read_batches(reader: Reader, frames: Iterable[pl.DataFrame]) -> Iterator[Batch]:
    """Go through a table once, several batches at a time, in order; few are in memory."""
    n_threads = cpu_count()
    under_way: deque[Future[Batch]] = deque()
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(n_threads, initializer=_one_thread) as pool,
    ):
        try:
            for frame in frames:
                under_way.append(pool.submit(reader, frame))
                if len(under_way) >= 2 * n_threads:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _one_thread() -> None:
    threadpool_limits(1, user_api="openmp")  # OpenMP keeps the number for each thread that asks


def _losses(model: TableModel, frame: pl.DataFrame, checked: Checked) -> Floats:
    """Return the losses of the usable rows, NaN where the target is not there."""
    found = np.full(len(checked.rows), np.nan)
    if model.target is None or model.target not in frame.columns:
        return found
    column = frame[model.target].gather(checked.rows)
    if column.dtype == pl.String:
        column = clean_text(column)
    elif column.dtype.is_float():
        column = column.fill_nan(None)
    known = np.flatnonzero(column.is_not_null().to_numpy())
    if len(known):
        found[known] = model.loss_values(checked.good[known], column.gather(known))
    return found


def _times(frame: pl.DataFrame, name: str) -> pl.Series:
    if name not in frame.columns:
        raise TableError(
            f"the table has no column {name!r} with times{nearest(name, frame.columns)}; it has "
            f"{listed(frame.columns)}."
        )
    return read_times(frame[name])
