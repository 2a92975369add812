"""The steps of monitoring a table that has been read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from condrisk.app.models import TableModel
from condrisk.app.monitor._alarm import LossAlarm, loss_alarm
from condrisk.app.monitor._chunks import Chunk
from condrisk.app.monitor._drift import RATE, outside_p_value, risk_p_value
from condrisk.app.monitor._expected import ExpectedLoss, expected_loss
from condrisk.app.monitor._reference import Reference
from condrisk.app.monitor._report import ChunkReport
from condrisk.app.monitor._rows import Rows


class Watch:
    """The steps of `monitor`, with what they share."""

    def __init__(
        self,
        model: TableModel,
        table: Rows,
        reference: Reference,
        chunks: list[Chunk],
        confidence: float,
        level: float,
        tolerance: float,
    ) -> None:
        self.model, self.table, self.reference, self.chunks = model, table, reference, chunks
        self.confidence, self.level, self.tolerance = confidence, level, tolerance
        # A risk estimator need not say what its loss is.
        loss = getattr(getattr(model.model, "risk_", None), "loss_", None)
        self.minimum = float(getattr(loss, "minimum", -np.inf))
        self.anywhere = np.any(list(table.outside.values()), axis=0)

    def alarm(self) -> tuple[LossAlarm | None, list[str]]:
        """Return the alarm, if there are labels, and why not otherwise."""
        labelled = np.isfinite(self.table.loss)
        if not labelled.any():
            return None, []
        if not np.isfinite(self.minimum):
            return None, ["There is no alarm: this loss has no least value, or none is known."]
        parts = [chunk.rows[labelled[chunk.rows]] for chunk in self.chunks]
        place = np.cumsum(labelled) - 1
        found = loss_alarm(
            self.table.loss[labelled],
            self.table.risk[labelled],
            [place[part] for part in parts],
            self.reference,
            level=self.level,
            tolerance=self.tolerance,
            minimum=self.minimum,
        )
        return found, []

    def report(self, k: int, alarm: LossAlarm | None) -> ChunkReport:
        """Return what there is to say of the k-th chunk."""
        rows = self.chunks[k].rows
        labelled = rows[np.isfinite(self.table.loss[rows])]
        whole = self._expected(rows)
        has = len(labelled) > 0
        same = len(labelled) == len(rows)
        return ChunkReport(
            name=self.chunks[k].name,
            rows=len(rows),
            expected=whole,
            labelled=len(labelled),
            expected_labelled=None if not has else whole if same else self._expected(labelled),
            realised=float(self.table.loss[labelled].mean()) if has else None,
            evidence=None if alarm is None else float(alarm.evidence[k]),
            alarm=alarm is not None and alarm.first is not None and alarm.first <= k,
            outside=float(self.anywhere[rows].mean()),
            notes=tuple(self._drift(rows)),
        )

    def _expected(self, rows: NDArray[np.intp]) -> ExpectedLoss:
        return expected_loss(
            self.table.risk[rows],
            self.reference,
            confidence=self.confidence,
            minimum=self.minimum,
        )

    def _drift(self, rows: NDArray[np.intp]) -> list[str]:
        """Return a sentence for each kind of drift that chance would hardly give."""
        level = self.level / (2 * len(self.chunks))
        notes, n_seen = [], self.model.schema.n_rows
        columns = [name for name in self.table.outside if name]
        by_range = 2 * len(columns) / (n_seen + 1) if n_seen else 0.0
        usual = by_range + (RATE if "" in self.table.outside else 0.0)
        n_outside = int(self.anywhere[rows].sum())
        if usual and n_outside and outside_p_value(n_outside, len(rows), usual) < level:
            notes.append(
                f"{n_outside / len(rows):.1%} of the rows are outside the region where the risk "
                f"was learnt{self._where(rows)}; about {usual:.1%} would be usual"
            )
        if risk_p_value(self.table.risk[rows], self.reference) < level:
            mean, before = float(self.table.risk[rows].mean()), self.reference.mean_risk
            kind = "riskier" if mean > before else "less risky"
            notes.append(
                f"rows are {kind} than the held-out ones were: mean risk {mean:.4g} against "
                f"{before:.4g}"
            )
        return notes

    def _where(self, rows: NDArray[np.intp]) -> str:
        """Return the columns in which rows are outside, the worst three."""
        counts = {
            name: int(flags[rows].sum()) for name, flags in self.table.outside.items() if name
        }
        worst = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
        return f" (by {', '.join(repr(name) for name in worst[:3])})" if worst else ""
