"""The mean loss to be expected of unlabelled rows, and how far the realised one may be from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from condrisk._validation import check_confidence, check_vector
from condrisk.app.monitor._reference import Reference

Floats = NDArray[np.float64]

# Variances are taken from groups of so many held-out rows or more, errors of g from larger ones.
ROWS_PER_VARIANCE, MOST_VARIANCES = 30, 20
ROWS_PER_ERROR, MOST_ERRORS = 50, 10


@dataclass(frozen=True)
class ExpectedLoss:
    """The mean loss to be expected of some rows, with a band for the realised one.

    Attributes
    ----------
    mean : float
        The mean estimated risk.
    low, high : float
        The realised mean loss of these rows lies between them with the confidence asked for, as
        long as losses go with risks as they did on the held-out rows.
    noise : float
        Standard error from what no risk can tell: the loss of a row varies around its mean.
    estimate : float
        Standard error from the risk itself, whose mean was off on the held-out rows, or may be.
    rows : float
        Standard error from which rows have come; not in the band, since these are the rows at
        hand. It is what a comparison with the mean of other rows needs.
    """

    mean: float
    low: float
    high: float
    noise: float
    estimate: float
    rows: float


def expected_loss(
    risk: ArrayLike, reference: Reference, *, confidence: float = 0.95, minimum: float = 0.0
) -> ExpectedLoss:
    """Return the mean loss to be expected of rows, from their estimated risks alone.

    Parameters
    ----------
    risk : array-like of shape (n_rows,)
        Estimated risks of new rows.
    reference : Reference
        How losses went with risks on held-out rows.
    confidence : float, default=0.95
        How often the realised mean loss of such rows lies in the band.
    minimum : float, default=0.0
        The least value of the loss; no band goes below it.

    Returns
    -------
    ExpectedLoss
        With `mean`, `low`, `high` and the parts of the standard error.

    Notes
    -----
    The band is the mean risk ± z·√(noise² + estimate²), z a quantile of the normal distribution:
    approximate, and better the more rows there are.

    * noise² = Σ v(rᵢ)/m²: the variance v of the loss at a risk is that of the held-out rows of
      similar risk. Beyond the largest risk among them it grows with the square of the risk.
    * estimate² = D² + s² + τ² Σ (p_k − q_k)². D is how far the mean risk was off on the held-out
      rows and s the standard error of that. τ² is the variance of how far it was off in up to ten
      groups of similar risk, less what noise explains; p_k and q_k are the shares of the groups
      among the new and the held-out rows: the more the risks have moved, the more it counts.

    What the band does not cover is a change of the loss at a given row (that is what the alarm is
    for), or rows unlike all held-out ones.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.app.monitor import Reference, expected_loss
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(1, 3, size=2000)
    >>> loss = risk * rng.exponential(size=2000)
    >>> reference = Reference.from_rows(risk[:1000], loss[:1000])
    >>> expected = expected_loss(risk[1000:], reference)
    >>> bool(expected.low < loss[1000:].mean() < expected.high)
    True
    """
    check_confidence(confidence)
    risk = check_vector(risk, "risk")
    noise = float(np.sqrt(noise_variance(risk, reference).sum()) / len(risk))
    estimate = estimation_error(risk, reference)
    spread = float(np.std(risk, ddof=1) / np.sqrt(len(risk))) if len(risk) > 1 else float("nan")
    mean = float(risk.mean())
    half = float(norm.ppf((1 + confidence) / 2) * np.hypot(noise, estimate))
    return ExpectedLoss(mean, max(mean - half, minimum), mean + half, noise, estimate, spread)


def noise_variance(risk: Floats, reference: Reference) -> Floats:
    """Return the variance of the loss of each row around its mean, as held-out rows show it."""
    fine = reference.merged(at_most=MOST_VARIANCES, at_least=ROWS_PER_VARIANCE)
    # Each group's own mean is taken out; what is left of it belongs to `estimate`.
    square = _regrouped(reference, fine, reference.residual_square)
    bias = fine.loss - fine.risk
    freedom = fine.n / np.maximum(fine.n - 1, 1)
    variance = np.maximum(square - bias**2, 0.0) * freedom
    beyond = np.maximum(risk / fine.high[-1], 1.0) if fine.high[-1] > 0 else np.ones_like(risk)
    return variance[fine.group_of(risk)] * beyond**2


def estimation_error(risk: Floats, reference: Reference) -> float:
    """Return the standard error of a mean of risks as an estimate of the mean of true risks."""
    coarse = reference.merged(at_most=MOST_ERRORS, at_least=ROWS_PER_ERROR)
    error = coarse.loss - coarse.risk
    square = _regrouped(reference, coarse, reference.residual_square)
    variance = np.maximum(square - error**2, 0.0) / np.maximum(coarse.n - 1, 1)
    share = coarse.n / coarse.n.sum()
    whole = float(share @ error)
    own = float(share**2 @ variance)
    between = max(float(share @ ((error - whole) ** 2 - variance)), 0.0)
    new = np.bincount(coarse.group_of(risk), minlength=len(share)) / len(risk)
    return float(np.sqrt(whole**2 + own + between * np.sum((new - share) ** 2)))


def _regrouped(fine: Reference, coarse: Reference, values: Floats) -> Floats:
    """Return the means of values of the fine groups in the coarse ones."""
    group = coarse.group_of(fine.low)
    sums = np.bincount(group, weights=fine.n * values, minlength=len(coarse.n))
    return sums / coarse.n
