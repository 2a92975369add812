"""Whether deferring by risk is cheaper than deferring everything, and than deferring nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from condrisk._validation import check_confidence, check_cost, check_vector
from condrisk.assessment._student import (
    are_errors,
    as_figure,
    difference_interval,
    student_interval,
)
from condrisk.inference import MeanInterval

Rival = Literal["everything", "nothing"]
Choice = Literal["by risk", "everything", "nothing", "as good as everything", "as good as nothing"]


@dataclass(frozen=True)
class DeferralSavings:
    """What a decision costs on held-out rows, beside always and never deferring.

    Attributes
    ----------
    deferral_rate : float
        The share of the rows that is deferred.
    deferral_loss : MeanInterval
        Mean of the loss where a row is accepted and of the cost where it is deferred.
    always, never : MeanInterval
        The same for deferring every row, and none.
    below_always, below_never : MeanInterval
        By how much the decision is cheaper than either, a row; negative where it is dearer.
    confidence : float
        Of each interval.
    n_rows : int
        From how many rows.
    """

    deferral_rate: float
    deferral_loss: MeanInterval
    always: MeanInterval
    never: MeanInterval
    below_always: MeanInterval
    below_never: MeanInterval
    confidence: float
    n_rows: int

    @property
    def rival(self) -> Rival:
        """The alternative that stands most against deferring by risk: "everything" or "nothing".

        Of those that are cheaper, or not dearer by more than chance, the cheapest; where deferring
        by risk is cheaper than both, the cheaper of the two.
        """
        ways: dict[Rival, MeanInterval] = {
            "everything": self.below_always,
            "nothing": self.below_never,
        }
        cheaper = [name for name in ways if ways[name].upper < 0]
        open_ = [name for name in ways if ways[name].lower <= 0]
        return min(cheaper or open_ or list(ways), key=lambda name: ways[name].estimate)

    @property
    def below_rival(self) -> MeanInterval:
        """By how much the decision is cheaper than its rival, a row."""
        return self.below_always if self.rival == "everything" else self.below_never

    @property
    def choice(self) -> Choice:
        """What these rows speak for.

        "by risk" where the decision is cheaper than both others, each by more than chance gives;
        "everything" or "nothing" where deferring all rows or none is cheaper than the decision;
        "as good as everything" or "as good as nothing" where no difference to it can be told.
        """
        if self.deferral_rate in (0.0, 1.0):  # it is one of the two
            return "everything" if self.deferral_rate else "nothing"
        if self.below_rival.lower > 0:
            return "by risk"
        if self.below_rival.upper < 0:
            return self.rival
        return "as good as everything" if self.rival == "everything" else "as good as nothing"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, the choice among it; each interval as value, low and high."""
        plain = {
            name: as_figure(value) if isinstance(value, MeanInterval) else value
            for name, value in vars(self).items()
        }
        return plain | {
            "rival": self.rival,
            "below_rival": as_figure(self.below_rival),
            "choice": self.choice,
        }


def deferral_savings(
    loss: ArrayLike, deferred: ArrayLike, cost: ArrayLike, *, confidence: float = 0.95
) -> DeferralSavings:
    """Compare a decision with deferring everything and with deferring nothing, row by row.

    Parameters
    ----------
    loss : array-like of shape (n_rows,)
        Realised loss of the prediction of each row, deferred or not.
    deferred : array-like of bool, shape (n_rows,)
        Which rows are deferred.
    cost : float or array-like of shape (n_rows,)
        The cost of deferring: one for all rows, or one for each.
    confidence : float, default=0.95
        Of each interval.

    Returns
    -------
    DeferralSavings
        Estimates with intervals, and the choice that they speak for.

    Notes
    -----
    The intervals are those of the differences row by row: the three ways are compared on the same
    rows, so what is common to them cancels. They are Student's, which hold approximately. Where
    every loss is 0 or 1, those of the differences are by betting, which hold for any number of
    rows: a few wrong answers, or none, do not look certain. Rows are independent, and were not
    used to fit the predictor, the risk or the rule.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.assessment import deferral_savings
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.uniform(0, 1, 1000)
    >>> loss = risk * rng.exponential(size=1000)
    >>> deferral_savings(loss, risk > 0.4, 0.4).choice
    'by risk'
    >>> deferral_savings(loss, risk > 0.01, 0.01).choice
    'as good as everything'
    """
    check_confidence(confidence)
    losses = check_vector(loss, "loss")
    price = np.broadcast_to(check_cost(cost, losses, "loss"), losses.shape)
    decision = np.asarray(deferred)
    if decision.shape != losses.shape or decision.dtype != bool:
        raise ValueError(
            f"deferred must be true or false for each of {len(losses)} rows, got an array of "
            f"{decision.dtype} of shape {decision.shape}."
        )
    paid = np.where(decision, price, losses)
    errors, low, high = are_errors(losses), float(price.min()), float(price.max())
    return DeferralSavings(
        deferral_rate=float(decision.mean()),
        deferral_loss=student_interval(paid, confidence),
        always=student_interval(price, confidence) if low < high else MeanInterval(low, low, low),
        never=student_interval(losses, confidence),
        below_always=difference_interval(
            price - paid, confidence, lower=min(low - 1.0, 0.0), upper=high, errors=errors
        ),
        below_never=difference_interval(
            losses - paid, confidence, lower=-high, upper=max(1.0 - low, 0.0), errors=errors
        ),
        confidence=confidence,
        n_rows=len(losses),
    )
