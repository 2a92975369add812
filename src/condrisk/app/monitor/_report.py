"""What monitoring finds: chunk by chunk, and in all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from condrisk.app.monitor._expected import ExpectedLoss

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        The largest probability of an alarm in the whole sequence while nothing has changed, and
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; no value is NaN or infinite."""
        return _plain(asdict(self))

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


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else 1e308
    return value
