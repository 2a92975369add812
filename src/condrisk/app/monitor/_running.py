"""Monitoring that goes on: chunk after chunk, with the state of the alarm between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl

from condrisk.app.models import TableModel
from condrisk.app.monitor._alarm import FEWEST_ROWS, Kind, Scores
from condrisk.app.monitor._drift import Support
from condrisk.app.monitor._evidence import TwoSampleTest
from condrisk.app.monitor._expected import Expectation
from condrisk.app.monitor._reference import Reference
from condrisk.app.monitor._rows import Batch, Reader, read_batches
from condrisk.app.monitor._sums import (
    ChunkSums,
    Summing,
    name_of_rows,
    name_of_time,
    parts_by_rows,
    parts_by_time,
)
from condrisk.app.tables import TableError

NO_MINIMUM = "There is no alarm: this loss has no least value, or none is known."
NO_ROWS = (
    f"There is no alarm: it needs at least {FEWEST_ROWS} held-out rows one by one, and the model "
    f"file has none; fit it again, or give reference (--reference)."
)


class Running:
    """What `monitor` does with rows, whoever brings them.

    Parameters
    ----------
    model : TableModel
        The model.
    reference : Reference
        The held-out rows.
    confidence, level, tolerance : float
        Of the bands; of the alarm; how much larger losses may be.
    cap : float or None
        Larger losses count as this in the alarm.
    time : str or None
        The column of times.
    support : Support or None
        Where the rows fitted on lie.
    """

    def __init__(
        self,
        model: TableModel,
        reference: Reference,
        *,
        confidence: float,
        level: float,
        tolerance: float,
        cap: float | None,
        time: str | None = None,
        support: Support | None = None,
    ) -> None:
        loss = getattr(getattr(model.model, "risk_", None), "loss_", None)
        minimum = float(getattr(loss, "minimum", -np.inf))
        maximum = float(getattr(loss, "maximum", np.inf))
        self.model, self.reference = model, reference
        self.expectation = Expectation(
            reference, confidence=confidence, minimum=minimum, maximum=maximum
        )
        self.reader = Reader(model, binned=reference.columns, time=time, support=support)
        self.scores, self.test, self.why_not = self._alarm(minimum, maximum, cap, tolerance, level)
        gain_of = None if self.test is None else self._gain
        self._summing = Summing(self.expectation, self.reader.n_bins, gain_of)
        self.chunks: list[tuple[str, ChunkSums]] = []
        self.columns: tuple[str, ...] = ()
        self.seen = self.used = self.bad = self.timeless = 0
        self.reason, self.labelled = "", False

    def _alarm(
        self,
        minimum: float,
        maximum: float,
        cap: float | None,
        tolerance: float,
        level: float,
    ) -> tuple[Scores | None, TwoSampleTest | None, str]:
        if not np.isfinite(minimum):
            return None, None, NO_MINIMUM
        if len(self.reference.row_loss) < FEWEST_ROWS:
            return None, None, NO_ROWS
        scores = Scores(
            self.reference, minimum=minimum, maximum=maximum, cap=cap, tolerance=tolerance
        )
        return scores, TwoSampleTest(scores.reference, low=scores.low, level=level), ""

    def _gain(self, loss: Any, risk: Any) -> Any:
        assert self.scores is not None
        assert self.test is not None
        return self.test.gain_of(self.scores.of(loss, risk))

    @property
    def kind(self) -> Kind | None:
        """What the alarm compares; None where there is none."""
        return None if self.scores is None else self.scores.kind

    def read(
        self,
        frames: Iterable[pl.DataFrame],
        *,
        rows: int,
        every: str | None = None,
        progress: Callable[[int], Any] = lambda rows: None,
    ) -> None:
        """Take in the rows of a table; its last chunk ends with it."""
        open_: dict[int, ChunkSums] = {}
        here = 0
        started = self.used
        for batch in read_batches(self.reader, frames):
            self._count(batch)
            if not len(batch.risk):
                continue
            if every is None:
                parts: Iterable[Any] = parts_by_rows(batch, rows, here)
            else:
                parts = parts_by_time(batch, every)
                self.timeless += batch.times.null_count() if batch.times is not None else 0
            for key, where in parts:
                sums = self._summing(batch, where)
                open_[key] = open_[key] + sums if key in open_ else sums
            here += len(batch.risk)
            if every is None:
                for key in [key for key in open_ if (key + 1) * rows <= here]:
                    self._end(name_of_rows(started + key * rows, rows), open_.pop(key))
            progress(self.seen)
        self.used += here
        for key in sorted(open_):
            sums = open_.pop(key)
            if every is None:
                name = name_of_rows(started + key * rows, int(sums.risks.n))
            else:
                name = name_of_time(key, every)
            self._end(name, sums)

    def _count(self, batch: Batch) -> None:
        self.columns = batch.columns
        if batch.bad and not self.bad:
            row, why = next(iter(batch.bad.items()))
            self.reason = f"in row {self.seen + row + 1:,} {why}"
        self.bad += len(batch.bad)
        self.seen += batch.seen

    def _end(self, name: str, sums: ChunkSums) -> None:
        evidence = None
        self.labelled = self.labelled or sums.labelled.n > 0
        if self.test is not None and self.labelled:
            assert sums.gain is not None
            evidence = self.test.update(sums.gain)
        self.chunks.append((name, sums.ended(evidence)))

    def notes(self) -> list[str]:
        """Return what is to be said of the rows as a whole."""
        found = []
        if self.bad:
            found.append(f"{self.bad:,} rows cannot be used and are left out; {self.reason}")
        if self.timeless:
            found.append(f"{self.timeless:,} rows have no time that can be read, and are left out.")
        if self.why_not and any(sums.labelled.n for _, sums in self.chunks):
            found.append(self.why_not)
        return found

    def check(self, time: str | None) -> None:
        """Raise `TableError` where there was no row to work with."""
        if self.chunks:
            return
        if self.used and time is not None:
            raise TableError(f"column {time!r} has no time such as 2026-11-15 in any row.")
        raise TableError(
            f"the table has no row that the model can use: {self.reason or 'it is empty'}."
        )
