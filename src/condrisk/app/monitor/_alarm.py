"""An alarm when labels show larger losses than expected, right for a whole sequence of chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from condrisk._validation import check_confidence, check_vectors
from condrisk.app.monitor._reference import Reference

Floats = NDArray[np.float64]

# Bets that are mixed, as shares of the largest that cannot end the game.
BETS = np.geomspace(0.005, 0.9, 16)


@dataclass(frozen=True, eq=False)
class LossAlarm:
    """Whether losses have grown beyond what the risk leads one to expect.

    Attributes
    ----------
    level : float
        The largest probability of an alarm, at any time, while nothing has changed.
    limit : float
        How much larger than expected losses may be, as held-out rows leave open: the mean of
        (loss − risk)/(risk + mean risk) of the held-out rows, or zero, plus its uncertainty.
    evidence : ndarray of shape (n_chunks,)
        What a stake of one has become by betting on larger losses, after each chunk.
    threshold : float
        The evidence at which the alarm goes off.
    first : int or None
        The chunk in which it went off first; None if it did not.
    """

    level: float
    limit: float
    evidence: Floats
    threshold: float
    first: int | None


def loss_alarm(
    loss: ArrayLike,
    risk: ArrayLike,
    chunks: Sequence[NDArray[np.intp]],
    reference: Reference,
    *,
    level: float = 0.05,
    tolerance: float = 0.0,
    minimum: float = 0.0,
) -> LossAlarm:
    """Test after each chunk whether losses are larger than the risks say.

    Parameters
    ----------
    loss, risk : array-like of shape (n_rows,)
        Realised losses and estimated risks of labelled rows.
    chunks : sequence of arrays of int
        The rows of each chunk, in the order of time; a chunk may be empty.
    reference : Reference
        How losses went with risks on held-out rows.
    level : float, default=0.05
        The largest probability of an alarm in the whole sequence, however long it gets, as long
        as new rows are drawn like the held-out ones.
    tolerance : float, default=0.0
        The share by which mean losses may exceed the risks without being worth an alarm.
    minimum : float, default=0.0
        The least value of the loss. It must have one; a greatest value is not needed.

    Returns
    -------
    LossAlarm
        The evidence after each chunk, and the first at which the alarm went off.

    Notes
    -----
    The excess of a row is u = (z − (1 + tolerance) r)/(r + r̄), with its loss z and risk r less the
    least loss, and the mean risk r̄ of the held-out rows; it is never below −(1 + tolerance). If
    its mean is at most `limit`, then ∏ (1 + λ(uᵢ − limit)), 0 ≤ λ < 1/(1 + tolerance + limit), is
    a nonnegative supermartingale, and so is the mixture of these over 16 bets λ and over the
    chunk in which betting begins (the c-th with weight 1/(c(c + 1))), by which a change after a
    long quiet time is still found soon. It ever exceeds 2/level with probability at most level/2
    (Ville). The other half of the level is for `limit` being too low: it is an upper confidence
    limit of the mean excess on the held-out rows, by Student's t. This part is approximate, all
    else holds for any distribution of the losses. The bets are not those of
    `condrisk.inference.betting_p_values`, which aim at a number of rows that is known beforehand:
    here rows keep coming, and nobody knows when losses begin to grow.

    That labels come for some rows only does no harm if which ones depends on x alone.

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
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be a share of at least 0, got {tolerance!r}.")
    if not math.isfinite(minimum):
        raise ValueError("minimum must be finite: without a least loss there is no such test.")
    loss, risk = check_vectors(loss=loss, risk=risk)
    if loss.min() < minimum:
        raise ValueError(f"loss must be at least minimum={minimum:g}, got {loss.min()}.")
    scale = reference.mean_risk - minimum
    limit = _limit(reference, scale, minimum, level / 2)
    if scale <= 0:  # the loss has never been more than its least: nothing to compare with
        excess = np.where(loss > minimum, np.inf, -1.0)
    else:
        excess = scaled_excess(loss, risk, scale, minimum, tolerance)
    gains = np.array([log_gains(excess[rows], limit, tolerance) for rows in chunks])
    evidence = mixed_evidence(gains.reshape(len(chunks), len(BETS)))
    threshold = 2 / level
    over = np.flatnonzero(evidence >= threshold)
    return LossAlarm(level, limit, evidence, threshold, int(over[0]) if len(over) else None)


def scaled_excess(
    loss: Floats, risk: Floats, scale: float, minimum: float, tolerance: float
) -> Floats:
    """Return how much larger than expected each loss is, in units that suit its risk."""
    expected = np.maximum(risk - minimum, 0.0)
    return (loss - minimum - (1 + tolerance) * expected) / (expected + scale)


def _limit(reference: Reference, scale: float, minimum: float, level: float) -> float:
    """Return an upper confidence limit of the mean excess on held-out rows, zero at least."""
    if scale <= 0 or reference.rows < 2:
        return 0.0
    unit = reference.risk - minimum + scale
    share = reference.n / reference.n.sum()
    mean = float(share @ ((reference.loss - reference.risk) / unit))
    square = float(share @ (reference.residual_square / unit**2))
    n = reference.rows
    error = math.sqrt(max(square - mean**2, 0.0) / (n - 1))
    return max(0.0, mean + float(student.ppf(1 - level, n - 1)) * error)


def log_gains(excess: Floats, limit: float, tolerance: float) -> Floats:
    """Return the logarithm of what each bet makes of its stake over the rows of a chunk."""
    largest = 1 / (1 + tolerance + limit)
    gain = np.zeros(len(BETS))
    for start in range(0, len(excess), 65_536):
        part = excess[start : start + 65_536]
        gain += np.log1p(BETS[:, None] * largest * (part - limit)).sum(axis=1)
    return gain


def mixed_evidence(gains: Floats) -> Floats:
    """Return the capital of the mixture after each chunk.

    Parameters
    ----------
    gains : ndarray of shape (n_chunks, n_bets) or (n_chunks, n_bets, n_runs)
        Logarithms of what each bet makes of its stake in a chunk.
    """
    log_capital = np.full(gains.shape[1:], -np.inf)
    evidence = np.empty((len(gains), *gains.shape[2:]))
    for c, gain in enumerate(gains, start=1):
        log_capital = np.logaddexp(log_capital, -math.log(c * (c + 1))) + gain
        # What has not been staked yet: one less the sum of 1/(c(c+1)).
        with np.errstate(over="ignore"):
            evidence[c - 1] = np.exp(log_capital).mean(axis=0) + 1 / (c + 1)
    return evidence
