"""A rule that defers where the estimate of the risk has too little data behind it."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, Real
from sklearn.utils.validation import _num_samples, check_is_fitted

from condrisk._validation import check_vector, check_vectors, check_weight, validated
from condrisk.deferral._rules import CostRule, fit_rule, share_threshold
from condrisk.shift import DistanceSupport

N_FOLDS = 5


class SupportRule(BaseEstimator):
    """Defer what another rule defers, and where too little calibration data is at hand.

    An estimate of the risk says nothing of rows unlike those that it was learnt on. This rule
    asks there, whatever the estimate is.

    Parameters
    ----------
    rule : rule or None, default=None
        What decides where there is enough support; None is `CostRule`.
    minimum : float or None, default=None
        The least support with which a row may be accepted, in units of `support`. None finds it
        by `rate`.
    rate : float, default=0.01
        Without a `minimum`: the share of rows like the calibration ones that fall below it, found
        on folds of those rows, each judged by the support of the others.
    support : estimator or None, default=None
        Has ``fit(X, loss)`` and ``score_samples(X)``, larger where there is more data:
        `DistanceSupport` (that is None), `ForestSupport`, a Pipeline that ends in one, or
        scikit-learn's detectors of novelty such as `IsolationForest`.

    Attributes
    ----------
    rule_ : rule
        The fitted inner rule.
    support_ : estimator
        The fitted support.
    minimum_ : float
        Rows of less support are deferred.

    Notes
    -----
    The rule gets rows as `Deferral` gets them, before any Pipeline around the risk has changed
    them: where they hold text, `support` has to be a Pipeline that encodes it, and where they are
    sparse, one that makes few dense features of them, such as `TruncatedSVD`.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.deferral import SupportRule
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> rule = SupportRule().fit(np.full(1000, 0.2), np.full(1000, 0.2), X=X)
    >>> rule.defer([0.2, 0.9, 0.2], X=[[0, 0], [0, 0], [0, 7]], cost=0.5)
    array([False,  True,  True])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rule": [HasMethods(["fit", "defer"]), None],
        "minimum": [Interval(Real, None, None, closed="neither"), None],
        "rate": [Interval(Real, 0, 1, closed="left")],
        "support": [HasMethods(["fit", "score_samples"]), None],
    }

    def __init__(
        self,
        rule: Any = None,
        *,
        minimum: float | None = None,
        rate: float = 0.01,
        support: Any = None,
    ) -> None:
        self.rule = rule
        self.minimum = minimum
        self.rate = rate
        self.support = support

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
        """Fit the inner rule, and learn where the calibration rows are.

        Parameters
        ----------
        risk, loss : array-like of shape (n_samples,)
            Risks and losses of the calibration rows.
        X : array-like of shape (n_samples, n_features)
            The rows themselves.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the inner rule and for `rate`. For the support a row is
            there, or not if its weight is zero.
        calibration : tuple (risk, loss) or (risk, loss, sample_weight), optional
            For the inner rule.
        loss_bound : float, optional
            For the inner rule.

        Returns
        -------
        self : object
            The fitted rule.
        """
        risk, loss = check_vectors(risk=risk, loss=loss)
        X = _check_rows(X, len(risk))
        weight = check_weight(sample_weight, risk, "risk")
        inner = clone(CostRule() if self.rule is None else self.rule)
        self.rule_ = fit_rule(inner, risk, loss, X, weight, calibration, loss_bound)
        there = np.flatnonzero(np.ones_like(risk) if weight is None else weight)
        X, loss = _safe_indexing(X, there), loss[there]
        support = clone(DistanceSupport() if self.support is None else self.support)
        if self.minimum is None:
            held_out = _cross_fitted(support, X, loss)
            shares = np.ones(len(there)) if weight is None else weight[there]
            self.minimum_ = -share_threshold(-held_out, shares, self.rate)
            least = held_out == held_out.min()
            if self.rate > 0 and self.minimum_ == held_out.min() and least.sum() > 1:
                tied = np.average(least, weights=shares)
                warnings.warn(
                    f"the {tied:.1%} of calibration rows with the least support, "
                    f"{self.minimum_:g}, are more than rate={self.rate:g}, so that only rows with "
                    f"even less are deferred for it. Give a minimum, or another support.",
                    UserWarning,
                    stacklevel=2,
                )
        else:
            self.minimum_ = float(self.minimum)
        self.support_ = support.fit(X, loss)
        return self

    def defer(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Decide which rows to defer.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks.
        X : array-like of shape (n_samples, n_features)
            The rows themselves.
        cost : float or array-like of shape (n_samples,), optional
            The cost of deferring, where the inner rule needs it.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the row is deferred.
        """
        check_is_fitted(self)
        risk = check_vector(risk, "risk")
        X = _check_rows(X, len(risk))
        unknown = np.asarray(self.support_.score_samples(X)) < self.minimum_
        return np.asarray(self.rule_.defer(risk, X=X, cost=cost)) | unknown


def _check_rows(X: Any, n_rows: int) -> Any:
    if X is None:
        raise ValueError("X must be given: SupportRule looks at where the rows are.")
    if _num_samples(X) != n_rows:
        raise ValueError(
            f"X and risk must have the same length, got {_num_samples(X)} and {n_rows} rows"
        )
    return X


def _cross_fitted(support: Any, X: Any, loss: NDArray[Any]) -> NDArray[np.float64]:
    """Return the support of each row among the rows of the other folds."""
    found = np.empty(len(loss))
    if len(loss) < 2 * N_FOLDS:
        raise ValueError(
            f"minimum must be given where there are fewer than {2 * N_FOLDS} calibration rows: "
            f"{len(loss)} cannot show how much support is usual."
        )
    for others, fold in KFold(N_FOLDS, shuffle=True, random_state=0).split(loss):
        fitted = clone(support).fit(_safe_indexing(X, others), loss[others])
        found[fold] = fitted.score_samples(_safe_indexing(X, fold))
    return found
