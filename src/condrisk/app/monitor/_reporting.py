"""From the sums of chunks to what is said of them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np

from condrisk.app._numbers import Amounts, percent, unit_of
from condrisk.app.monitor._causes import cause_of, moved_columns
from condrisk.app.monitor._drift import RATE, outside_p_value, risk_p_value
from condrisk.app.monitor._report import ChunkReport
from condrisk.app.monitor._running import Running
from condrisk.app.monitor._sums import ChunkSums

# Tests on x in each chunk: rows outside, the mean risk, and the columns.
N_TESTS = 3


class Reporting:
    """What there is to say of the chunks of a running monitoring.

    Parameters
    ----------
    running : Running
        With the chunks.
    level : float
        The probability of any note on drift, over all chunks, while nothing has changed.
    """

    def __init__(self, running: Running, level: float) -> None:
        self._running, self._level = running, level
        self._expectation, self._reference = running.expectation, running.reference
        self._amounts = Amounts(running.model.manifest["loss"], unit_of(running.model.target))

    def chunk(self, k: int, share: float) -> ChunkReport:
        """Return the report of the k-th chunk, which has this share of the level."""
        name, sums = self._running.chunks[k]
        return self.report(name, sums, self._level * share)

    def together(self, chunks: Sequence[int]) -> ChunkReport:
        """Return the report of several chunks as if they were one."""
        parts = [self._running.chunks[k] for k in chunks]
        sums = functools.reduce(operator.add, (part for _, part in parts))
        name = parts[0][0] if len(parts) == 1 else f"{parts[0][0]} to {parts[-1][0]}"
        return self.report(name, sums, self._level)

    def report(self, name: str, sums: ChunkSums, level: float) -> ChunkReport:
        """Return the report of a chunk whose tests have this level together."""
        test, expectation = self._running.test, self._expectation
        expected = expectation.loss(sums.risks)
        n_labelled = int(sums.labelled.n)
        labelled = expectation.loss(sums.labelled) if n_labelled else None
        realised = sums.loss / n_labelled if n_labelled else None
        counts = self._running.reader.split(sums.counts)
        moved = moved_columns(self._running.reader.binned, counts, level / N_TESTS)
        left = self._left(sums, level / N_TESTS)
        riskier = self._riskier(sums, level / N_TESTS)
        y_moved = False
        if labelled is not None and realised is not None:
            y_moved = expectation.p_value(labelled, realised) < level
        notes = [*left, *riskier]
        fresh = [column.name for column in moved if not any(repr(column.name) in n for n in left)]
        if fresh:
            notes.append(_moved_note(fresh))
        return ChunkReport(
            name=name,
            rows=int(sums.risks.n),
            expected=expected,
            labelled=n_labelled,
            expected_labelled=labelled,
            realised=realised,
            evidence=sums.evidence,
            alarm=test is not None
            and sums.evidence is not None
            and sums.evidence >= test.threshold,
            outside=sums.outside / sums.risks.n,
            notes=tuple(notes),
            moved=moved,
            x_part=expected.risk - self._reference.mean_risk,
            y_part=None if labelled is None or realised is None else realised - labelled.mean,
            cause=cause_of(
                labelled=n_labelled > 0, x_moved=bool(notes), left=bool(left), y_moved=y_moved
            ),
        )

    def _left(self, sums: ChunkSums, level: float) -> list[str]:
        columns, n_seen = self._running.columns, self._running.model.schema.n_rows
        # Dates are not among the columns: that time goes on is no drift.
        n_columns = sum(bool(name) for name in columns)
        by_range = 2 * n_columns / (n_seen + 1) if n_seen else 0.0
        usual = by_range + (RATE if "" in columns else 0.0)
        n = int(sums.risks.n)
        if not usual or not sums.outside or outside_p_value(sums.outside, n, usual) >= level:
            return []
        return [
            f"{_share(sums.outside / n)} of the rows are outside the region where the risk was "
            f"learnt{self._where(sums)}; about {_share(usual)} would be usual"
        ]

    def _riskier(self, sums: ChunkSums, level: float) -> list[str]:
        n = sums.risks.n
        mean, before = sums.risks.risk / n, self._reference.mean_risk
        variance = max(sums.risks.square / n - mean**2, 0.0)
        if risk_p_value(mean, variance, n, self._reference) >= level:
            return []
        kind = "riskier" if mean > before else "less risky"
        return [
            f"rows are {kind} than the held-out ones were: mean risk {self._amounts.text(mean)} "
            f"against {self._amounts.text(before)}"
        ]

    def _where(self, sums: ChunkSums) -> str:
        """Return the columns in which rows are outside, the worst three."""
        order = np.argsort(-sums.outside_by, kind="stable")
        names = self._running.columns
        worst = [names[k] for k in order if names[k] and sums.outside_by[k]]
        return f" (by {', '.join(map(repr, worst[:3]))})" if worst else ""


def _moved_note(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    verb = "are" if len(names) > 1 else "is"
    return f"{', '.join(map(repr, names[:3]))}{more} {verb} distributed otherwise"


def _share(value: float) -> str:
    return percent(value).replace("\u00a0", " ")
