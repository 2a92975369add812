"""The mean loss to be expected of unlabelled rows, and how far the realised one may be from it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from condrisk._validation import check_vector
from condrisk.app.monitor._reference import Reference

Floats = NDArray[np.float64]

# Variances are taken from groups of so many held-out rows or more, errors of g from larger ones.
ROWS_PER_VARIANCE, MOST_VARIANCES = 30, 20
ROWS_PER_ERROR, MOST_ERRORS = 50, 10
# With fewer degrees of freedom than this there would be no band to speak of.
LEAST_FREEDOM = 3.0


@dataclass(frozen=True)
class ExpectedLoss:
    """The mean loss to be expected of some rows, with a band for the realised one.

    Attributes
    ----------
    mean : float
        The mean estimated risk, corrected by how far it was off on held-out rows of such risks.
    low, high : float
        The realised mean loss of these rows lies between them with the confidence asked for, as
        long as losses go with risks as they did on the held-out rows.
    noise : float
        Standard error from what no risk can tell: the loss of a row varies around its mean.
    estimate : float
        Standard error of the corrected mean risk.
    rows : float
        Standard error from which rows have come; not in the band, since these are the rows at
        hand. It is what a comparison with the mean of other rows needs.
    risk : float
        The mean estimated risk as it is.
    """

    mean: float
    low: float
    high: float
    noise: float
    estimate: float
    rows: float
    risk: float


@dataclass(frozen=True, eq=False)
class RiskSums:
    """What is kept of the risks of some rows: sums, so that parts of a chunk can be added.

    Attributes
    ----------
    n, risk, square, noise : float
        The number of rows, and the sums of their risks, squared risks and variances of the loss.
    unit : ndarray of shape (n_groups,)
        The sum of what errors of the risk are measured in, by group of risk.
    """

    n: float
    risk: float
    square: float
    noise: float
    unit: Floats

    def __add__(self, other: RiskSums) -> RiskSums:
        """Return the sums of all rows of both."""
        parts = (getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        return RiskSums(*parts)


class Expectation:
    """What the held-out rows say of the mean loss of other rows, given their risks.

    Parameters
    ----------
    reference : Reference
        How losses went with risks on held-out rows.
    confidence : float, default=0.95
        How often the realised mean loss of such rows lies in the band.
    minimum, maximum : float, default=0.0 and infinity
        The least and the greatest value of the loss; no band goes beyond them.

    Notes
    -----
    The expected loss of rows is their mean risk plus a correction. Rows are in up to ten groups k
    of similar risk. On held-out rows of the group the risk was off by eₖ, in units of
    (r + r̄)/2, with a variance vₖ. The level e = Σ sₖ eₖ of all groups is shrunk by 1 − v/e², zero
    at least, the error of a group towards it by τ²/(τ² + vₖ), with τ² the variance of the eₖ that
    noise does not explain (both are James and Stein's idea). What estimates single rows best
    shrinks: over rows of the same group its errors do not average out; this takes them out.

    The band is the expected loss ± t·√(noise² + estimate²):

    * noise² = Σ v(rᵢ)/m²: the variance v of the loss at a risk is that of rows of similar risk, the
      cross-fitted ones among them. Beyond the largest risk it grows with the square of the risk.
    * estimate² is the variance of the correction: of the level, and of each group.
    * t is a quantile of Student's distribution. Its degrees of freedom are those of the variance of
      the losses, 2n/(kurtosis − 1) of n rows: losses with rare large ones say less of it.

    What the band does not cover is a change of the loss at a given row (that is what the alarm is
    for), or rows unlike all held-out ones.
    """

    def __init__(
        self,
        reference: Reference,
        *,
        confidence: float = 0.95,
        minimum: float = 0.0,
        maximum: float = np.inf,
    ) -> None:
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
        self.minimum, self.maximum = minimum, maximum
        self.mean_risk = reference.mean_risk
        level = reference.joined(reference.fitted if reference.same_predictor else None)
        if level.rows < 2:
            raise ValueError("reference must have at least two rows: one has no spread.")
        self._floor = minimum if np.isfinite(minimum) else 0.0
        self._fit_errors(level)
        self._fit_noise(reference.joined(reference.fitted))
        self._freedom = _freedom(reference)
        self._quantile = float(student.ppf((1 + confidence) / 2, self._freedom))

    # -- what held-out rows say --------------------------------------------------------------------

    def _fit_errors(self, reference: Reference) -> None:
        coarse = reference.merged(at_most=MOST_ERRORS, at_least=ROWS_PER_ERROR)
        self._coarse = coarse
        self._scale = max(reference.mean_risk - self._floor, 0.0)
        unit = self._units(coarse.risk)
        off = coarse.loss - coarse.risk
        square = _regrouped(reference, coarse, reference.residual_square)
        variance = np.maximum(square - off**2, 0.0) / (coarse.n - 1) / unit**2
        error = off / unit
        share = coarse.n * unit / np.sum(coarse.n * unit)
        whole, own = float(share @ error), float(share**2 @ variance)
        n_groups = len(share)
        between = float(share @ ((error - whole) ** 2 - (1 - 1 / n_groups) * variance))
        between = max(between, 0.0)
        kept = max(1 - own / whole**2, 0.0) if whole else 0.0
        weight = between / (between + variance) if between else np.zeros(n_groups)
        self._error = kept * whole + weight * (error - whole)
        # Shrinking trades variance for bias: together they are about the variance of the level.
        self._level_variance = own
        self._group_variance = weight * variance

    def _fit_noise(self, reference: Reference) -> None:
        fine = reference.merged(at_most=MOST_VARIANCES, at_least=ROWS_PER_VARIANCE)
        # Each group's own mean is taken out; what is left of it belongs to `estimate`.
        square = _regrouped(reference, fine, reference.residual_square)
        bias = fine.loss - fine.risk
        freedom = fine.n / (fine.n - 1)
        self._fine, self._variance = fine, np.maximum(square - bias**2, 0.0) * freedom

    def _units(self, risk: Floats) -> Floats:
        unit = (np.maximum(risk - self._floor, 0.0) + self._scale) / 2
        return unit if self._scale > 0 else np.ones_like(risk)

    # -- of new rows -------------------------------------------------------------------------------

    def noise_variance(self, risk: Floats) -> Floats:
        """Return the variance of the loss of each row around its mean."""
        fine = self._fine
        beyond = np.maximum(risk / fine.high[-1], 1.0) if fine.high[-1] > 0 else np.ones_like(risk)
        return self._variance[fine.group_of(risk)] * beyond**2

    def sums(self, risk: Floats) -> RiskSums:
        """Return what is kept of some rows."""
        group = self._coarse.group_of(risk)
        unit = np.bincount(group, weights=self._units(risk), minlength=len(self._error))
        noise = float(self.noise_variance(risk).sum())
        total, square = float(risk.sum()), float((risk**2).sum())
        return RiskSums(float(len(risk)), total, square, noise, unit.astype(np.float64))

    def loss(self, sums: RiskSums) -> ExpectedLoss:
        """Return the loss to be expected of rows, and its band."""
        n = sums.n
        risk = sums.risk / n
        unit = sums.unit / n
        mean = float(np.clip(risk + unit @ self._error, self.minimum, self.maximum))
        variance = unit.sum() ** 2 * self._level_variance + float(unit**2 @ self._group_variance)
        noise, estimate = float(np.sqrt(sums.noise) / n), float(np.sqrt(variance))
        spread = max(sums.square / n - risk**2, 0.0)
        rows = float(np.sqrt(spread / (n - 1))) if n > 1 else float("nan")
        half = self._quantile * float(np.hypot(noise, estimate))
        low, high = max(mean - half, self.minimum), min(mean + half, self.maximum)
        return ExpectedLoss(mean, low, high, noise, estimate, rows, risk)

    def p_value(self, expected: ExpectedLoss, realised: float) -> float:
        """Return the p-value of a realised mean so far from the expected one, on either side."""
        error = float(np.hypot(expected.noise, expected.estimate))
        if error == 0:
            return float(realised == expected.mean)
        return float(2 * student.sf(abs(realised - expected.mean) / error, self._freedom))


def expected_loss(
    risk: ArrayLike,
    reference: Reference,
    *,
    confidence: float = 0.95,
    minimum: float = 0.0,
    maximum: float = np.inf,
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
    minimum, maximum : float, default=0.0 and infinity
        The least and the greatest value of the loss; no band goes beyond them.

    Returns
    -------
    ExpectedLoss
        With `mean`, `low`, `high` and the parts of the standard error.

    Notes
    -----
    The mean risk is corrected by how far it was off on the held-out rows, group by group of risk,
    as far as this was more than chance; the band is approximate, and better the more rows there
    are. It does not cover a change of the loss at a given row, or rows unlike all held-out ones.

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
    found = Expectation(reference, confidence=confidence, minimum=minimum, maximum=maximum)
    return found.loss(found.sums(check_vector(risk, "risk")))


def _freedom(reference: Reference) -> float:
    """Return of how many degrees of freedom the variance of the losses is known."""
    z = reference.row_loss - reference.row_risk
    n = len(z)
    if n < 4:
        return max(LEAST_FREEDOM, reference.rows - 1.0)
    off = z - z.mean()
    variance = float(np.mean(off**2))
    if variance <= 0:
        return n - 1.0
    kurtosis = float(np.mean(off**4)) / variance**2
    return float(np.clip(2 * n / max(kurtosis - 1, 2.0), LEAST_FREEDOM, n - 1.0))


def _regrouped(fine: Reference, coarse: Reference, values: Floats) -> Floats:
    """Return the means of values of the fine groups in the coarse ones."""
    group = coarse.group_of(fine.low)
    sums = np.bincount(group, weights=fine.n * values, minlength=len(coarse.n))
    return sums / np.maximum(np.bincount(group, weights=fine.n, minlength=len(coarse.n)), 1e-9)
