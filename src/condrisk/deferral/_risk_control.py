"""A rule that keeps the mean loss of what it accepts below a target."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Integral, Interval, Real

from condrisk.deferral._controlled import NO_GUARANTEE, ControlledRule, Floats, Pairs, two_values
from condrisk.inference import betting_p_values, binomial_p_values

# Below this predicted z-score a test is hopeless; thresholds beyond it are tried in larger steps.
_HOPELESS = -4.0
# Predicted z-scores that differ by less than so many standard errors are as good as each other.
_AS_GOOD = 0.5
# How many tests are computed at once: those after a failure are computed for nothing.
_TOGETHER = 32


class RiskControlRule(ControlledRule):
    """Accept as many as possible while the mean loss of the accepted part is at most a target.

    The guarantee is about the population, not about the rows at hand: with probability
    `confidence` over the calibration rows, E[loss | accepted] <= `target`. It needs no
    assumption about the risk, which may be as wrong as it likes (then less is accepted); it
    needs calibration rows that are independent draws from the population to come, and that
    neither predictor, risk nor rule has seen. `Deferral` sets them aside or takes them. Where no
    threshold can be shown to keep it, the rule says so (`feasible_`, and a warning) and
    defers everything.

    Parameters
    ----------
    target : float
        The greatest mean loss of the accepted part, in units of the loss.
    confidence : float, default=0.9
        The probability, at least, with which the guarantee holds.
    cap : float or None, default=None
        What is controlled is the mean of min(loss, cap). It is needed where the loss declares no
        greatest value, as the squared error does not; the tighter it is, the more is accepted.
    max_weight : float or None, default=None
        The greatest weight that any row can have, needed with `sample_weight`. It is then
        about the population that the weights lead to; they must be known. Weights that were
        estimated give no guarantee.
    n_thresholds : int, default=100
        How many thresholds to try between the one with the greatest predicted power and the last
        for which there is hope.
    calibration_size : float or None, default=None
        The share of the rows to keep for the tests, where they are not given as ``calibration=``.
        None is 0.3 where the other rows fit predictor and risk as well, and 0.7 where they only
        serve to choose thresholds. They are drawn at random, not in strata: the tests are exact
        for independent rows.
    guarantee : bool, default=True
        If False, no row need be kept: the losses that the risk was fitted on, out-of-fold ones
        where it was cross-fitted, are tested as if they were new. They are not, and nothing is
        guaranteed: `guarantee_` is "no guarantee". Set it too for weights that are estimates and
        for rows that depend on each other.
    random_state : int, RandomState instance or None, default=None
        Seeds which rows are kept, and in which order the tests take them.

    Attributes
    ----------
    threshold_ : float
        Rows with a risk above it are deferred; -inf if none can be accepted.
    feasible_ : bool
        Whether anything can be accepted.
    guarantee_ : str
        What is guaranteed, or "no guarantee".
    test_ : {"binomial", "betting"}
        The exact binomial test for losses of two values, betting for all others.
    thresholds_ : ndarray of shape (n_tried,)
        The thresholds in the order in which they are tested.
    p_values_ : ndarray of shape (n_tried,)
        Of the hypotheses that the accepted part has a mean loss above the target; NaN for those
        that were not reached.
    n_calibration_ : int
        The number of rows tested on.

    See Also
    --------
    RateControlRule : At most a given share deferred, and a bound on the risk.

    Notes
    -----
    Given which rows a threshold accepts, their losses are independent with the mean that is in
    question. Losses of two values are tested by the exact binomial distribution, others by
    betting. The thresholds are tested in an order that other rows have fixed, upwards from the
    one with the greatest predicted power, each at the full level, until one fails: the guarantee
    is broken only if the first of them that is too large passes its test. Deferring everything
    keeps it.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.deferral import RiskControlRule
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(size=20_000)
    >>> loss = (rng.uniform(size=20_000) < risk).astype(float)  # the risk is right
    >>> rule = RiskControlRule(0.1, cap=1.0, random_state=0).fit(risk, loss)
    >>> bool(0.17 < rule.threshold_ < 0.2)  # accepting up to 0.2 has a mean loss of 0.1
    True
    >>> rule.guarantee_
    'mean min(loss, 1) of accepted rows <= 0.1 with probability >= 0.9'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ControlledRule._parameter_constraints,
        "target": [Interval(Real, None, None, closed="neither")],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        target: float,
        *,
        confidence: float = 0.9,
        cap: float | None = None,
        max_weight: float | None = None,
        n_thresholds: int = 100,
        calibration_size: float | None = None,
        guarantee: bool = True,
        random_state: Any = None,
    ) -> None:
        self.target = target
        self.confidence = confidence
        self.cap = cap
        self.max_weight = max_weight
        self.n_thresholds = n_thresholds
        self.calibration_size = calibration_size
        self.guarantee = guarantee
        self.random_state = random_state

    def _learn(self, design: Pairs, held: Pairs, most: float) -> None:
        order = np.argsort(design.risk, kind="stable")
        design = design.at(order)
        scores = _z_scores(design, self.target, self.n_calibration_)
        self.thresholds_ = _thresholds(design.risk, scores, self.n_calibration_, self.n_thresholds)
        low = two_values(design, most)
        self.test_ = "betting" if low is None else "binomial"
        if self.target >= most:
            self.p_values_ = np.zeros(len(self.thresholds_))  # no mean can be above it
        elif low is None:
            self.p_values_ = self._bet(design, held, most)
        else:
            self.p_values_ = self._count(held, low, most)
        self._settle()

    def _count(self, held: Pairs, low: float, most: float) -> Floats:
        """Return the p-values for losses that are `low`, or else taken as `most`."""
        share = (self.target - low) / (most - low) if most > low else 0.0
        accepted = np.searchsorted(np.sort(held.risk), self.thresholds_, side="right")
        costly = np.sort(held.risk[held.loss > low])
        high = np.searchsorted(costly, self.thresholds_, side="right")
        p_values = binomial_p_values(high, accepted, share)
        return _until_failure(p_values, 1 - self.confidence)

    def _bet(self, design: Pairs, held: Pairs, most: float) -> Floats:
        """Return the p-values by betting, some thresholds at a time until one fails."""
        delta = 1 - self.confidence
        spread = design.gains(self.target) ** 2
        n_below = np.searchsorted(design.risk, self.thresholds_, side="right")
        guess = np.cumsum(spread)[np.maximum(n_below, 1) - 1] / np.maximum(n_below, 1)
        worst = (most - self.target) * (1.0 if self.max_weight is None else self.max_weight)
        gains = held.gains(self.target)
        p_values = np.full(len(self.thresholds_), np.nan)
        for start in range(0, len(p_values), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            mine = held.risk <= self.thresholds_[part][-1]
            if not mine.any():
                p_values[part] = 1.0
                break
            accepted = held.risk[mine] <= self.thresholds_[part][:, None]
            p_values[part] = betting_p_values(
                np.where(accepted, gains[mine], 0.0),
                worst=worst,
                n_rows=accepted.sum(axis=1),
                spread=guess[part],
                level=delta,
            )
            if (p_values[part] > delta).any():
                break
        return _until_failure(p_values, delta)

    def _settle(self) -> None:
        """Take the last threshold that passed its test before the first that failed."""
        n_passed = int(np.sum(self.p_values_ <= 1 - self.confidence))
        self.feasible_ = n_passed > 0
        self.threshold_ = float(self.thresholds_[n_passed - 1]) if n_passed else -np.inf
        self.guarantee_ = (
            f"mean {self._loss_name()} of accepted rows <= {self.target:g} "
            f"with probability >= {self.confidence:g}"
            if self.guarantee
            else NO_GUARANTEE
        )
        if not self.feasible_:
            warnings.warn(
                f"no threshold could be shown to keep the mean loss of the accepted part at or "
                f"below target={self.target:g} with confidence {self.confidence:g} from "
                f"{self.n_calibration_} calibration rows: everything is deferred. More such rows, "
                f"a greater target, a lower confidence or a better risk may help.",
                UserWarning,
                stacklevel=2,
            )


def _until_failure(p_values: Floats, delta: float) -> Floats:
    """Return the p-values up to the first that fails, NaN after it."""
    failed = ~(p_values <= delta)
    n_reached = int(np.argmax(failed)) + 1 if failed.any() else len(p_values)
    return np.where(np.arange(len(p_values)) < n_reached, p_values, np.nan)


def _z_scores(design: Pairs, target: float, n_calibration: int) -> Floats:
    """Return what z-score to expect if the rows up to each one, sorted by risk, were accepted.

    As if the worst row of all had been accepted too: a few rows without a loss are no proof.
    """
    gains = design.gains(target)
    worst = min(0.0, float(gains.min()))
    total, squares = np.cumsum(gains) + worst, np.cumsum(gains**2) + worst**2
    scores = np.divide(total, np.sqrt(squares), out=np.zeros_like(total), where=squares > 0)
    scores *= np.sqrt(n_calibration / len(gains))
    # Rows of equal risk are accepted together.
    scores[:-1][design.risk[:-1] == design.risk[1:]] = -np.inf
    return scores


def _thresholds(risk: Floats, scores: Floats, n_calibration: int, n_thresholds: int) -> Floats:
    """Return thresholds upwards from the start; the last accepts everything.

    The start is that of the greatest score, or a later one whose score is as good as that: from
    there fewer tests have to be passed. Thresholds are close together where tests may go either
    way. Those beyond cost nothing: they are reached only if all before them pass.
    """
    standard_error = np.sqrt(n_calibration / len(risk))
    start = int(np.flatnonzero(scores >= scores.max() - _AS_GOOD * standard_error)[-1])
    end = max(start, int(np.flatnonzero(scores >= _HOPELESS).max(initial=start)))
    fine = np.linspace(start, end, n_thresholds)
    beyond = np.linspace(end, len(risk) - 1, max(2, n_thresholds // 4))
    rows: NDArray[np.intp] = np.concatenate([fine, beyond]).round().astype(np.intp)
    return np.append(np.unique(risk[rows]), np.inf)
