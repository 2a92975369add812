"""A rule that defers at most a given share, and says how large the risk of the rest can be."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, Real

from condrisk.deferral._controlled import NO_GUARANTEE, ControlledRule, Floats, Pairs, two_values
from condrisk.deferral._rules import share_threshold
from condrisk.inference import betting_p_values, binomial_p_values, binomial_upper

# Thresholds to try: so many standard errors below the rate that is allowed.
_MARGINS = np.linspace(4.0, 0.0, 9)
# Means to test when the risk is bounded: around the guess in standard errors, and over the range.
_N_MEANS, _STANDARD_ERRORS = 100, (-6.0, 14.0)


class RateControlRule(ControlledRule):
    """Defer at most a given share of the rows to come, and bound the mean loss of the others.

    The counterpart of `RiskControlRule`: there the risk is given and the acceptance follows, here
    the rate is given and a bound of the risk follows. With probability `confidence` over the
    calibration rows *both* are true of the population: at most a share `rate` is deferred, and
    E[loss | accepted] <= `risk_bound_`. `BudgetRule` guarantees neither: on new rows its rate
    varies, and is a little above what was asked for on average.

    Parameters
    ----------
    rate : float
        The largest share to defer, from 0 up to but not including 1.
    confidence : float, default=0.9
        The probability, at least, with which both parts of the guarantee hold.
    cap, max_weight, calibration_size, guarantee, random_state
        As for `RiskControlRule`.

    Attributes
    ----------
    threshold_ : float
        Rows with a risk above it are deferred; inf if none can be.
    risk_bound_ : float
        The mean loss (or min(loss, cap)) of the accepted part is at most this.
    guarantee_ : str
        What is guaranteed, or "no guarantee".
    test_ : {"binomial", "betting"}
        How the bound was found.
    n_calibration_ : int
        The number of rows tested on.

    See Also
    --------
    BudgetRule : A share deferred, without a guarantee for new rows and without held-out rows.

    Notes
    -----
    Half of the probability of error is for the rate. Other rows propose thresholds, from
    four standard errors below the rate up to it; they are tested in that order, each at the full
    level, until one fails. The other half is divided equally between the bounds of the risk at
    all thresholds that could have been chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.deferral import RateControlRule
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(size=20_000)
    >>> loss = (rng.uniform(size=20_000) < risk).astype(float)  # the risk is right
    >>> rule = RateControlRule(0.2, cap=1.0, random_state=0).fit(risk, loss)
    >>> bool(0.8 <= rule.threshold_ < 0.83)
    True
    >>> bool(0.4 < rule.risk_bound_ < 0.45)  # accepting up to 0.8 has a mean loss of 0.4
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ControlledRule._parameter_constraints,
        "rate": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self,
        rate: float,
        *,
        confidence: float = 0.9,
        cap: float | None = None,
        max_weight: float | None = None,
        calibration_size: float | None = None,
        guarantee: bool = True,
        random_state: Any = None,
    ) -> None:
        self.rate = rate
        self.confidence = confidence
        self.cap = cap
        self.max_weight = max_weight
        self.calibration_size = calibration_size
        self.guarantee = guarantee
        self.random_state = random_state

    def _learn(self, design: Pairs, held: Pairs, most: float) -> None:
        delta = (1 - self.confidence) / 2
        thresholds = self._proposals(design, len(held.risk))
        passed = self._rate_p_values(held, thresholds, delta) <= delta
        n_passed = len(thresholds) if passed.all() else int(np.argmin(passed))
        self.threshold_ = float(thresholds[n_passed - 1]) if n_passed else np.inf
        # Accepting everything was possible too, with or without a test.
        delta /= 1 + len(thresholds)
        design = design.at(np.flatnonzero(design.risk <= self.threshold_))
        held = held.at(np.flatnonzero(held.risk <= self.threshold_))
        low = two_values(design, most) if len(design.risk) else None
        self.test_ = "betting" if low is None else "binomial"
        self.risk_bound_ = _bound(design, held, most, low, delta, self.max_weight)
        self.guarantee_ = (
            f"at most a share {self.rate:g} deferred and mean {self._loss_name()} of accepted rows "
            f"<= {self.risk_bound_:.4g} with probability >= {self.confidence:g}"
            if self.guarantee
            else NO_GUARANTEE
        )

    def _proposals(self, design: Pairs, n_calibration: int) -> Floats:
        """Return thresholds, falling, with predicted rates that rise up to the one allowed."""
        weight = np.ones_like(design.risk) if design.weight is None else design.weight
        n_effective = weight.sum() ** 2 / np.sum(weight**2)
        error = np.sqrt(self.rate * (1 - self.rate) * (1 / n_effective + 1 / n_calibration))
        rates = np.maximum(self.rate - _MARGINS * error, 0.0)
        found = [share_threshold(design.risk, weight, rate) for rate in rates]
        return np.unique(found)[::-1]

    def _rate_p_values(self, held: Pairs, thresholds: Floats, delta: float) -> Floats:
        """Return p-values of the hypotheses that more than `rate` is deferred."""
        deferred = held.risk > thresholds[:, None]
        if held.weight is None:
            return binomial_p_values(deferred.sum(axis=1), len(held.risk), self.rate)
        assert self.max_weight is not None
        return betting_p_values(
            held.weight * (self.rate - deferred),
            worst=self.max_weight * (1 - self.rate),
            n_rows=np.full(len(thresholds), len(held.risk)),
            spread=np.full(len(thresholds), self.rate * (1 - self.rate)),
            level=delta,
        )


def _bound(
    design: Pairs,
    held: Pairs,
    most: float,
    low: float | None,
    delta: float,
    max_weight: float | None,
) -> float:
    """Return what the mean loss exceeds with probability `delta` at most.

    By betting: the means to test are fixed by other rows. If all above one of them are refuted,
    the mean is at most the next: of the largest mean below the true one the hypothesis "this or
    more" is true.
    """
    n = len(held.risk)
    if not n:
        return most
    if low is not None:
        n_high = int(np.sum(held.loss > low))
        return low + (most - low) * binomial_upper(n_high, n, delta)
    means = _means(design, most, n)
    gains = held.gains(means[:, None])
    p_values = betting_p_values(
        gains,
        worst=(most - means) * (1.0 if max_weight is None else max_weight),
        n_rows=np.full(len(means), n),
        spread=np.mean(design.gains(means[:, None]) ** 2, axis=1),
        level=delta,
    )
    last = np.flatnonzero(p_values > delta).max(initial=-1)
    return float(np.append(means, most)[last + 1])


def _means(design: Pairs, most: float, n: int) -> Floats:
    guess = float(np.average(design.loss, weights=design.weight))
    near = guess + np.linspace(*_STANDARD_ERRORS, _N_MEANS) * design.loss.std() / np.sqrt(n)
    wide = np.linspace(design.loss.min(), most, _N_MEANS, endpoint=False)
    means = np.unique(np.concatenate([near, wide]))
    return means[means < most]
