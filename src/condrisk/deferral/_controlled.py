"""What rules with a guarantee share: pairs of risk and loss, how they are split, bounds."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Real
from sklearn.utils.validation import check_is_fitted

from condrisk._validation import check_vector, check_vectors, check_weight, validated
from condrisk.deferral._rules import calibration_pairs

Floats = NDArray[np.float64]

NO_GUARANTEE = "no guarantee"
# What is kept for the tests: of rows that also fit the model, of rows that only fit the rule.
_KEPT_FROM_MODEL, _KEPT_FROM_RULE = 0.3, 0.7


class Pairs(NamedTuple):
    """Risks and losses of some rows, with the weights of the rows where they have any.

    `flags`, of shape (n_groups, n_rows), tells which groups each row belongs to, where a rule
    looks at groups.
    """

    risk: Floats
    loss: Floats
    weight: Floats | None = None
    flags: NDArray[np.bool_] | None = None

    def at(self, rows: NDArray[np.intp]) -> Pairs:
        """Return the pairs of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        flags = None if self.flags is None else self.flags[:, rows]
        return Pairs(self.risk[rows], self.loss[rows], weight, flags)

    def clipped(self, most: float) -> Pairs:
        """Return the pairs with no loss above `most`."""
        return self._replace(loss=np.minimum(self.loss, most))

    def gains(self, mean: float | Floats) -> Floats:
        """Return w (mean − ℓ): what is won, row by row, by betting on a lower mean."""
        return (mean - self.loss) if self.weight is None else self.weight * (mean - self.loss)


def check_pairs(risk: ArrayLike, loss: ArrayLike, weight: ArrayLike | None = None) -> Pairs:
    """Return validated pairs."""
    risk, loss = check_vectors(risk=risk, loss=loss)
    return Pairs(risk, loss, check_weight(weight, risk, "risk"))


class ControlledRule(BaseEstimator, metaclass=ABCMeta):
    """Base of the rules whose threshold is tested on rows that nothing else has seen."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "cap": [Interval(Real, None, None, closed="neither"), None],
        "max_weight": [Interval(Real, 0, None, closed="neither"), None],
        "calibration_size": [Interval(Real, 0, 1, closed="left"), None],
        "guarantee": ["boolean"],
        "random_state": ["random_state"],
    }

    confidence: float
    cap: float | None
    max_weight: float | None
    calibration_size: float | None
    guarantee: bool
    random_state: Any
    threshold_: float

    @validated(nested=False)
    def fit(
        self,
        risk: ArrayLike,
        loss: ArrayLike,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        calibration: tuple[ArrayLike, ...] | None = None,
        X_calibration: Any = None,
        loss_bound: float | None = None,
    ) -> Self:
        """Choose thresholds to try on some rows, and test them on others.

        Parameters
        ----------
        risk, loss : array-like of shape (n_samples,)
            Estimated risks and realised losses. Without `calibration`, of rows that neither
            predictor nor risk was fitted on: a random part of them is kept for the tests.
        X : array-like of shape (n_samples, n_features), optional
            The rows themselves, where the rule looks at groups of them.
        sample_weight : array-like of shape (n_samples,), optional
            Known weights of the rows, at most `max_weight`.
        calibration : tuple (risk, loss) or (risk, loss, sample_weight), optional
            The pairs to test on, of rows that neither predictor nor risk was fitted on. Then all
            of `risk` and `loss` serve to choose the thresholds to try, and they may come from
            rows that the model was fitted on.
        X_calibration : array-like, optional
            The rows of `calibration`, where the rule looks at groups of them.
        loss_bound : float, optional
            The greatest value that the loss can have, if that is known.

        Returns
        -------
        self : object
            The fitted rule.
        """
        declared = np.inf if loss_bound is None else float(loss_bound)
        pairs = check_pairs(risk, loss, sample_weight)
        held = None if calibration is None else check_pairs(*calibration_pairs(calibration))
        weighted = [part for part in (pairs, held) if part is not None and part.weight is not None]
        self._check_use(declared=declared, weighted=bool(weighted))
        if held is not None and (held.weight is None) != (pairs.weight is None):
            raise ValueError(
                "sample_weight must be given for the calibration rows too, or for none at all."
            )
        for part in weighted:
            self._check_weights(part)
        pairs, held = self._with_groups(pairs, X, held, X_calibration)
        if held is None:
            pairs, held = self._split(pairs)
        most = float(declared if self.cap is None else min(self.cap, declared))
        rng = check_random_state(self.random_state)
        held = held.at(rng.permutation(len(held.risk)))  # a sorted table does no harm
        self.n_calibration_ = len(held.risk)
        self._learn(pairs.clipped(most), held.clipped(most), most)
        return self

    def _with_groups(
        self, pairs: Pairs, X: Any, held: Pairs | None, X_held: Any
    ) -> tuple[Pairs, Pairs | None]:
        """Return the pairs with flags of the groups of each row, where the rule has groups."""
        return pairs, held

    @abstractmethod
    def _learn(self, design: Pairs, held: Pairs, most: float) -> None:
        """Choose thresholds on `design`, test them on `held`; no loss is above `most`."""

    def defer(
        self, risk: ArrayLike, *, X: Any = None, cost: ArrayLike | None = None
    ) -> NDArray[np.bool_]:
        """Decide which rows to defer.

        Parameters
        ----------
        risk : array-like of shape (n_samples,)
            Estimated risks.
        X : array-like, optional
            Ignored.
        cost : float or array-like of shape (n_samples,), optional
            Ignored: the guarantee decides, whatever the cost.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the row is deferred.
        """
        check_is_fitted(self, "threshold_")
        return check_vector(risk, "risk") > self.threshold_

    def hold_back(
        self,
        n_rows: int,
        *,
        groups: Any = None,
        weighted: bool = False,
        loss_bound: float = np.inf,
        fits_model: bool = True,
        given: bool = False,
    ) -> NDArray[np.intp] | None:
        """Return which rows a model must not be fitted on, so that the rule can be tested on them.

        Parameters
        ----------
        n_rows : int
            How many rows there are.
        groups : array-like of shape (n_rows,), optional
            Groups of rows that depend on each other.
        weighted : bool, default=False
            Whether the rows have weights.
        loss_bound : float, default=inf
            The greatest value that the loss can have.
        fits_model : bool, default=True
            Whether the other rows fit a model, or only the rule.
        given : bool, default=False
            Whether calibration rows are given apart, so that none has to be kept.

        Returns
        -------
        ndarray of int or None
            Positions, increasing; None if no rows have to be kept.
        """
        self._validate_params()
        self._check_use(declared=loss_bound, weighted=weighted)
        if given:
            return None
        if groups is not None and self.guarantee:
            raise ValueError(
                "groups: rows of one group depend on each other, and the tests of "
                f"{type(self).__name__} are exact for independent rows only. Give one row of each "
                "group as calibration rows, or set guarantee=False to go without a guarantee."
            )
        share = self._kept_share(fits_model=fits_model)
        if not share:
            return None
        if groups is None:
            return self._split_rows(n_rows, share)[1]
        splitter = GroupShuffleSplit(1, test_size=share, random_state=self.random_state)
        return np.sort(next(splitter.split(np.zeros(n_rows), groups=groups))[1])

    # -- inside -----------------------------------------------------------------------------

    def _check_use(self, *, declared: float, weighted: bool) -> None:
        """Raise where no guarantee could be given, before anything is fitted."""
        if self.cap is None and not np.isfinite(declared):
            raise ValueError(
                "cap must be given, since this loss declares no greatest value: a single huge "
                "loss, too rare to be among the rows, would break any guarantee about the mean. "
                "The rule then controls the mean of min(loss, cap)."
            )
        if weighted and self.max_weight is None:
            raise ValueError(
                "max_weight must be given with sample_weight: the greatest weight that any row "
                "can have, known beforehand and not the greatest seen."
            )

    def _check_weights(self, pairs: Pairs) -> None:
        assert pairs.weight is not None
        assert self.max_weight is not None
        if pairs.weight.max() > self.max_weight:
            raise ValueError(
                f"sample_weight must not exceed max_weight={self.max_weight:g}, "
                f"got {pairs.weight.max():g}."
            )

    def _kept_share(self, *, fits_model: bool) -> float:
        """Return which share of the rows to keep for the tests; 0 if the same rows serve all."""
        if self.calibration_size is None:
            kept = _KEPT_FROM_MODEL if fits_model else _KEPT_FROM_RULE
            return kept if self.guarantee else 0.0
        if not self.calibration_size and self.guarantee:
            raise ValueError(
                "calibration_size must not be 0: losses of rows that the model was fitted on, "
                "out-of-fold ones of a model that is fitted again included, are not those of the "
                "model on new rows, so they guarantee nothing. Keep rows for the tests, give them "
                "as calibration=, or set guarantee=False to go without a guarantee."
            )
        return float(self.calibration_size)

    def _split_rows(self, n: int, share: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return rows to fit on and rows to test on, drawn at random.

        Not stratified: strata would make the rows dependent, and the tests are exact for
        independent ones.
        """
        n_kept = min(max(1, round(share * n)), n - 1)
        if n < 2:
            raise ValueError("at least two rows are needed: one to fit on and one to test on.")
        order = check_random_state(self.random_state).permutation(n)
        return np.sort(order[n_kept:]), np.sort(order[:n_kept])

    def _split(self, pairs: Pairs) -> tuple[Pairs, Pairs]:
        share = self._kept_share(fits_model=False)
        if not share:
            return pairs, pairs
        rest, kept = self._split_rows(len(pairs.risk), share)
        return pairs.at(rest), pairs.at(kept)

    def _loss_name(self) -> str:
        return "loss" if self.cap is None else f"min(loss, {self.cap:g})"


def two_values(design: Pairs, most: float) -> float | None:
    """Return the lower value of a loss that is either that or `most`, None for other losses.

    Found on rows that are not tested: where it is wrong, losses between are taken as `most`, which
    costs power and no validity.
    """
    low = float(design.loss.min())
    if design.weight is not None or not np.isin(design.loss, [low, most]).all():
        return None
    return low
