"""A rule that also asks about a random share of what it would accept."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods, Integral, Interval, Real
from sklearn.utils.validation import check_is_fitted

from condrisk._validation import check_vector, validated
from condrisk.deferral._rules import CostRule, fit_rule

# Sets the draws apart from those that others make with the same seed.
STREAM = 0x6578706C


class ExploringRule(BaseEstimator):
    """Defer what another rule defers, and a random share of the rest.

    Experts' answers come back for deferred rows alone, and those were picked for their risk:
    what is learnt from them is not what holds for all rows. Asking about some accepted rows too,
    at random and with a known chance, mends that: each answer is weighted by the inverse of the
    chance with which it was deferred (`condrisk.shift.feedback_weights`). Without exploration
    nothing can be learnt about accepted rows, and no weights help.

    Parameters
    ----------
    rule : rule or None, default=None
        What decides before chance does; None is `CostRule`.
    rate : float, default=0.05
        The chance with which a row that `rule` accepts is deferred all the same; above 0.
    random_state : int or None, default=None
        An int makes the draws, from `fit` on, the same in every run. None draws anew whenever
        the rule is asked.

    Attributes
    ----------
    rule_ : rule
        The fitted inner rule.

    Notes
    -----
    Every call of `defer` draws again: act on the answer of one call, and keep it, together with
    `propensity` at that time, since later rules will have others. Of n rows, a share a of which
    is accepted, the weights leave an effective number of about n / (1 − a + a/rate); in the
    accepted part there are a·rate·n answers to learn from. Exploring costs the price less the
    risk for each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.deferral import ExploringRule
    >>> risk = np.repeat([0.2, 0.9], 1000)
    >>> rule = ExploringRule(rate=0.1, random_state=0).fit(risk, risk)
    >>> asked = rule.defer(risk, cost=0.5)
    >>> bool(80 < asked[:1000].sum() < 120), int(asked[1000:].sum())
    (True, 1000)
    >>> rule.propensity([0.2, 0.9], cost=0.5)
    array([0.1, 1. ])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rule": [HasMethods(["fit", "defer"]), None],
        "rate": [Interval(Real, 0, 1, closed="right")],
        "random_state": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self, rule: Any = None, *, rate: float = 0.05, random_state: int | None = None
    ) -> None:
        self.rule = rule
        self.rate = rate
        self.random_state = random_state

    @property
    def uses_cost(self) -> bool:
        """Whether the cost of deferring has a part in what the inner rule decides."""
        return self.rule is None or getattr(self.rule, "uses_cost", False)

    @validated(nested=True)
    def fit(
        self,
        risk: ArrayLike,
        loss: ArrayLike,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        calibration: tuple[ArrayLike, ...] | None = None,
        loss_bound: float | None = None,
    ) -> Self:
        """Fit the inner rule.

        Parameters
        ----------
        risk, loss : array-like of shape (n_samples,)
            Risks and losses of the calibration rows.
        X : array-like of shape (n_samples, n_features), optional
            The rows themselves.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        calibration : tuple (risk, loss) or (risk, loss, sample_weight), optional
            For the inner rule.
        loss_bound : float, optional
            For the inner rule.

        Returns
        -------
        self : object
            The fitted rule.
        """
        inner = clone(CostRule() if self.rule is None else self.rule)
        self.rule_ = fit_rule(inner, risk, loss, X, sample_weight, calibration, loss_bound)
        # Kept only if seeded: a generator in a saved model would draw the same after each loading.
        # Not the stream of that seed itself: the rows may have been drawn, or split, by it.
        seed = self.random_state
        self._draws = None if seed is None else np.random.default_rng([seed, STREAM])
        return self

    def defer(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Decide which rows to defer, chance included.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks.
        X : array-like of shape (n_samples, n_features), optional
            The rows themselves, where the inner rule needs them.
        cost : float or array-like of shape (n_samples,), optional
            The cost of deferring, where the inner rule needs it.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the row is deferred.
        """
        chance = self.propensity(risk, X=X, cost=cost)
        draws = np.random.default_rng() if self._draws is None else self._draws
        return draws.random(len(chance)) < chance

    def propensity(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the chance with which each row is deferred: keep it beside the expert's answer.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks.
        X : array-like of shape (n_samples, n_features), optional
            The rows themselves, where the inner rule needs them.
        cost : float or array-like of shape (n_samples,), optional
            The cost of deferring, where the inner rule needs it.

        Returns
        -------
        ndarray of shape (n_samples,)
            One where the inner rule defers, `rate` elsewhere.
        """
        check_is_fitted(self)
        deferred = self.rule_.defer(check_vector(risk, "risk"), X=X, cost=cost)
        return np.where(deferred, 1.0, self.rate)
