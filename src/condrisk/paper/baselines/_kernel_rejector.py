"""The rejector of NN+kNNRej: losses smoothed with a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    RegressorMixin,
    _fit_context,
    clone,
    is_regressor,
)
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, check_cv
from sklearn.utils import (
    _safe_indexing,
    check_array,
    indexable,
)
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from condrisk._delegate import is_frozen
from condrisk.losses import Loss, get_loss
from condrisk.paper.baselines._deferring import (
    DeferringMixin,
    Floats,
    Rows,
    by_choice,
    check_candidates,
    check_groups,
    check_targets,
    split_rows,
)
from condrisk.paper.baselines._kernel import Smoothed, smooth

_LEAST_BANDWIDTH = 1e-150  # whose square is a number yet


class KernelRejector(DeferringMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Rejector that smooths the losses of a regressor with a Gaussian kernel.

    The risk is Nadaraya and Watson's estimate from losses ℓᵢ on rows that the predictor was not
    fitted on,

        g(x) = Σᵢ k(x, xᵢ) ℓᵢ / Σᵢ k(x, xᵢ),    k(x, xᵢ) = exp(−‖x − xᵢ‖² / w²),

    on the features as they are, and a row is accepted iff g(x) is at most the price. With
    `NetRegressor` as the predictor it is the method published as NN+kNNRej (Li et al., 2024),
    which in spite of its name has no k nearest neighbours.

    The calibration rows are split once more. The smaller part chooses the bandwidth w: the first
    of `bandwidths` with the least deferral loss at the price. The larger part, alone, is what g
    smooths. So g depends on the price, and every price has its own.

    Parameters
    ----------
    predictor : regressor
        The model whose losses are smoothed. Frozen (`sklearn.frozen.FrozenEstimator`), it is used
        as it is and all rows given to `fit` are calibration rows; otherwise `cv` says which rows
        it is fitted on.
    cost : float or None, default=None
        The price of asking, in units of the loss; None if each call gives its own.
    loss : str, Loss, callable or None, default=None
        What an error costs, as in `RegressionRisk`; None is the squared error.
    bandwidths : sequence of float, default=(1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
        The bandwidths to choose from, in units of the features.
    validation_size : float, default=0.2
        The share of calibration rows (of groups, where such are given) that choose the bandwidth.
    max_validation_rows : int, default=1000
        At most so many of them are used.
    no_data : {"defer", "accept"}, default="defer"
        What to do where the weights sum to less than 1e-8, so that no calibration row says
        anything. "defer" asks the expert at every price. "accept" divides by 1e-8 instead, as the
        method's public code does: the estimate is then near zero and the row is accepted, exactly
        where nothing is known. It is there for comparison with published figures.
    cv : cross-validation splitter, iterable or None, default=None
        Gives the one split of a predictor that is not frozen: it is fitted on the training rows,
        the others are calibration rows. None holds out four ninths at random (of the groups,
        where such are given).
    random_state : int, RandomState instance or None, default=None
        Seeds the splits and a predictor whose own random state is left open.

    Attributes
    ----------
    predictor_ : estimator
        The fitted predictor.
    loss_ : Loss
        The loss.
    centres_ : ndarray of shape (n_centres, n_features)
        The calibration rows that g smooths over.
    centre_loss_ : ndarray of shape (n_centres,)
        Their losses.
    validation_risk_ : ndarray of shape (n_bandwidths, n_validation_rows)
        The risk of the validation rows with each bandwidth; infinite where the row is deferred
        at every price.
    validation_loss_ : ndarray of shape (n_validation_rows,)
        Their losses.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    References
    ----------
    Xiaocheng Li, Shang Liu, Chunlin Sun and Hanzhao Wang. When No-Rejection Learning is
    Consistent for Regression with Rejection. AISTATS 2024.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from condrisk.paper.baselines import KernelRejector
    >>> from condrisk.datasets import make_heteroscedastic
    >>> world = make_heteroscedastic(2000, random_state=0)  # σ²(x) = exp(x₁)
    >>> model = KernelRejector(LinearRegression(), cost=1.0, random_state=0)
    >>> model = model.fit(world.X, world.y)
    >>> model.bandwidth_for(1.0)
    1.0
    >>> model.defer([[-1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [99, 0, 0, 0, 0]])
    array([False,  True,  True])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "predictor": [HasMethods(["fit", "predict"])],
        "cost": "no_validation",  # by check_cost, whose message says what a price is
        "loss": [str, callable, Loss, None],
        "bandwidths": ["array-like"],
        "validation_size": [Interval(Real, 0, 1, closed="neither")],
        "max_validation_rows": [Interval(Integral, 1, None, closed="left")],
        "no_data": [StrOptions({"defer", "accept"})],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        predictor: Any,
        *,
        cost: float | None = None,
        loss: Any = None,
        bandwidths: Sequence[float] = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3),
        validation_size: float = 0.2,
        max_validation_rows: int = 1000,
        no_data: Literal["defer", "accept"] = "defer",
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.predictor = predictor
        self.cost = cost
        self.loss = loss
        self.bandwidths = bandwidths
        self.validation_size = validation_size
        self.max_validation_rows = max_validation_rows
        self.no_data = no_data
        self.cv = cv
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, *, groups: ArrayLike | None = None) -> Self:
        """Fit the predictor unless it is frozen, and smooth its losses on other rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of numbers. If the predictor is frozen, rows that it was not fitted on.
        y : array-like of shape (n_samples,)
            Targets.
        groups : array-like of shape (n_samples,), optional
            Groups of rows that must not be torn apart by the splits.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not is_regressor(self.predictor):
            raise ValueError(
                f"predictor must be a regressor, got {type(self.predictor).__name__}. For "
                f"classifiers there are RegressionRisk and PlugInRisk."
            )
        self._check_own_cost()
        self._bandwidths = _check_bandwidths(self.bandwidths)
        (X,) = indexable(X)
        validate_data(self, X, skip_check_array=True)
        if y is None:
            raise ValueError("KernelRejector requires y to be passed, but the target y is None.")
        numbers, y = self._numbers(X), check_targets(X, y)
        self.loss_ = get_loss(self.loss, task="regression")
        groups = check_groups(groups, X)
        held_out = self._fit_predictor(X, y, groups)
        prediction = self.predictor_.predict(_safe_indexing(X, held_out))
        loss = self._losses(y[held_out], prediction)
        self._fit_kernel(numbers[held_out], loss, None if groups is None else groups[held_out])
        return self

    def _fit_predictor(self, X: Any, y: Floats, groups: Any) -> Rows:
        """Fit the predictor unless it is frozen; return the rows that it was not fitted on."""
        if is_frozen(self.predictor):
            self.predictor_ = self.predictor
            check_is_fitted(self.predictor_)
            return np.arange(len(y))
        cv = self.cv
        if cv is None:
            kind = ShuffleSplit if groups is None else GroupShuffleSplit
            cv = kind(n_splits=1, test_size=4 / 9, random_state=self.random_state)
        splits = list(check_cv(cv).split(X, y, groups))
        if len(splits) != 1:
            raise ValueError(
                f"cv must give exactly one split, but it gives {len(splits)}: use one such as "
                f"ShuffleSplit(n_splits=1)."
            )
        [(train, held_out)] = splits
        predictor = clone(self.predictor)
        params = predictor.get_params()
        unset = [k for k, v in params.items() if k.split("__")[-1] == "random_state" and v is None]
        predictor.set_params(**dict.fromkeys(unset, self.random_state))
        self.predictor_ = predictor.fit(_safe_indexing(X, train), y[train])
        return held_out

    def _fit_kernel(self, X: Floats, loss: Floats, groups: NDArray[Any] | None) -> None:
        kept, validation = split_rows(
            len(X), groups, test_size=self.validation_size, random_state=self.random_state
        )
        validation = validation[: self.max_validation_rows]
        self.centres_, self.centre_loss_ = X[kept], loss[kept]
        # Whatever the price, it is these risks that it is compared with.
        found = smooth(X[validation], self.centres_, self.centre_loss_, self._bandwidths)
        self.validation_risk_ = np.where(self._deferred_always(found), np.inf, found.mean())
        self.validation_loss_ = loss[validation]

    # -- using it ---------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predictor's own answer for every row, deferred or not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.
        """
        self._check_new_rows(X)
        return np.asarray(self.predictor_.predict(X)).ravel()

    def predict_risk(self, X: Any, *, cost: ArrayLike | None = None) -> NDArray[np.float64]:
        """Estimate g(x), the expected loss of the predictor's answer at each row.

        Where no calibration row has any weight, nothing is known, and with ``no_data="defer"``
        the estimate is the largest loss among the centres: what is not known must not look safe,
        and a loss that was seen is a number that plots and means can take. Such a row is deferred
        even at a price above that.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        cost : float or array-like of shape (n_samples,), optional
            The price of asking, which tells the bandwidth; the model's own if not given.

        Returns
        -------
        ndarray of shape (n_samples,)
            The estimated risk.
        """
        self._check_new_rows(X)
        return self._risk_and_known(X, self._cost_of(cost, X, "predict_risk(X"))[0]

    def loss_values(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return the realised loss of the predictor's answer at each row, deferred or not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        ndarray of shape (n_samples,)
            The losses.
        """
        return self._loss_of(X, y, self.predict(X))

    def bandwidth_for(self, cost: ArrayLike) -> Any:
        """Return the bandwidth that is chosen for a price.

        Parameters
        ----------
        cost : float or array-like of shape (n_prices,)
            The price of asking, or several.

        Returns
        -------
        float or ndarray of shape (n_prices,)
            The first bandwidth with the least deferral loss on the validation rows.
        """
        check_is_fitted(self, "loss_")
        return self._chosen_for(self._bandwidths, cost)

    # -- inside -----------------------------------------------------------------------------

    def _choose(self, cost: Floats) -> Any:
        """Return the number of the bandwidth for a price, or for each of several."""
        costs, where = np.unique(cost, return_inverse=True)
        risk, loss = self.validation_risk_, self.validation_loss_
        chosen = [np.argmin(np.where(risk <= c, loss, c).mean(axis=1)) for c in costs]
        return np.asarray(chosen)[where].reshape(np.shape(cost))

    def _deferred_always(self, found: Smoothed) -> NDArray[np.bool_]:
        return ~found.known if self.no_data == "defer" else np.zeros_like(found.known)

    def _risk_and_known(self, X: Any, cost: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the risk, and whether it is worth comparing with a price."""
        numbers = self._numbers(X)
        risk, always = np.empty(len(numbers)), np.empty(len(numbers), dtype=bool)
        for choice, rows in by_choice(self._choose(cost), len(numbers)):
            bandwidth = self._bandwidths[[choice]]
            found = smooth(numbers[rows], self.centres_, self.centre_loss_, bandwidth)
            always[rows] = self._deferred_always(found)[0]
            risk[rows] = np.where(always[rows], self.centre_loss_.max(), found.mean()[0])
        return risk, ~always

    def _respond(self, X: Any, cost: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        prediction = self.predict(X)
        risk, known = self._risk_and_known(X, cost)
        return prediction, risk, ~known | (risk > cost)

    def _loss_of(self, X: Any, y: Any, prediction: Floats) -> Floats:
        return self._losses(check_targets(X, y), prediction)

    def _losses(self, y: Floats, prediction: Floats) -> Floats:
        loss = self.loss_(y, prediction)
        if not np.isfinite(loss).all():
            raise ValueError(
                f"loss {self.loss_.name!r} is not finite on some rows: the prediction or y is "
                f"NaN, infinite or too large there."
            )
        return loss

    def _check_new_rows(self, X: Any) -> None:
        check_is_fitted(self, "loss_")
        self._numbers(X)
        validate_data(self, X, skip_check_array=True, reset=False)

    def _numbers(self, X: Any) -> Floats:
        return check_array(X, dtype=np.float64, input_name="X", estimator=self)


def _check_bandwidths(bandwidths: ArrayLike) -> Floats:
    array = check_candidates(bandwidths, "bandwidths")
    if not ((array >= _LEAST_BANDWIDTH) & (array < np.inf)).all():
        raise ValueError(
            f"bandwidths must be positive, finite numbers (at least {_LEAST_BANDWIDTH}), "
            f"got {bandwidths!r}."
        )
    return array
