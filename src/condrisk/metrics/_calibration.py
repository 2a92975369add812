"""Whether rows of a given risk lose, on average, what the risk says."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from condrisk._blocks import (
    TiedBlocks,
    run_starts,
    running_sum,
    segment_sums,
    tied_blocks,
)
from condrisk._validation import Vector, check_vectors, check_weight

# A value that rounding has put this little below an edge, in bins, belongs above it.
EDGE_TOLERANCE = 1e-9


class RiskCalibrationCurve(NamedTuple):
    """Mean estimated risk and mean realised loss of each bin."""

    mean_risk: Vector
    mean_loss: Vector
    weight: Vector


def risk_calibration_curve(
    loss: ArrayLike,
    risk: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    sample_weight: ArrayLike | None = None,
) -> RiskCalibrationCurve:
    """Mean realised loss against mean estimated risk, in bins of similar risk.

    The risk is calibrated where the two are equal.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equal weight, or bins of equal width between the least and the greatest risk.
        Rows of equal risk are never separated: with "quantile" all of them go to the bin in
        which the middle of their weight falls, so with many ties the bins are less equal.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    RiskCalibrationCurve
        A named tuple of arrays with one entry for each bin that is not empty, in increasing
        order of risk:

        - ``mean_risk``: the mean of `risk` in the bin;
        - ``mean_loss``: the mean of `loss` in the bin;
        - ``weight``: the sum of the weights in the bin; without weights, its number of rows.

    Examples
    --------
    >>> from condrisk.metrics import risk_calibration_curve
    >>> curve = risk_calibration_curve([0, 0, 1, 3], [0.1, 0.3, 1.0, 2.0], n_bins=2)
    >>> curve.mean_risk
    array([0.2, 1.5])
    >>> curve.mean_loss
    array([0., 2.])
    >>> curve.weight
    array([2., 2.])
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    if not isinstance(n_bins, int | np.integer) or isinstance(n_bins, bool) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1, got {n_bins!r}")
    if strategy not in ("quantile", "uniform"):
        raise ValueError(f'strategy must be "quantile" or "uniform", got {strategy!r}')
    blocks = tied_blocks(losses, risks, weight)
    position = _middle(blocks) if strategy == "quantile" else _height(blocks)
    bins = np.minimum(np.floor(position * n_bins + EDGE_TOLERANCE), n_bins - 1)
    starts = run_starts(bins)
    bin_weight = segment_sums(blocks.weight, starts)
    mean_risk = segment_sums(blocks.risk * blocks.weight, starts) / bin_weight
    mean_loss = segment_sums(blocks.loss, starts) / bin_weight
    return RiskCalibrationCurve(mean_risk, mean_loss, bin_weight)


def risk_calibration_error(
    loss: ArrayLike,
    risk: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean absolute gap between estimated risk and realised loss over bins of similar risk.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equal weight or of equal width, as in :func:`risk_calibration_curve`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    float
        The mean of ``abs(mean_risk - mean_loss)`` over the bins, each weighted by the rows in
        it. Noise in the losses keeps it above zero even for the true risk, the more so the
        fewer rows a bin has: compare estimates on the same rows and bins.

    Examples
    --------
    >>> from condrisk.metrics import risk_calibration_error
    >>> risk_calibration_error([0, 0, 1, 3], [0.1, 0.3, 1.0, 2.0], n_bins=2)
    0.35
    """
    mean_risk, mean_loss, weight = risk_calibration_curve(
        loss, risk, n_bins=n_bins, strategy=strategy, sample_weight=sample_weight
    )
    return float(np.average(np.abs(mean_risk - mean_loss), weights=weight))


def _middle(blocks: TiedBlocks) -> Vector:
    """Share of the weight below the middle of each block."""
    ends = running_sum(blocks.weight)
    return (ends - blocks.weight / 2) / ends[-1]


def _height(blocks: TiedBlocks) -> Vector:
    """Place of each risk between the least, 0, and the greatest, 1."""
    above = blocks.risk - blocks.risk[0]
    return above / above[-1] if above[-1] > 0 else above
