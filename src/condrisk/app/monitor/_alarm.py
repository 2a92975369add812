"""An alarm when labels show larger losses than expected, right for a whole sequence of chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import check_confidence, check_vectors
from condrisk.app.monitor._evidence import TwoSampleTest
from condrisk.app.monitor._reference import Reference

Floats = NDArray[np.float64]
Kind = Literal["bounded", "capped", "relative"]

# Fewer held-out rows could not tell a loss that has doubled from chance.
FEWEST_ROWS = 20
# An excess below this counts as this, in units of the range of the loss: it bounds the bets.
LEAST_EXCESS = -0.5
# Of a loss without a greatest value: at so many times its scale a loss counts half.
HALF_AT = 4.0
# The share of the held-out rows that only tell the scale of such a loss.
SCALE_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class LossAlarm:
    """Whether losses have grown beyond what the risk leads one to expect.

    Attributes
    ----------
    level : float
        The largest probability of an alarm, at any time, while nothing has changed.
    kind : {"bounded", "capped", "relative"}
        What is compared: the mean excess of the loss over the risk; that of losses up to the cap;
        or, for a loss without a greatest value, the mean of z/(z + 4s), z being the loss and s the
        scale of its risk.
    evidence : ndarray of shape (n_chunks,)
        The evidence against every mean that could be that of both, after each chunk.
    threshold : float
        The evidence at which the alarm goes off.
    first : int or None
        The chunk in which it went off first; None if it did not.
    """

    level: float
    kind: Kind
    evidence: Floats
    threshold: float
    first: int | None


class Scores:
    """A bounded score of each row: larger the more its loss exceeds its risk.

    Parameters
    ----------
    reference : Reference
        With single held-out rows.
    minimum, maximum : float
        Limits of the loss; the greatest may be infinite.
    cap : float, optional
        Losses above it count as this.
    tolerance : float, default=0.0
        The share by which mean losses may exceed the risks without being worth an alarm.

    Attributes
    ----------
    kind : {"bounded", "capped", "relative"}
        How it is compared.
    reference : ndarray
        The scores of the held-out rows that take part.
    low : float
        The least score that counts.
    """

    def __init__(
        self,
        reference: Reference,
        *,
        minimum: float,
        maximum: float = math.inf,
        cap: float | None = None,
        tolerance: float = 0.0,
    ) -> None:
        if not tolerance >= 0:
            raise ValueError(f"tolerance must be a share of at least 0, got {tolerance!r}.")
        if not math.isfinite(minimum):
            raise ValueError("minimum must be finite: without a least loss there is no such test.")
        if cap is not None and not minimum < cap < math.inf:
            raise ValueError(f"cap must be a loss above the least one, {minimum:g}; got {cap!r}.")
        if len(reference.row_loss) < FEWEST_ROWS:
            raise ValueError(
                f"reference has {len(reference.row_loss)} single rows; the alarm needs at least "
                f"{FEWEST_ROWS}."
            )
        self._minimum, self._tolerance = minimum, tolerance
        top = maximum if cap is None else min(cap, maximum)
        self._range = top - minimum
        risk, loss = reference.row_risk, reference.row_loss
        if math.isfinite(self._range):
            self.kind: Kind = "capped" if cap is not None and cap < maximum else "bounded"
            self.low = LEAST_EXCESS
            self.reference = self._excess(loss, risk, 0.0)
            return
        self.kind = "relative"
        n_scale = max(5, int(SCALE_SHARE * len(risk)))
        self._scale = max(float(np.mean(risk[:n_scale])) - minimum, 0.0)
        self._centre = 0.0
        self._centre = float(self._share(loss[:n_scale], risk[:n_scale], 0.0).mean())
        self.low = -self._centre
        self.reference = self._share(loss[n_scale:], risk[n_scale:], 0.0)

    def of(self, loss: Floats, risk: Floats) -> Floats:
        """Return the scores of new rows."""
        if len(loss) and loss.min() < self._minimum:
            raise ValueError(f"loss must be at least minimum={self._minimum:g}, got {loss.min()}.")
        if self.kind == "relative":
            return self._share(loss, risk, self._tolerance)
        return self._excess(loss, risk, self._tolerance)

    def _excess(self, loss: Floats, risk: Floats, tolerance: float) -> Floats:
        z = np.minimum(loss - self._minimum, self._range)
        r = np.clip(risk - self._minimum, 0.0, self._range)
        return np.asarray((z - (1 + tolerance) * r) / self._range)

    def _share(self, loss: Floats, risk: Floats, tolerance: float) -> Floats:
        z = loss - self._minimum
        scale = (
            HALF_AT * (1 + tolerance) * (np.maximum(risk - self._minimum, 0.0) + self._scale) / 2
        )
        whole = z + scale
        return np.divide(z, whole, out=np.zeros_like(z), where=whole > 0) - self._centre


def loss_alarm(
    loss: ArrayLike,
    risk: ArrayLike,
    chunks: Sequence[NDArray[np.intp]],
    reference: Reference,
    *,
    level: float = 0.05,
    tolerance: float = 0.0,
    minimum: float = 0.0,
    maximum: float = math.inf,
    cap: float | None = None,
) -> LossAlarm:
    """Test after each chunk whether losses are larger than the risks say.

    Parameters
    ----------
    loss, risk : array-like of shape (n_rows,)
        Realised losses and estimated risks of labelled rows.
    chunks : sequence of arrays of int
        The rows of each chunk, in the order of time; a chunk may be empty.
    reference : Reference
        How losses went with risks on held-out rows, row by row.
    level : float, default=0.05
        The largest probability of an alarm in the whole sequence, however long it gets, as long
        as new rows are drawn like the held-out ones.
    tolerance : float, default=0.0
        The share by which mean losses may exceed the risks without being worth an alarm.
    minimum, maximum : float, default=0.0, inf
        The least and the greatest value of the loss. There must be a least one.
    cap : float, optional
        Losses above it count as this. It has to be chosen before the rows are looked at.

    Returns
    -------
    LossAlarm
        The evidence after each chunk, and the first at which the alarm went off.

    See Also
    --------
    condrisk.app.monitor.TwoSampleTest : The test itself, with the mathematics.

    Notes
    -----
    The test has two samples, the held-out rows and the new ones: that the mean of the held-out rows
    is only known as well as their number allows is inside it. The false-alarm probability is exact
    for any number of rows and any distribution of the losses, while new rows are drawn like the
    held-out ones and these were not used to fit predictor or risk.

    * Of a loss with a least and a greatest value, and of any loss with a `cap`, the mean excess of
      the loss over the risk is compared: an alarm says that it has become larger.
    * Of a loss without a greatest value no test of the mean can be exact and have power (Bahadur
      and Savage, 1956). Compared is the mean of z/(z + 4s), with s = (r + r̄)/2, r the risk and r̄
      its mean over a tenth of the held-out rows, which then take no further part. It grows with
      the loss and is bounded, so the same test is exact: for the hypothesis that new rows are
      exchangeable with the held-out ones. An alarm says that losses have grown against their
      risks; it says nothing of rare huge losses, which hardly move it.

    That labels come for some rows only does no harm if which ones is a matter of chance.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.app.monitor import Reference, loss_alarm
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(1, 3, size=5000)
    >>> loss = risk * rng.exponential(size=5000)
    >>> reference = Reference.from_rows(risk[:1000], loss[:1000])
    >>> loss[3000:] *= 1.5
    >>> weeks = np.split(np.arange(4000), 8)
    >>> loss_alarm(loss[1000:], risk[1000:], weeks, reference).first
    4
    """
    check_confidence(1 - level)
    loss, risk = check_vectors(loss=loss, risk=risk)
    scores = Scores(reference, minimum=minimum, maximum=maximum, cap=cap, tolerance=tolerance)
    values = scores.of(loss, risk)
    test = TwoSampleTest(scores.reference, low=scores.low, level=level)
    evidence = np.array([test.update(test.gain_of(values[rows])) for rows in chunks])
    over = np.flatnonzero(evidence >= test.threshold)
    first = int(over[0]) if len(over) else None
    return LossAlarm(level, scores.kind, evidence, test.threshold, first)
