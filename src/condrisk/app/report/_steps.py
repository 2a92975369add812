"""What a page needs to know of the rows: sums over them in order of risk, bins, a scale.

Every figure of the page that moves with the price is a function of these sums, so none of them
needs the rows themselves: the same page is drawn from all rows, from thousands of steps of a
table of millions, or from the hundred groups that a model file keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from condrisk._blocks import run_starts, segment_sums
from condrisk._validation import Vector
from condrisk.metrics import risk_calibration_curve

# Up to this many rows the page has a step for every distinct risk; beyond, this many steps.
MAX_ROWS = 20_000
MAX_STEPS = 2_000
N_BARS = 40
# Beyond this the squares of the losses do not add up in float64.
MAX_LOSS = 1e150
# A risk that spans this factor between its 5 % and 95 % quantiles, or above the latter, is shown on
# a log scale: else one row far out would squeeze all others into one bar.
LOG_FROM = 10.0


class Steps(NamedTuple):
    """Rows in order of a key, taken together where they cannot or need not be told apart.

    One entry for each step: the greatest key in it, its number of rows, the sum of their losses
    and of the squares of those.
    """

    threshold: Vector
    rows: Vector
    loss: Vector
    squares: Vector


class Bins(NamedTuple):
    """Mean estimated risk and mean realised loss in bins of similar risk, with limits."""

    risk: Vector
    loss: Vector
    low: Vector
    high: Vector
    rows: Vector


class Scale(NamedTuple):
    """The axis of risk and price: its ends, and whether equal factors are equally far apart."""

    low: float
    high: float
    log: bool


class Bars(NamedTuple):
    """A histogram of the risk; what lies outside the edges is in the outer bars."""

    edges: Vector
    rows: Vector


def steps_of(loss: Vector, key: Vector) -> Steps:
    """Add up the rows of equal key, and of neighbouring keys where there are too many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.app.report._steps import steps_of
    >>> steps = steps_of(np.array([1.0, 3.0, 0.0]), np.array([0.5, 0.5, 0.2]))
    >>> steps.threshold, steps.rows, steps.loss, steps.squares
    (array([0.2, 0.5]), array([1., 2.]), array([0., 4.]), array([ 0., 10.]))
    """
    order = np.argsort(key, kind="stable")
    key, loss = key[order], loss[order]
    starts = run_starts(key)
    if len(key) > MAX_ROWS and len(starts) > MAX_STEPS:
        # Each step ends where a distinct key does, so that the sums up to there are exact.
        wanted = np.arange(1, MAX_STEPS) * len(key) / MAX_STEPS
        starts = np.unique(starts[np.searchsorted(starts, wanted) - 1])
        starts = np.unique(np.append(0, starts))
    ends = np.append(starts[1:], len(key)) - 1
    rows = np.diff(np.append(starts, len(key))).astype(float)
    return Steps(key[ends], rows, segment_sums(loss, starts), segment_sums(loss**2, starts))


def steps_of_groups(groups: Sequence[Sequence[float]]) -> Steps:
    """Return the steps of the groups ``[n, risk, lowest, highest, loss, loss²]`` of a manifest."""
    n, _, _, highest, loss, squares = np.asarray(groups, dtype=float).T
    starts = run_starts(highest)  # groups that share their highest risk are accepted together
    parts = (segment_sums(values, starts) for values in (n, n * loss, n * squares))
    return Steps(highest[starts], *parts)


def bins_of(loss: Vector, risk: Vector, *, n_bins: int = 10) -> Bins:
    """Return the calibration curve of `condrisk.metrics`, with 95 % limits for each mean loss."""
    curve = risk_calibration_curve(loss, risk, n_bins=n_bins)
    squares = risk_calibration_curve(loss**2, risk, n_bins=n_bins).mean_loss
    limits = mean_limits(curve.mean_loss, squares, curve.weight, floor=floor_of(loss))
    return Bins(curve.mean_risk, curve.mean_loss, *limits, curve.weight)


def bins_of_groups(groups: Sequence[Sequence[float]], *, n_bins: int = 10) -> Bins:
    """Return the calibration curve of the groups of a manifest, several groups to a bin."""
    n, risk, _, _, loss, squares = np.asarray(groups, dtype=float).T
    middle = (np.cumsum(n) - n / 2) / n.sum()
    starts = run_starts(np.minimum(np.floor(middle * n_bins), n_bins - 1))
    rows = segment_sums(n, starts)
    means = [segment_sums(n * values, starts) / rows for values in (risk, loss, squares)]
    limits = mean_limits(means[1], means[2], rows, floor=floor_of(loss))
    return Bins(means[0], means[1], *limits, rows)


def floor_of(loss: Vector) -> float:
    """Return what a mean loss cannot be below: zero, where no loss is."""
    return 0.0 if loss.min() >= 0 else -np.inf


def mean_limits(
    mean: Vector, squares: Vector, rows: Vector, *, floor: float, confidence: float = 0.95
) -> tuple[Vector, Vector]:
    """Return limits for the means of several groups of losses.

    Parameters
    ----------
    mean, squares, rows : ndarray of shape (n_groups,)
        Mean, mean square and number of the losses in each group.
    floor : float
        What a mean cannot be below.
    confidence : float, default=0.95
        Of each pair of limits.

    Returns
    -------
    tuple of two ndarrays of shape (n_groups,)
        Wilson's limits where all losses are 0 or 1, so that a group without any error does not
        look certain; Student's elsewhere. A single row says nothing beyond itself.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.app.report._steps import mean_limits
    >>> none_wrong = np.zeros(1), np.zeros(1), np.array([20.0])
    >>> [float(limit.round(3)[0]) for limit in mean_limits(*none_wrong, floor=0.0)]
    [0.0, 0.161]
    """
    if np.allclose(squares, mean, rtol=1e-12, atol=0) and (mean <= 1).all():
        z = float(stats.norm.ppf((1 + confidence) / 2))
        middle = (mean + z**2 / (2 * rows)) / (1 + z**2 / rows)
        spread = mean * (1 - mean) / rows + (z / (2 * rows)) ** 2
        margin = z / (1 + z**2 / rows) * np.sqrt(np.maximum(spread, 0.0))
    else:
        middle = mean
        free = np.maximum(rows - 1, 1)
        variance = np.maximum(squares - mean**2, 0.0) * rows / free
        margin = stats.t.ppf((1 + confidence) / 2, free) * np.sqrt(variance / rows)
    return np.maximum(middle - margin, floor), middle + margin


def scale_of(lows: Vector, highs: Vector, weight: Vector | None = None) -> Scale:
    """Choose the axis for risks that lie between these values, linear or logarithmic.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.app.report._steps import scale_of
    >>> risk = np.geomspace(0.001, 1.0)
    >>> scale_of(risk, risk).log, scale_of(risk + 1, risk + 1).log
    (True, False)
    >>> far_out = np.append(np.linspace(1.0, 2.0), 1000.0)
    >>> scale_of(far_out, far_out).log
    True
    """
    least, greatest = float(lows.min()), float(highs.max())
    if greatest <= 0:
        return Scale(min(least, 0.0), 1.0, False)
    low, high = _quantiles(highs, weight)
    if least >= 0 and low > 0 and max(high / low, greatest / high) > LOG_FROM:
        floor = float(lows[lows > 0].min()) if (lows > 0).any() else low
        return Scale(max(floor, low / 100, greatest * 1e-6) / 1.25, greatest * 1.25, True)
    return Scale(min(least, 0.0), greatest * 1.08, False)


def _quantiles(values: Vector, weight: Vector | None) -> tuple[float, float]:
    order = np.argsort(values)
    share = np.cumsum(np.ones(len(values)) if weight is None else weight[order])
    at = np.searchsorted(share / share[-1], [0.05 - 1e-9, 0.95 - 1e-9])
    low, high = values[order][at]
    return float(low), float(high)


def edges_of(scale: Scale, n_bars: int = N_BARS) -> Vector:
    """Return the edges of bars of equal width on the scale."""
    if scale.log:
        return np.geomspace(scale.low, scale.high, n_bars + 1)
    return np.linspace(scale.low, scale.high, n_bars + 1)


def bars_of(risk: Vector, scale: Scale) -> Bars:
    """Count the rows in bars of equal width on the scale."""
    edges = edges_of(scale)
    inside = np.clip(risk, edges[0], edges[-1])
    return Bars(edges, np.histogram(inside, edges)[0].astype(float))


def bars_of_groups(groups: Sequence[Sequence[float]], scale: Scale) -> Bars:
    """Count the rows of groups, each spread evenly between its lowest and its highest risk."""
    n, _, lowest, highest, _, _ = np.asarray(groups, dtype=float).T
    edges = edges_of(scale)
    place = np.log if scale.log else np.asarray
    low, high = (place(np.clip(end, edges[0], edges[-1])) for end in (lowest, highest))
    low = np.where(high > low, low, high - 1e-12 * max(1.0, float(np.abs(high).max())))
    below = np.clip((place(edges)[:, np.newaxis] - low) / (high - low), 0.0, 1.0) @ n
    below[0], below[-1] = 0.0, n.sum()
    return Bars(edges, np.diff(below))


def as_lists(arrays: NamedTuple) -> dict[str, Any]:
    """Return a named tuple of arrays as what JSON can hold, whole numbers as such."""
    return {name: _as_list(values) for name, values in arrays._asdict().items()}


def _as_list(values: Any) -> Any:
    if not isinstance(values, np.ndarray):
        return values
    return values.astype(np.int64).tolist() if _is_whole(values) else values.tolist()


def _is_whole(values: NDArray[np.float64]) -> bool:
    return bool(np.all((values == np.floor(values)) & (np.abs(values) < 2**53)))
