"""What is kept of a chunk: sums, to which the rows of further batches can be added."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from condrisk.app.monitor._chunks import starts_of
from condrisk.app.monitor._expected import Expectation, RiskSums
from condrisk.app.monitor._rows import Batch

Floats = NDArray[np.float64]
Counts = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ChunkSums:
    """Sums over the rows of a chunk.

    Attributes
    ----------
    risks, labelled : RiskSums
        Of all rows, and of those with a label.
    loss : float
        The sum of the realised losses.
    outside : int
        How many rows leave what was seen, in any column.
    outside_by : ndarray of int
        How many do in each column.
    counts : ndarray of int
        Rows in each bin of the columns that are followed.
    gain : ndarray or None
        What the rows are to the bets of the alarm; None where there is no alarm.
    evidence : float or None
        The evidence of the alarm after this chunk, once it is known.
    """

    risks: RiskSums
    labelled: RiskSums
    loss: float
    outside: int
    outside_by: Counts
    counts: Counts
    gain: Floats | None
    evidence: float | None = None

    def __add__(self, other: ChunkSums) -> ChunkSums:
        """Return the sums over the rows of both."""
        gain = None if self.gain is None or other.gain is None else self.gain + other.gain
        return ChunkSums(
            self.risks + other.risks,
            self.labelled + other.labelled,
            self.loss + other.loss,
            self.outside + other.outside,
            self.outside_by + other.outside_by,
            self.counts + other.counts,
            gain,
        )

    def ended(self, evidence: float | None) -> ChunkSums:
        """Return the sums of a chunk to which no row will be added."""
        return replace(self, gain=None, evidence=evidence)


class Summing:
    """Sums up the rows of batches, chunk by chunk.

    Parameters
    ----------
    expectation : Expectation
        What is summed of the risks.
    n_bins : int
        How many bins the followed columns have in all.
    gain_of : callable or None
        Returns what labelled rows, by loss and risk, are to the bets of the alarm.
    """

    def __init__(
        self,
        expectation: Expectation,
        n_bins: int,
        gain_of: Callable[[Floats, Floats], Floats] | None,
    ) -> None:
        self._expectation, self._n_bins, self._gain_of = expectation, n_bins, gain_of

    def __call__(self, batch: Batch, rows: Any) -> ChunkSums:
        """Return the sums over some rows of a batch."""
        risk, loss = batch.risk[rows], batch.loss[rows]
        known = np.isfinite(loss)
        whole = bool(known.all())
        risks = self._expectation.sums(risk)
        labelled = risks if whole else self._expectation.sums(risk[known])
        flags = batch.outside[rows]
        gain = None
        if self._gain_of is not None:
            gain = self._gain_of(loss[known], risk[known])
        return ChunkSums(
            risks,
            labelled,
            float(loss[known].sum()),
            int(flags.any(axis=1).sum()),
            flags.sum(axis=0),
            np.bincount(batch.codes[rows].ravel(), minlength=self._n_bins),
            gain,
        )


def parts_by_rows(batch: Batch, size: int, before: int) -> Iterator[tuple[int, slice]]:
    """Yield the chunk and the rows of each part of a batch, after so many rows before it."""
    n = len(batch.risk)
    at = 0
    while at < n:
        chunk = (before + at) // size
        end = min(n, (chunk + 1) * size - before)
        yield chunk, slice(at, end)
        at = end


def parts_by_time(batch: Batch, every: str) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield when the stretch of time begins, in microseconds, and its rows."""
    assert batch.times is not None
    starts = starts_of(batch.times, every)
    known = np.flatnonzero(starts.is_not_null().to_numpy())
    kept = starts.gather(known).to_physical().to_numpy()
    order = np.argsort(kept, kind="stable")
    cuts = np.flatnonzero(np.diff(kept[order])) + 1
    for part in np.split(order, cuts) if len(order) else []:
        yield int(kept[part[0]]), known[part]


def name_of_rows(start: int, n: int) -> str:
    """Return what to call rows: their numbers, from 1."""
    return f"{start + 1:,}–{start + n:,}"


def name_of_time(start: int, every: str) -> str:
    """Return what to call a stretch of time: when it begins."""
    form = "%Y-%m-%d %H:%M" if every.endswith("h") else "%Y-%m-%d"
    return str(pl.Series([start]).cast(pl.Datetime("us")).dt.strftime(form)[0])
