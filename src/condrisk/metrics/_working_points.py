"""Single points of the risk-coverage curve, the area under the generalized one, and intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from condrisk._blocks import TiedBlocks, running_sum, tied_blocks
from condrisk._validation import Vector, check_confidence, check_vectors, check_weight

# Rounding must not move a coverage of 0.8 · n rows to the next row.
TOLERANCE = 1e-9


class MetricInterval(NamedTuple):
    """A metric on the rows given, and limits for its value in the population."""

    estimate: float
    lower: float
    upper: float


def augrc(loss: ArrayLike, risk: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    r"""Area under the generalized risk-coverage curve.

    The generalized risk at a coverage is the mean over *all* rows of loss × accepted; its area is
    the mean of that over all coverages. Unlike `aurc` it does not weigh the few rows of least risk
    so heavily. Lower is better.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row, of which only the proportions matter. None: all rows count the same.

    Returns
    -------
    float
        The area. A risk that says nothing has half of the mean loss.

    See Also
    --------
    aurc : The area under the curve of the mean loss of accepted rows.

    Notes
    -----
    The curve is interpolated linearly between the coverages that a threshold can have, from 0 at
    coverage 0, as if losses of rows with equal risk were spread evenly over them:

    .. math:: \int_0^1 \int_0^t \ell(s)\, ds\, dt = \sum_b w_b \bar\ell_b
              \left(1 - \tfrac{c_{b-1} + c_b}{2}\right).

    This is FD-Shifts' ``augrc`` (Traub et al., 2024). TorchUncertainty's ``AUGRC`` leaves out the
    coverages below 1/n: it is (ours − ℓ₁ / (2n²)) / (1 − 1/n), with ℓ₁ the loss of the row of
    least risk and no ties.

    Examples
    --------
    >>> from condrisk.metrics import augrc
    >>> augrc([0.0, 0.0, 1.0, 1.0], [0.1, 0.2, 0.3, 0.4])
    0.125
    >>> augrc([0.0, 0.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.5])
    0.25
    """
    blocks, ends = _curve(loss, risk, sample_weight)
    starts = np.append(0.0, ends[:-1])
    return float(blocks.loss @ (1 - (starts + ends) / 2) / blocks.weight.sum())


def risk_at_coverage(
    loss: ArrayLike,
    risk: ArrayLike,
    coverage: float,
    *,
    convention: Literal["step", "linear", "best"] = "step",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean loss of the accepted rows when a given share of the rows is accepted.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    coverage : float
        The share of the rows to accept, above 0 and up to 1.
    convention : {"step", "linear", "best"}, default="step"
        What to take where no threshold has just this coverage, or several have more. "step": the
        least coverage of at least that (TorchUncertainty's ``RiskAtxCov``). "linear": the losses
        of rows with equal risk are spread evenly over them, and a part of a row counts in part.
        "best": the least mean loss at any coverage of at least that (FD-Shifts'
        ``selective-risk@…cov``).
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    float
        The mean loss.

    Examples
    --------
    >>> from condrisk.metrics import risk_at_coverage
    >>> loss, risk = [0.0, 1.0, 0.0, 2.0], [1, 2, 3, 4]
    >>> risk_at_coverage(loss, risk, 0.5)
    0.5
    >>> risk_at_coverage(loss, risk, 0.5, convention="best")
    0.333...
    >>> risk_at_coverage(loss, risk, 0.375, convention="linear")
    0.333...
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be above 0 and at most 1, got {coverage!r}")
    if convention not in ("step", "linear", "best"):
        raise ValueError(f'convention must be "step", "linear" or "best", got {convention!r}')
    blocks, ends = _curve(loss, risk, sample_weight)
    total = running_sum(blocks.loss) / blocks.weight.sum()
    k = min(int(np.searchsorted(ends, coverage - TOLERANCE)), len(ends) - 1)
    if convention == "best":
        return float((total[k:] / ends[k:]).min())
    if convention == "step":
        return float(total[k] / ends[k])
    before, start = (total[k - 1], ends[k - 1]) if k else (0.0, 0.0)
    inside = (coverage - start) / (ends[k] - start)
    return float((before + inside * (total[k] - before)) / coverage)


def coverage_at_risk(
    loss: ArrayLike,
    risk: ArrayLike,
    target: float,
    *,
    convention: Literal["step", "linear"] = "step",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Largest share of the rows that can be accepted with a mean loss of at most a target.

    It looks at the losses themselves, so that it is no rule: `RiskControlRule` finds a threshold
    that keeps a target on new rows.

    Parameters
    ----------
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    target : float
        The greatest mean loss of the accepted rows.
    convention : {"step", "linear"}, default="step"
        "step": the coverage of a threshold (TorchUncertainty's ``CovAtxRisk``). "linear": losses
        of rows with equal risk are spread evenly over them, and rows may be accepted in part.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.

    Returns
    -------
    float
        The coverage; 0 where no threshold keeps the target (TorchUncertainty: NaN).

    Examples
    --------
    >>> from condrisk.metrics import coverage_at_risk
    >>> loss, risk = [0.0, 1.0, 0.0, 2.0], [1, 2, 3, 4]
    >>> coverage_at_risk(loss, risk, 0.4)
    0.75
    >>> coverage_at_risk(loss, risk, 0.5, convention="linear")
    0.833...
    """
    if convention not in ("step", "linear"):
        raise ValueError(f'convention must be "step" or "linear", got {convention!r}')
    blocks, ends = _curve(loss, risk, sample_weight)
    total = running_sum(blocks.loss) / blocks.weight.sum()
    slack = TOLERANCE * max(abs(target), float(np.abs(total[-1])), 1e-300)
    kept = np.flatnonzero(total <= (target * ends) + slack)
    k = int(kept[-1]) if len(kept) else -1
    reached = float(ends[k]) if k >= 0 else 0.0
    if convention == "step" or k == len(ends) - 1:
        return reached
    # Between two coverages the accepted loss is a line; it leaves the target at most once here.
    before, start = (total[k], ends[k]) if k >= 0 else (0.0, 0.0)
    slope = (total[k + 1] - before) / (ends[k + 1] - start)
    return float(start + max(target * start - before, 0.0) / (slope - target))


def metric_interval(
    metric: str | Callable[..., float],
    loss: ArrayLike,
    risk: ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
    **kwargs: Any,
) -> MetricInterval:
    """Return a bootstrap interval for a metric of this module.

    Parameters
    ----------
    metric : str or callable
        Name of a metric of this module that gives one number, such as ``"augrc"``, or a function
        called as ``metric(loss, risk, sample_weight=…, **kwargs)``.
    loss : array-like of shape (n_samples,)
        Realised loss of the prediction for each row.
    risk : array-like of shape (n_samples,)
        Estimated loss of the prediction for each row.
    confidence : float, default=0.95
        How often, about, the interval has the value in the population in it.
    n_resamples : int, default=1000
        How often rows are drawn with replacement.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row. None: all rows count the same.
    random_state : None, int or numpy.random.Generator, default=0
        Seeds the draws.
    **kwargs : object
        Further arguments of the metric, such as ``coverage=0.8``.

    Returns
    -------
    MetricInterval
        The metric on the rows, and the percentiles (1 ∓ confidence) / 2 of its values on rows
        drawn with replacement. It holds for many rows; with few, or for a `coverage_at_risk` at
        which the curve is flat, it is only a guide. Rows must be independent.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.metrics import metric_interval
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.random(2000)
    >>> loss = (rng.random(2000) < risk).astype(float)
    >>> found = metric_interval("risk_at_coverage", loss, risk, coverage=0.5, n_resamples=200)
    >>> bool(found.lower < 0.25 < found.upper)  # the mean of g over its lower half
    True
    """
    from condrisk.metrics._scorer import METRICS

    check_confidence(confidence)
    losses, risks = check_vectors(loss=loss, risk=risk)
    weight = check_weight(sample_weight, losses, "loss")
    if isinstance(metric, str):
        if metric not in METRICS:
            raise ValueError(f"metric must be one of {sorted(METRICS)} or a function: {metric!r}")
        metric = METRICS[metric]
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2, got {n_resamples!r}")
    n, rng = len(losses), np.random.default_rng(random_state)
    weights = np.ones(n) if weight is None else weight
    arguments = (risks,) if metric is METRICS["deferral_rate"] else (losses, risks)
    found = []
    for _ in range(n_resamples):
        drawn = weights * np.bincount(rng.integers(n, size=n), minlength=n)
        if drawn.sum() > 0:
            found.append(metric(*arguments, sample_weight=drawn, **kwargs))
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    estimate = metric(*arguments, sample_weight=weight, **kwargs)
    return MetricInterval(float(estimate), float(low), float(high))


def _curve(
    loss: ArrayLike, risk: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[TiedBlocks, Vector]:
    """Return the rows in order of risk, ties together, and the coverage at the end of each."""
    losses, risks = check_vectors(loss=loss, risk=risk)
    blocks = tied_blocks(losses, risks, check_weight(sample_weight, losses, "loss"))
    accepted = running_sum(blocks.weight)
    return blocks, accepted / accepted[-1]
