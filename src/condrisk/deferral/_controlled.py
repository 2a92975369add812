"""What rules that keep a promise share: pairs of risk and loss, how they are split, bounds."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Real
from sklearn.utils.validation import check_is_fitted

from condrisk._validation import check_vector, check_vectors, check_weight

Floats = NDArray[np.float64]

NO_GUARANTEE = "no guarantee"
# What is kept for the tests: of rows that also fit the model, of rows that only fit the rule.
_KEPT_FROM_MODEL, _KEPT_FROM_RULE = 0.3, 0.7


class Pairs(NamedTuple):
    """Risks and losses of some rows, with the weights of the rows where they have any."""

    risk: Floats
    loss: Floats
    weight: Floats | None = None

    def at(self, rows: NDArray[np.intp]) -> Pairs:
        """Return the pairs of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Pairs(self.risk[rows], self.loss[rows], weight)

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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        risk: ArrayLike,
        loss: ArrayLike,
        *,
        X: Any = None,
        sample_weight: ArrayLike | None = None,
        calibration: tuple[ArrayLike, ...] | None = None,
    ) -> Self:
        """Choose thresholds to try on some rows, and test them on others.

        Parameters
        ----------
        risk, loss : array-like of shape (n_samples,)
            Estimated risks and realised losses. Without `calibration`, of rows that neither
            predictor nor risk was fitted on: a random part of them is kept for the tests.
        X : array-like, optional
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Known weights of the rows, at most `max_weight`.
        calibration : tuple (risk, loss) or (risk, loss, sample_weight), optional
            The pairs to test on, of rows that neither predictor nor risk was fitted on. Then all
            of `risk` and `loss` serve to choose the thresholds to try, and they may come from
            rows that the model was fitted on.

        Returns
        -------
        self : object
            The fitted rule.
        """
        pairs = check_pairs(risk, loss, sample_weight)
        if calibration is None:
            held = None
        elif isinstance(calibration, tuple | list) and len(calibration) in (2, 3):
            held = check_pairs(*calibration)
        else:
            raise ValueError(
                "calibration must be a tuple (risk, loss) or (risk, loss, sample_weight)."
            )
        return self._fit_pairs(pairs, held, declared=np.inf)

    def _fit_pairs(self, pairs: Pairs, held: Pairs | None, *, declared: float) -> Self:
        """Fit on checked pairs of a loss that is `declared` to be no greater than that."""
        self._validate_params()
        weighted = [part for part in (pairs, held) if part is not None and part.weight is not None]
        self._check_use(declared=declared, weighted=bool(weighted))
        if held is not None and (held.weight is None) != (pairs.weight is None):
            raise ValueError(
                "sample_weight must be given for the calibration rows too, or for none at all."
            )
        for part in weighted:
            self._check_weights(part)
        if held is None:
            pairs, held = self._split(pairs)
        most = self._most(declared)
        rng = check_random_state(self.random_state)
        held = held.at(rng.permutation(len(held.risk)))  # a sorted table does no harm
        self.n_calibration_ = len(held.risk)
        self._learn(pairs.clipped(most), held.clipped(most), most)
        return self

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
            Ignored: the promise decides, whatever the price.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            True where the expert is asked.
        """
        check_is_fitted(self, "threshold_")
        return check_vector(risk, "risk") > self.threshold_

    # -- for the model that carries the rule -----------------------------------------------------

    def _check_use(self, *, declared: float, weighted: bool) -> None:
        """Raise where a promise could not be kept, before anything is fitted."""
        if self.cap is None and not np.isfinite(declared):
            raise ValueError(
                "cap must be given, since this loss declares no greatest value: a single huge "
                "loss, too rare to be among the rows, would break any promise about the mean. "
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
                "model on new rows, so nothing can be promised from them. Keep rows for the tests, "
                "give them as calibration=, or set guarantee=False to go without a promise."
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

    def _most(self, declared: float) -> float:
        return float(declared if self.cap is None else min(self.cap, declared))

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
