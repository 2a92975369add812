"""Whether realised losses are what the risk says, on average and at every level of the risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrisk._validation import check_confidence, check_vectors
from condrisk.assessment._student import (
    are_errors,
    as_figure,
    difference_interval,
    student_interval,
)
from condrisk.inference import MeanInterval
from condrisk.metrics import risk_calibration_curve

Floats = NDArray[np.float64]

# Calibration errors that noise alone gives are drawn so often.
N_DRAWS = 4_000


@dataclass(frozen=True)
class CalibrationTest:
    """How realised losses compare with the estimated risk on held-out rows.

    Attributes
    ----------
    mean_loss, mean_risk : float
        Means over the rows.
    difference : MeanInterval
        Mean loss less mean risk.
    excess : MeanInterval or None
        The same as a share of the mean risk: 0.35 where losses are 35 % above it. None where the
        mean risk is not positive.
    error : float
        `condrisk.metrics.risk_calibration_error`: the mean distance of risk and loss over groups
        of similar risk.
    noise : float
        What this error is at most, with the confidence given, where the risk is right and nothing
        but the noise of the losses speaks.
    p_value : float
        How often noise alone gives such an error or a larger one.
    confidence : float
        Of the intervals, and of `noise`.
    n_rows : int
        From how many rows.
    """

    mean_loss: float
    mean_risk: float
    difference: MeanInterval
    excess: MeanInterval | None
    error: float
    noise: float
    p_value: float
    confidence: float
    n_rows: int

    @property
    def level_is_off(self) -> bool:
        """Whether the mean loss differs from the mean risk by more than chance."""
        return not self.difference.lower <= 0 <= self.difference.upper

    @property
    def shape_is_off(self) -> bool:
        """Whether the calibration error is larger than noise alone would give."""
        return self.p_value < 1 - self.confidence

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, what is off among it; each interval as value, low and high."""
        plain = {
            name: as_figure(value) if isinstance(value, MeanInterval) else value
            for name, value in vars(self).items()
        }
        return plain | {"level_is_off": self.level_is_off, "shape_is_off": self.shape_is_off}


def calibration_test(
    loss: ArrayLike,
    risk: ArrayLike,
    *,
    n_bins: int = 10,
    confidence: float = 0.95,
    random_state: int = 0,
) -> CalibrationTest:
    """Test whether realised losses are what the risk says.

    Parameters
    ----------
    loss : array-like of shape (n_rows,)
        Realised loss of each row.
    risk : array-like of shape (n_rows,)
        Estimated risk of each row, from which its loss was kept.
    n_bins : int, default=10
        In how many groups of similar risk the calibration error is taken.
    confidence : float, default=0.95
        Of the intervals; a test rejects at one less it.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    CalibrationTest
        The level of the losses, the calibration error, and what noise alone would make of it.

    Notes
    -----
    The level is judged by Student's interval of loss less risk; where every loss is 0 or 1, by
    betting, so that a few wrong answers, or none, do not look certain. The calibration error is
    above zero even for the true risk. What noise alone makes of it is drawn: in each group a
    normal error with the variance of loss less risk, or for losses of 0 and 1 with r (1 − r). Both
    are approximate, and better the more rows a group has.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.assessment import calibration_test
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(0.5, 1.5, 2000)
    >>> loss = risk * rng.exponential(size=2000)
    >>> calibration_test(loss, risk).level_is_off
    False
    >>> found = calibration_test(1.35 * loss, risk)
    >>> round(found.excess.estimate, 1), found.level_is_off
    (0.4, True)
    """
    check_confidence(confidence)
    losses, risks = check_vectors(loss=loss, risk=risk)
    curve = risk_calibration_curve(losses, risks, n_bins=n_bins)
    share = curve.weight / curve.weight.sum()
    errors = _is_error_rate(losses, risks)
    difference = difference_interval(
        losses - risks,
        confidence,
        lower=-float(risks.max()),
        upper=1.0 - float(risks.min()),
        errors=errors,
    )
    if errors:  # there are no losses below 0 or above 1
        ends = np.clip((difference.lower, difference.upper), -risks.mean(), 1 - risks.mean())
        difference = MeanInterval(difference.estimate, *ends.tolist())
    error = float(share @ np.abs(curve.mean_risk - curve.mean_loss))
    spread = np.sqrt(_variance(losses, risks, n_bins) / curve.weight)
    rng = np.random.default_rng(random_state)
    drawn = np.abs(rng.standard_normal((N_DRAWS, len(share))) * spread) @ share
    return CalibrationTest(
        mean_loss=float(losses.mean()),
        mean_risk=float(risks.mean()),
        difference=difference,
        excess=_excess(losses, risks, confidence, difference if errors else None),
        error=error,
        noise=float(np.quantile(drawn, confidence)),
        p_value=float((1 + np.count_nonzero(drawn >= error)) / (1 + N_DRAWS)),
        confidence=confidence,
        n_rows=len(losses),
    )


def _variance(loss: Floats, risk: Floats, n_bins: int) -> Floats:
    """Return the variance of a loss around its risk in each group, if the risk is right."""
    # A group without any error must not look certain.
    square = risk * (1 - risk) if _is_error_rate(loss, risk) else (loss - risk) ** 2
    return risk_calibration_curve(square, risk, n_bins=n_bins).mean_loss


def _is_error_rate(loss: Floats, risk: Floats) -> bool:
    return are_errors(loss) and bool(risk.min() >= 0 and risk.max() <= 1)


def _excess(
    loss: Floats, risk: Floats, confidence: float, difference: MeanInterval | None
) -> MeanInterval | None:
    """Return the ratio of the means less one.

    Its interval is that of the linearised ratio, or of the difference, where that is given.
    """
    mean = float(risk.mean())
    if mean <= 0:
        return None
    ratio = float(loss.mean()) / mean
    if difference is not None:
        return MeanInterval(ratio - 1, difference.lower / mean, difference.upper / mean)
    around = student_interval((loss - ratio * risk) / mean, confidence)
    return MeanInterval(ratio - 1, ratio - 1 + around.lower, ratio - 1 + around.upper)
