"""A risk corrected on held-out rows until it is right in every segment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, Real
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from condrisk._delegate import Assessment, assess, find, has_risk, is_frozen, risk_part
from condrisk._groups import Group, groups_of_bins, masks
from condrisk._state import leaves_rows_out
from condrisk._validation import check_weight, validated
from condrisk.learners import TableEncoder
from condrisk.risk._held_out import HeldOut
from condrisk.risk._relearnt import Known
from condrisk.risk._segment_corrections import FoundSegments, GivenSegments

Floats = NDArray[np.float64]

# Segments of numbers with more values than this are thirds of their rows.
MOST_VALUES, N_BINS = 10, 3
# A risk that was fitted on so few rows has nothing to remember that would be worth it.
FEWEST_ROWS = 60


def _risk_has(method: str) -> Any:
    def check(self: MulticalibratedRisk) -> bool:
        getattr(risk_part(getattr(self, "risk_", self.risk)), method)
        return True

    return check


class MulticalibratedRisk(MetaEstimatorMixin, BaseEstimator):
    """A risk estimator whose risk is corrected on rows that it was not fitted on.

    First its level as a function of the risk, then its mean within segments of the rows. What
    held-out rows say is followed as far as it is clear; with few of them little is changed.

    Parameters
    ----------
    risk : estimator
        A risk estimator such as `RegressionRisk`, or a Pipeline that ends in one. It is fitted on
        a part of the rows; frozen (`sklearn.frozen.FrozenEstimator`), it is used as it is and all
        rows given to `fit` correct it, which it must not have seen.
    segments : list of str or int, or None, default=None
        Columns, by name or position. Each value of a column is a segment, or of numbers with more
        than ten values each third of the rows. None looks for segments: a hundred times a shallow
        tree grows on one half of the held-out rows, drawn anew, and the other half tells how far
        its leaves are off.
    calibration_size : float, default=0.3
        The share of the rows kept for the correction, where the risk is not frozen.
    random_state : int, RandomState instance or None, default=None
        Seeds which rows are kept.

    Attributes
    ----------
    risk_ : estimator
        The fitted risk estimator.
    corrections_ : list of (str, float)
        The given segments in the order in which they were corrected, and what the risk of their
        rows was multiplied by. "all rows" is first, and alone where segments are looked for.
    held_out_ : HeldOut
        Losses of the rows that were kept, and risks corrected without them: for rules.

    See Also
    --------
    condrisk.metrics.multicalibration_error : What it makes small.

    Notes
    -----
    *Level.* Held-out losses are regressed on the risk, by a mixture of two monotone fits: isotonic
    regression, the more so the more rows there are, and a line through the origin.

    *Given segments.* While some segment has a sum of residuals R = Σ (ℓ − g) of more than two
    standard errors √Σ (ℓ − g)², the one with the largest |z| = |R| / √Σ (ℓ − g)² has its risk
    multiplied by 1 + (1 − 1/z²) R / Σ g: as large as the evidence for it (the shrinkage of James
    and Stein).

    *Segments found.* A risk that is fitted here remembers held-out losses and risks of its own
    rows (`held_out_`). A `LossRegressor` learns from these and from the rows kept, with the risk
    among its inputs; the rows kept tell how much of it is mixed into the risk. Then the same as
    for given segments for the leaves of one tree after the other, of which each correction is
    followed a tenth of the way. The rows that a tree has chosen its leaves by say nothing of how
    far they are off.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk import RegressionRisk
    >>> from condrisk.metrics import multicalibration_error
    >>> from condrisk.risk import MulticalibratedRisk
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=3000), rng.integers(2, size=3000)])
    >>> y = X[:, 0] + rng.normal(size=3000) * (1 + X[:, 1])
    >>> blind = RegressionRisk(LinearRegression(), regressor=LinearRegression())
    >>> blind = blind.fit(X[:1000] * [1, 0], y[:1000])  # it has not seen the second column
    >>> risk = MulticalibratedRisk(FrozenEstimator(blind), segments=[1])
    >>> risk = risk.fit(X[1000:2000], y[1000:2000])
    >>> new, loss = X[2000:], risk.loss_values(X[2000:], y[2000:])
    >>> before = multicalibration_error(loss, blind.predict_risk(new), new[:, 1])
    >>> after = multicalibration_error(loss, risk.predict_risk(new), new[:, 1])
    >>> bool(before > 8), bool(after < 4)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "risk": [HasMethods(["fit"])],
        "segments": ["array-like", None],
        "calibration_size": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        risk: Any,
        *,
        segments: Any = None,
        calibration_size: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.risk = risk
        self.segments = segments
        self.calibration_size = calibration_size
        self.random_state = random_state

    @validated(nested=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        prediction: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the risk estimator unless it is frozen, then correct it on rows it has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; for a frozen risk, rows that it was not fitted on.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for risk and correction.
        prediction : array-like, optional
            Only for an external predictor: its responses.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are kept together wherever rows are held out, and err together: what
            a segment is off by has to be clear beside what its groups are off by. Passed on to
            the risk estimator's fit, unless it is frozen.
        **params : dict
            Passed on to the risk estimator's fit: one value a row, or not divided.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not has_risk(self.risk):
            raise ValueError(
                f"risk must be a risk estimator such as RegressionRisk or PlugInRisk, or a "
                f"Pipeline that ends in one; got {type(self.risk).__name__}."
            )
        X, y = indexable(X, y)
        n = _num_samples(X)
        weight = None if sample_weight is None else np.asarray(sample_weight)
        given = {"sample_weight": weight, "prediction": prediction, "groups": groups, **params}
        given = {name: value for name, value in given.items() if value is not None}
        random = check_random_state(self.random_state)
        if is_frozen(self.risk):
            self.risk_, kept, rest = self.risk, np.arange(n), np.empty(0, dtype=np.intp)
        else:
            kept, rest = self._divided(n, groups, random)
            self.risk_ = clone(self.risk).fit(*_rows(X, y, rest), **_at(given, rest, n))
        responses = _at({k: v for k, v in given.items() if k == "prediction"}, kept, n)
        rows, targets = _rows(X, y, kept)
        found = assess(self.risk_, rows, targets, **responses)
        if found.loss is None:
            raise ValueError("y must be given: the targets of the rows that correct the risk.")
        loss, risk = found.loss, np.asarray(found.risk, dtype=np.float64)
        weight = check_weight(weight, np.zeros(n), "X")
        self.loss_ = risk_part(self.risk_).loss_
        self._prepare(rows)
        weights = np.ones(len(kept)) if weight is None else weight[kept]
        inputs = self._inputs(rows)
        own_groups = None if groups is None else np.asarray(groups)[kept]
        own = Known(inputs, risk, loss, weights, _places(own_groups))
        past = None if len(rest) == 0 or self.segments is not None else self._past(X, rest)
        self._correction = self._corrected(own, past)
        self.corrections_ = self._in_words(own)
        held = HeldOut(kept, loss, risk, None if weight is None else weights, own_groups)
        self._held_out: HeldOut | None = None
        self._pending: tuple[HeldOut, Known, Known | None] | None = held, own, past
        return self

    def _past(self, X: Any, rest: NDArray[np.intp]) -> Known | None:
        """Return what the risk remembers of the rows that it was fitted on, if it was so here.

        Held-out losses are those of predictors that have seen fewer rows than the one that is
        kept; the held-out risks tell by how much they are too large.
        """
        held = (
            getattr(risk_part(self.risk_), "held_out_", None) if len(rest) > FEWEST_ROWS else None
        )
        if held is None:
            return None
        weight = np.ones(len(held.losses)) if held.weights is None else held.weights
        lost = float(weight @ held.losses)
        if not lost > 0:
            return None
        factor = float(weight @ held.risks) / lost
        numbers = self._inputs(_safe_indexing(X, rest[held.rows]))
        return Known(numbers, held.risks, factor * held.losses, weight, _places(held.groups))

    def _divided(
        self, n: int, groups: ArrayLike | None, random: np.random.RandomState
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows kept for the correction and the others, with groups in one piece."""
        size = self.calibration_size
        if groups is None:
            order = random.permutation(n)
            n_kept = min(max(1, round(size * n)), n - 1)
            return np.sort(order[:n_kept]), np.sort(order[n_kept:])
        if len(np.unique(np.asarray(groups))) < 2:
            raise ValueError("groups must be two or more: one part of them fits, one corrects.")
        splitter = GroupShuffleSplit(1, test_size=size, random_state=random)
        rest, kept = next(splitter.split(np.zeros(n), groups=groups))
        return np.sort(kept), np.sort(rest)

    # -- the correction ---------------------------------------------------------------------

    def _prepare(self, rows: Any) -> None:
        """Learn what segments, or what columns to look for them in, there are."""
        self.encoder_ = None
        self.groups_: list[Group] = []
        if self.segments is None:
            self.encoder_ = TableEncoder().fit(rows)
        else:
            self.groups_ = groups_of_bins(
                rows, self.segments, n_bins=N_BINS, most_values=MOST_VALUES, what="segments"
            )

    def _inputs(self, X: Any) -> NDArray[Any]:
        """Return which rows belong to each given segment, or what segments are found by."""
        if self.encoder_ is None:
            return masks(self.groups_, X, what="segments").T
        return np.asarray(self.encoder_.transform(X), dtype=np.float64)

    def _corrected(self, own: Known, past: Known | None) -> Any:
        """Return a correction that has learnt from some rows; `numbers` are flags of segments."""
        if self.segments is not None:
            return GivenSegments().fit(own)
        return FoundSegments().fit(own, past)

    def _in_words(self, own: Known) -> list[tuple[str, float]]:
        before, after = own.risk.sum(), self._correction.levelled(own.risk, own.numbers).sum()
        overall = float(after / before) if before > 0 else 1.0
        steps = getattr(self._correction, "steps", ())
        return [("all rows", overall), *((self.groups_[k].name, factor) for k, factor in steps)]

    @property
    def held_out_(self) -> HeldOut:
        """Held-out losses and risks, for rules; estimated when first asked for."""
        if self.__dict__.get("_held_out") is None:
            pending = self.__dict__.get("_pending")
            if pending is None:
                raise AttributeError(
                    "this MulticalibratedRisk has no held_out_: it is not fitted, or comes from a "
                    "model file, which holds no training rows."
                )
            held, own, past = pending
            risks = np.empty(len(own.loss))
            for others, fold in own.folds():
                fitted = self._corrected(own.at(others), past)
                risks[fold] = fitted.apply(own.risk[fold], own.numbers[fold])
            self._held_out, self._pending = replace(held, risks=self._bounded(risks)), None
        assert self._held_out is not None
        return self._held_out

    def _bounded(self, risk: Floats) -> Floats:
        return np.clip(risk, self.loss_.minimum, self.loss_.maximum)

    # -- using it ---------------------------------------------------------------------------

    def predict_risk(self, X: Any, *, prediction: ArrayLike | None = None) -> Floats:
        """Estimate the expected loss of the prediction at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            The corrected risk.
        """
        return self.assess(X, prediction=prediction).risk

    def assess(self, X: Any, y: Any = None, *, prediction: ArrayLike | None = None) -> Assessment:
        """Return predictions, risks and, given `y`, losses; each response is computed once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), optional
            Their targets.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        Assessment
            A named tuple (prediction, risk, loss); loss is None without `y`.
        """
        check_is_fitted(self, "corrections_")
        found = assess(self.risk_, X, y, prediction=prediction)
        risk = self._correction.apply(np.asarray(found.risk, dtype=np.float64), self._inputs(X))
        return found._replace(risk=self._bounded(risk))

    def predict(self, X: Any, *, prediction: ArrayLike | None = None) -> NDArray[Any]:
        """Return the predictor's own predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels or numbers.
        """
        check_is_fitted(self, "corrections_")
        owner, X = find(self.risk_, X, "predict_risk")
        return owner.predict(X, **({} if prediction is None else {"prediction": prediction}))

    @available_if(_risk_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the predictor's own class probabilities, shape (n_samples, n_classes)."""
        check_is_fitted(self, "corrections_")
        owner, X = find(self.risk_, X, "predict_proba")
        return owner.predict_proba(X)

    def loss_values(self, X: Any, y: Any, *, prediction: ArrayLike | None = None) -> Floats:
        """Return the realised loss of the prediction of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        ndarray of shape (n_samples,)
            The losses.
        """
        check_is_fitted(self, "corrections_")
        owner, X = find(self.risk_, X, "loss_values")
        return owner.loss_values(X, y, **({} if prediction is None else {"prediction": prediction}))

    def score(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        prediction: ArrayLike | None = None,
    ) -> float:
        """Return minus the mean squared difference between realised loss and estimated risk.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that neither predictor nor risk were fitted on.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the mean.
        prediction : array-like, optional
            Only for an external predictor: its responses.

        Returns
        -------
        float
            At most zero; larger is better.
        """
        found = self.assess(X, y, prediction=prediction)
        assert found.loss is not None
        weight = check_weight(sample_weight, found.loss, "X")
        return -float(np.average((found.loss - found.risk) ** 2, weights=weight))

    @property
    def predictor(self) -> Any:
        """The predictor whose risk this is."""
        return risk_part(self.risk).predictor

    @property
    def loss(self) -> Any:
        """The loss, as the risk estimator was given it."""
        return risk_part(self.risk).loss

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, where the predictor is a classifier."""
        return risk_part(getattr(self, "risk_", self.risk)).classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        if "risk_" not in self.__dict__:
            raise AttributeError("MulticalibratedRisk has no n_features_in_ before fit.")
        return self.risk_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, where the rows had such."""
        if "risk_" not in self.__dict__:
            raise AttributeError("MulticalibratedRisk has no feature_names_in_ before fit.")
        return self.risk_.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out():
            state.pop("_held_out", None)
            state.pop("_pending", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.risk)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        return tags


def _rows(X: Any, y: Any, rows: NDArray[np.intp]) -> tuple[Any, Any]:
    return _safe_indexing(X, rows), None if y is None else _safe_indexing(y, rows)


def _places(groups: Any) -> NDArray[np.intp] | None:
    return None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]


def _at(given: dict[str, Any], rows: NDArray[np.intp], n: int) -> dict[str, Any]:
    """Return the values for some rows of what has one a row, and the rest as it is."""

    def divided(value: Any) -> bool:
        return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n

    return {k: _safe_indexing(v, rows) if divided(v) else v for k, v in given.items()}
