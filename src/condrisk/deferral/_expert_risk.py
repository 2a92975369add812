"""The risk of an expert, from rows on which the expert's answer and the truth are both known."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils._param_validation import HasMethods, Interval, Real
from sklearn.utils.validation import _num_samples, check_is_fitted

from condrisk._validation import check_weight, validated
from condrisk.deferral._overlap import (
    FEWEST_ROWS,
    NOT_CHECKED,
    Overlap,
    check_propensity,
    estimate_propensity,
    judge,
)
from condrisk.losses import Loss, get_loss, zero_one
from condrisk.risk import RegressionRisk


def denoised_risk(risk: ArrayLike, noise: float) -> NDArray[np.float64]:
    """Return the chance of being wrong, from that of disagreeing with labels that may be flipped.

    Labels of two classes that are flipped with probability ρ, whatever the answer, turn a risk g
    under the zero-one loss into g̃ = g(1 − ρ) + (1 − g)ρ. This is the way back,
    g = (g̃ − ρ)/(1 − 2ρ), kept between 0 and 1.

    Parameters
    ----------
    risk : array-like of shape (n_samples,)
        The risks against the flipped labels.
    noise : float
        The probability ρ of a flip, from 0 to below one half.

    Returns
    -------
    ndarray of shape (n_samples,)
        The risks against the truth.

    Examples
    --------
    >>> from condrisk.deferral import denoised_risk
    >>> denoised_risk([0.1, 0.26, 0.5], 0.1)
    array([0. , 0.2, 0.5])
    """
    if not 0 <= noise < 0.5:
        raise ValueError(f"noise must be a probability below one half, got {noise!r}.")
    values = np.asarray(risk, dtype=np.float64)
    return values if noise == 0 else np.clip((values - noise) / (1 - 2 * noise), 0.0, 1.0)


class ExpertRisk(BaseEstimator):
    """The expected loss of an expert's answer at each row, learnt from rows the expert answered.

    What is learnt is g_e(x) = E[ℓ(answer, Y) | X = x] if

    * every x was deferred with a positive probability (*overlap*). It is checked where
      `fit` is told which rows were deferred, or with what probability: a share of rows that were
      hardly ever deferred is reported in `overlap_`, and refused beyond `max_outside`.
      An estimate finds regions, not single rows, and the fewer rows, the larger they must be;
    * deferring depended on x alone. No data of this kind can show it; rows that were sent to the
      expert by chance, or by a rule that reads x, have it;
    * the truth is known of the deferred rows, apart from `noise`. From the expert's answers
      without a truth only their disagreement is known, which is not a risk:
      `fit` refuses to go on without `y`.

    Because deferring depends on x alone, the deferred rows need no weights.

    Parameters
    ----------
    loss : str, Loss, array-like or callable
        What an error costs, the same as for the model that the expert stands beside.
    regressor : regressor or None, default=None
        Learns the expert's losses; None is `condrisk.learners.LossRegressor`.
    noise : float, default=0.0
        The probability with which the labels `y` are flipped, independently of the expert's
        errors; only for the zero-one loss on two classes. The risk of the model has to be
        corrected in the same way, by ``ExpertRule(noise=…)``.
    propensity_model : classifier or None, default=None
        Learns the propensity where `fit` gets ``deferred`` but no ``propensity``; None is boosting
        of small trees with large leaves.
    floor : float, default=0.05
        A row is outside of what was deferred if its propensity is below this share of the
        mean propensity.
    max_outside : float, default=0.1
        The largest share of rows outside; beyond it `fit` raises.
    random_state : int, RandomState instance or None, default=None
        Seeds every part whose own random state is left open.

    Attributes
    ----------
    risk_ : RegressionRisk
        The estimate, before noise is taken out.
    overlap_ : Overlap
        Where rows were deferred: ``source``, ``rate``, ``least``, ``outside`` and ``rows``.
    propensity_model_ : classifier
        The model of the propensity, where it was estimated.
    assumptions_ : tuple of str
        What the estimate rests on and no check has confirmed.

    See Also
    --------
    ExpertRule : Defers to one of several experts.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.deferral import ExpertRisk
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = rng.integers(0, 2, 2000)
    >>> wrong = rng.random(2000) < np.where(X[:, 0] > 0, 0.3, 0.05)
    >>> deferred = rng.random(2000) < 0.5
    >>> expert = ExpertRisk("zero_one", random_state=0)
    >>> expert = expert.fit(X, y, prediction=np.where(wrong, 1 - y, y), deferred=deferred)
    >>> good, bad = expert.predict_risk([[-1.0, 0.0], [1.0, 0.0]])
    >>> bool(good < 0.1 < 0.2 < bad)
    True
    >>> expert.overlap_.outside
    0.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [str, callable, "array-like", Loss],
        "regressor": [HasMethods(["fit", "predict"]), None],
        "noise": [Interval(Real, 0, 0.5, closed="left")],
        "propensity_model": [HasMethods(["fit", "predict_proba"]), None],
        "floor": [Interval(Real, 0, 1, closed="both")],
        "max_outside": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        loss: Any,
        *,
        regressor: Any = None,
        noise: float = 0.0,
        propensity_model: Any = None,
        floor: float = 0.05,
        max_outside: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.regressor = regressor
        self.noise = noise
        self.propensity_model = propensity_model
        self.floor = floor
        self.max_outside = max_outside
        self.random_state = random_state

    @validated(nested=True)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        prediction: Any,
        deferred: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Check where rows were deferred, then learn the expert's losses there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: all that might have been deferred to the expert, with `deferred`, or only those
            that were.
        y : array-like of shape (n_samples,)
            The truth, not the expert's own answers; ignored on rows that were not deferred.
        prediction : array-like of shape (n_samples,) or (n_samples, n_classes)
            The expert's predictions; ignored on rows that were not deferred.
        deferred : array-like of bool, shape (n_samples,), optional
            True where the row was deferred to the expert; None if everywhere.
        propensity : array-like of shape (n_samples,), optional
            The probability with which the row was deferred, where it is known.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        (X,) = indexable(X)
        mask = _check_deferred(deferred, _num_samples(X))
        y, prediction = _check_truth(y, "y", mask), _check_truth(prediction, "prediction", mask)
        weight = check_weight(sample_weight, np.zeros(len(mask)), "X")
        self.overlap_ = self._overlap(X, mask, deferred is not None, propensity)
        self._refuse(self.overlap_)
        rows = np.flatnonzero(mask)
        self._check_noise(y[rows], prediction[rows])
        _warn_if_the_same(y[rows], prediction[rows])
        risk = RegressionRisk(
            "precomputed", loss=self.loss, regressor=self.regressor, random_state=self.random_state
        )
        given = {} if weight is None else {"sample_weight": weight[rows]}
        with warnings.catch_warnings():
            # An expert who got hard rows only may well be worse than a constant.
            warnings.filterwarnings("ignore", "the predictor is worse than a constant")
            self.risk_ = risk.fit(
                _safe_indexing(X, rows), y[rows], prediction=prediction[rows], **given
            )
        self.assumptions_ = self._assumptions()
        return self

    def predict_risk(self, X: Any) -> NDArray[np.float64]:
        """Estimate the expected loss of the expert's answer at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Where the expert was never asked, the estimate is an extrapolation.

        Returns
        -------
        ndarray of shape (n_samples,)
            The estimated risk.
        """
        check_is_fitted(self, "risk_")
        return denoised_risk(self.risk_.predict_risk(X), self.noise)

    def supported(self, X: Any) -> NDArray[np.bool_]:
        """Tell where rows were deferred often enough, by the estimated propensity.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            False where the estimated propensity is below the floor.
        """
        check_is_fitted(self, "risk_")
        if self.overlap_.rate is None or not hasattr(self, "propensity_model_"):
            raise ValueError(
                "deferred was not given to fit, or its probability was known, or there were too "
                "few rows: there is no estimate of which rows are deferred."
            )
        return self.propensity_model_.predict_proba(X)[:, 1] >= self.floor * self.overlap_.rate

    # -- inside -----------------------------------------------------------------------------

    def _overlap(
        self, X: Any, deferred: NDArray[np.bool_], is_given: bool, propensity: Any
    ) -> Overlap:
        self.__dict__.pop("propensity_model_", None)
        if propensity is not None:
            known = check_propensity(propensity, deferred)
            # Rows asked stand for 1/p rows each where those not asked are not here.
            weight = None if is_given else 1 / known
            return judge(known, weight=weight, floor=self.floor, source="given")
        if not is_given:
            return NOT_CHECKED
        if deferred.all():
            return judge(
                np.ones(len(deferred)), weight=None, floor=self.floor, source="all deferred"
            )
        if min(deferred.sum(), (~deferred).sum()) < FEWEST_ROWS:
            return NOT_CHECKED
        self.propensity_model_, estimate = estimate_propensity(
            self.propensity_model, X, deferred, self.random_state
        )
        return judge(estimate, weight=None, floor=self.floor, source="estimated")

    def _refuse(self, overlap: Overlap) -> None:
        if overlap.outside is not None and overlap.outside > self.max_outside:
            raise ValueError(
                f"deferred: hardly any row was deferred in a region of {overlap.outside:.1%} of "
                f"the rows (propensity below {self.floor:g} of its mean, {overlap.source}), more "
                f"than max_outside={self.max_outside:g}. The expert's risk is not identified "
                f"there: defer such rows too, leave them out of X, or raise max_outside to "
                f"extrapolate."
            )

    def _check_noise(self, y: NDArray[Any], prediction: NDArray[Any]) -> None:
        if not self.noise:
            return
        n_classes = len(np.unique(np.concatenate([y, prediction]))) if prediction.ndim == 1 else 0
        if get_loss(self.loss) != zero_one or n_classes > 2 or prediction.ndim != 1:
            raise ValueError(
                "noise can be corrected for the zero-one loss on labels of two classes only."
            )

    def _assumptions(self) -> tuple[str, ...]:
        known = []
        if self.overlap_.source == "not checked":
            known.append("every x is deferred with a positive probability")
        if self.overlap_.source != "all deferred":
            known.append("whether a row was deferred depended on x alone")
        known.append("y is the truth, not the expert's own answer")
        if self.noise:
            known.append(f"y is flipped with probability {self.noise:g} whatever the expert says")
        return tuple(known)


def _check_deferred(deferred: Any, n_rows: int) -> NDArray[np.bool_]:
    if deferred is None:
        return np.ones(n_rows, dtype=bool)
    mask = np.asarray(deferred)
    if mask.shape != (n_rows,) or not np.isin(mask, (0, 1)).all():
        raise ValueError(f"deferred must be True or False for each of the {n_rows} rows of X.")
    if not mask.any():
        raise ValueError("deferred is False everywhere: nothing is known about the expert.")
    return mask.astype(bool)


def _check_truth(values: Any, name: str, deferred: NDArray[np.bool_]) -> NDArray[Any]:
    if values is None:
        what = {
            "y": "y must be the truth on the rows that the expert answered: without it only the "
            "disagreement of the expert with somebody else is known, which is not a risk.",
            "prediction": "prediction must be given: the expert's prediction of each row.",
        }
        raise ValueError(what[name])
    array = np.asarray(values)
    if array.shape[:1] != deferred.shape:
        raise ValueError(
            f"{name} must have one entry for each of the {len(deferred)} rows of X, "
            f"got shape {array.shape}."
        )
    seen = array[deferred]
    missing = seen != seen if seen.dtype.kind in "fcO" else np.zeros(1, dtype=bool)
    if seen.dtype == object:
        missing |= seen == None  # noqa: E711 - elementwise
    if missing.any():
        raise ValueError(
            f"{name} is missing on {int(np.sum(missing))} of the deferred rows: "
            f"leave those rows out, if what is missing depends on x alone."
        )
    return array


def _warn_if_the_same(y: NDArray[Any], prediction: NDArray[Any]) -> None:
    if y.shape == prediction.shape and np.array_equal(y, prediction):
        warnings.warn(
            "y equals prediction on every row, so the expert's risk is zero. If y was taken from "
            "this expert, it is not the truth, and nothing is known about the expert's errors.",
            UserWarning,
            stacklevel=4,
        )
