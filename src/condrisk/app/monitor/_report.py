"""What monitoring finds: chunk by chunk, and in all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk.app._numbers import Amounts, count, percent, unit_of
from condrisk.app._verdict import Sentence
from condrisk.app.monitor._alarm import Kind
from condrisk.app.monitor._causes import Cause, MovedColumn
from condrisk.app.monitor._expected import ExpectedLoss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ChunkReport:
    """What was found in one chunk.

    Attributes
    ----------
    name : str
        Its name.
    rows : int
        How many rows it has.
    expected : ExpectedLoss
        The mean loss to be expected of them, with a band for the realised one.
    labelled : int
        How many of them have a label.
    expected_labelled : ExpectedLoss or None
        The same for the labelled rows alone, with which their realised loss is compared.
    realised : float or None
        The mean loss of the labelled rows.
    evidence : float or None
        The evidence of larger losses than expected, after this chunk.
    alarm : bool
        Whether the alarm went off in this chunk or an earlier one.
    outside : float
        The share of rows outside the region where the risk was learnt.
    notes : tuple of str
        What has drifted, a sentence each.
    moved : tuple of MovedColumn
        The columns that are distributed otherwise than in the held-out rows, and by how much the
        expected loss has changed because of each.
    x_part : float
        By how much the mean risk is larger than that of the held-out rows: what x explains.
    y_part : float or None
        By how much the realised loss is larger than the expected one: what y given x would have
        to explain. None without labels.
    cause : {"none", "x", "y given x", "x and y given x", "unknown"}
        What happened, as far as the tests tell.
    """

    name: str
    rows: int
    expected: ExpectedLoss
    labelled: int
    expected_labelled: ExpectedLoss | None
    realised: float | None
    evidence: float | None
    alarm: bool
    outside: float
    notes: tuple[str, ...]
    moved: tuple[MovedColumn, ...]
    x_part: float
    y_part: float | None
    cause: Cause

    @property
    def in_band(self) -> bool | None:
        """Whether the realised loss lies in its band; None without labels."""
        if self.expected_labelled is None or self.realised is None:
            return None
        return self.expected_labelled.low <= self.realised <= self.expected_labelled.high


@dataclass(frozen=True)
class Monitoring:
    """What `monitor_table` found.

    Attributes
    ----------
    loss : str
        The name of the loss.
    confidence : float
        Of the bands.
    false_alarms : float
        The largest probability of an alarm in the whole run while nothing has changed, and
        of a note on drift.
    tolerance : float
        By which share losses may exceed the expected ones without an alarm.
    reference : dict
        Number of held-out rows, their mean risk and mean loss.
    chunks : tuple of ChunkReport
        In the order of time.
    alarm : str or None
        The chunk in which the alarm went off first; None if it did not.
    threshold : float or None
        The evidence at which it goes off; None where it could not be tested.
    notes : tuple of str
        About the table as a whole.
    target : str or None
        What the model predicts.
    kind : {"bounded", "capped", "relative"} or None
        What the alarm compares; None where there is none.
    cap : float or None
        Losses above it count as this in the alarm.
    overall : ChunkReport or None
        All chunks as one; from the alarm on, where there was one.
    """

    loss: str
    confidence: float
    false_alarms: float
    tolerance: float
    reference: dict[str, float]
    chunks: tuple[ChunkReport, ...]
    alarm: str | None
    threshold: float | None
    notes: tuple[str, ...]
    target: str | None = None
    kind: Kind | None = None
    cap: float | None = None
    overall: ChunkReport | None = None

    @property
    def drifted(self) -> tuple[ChunkReport, ...]:
        """The chunks in which drift was found."""
        return tuple(chunk for chunk in self.chunks if chunk.notes)

    def verdict(self) -> list[Sentence]:
        """Return what was found in sentences: on losses, on drift, and on what happened."""
        found = [self._on_losses(), self._on_drift(), self._on_cause()]
        return [sentence for sentence in found if sentence is not None]

    @property
    def claim(self) -> str | None:
        """What is sure of the alarm, in words; None where there was none."""
        if self.kind is None or self.threshold is None:
            return None
        rate = percent(self.false_alarms).replace("\u00a0", " ")
        sure = f"False-alarm probability over the whole run: at most {rate}"
        if self.kind == "capped":
            amounts = Amounts(self.loss, unit_of(self.target))
            return f"{sure}, for losses up to the cap of {amounts.text(self.cap or 0.0)}"
        if self.kind == "relative":
            return (
                f"{sure}, of a test whether losses are exchangeable with the held-out ones "
                f"relative to their risks: this loss has no greatest value, and of its mean "
                f"nothing is sure (--cap makes it a test of the mean)"
            )
        return sure

    def _on_losses(self) -> Sentence:
        labelled = [chunk for chunk in self.chunks if chunk.labelled]
        if not labelled:
            return Sentence("", "No labels, no alarm: what is shown is the loss to expect.")
        amounts = Amounts(self.loss, unit_of(self.target))
        n = sum(chunk.labelled for chunk in labelled)
        realised = sum(chunk.labelled * (chunk.realised or 0.0) for chunk in labelled) / n
        risks = (chunk.labelled * _mean_expected(chunk) for chunk in labelled)
        means = (
            f"{amounts.text(realised)} a row realised, {amounts.text(sum(risks) / n)} expected, on "
            f"{count(n)} labelled rows"
        )
        if self.claim is None:
            return Sentence("", f"{means[0].upper()}{means[1:]}; there is no alarm for them.")
        if self.alarm is None:
            return self._no_alarm(means)
        before = self._held_out(amounts)
        return Sentence(
            "caution",
            f"Alarm since {self.alarm}: losses are larger for their risks than on the held-out "
            f"rows ({means}; {before}). {self.claim}. Fit the model again on newer rows.",
        )

    def _held_out(self, amounts: Amounts) -> str:
        before = self.reference
        return (
            f"on the held-out rows {amounts.text(before['mean_loss'])} and "
            f"{amounts.text(before['mean_risk'])}"
        )

    def _no_alarm(self, means: str) -> Sentence:
        """Say that there is no alarm, and in how many chunks losses are larger than their band."""
        above = sum(
            chunk.expected_labelled is not None
            and (chunk.realised or 0.0) > chunk.expected_labelled.high
            for chunk in self.chunks
        )
        if not above:
            text = "No alarm: losses are not larger than expected by more than chance"
            return Sentence("good", f"{text} ({means}). {self.claim}.")
        chunks = f"{count(above)} of {count(len(self.chunks))} chunks"
        text = f"No alarm, but in {chunks} the realised loss is above its band"
        return Sentence("", f"{text} ({means}). {self.claim}.")

    def _on_drift(self) -> Sentence:
        level = percent(self.false_alarms).replace("\u00a0", " ")
        found, n = self.drifted, count(len(self.chunks))
        if not found:
            return Sentence(
                "good",
                f"No drift in {n} chunks (tested at a level of {level} for all of them)."
                if len(self.chunks) > 1
                else f"No drift (tested at a level of {level}).",
            )
        where = found[0].name if len(found) == 1 else f"{found[0].name} and {len(found) - 1} more"
        worst = max(found, key=lambda chunk: (chunk.outside, chunk.rows))
        return Sentence(
            "caution",
            f"Drift in {len(found)} of {n} chunks ({where}), by more than chance (level {level} "
            f"for all of them). In {worst.name}: {'; '.join(worst.notes)}.",
        )

    def _on_cause(self) -> Sentence | None:
        """Say what happened: x, y given x, both, or that it is not known."""
        one = self.overall
        if one is None or (one.cause == "none" and self.alarm is None):
            return None
        amounts = Amounts(self.loss, unit_of(self.target))
        says = {
            "none": "all rows together, neither x nor y given x has moved by more than chance",
            "x": "x has moved",
            "y given x": "y given x has moved: the same rows have other losses, and x has not",
            "x and y given x": "x and y given x have moved",
            "unknown": "unknown",
        }[one.cause]
        parts = [f"What happened in {one.name}? {says[0].upper()}{says[1:]}"]
        if not one.labelled:
            parts = [parts[0] if one.notes else f"What happened in {one.name}? In x nothing"]
            parts.append("whether y given x has moved cannot be seen without labels")
        elif one.cause == "unknown":
            parts.append(
                "rows have left the region where the risk was learnt, so that their losses may be "
                "due to x or to y given x"
            )
        if one.notes or one.y_part is not None:
            change = f"by x the expected loss has changed by {_signed(one.x_part, amounts)}"
            parts.append(change + _explained(one, amounts))
        if one.y_part is not None:
            parts.append(
                f"the realised one differs from what was expected by {_signed(one.y_part, amounts)}"
            )
        if one.cause == "y given x" and (one.y_part or 0.0) < 0:
            parts.append("rows that the model was fitted on look like this, too")
        return Sentence(
            "" if one.cause in ("none", "unknown") else "caution", f"{'; '.join(parts)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; no value is NaN or infinite."""
        said = [sentence.text.replace("\u00a0", " ") for sentence in self.verdict()]
        return _plain(asdict(self)) | {"claim": self.claim, "verdict": said}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw expected and realised losses.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new axes if not given.

        Returns
        -------
        matplotlib axes
            With the drawing.
        """
        from condrisk.app.monitor._figure import draw

        return draw(self, ax)

    def plot_all(self) -> Figure:
        """Draw losses, the evidence of the alarm and the columns that moved over time.

        Returns
        -------
        matplotlib figure
            With up to three axes.
        """
        from condrisk.app.monitor._figure import draw_all

        return draw_all(self)

    def to_html(self) -> str:
        """Return a page with everything: one file that loads nothing."""
        from condrisk.app.monitor._page import render

        return render(self)


def _signed(value: float, amounts: Amounts) -> str:
    return f"{'+' if value >= 0 else '−'}{amounts.text(abs(value))}".replace("\u00a0", " ")


def _explained(one: ChunkReport, amounts: Amounts) -> str:
    """Return which columns explain how much of the change of the expected loss."""
    if not one.moved:
        return ""
    names = [
        f"{column.name!r} {_signed(column.explained, amounts)}"
        + (f" ({100 * column.explained / one.x_part:.0f} %)" if _is_share(column, one) else "")
        for column in one.moved[:3]
    ]
    return f", of which {', '.join(names)}"


def _is_share(column: MovedColumn, one: ChunkReport) -> bool:
    """Tell whether a part can be given as a share of the change: of one of the same sign."""
    return one.x_part * column.explained > 0 and abs(column.explained) <= abs(one.x_part)


def _mean_expected(chunk: ChunkReport) -> float:
    expected = chunk.expected_labelled
    return chunk.expected.mean if expected is None else expected.mean


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else 1e308
    return value
