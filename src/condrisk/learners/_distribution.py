"""The distribution of a number given a row: a mean, a variance, a shape."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import get_tags, indexable
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from condrisk._autologging import without_autologging
from condrisk._crossfit import Job, cross_fit, make_partition, seeded
from condrisk._distributions import Conditional, standard_points
from condrisk._outliers import without_outliers
from condrisk._progress import announce
from condrisk._routing import weight_params
from condrisk._state import leaves_rows_out
from condrisk._validation import check_quantiles, check_row_weights, validated
from condrisk.learners._encoder import new_rows, training_rows
from condrisk.learners._loss_regressor import LossRegressor
from condrisk.learners._stack import StackedRegressor

Floats = NDArray[np.float64]

# No variance is below this share of the mean one: a residual divided by nothing would be the tail.
LEAST_SHARE = 1e-3


class HeldOutDistribution(NamedTuple):
    """What is said of the training rows by models that had not seen them.

    Attributes
    ----------
    mean, std : ndarray of shape (n_samples,)
        Of the target of each row.
    uncertainty : ndarray of shape (n_samples, n_columns)
        How far the models of the mean disagree, where it is a stack; otherwise no columns.
    fold : ndarray of shape (n_samples,)
        The fold in which each row was held out.
    """

    mean: Floats
    std: Floats
    uncertainty: Floats
    fold: NDArray[np.intp]


class DistributionRegressor(RegressorMixin, BaseEstimator):
    """The conditional distribution of a number: its mean, its variance and a common shape.

    Y given x is m(x) + s(x)·e. A regressor estimates the mean m; another one learns the variance
    s² from the squares of m's residuals on rows that it was not fitted on; and e has the
    distribution of those residuals divided by s, all of them, so that the tails are what they
    were. Mean and variance may be anything; the shape of e does not depend on x.

    Parameters
    ----------
    mean : regressor or None, default=None
        Estimates the mean, cross-fitted here and fitted again on all rows. None is
        `StackedRegressor`.
    variance : regressor or None, default=None
        Learns squared residuals from the row, the estimate of the mean and, where the mean is a
        stack, from how far its models disagree. None is `LossRegressor`.
    cv : int, cross-validation splitter or iterable, default=5
        The folds, which together must hold out each row once.
    time_budget : float or None, default=None
        Limit in seconds: half of it is the budget of the stack. The variance is always learnt.
    n_jobs : int or None, default=None
        How many fits, or trees, to run at a time; the results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and models.

    Attributes
    ----------
    mean_, variance_ : estimator
        The fitted regressors.
    residuals_ : ndarray of shape (n_points,)
        Standardised residuals, increasing. Of more than 1,500 the middle ones are merged.
    residual_weights_ : ndarray of shape (n_points,)
        Their weights, of sum one.
    seconds_ : dict of str to float
        What "mean" and "variance" took.
    held_out_ : HeldOutDistribution
        Mean and deviation of the training rows by models that had not seen them. Not part of a
        model file.
    encoder_ : TableEncoder or None
        What makes numbers of the rows for the variance; None where they are numbers already.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    condrisk.PlugInRisk : Puts the distribution into a loss.

    Notes
    -----
    Where at most one row in a hundred have more than half of all squared residuals, each more than
    ten times any other, squared residuals are capped, with a warning that names the rows: one error
    in `y` must not set the variance of all rows.

    Far from the training rows the variance does not shrink: what learns it sees every column
    within the range of the training rows, and where the models of a stack disagree more than they
    ever did there, the difference is added.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.learners import DistributionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(500, 1))
    >>> y = X[:, 0] + np.exp(X[:, 0]) * rng.normal(size=500)
    >>> model = DistributionRegressor(random_state=0).fit(X, y)
    >>> calm, noisy = model.predict_std([[-0.8], [0.8]])
    >>> bool(noisy > 2 * calm)
    True
    >>> model.predict_quantiles([[0.0]], [0.05, 0.95]).round(0)
    array([[-2.,  2.]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "mean": [HasMethods(["fit", "predict"]), None],
        "variance": [HasMethods(["fit", "predict"]), None],
        "cv": ["cv_object"],
        "time_budget": [float, int, None],
        "n_jobs": [int, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        mean: Any = None,
        variance: Any = None,
        *,
        cv: Any = 5,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.mean = mean
        self.variance = variance
        self.cv = cv
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- fitting ------------------------------------------------------------------------------

    @validated(nested=True)
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None
    ) -> Self:
        """Cross-fit the mean, then learn variance and shape from its held-out residuals.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows; missing values may be NaN where both regressors take them. A `mean` of your own
            gets them untouched where they are not numbers alone, all else by `TableEncoder`.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the parts that take them.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, numbers, y = self._check(X, y)
        weight = check_row_weights(sample_weight, X)
        began = time.perf_counter()
        if self.mean is None:
            self.mean_ = self._stack().fit(X, y, sample_weight, groups=groups)
            self.seconds_ = {"mean": time.perf_counter() - began}
            return self._fit_residuals(numbers, y, weight, groups)
        splits = make_partition(
            self.cv, X, y, classifier=False, groups=groups, random_state=self.random_state
        )
        mean = seeded(self.mean, self.random_state)
        with without_autologging(), config_context(enable_metadata_routing=False):
            given = None if sample_weight is None else weight
            params = weight_params(mean, given, part="mean")
            found = cross_fit(
                [Job(mean, params, ("predict",))], X, y, splits, classes=None, n_jobs=self.n_jobs
            )
            self.mean_ = clone(mean).fit(X, y, **params)
        self.seconds_ = {"mean": time.perf_counter() - began}
        held_out = found.responses[0]["predict"], np.empty((len(y), 0)), found.split
        return self._fit_variance(numbers, y, weight, groups, *held_out)

    def fit_around(
        self, stack: StackedRegressor, X: Any, y: Any, weight: Any = None, *, groups: Any = None
    ) -> Self:
        """Learn variance and shape around a stack that is fitted on these rows already.

        Parameters
        ----------
        stack : StackedRegressor
            Fitted, with its `held_out_`.
        X, y, weight, groups
            What it was fitted on.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, numbers, y = self._check(X, y)
        self.mean_, self.seconds_ = stack, {}
        weight = check_row_weights(weight, X)
        return self._fit_residuals(numbers, y, weight, groups)

    def _check(self, X: Any, y: Any) -> tuple[Any, Floats, Floats]:
        """Return the rows for the mean, which other rows than numbers reach untouched; numbers."""
        numbers, y = training_rows(self, X, y, y_numeric=True)
        rows = numbers if self.encoder_ is None else indexable(X)[0]
        return rows, numbers, np.asarray(y, dtype=np.float64)

    def _stack(self) -> StackedRegressor:
        budget = None if self.time_budget is None else self.time_budget / 2
        return StackedRegressor(cv=self.cv, time_budget=budget, random_state=self.random_state)

    def _fit_residuals(self, X: Floats, y: Floats, weight: Floats, groups: Any) -> Self:
        found = self.mean_.held_out_
        mean, uncertainty = found.responses["predict"], found.responses["uncertainty"]
        return self._fit_variance(X, y, weight, groups, mean, uncertainty, found.fold)

    def _fit_variance(
        self,
        X: Floats,
        y: Floats,
        weight: Floats,
        groups: Any,
        mean: Floats,
        uncertainty: Floats,
        fold: NDArray[np.intp],
    ) -> Self:
        """Learn the variance from held-out residuals, and the shape from their quotients."""
        error = y - mean
        squared = without_outliers(error**2, weight, what="squared residuals")
        error = np.copysign(np.sqrt(squared), error)
        inputs = np.column_stack([X, mean, uncertainty])
        used = weight > 0
        seen = inputs if used.all() else inputs[used]
        self._lowest, self._highest = np.fmin.reduce(seen, axis=0), np.fmax.reduce(seen, axis=0)
        self._most_uncertain = uncertainty[used].max(axis=0)
        average = float(np.average(squared, weights=weight))
        self._least = LEAST_SHARE * average
        announce("variance of the target")
        start = time.perf_counter()
        variance = self._regress(inputs, squared, weight, groups, fold)
        self.seconds_["variance"] = time.perf_counter() - start
        # Right on average, which smoothing and early stopping are not quite.
        total = float(np.average(np.maximum(variance, self._least), weights=weight))
        self._scale = average / total if total > 0 else 1.0
        std = np.sqrt(self._scale * np.maximum(variance, self._least))
        quotients = np.divide(error, std, out=np.zeros_like(std), where=std > 0)
        self.residuals_, self.residual_weights_ = standard_points(quotients[used], weight[used])
        self.held_out_ = HeldOutDistribution(mean, std, uncertainty, fold)
        return self

    def _regress(
        self, inputs: Floats, squared: Floats, weight: Floats, groups: Any, fold: NDArray[np.intp]
    ) -> Floats:
        """Fit what learns the variance; return its answers for rows that it has not seen."""
        if self.variance is None:
            default = LossRegressor(n_jobs=self.n_jobs, random_state=self.random_state)
            self.variance_ = default.fit(inputs, squared, weight, groups=groups)
            found, rest = self.variance_.held_out_.copy(), np.isnan(self.variance_.held_out_)
            if rest.any():  # where there are so many rows, seeing one of them changes little
                found[rest] = self.variance_.predict(inputs[rest])
            return found
        model = seeded(self.variance, self.random_state)
        splits = [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)
        ]
        with without_autologging(), config_context(enable_metadata_routing=False):
            given = None if np.ptp(weight) == 0 else weight
            params = weight_params(model, given, part="variance")
            job = Job(model, params, ("predict",))
            crossed = cross_fit([job], inputs, squared, splits, classes=None, n_jobs=self.n_jobs)
            self.variance_ = clone(model).fit(inputs, squared, **params)
        return crossed.responses[0]["predict"]

    # -- answers ------------------------------------------------------------------------------

    def predict(self, X: Any) -> Floats:
        """Estimate the mean at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Means.
        """
        return self._mean_of(self._rows(X)[0])[0]

    def predict_std(self, X: Any) -> Floats:
        """Estimate the standard deviation at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Standard deviations.
        """
        return self.predict_conditional(X).std

    def predict_quantiles(self, X: Any, quantiles: ArrayLike) -> Floats:
        """Estimate quantiles at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        quantiles : array-like of shape (n_quantiles,)
            Levels between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles)
            The least t with P(Y ≤ t | x) at least the level.
        """
        return self.predict_conditional(X).quantiles(check_quantiles(quantiles))

    def predict_expectation(self, X: Any, function: Callable[[Floats], Any]) -> Floats:
        """Estimate the mean of a function of the target at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        function : callable
            Takes an array of targets and returns its value at each.

        Returns
        -------
        ndarray of shape (n_samples,)
            Expectations, by all residuals.
        """

        def values(points: Floats, rows: slice) -> Floats:
            found = np.asarray(function(points), dtype=np.float64)
            if found.shape != points.shape:
                raise ValueError(
                    f"function must return one value for each target, shape {points.shape}, got "
                    f"shape {found.shape}."
                )
            return found

        return self.predict_conditional(X).expect(values)

    def predict_conditional(self, X: Any) -> Conditional:
        """Estimate the whole distribution at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Conditional
            Mean, deviation and weighted points of each row.
        """
        return self.predict_parts(X)[0]

    def predict_parts(self, X: Any) -> tuple[Conditional, Floats]:
        """Estimate the distribution at each row, and how far the models of the mean disagree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        conditional : Conditional
            Mean, deviation and weighted points of each row.
        uncertainty : ndarray of shape (n_samples, n_columns)
            What a stack says of its own disagreement; otherwise no columns.
        """
        X, numbers = self._rows(X)
        mean, uncertainty = self._mean_of(X)
        inputs = np.column_stack([numbers, mean, uncertainty])
        inside = np.clip(inputs, self._lowest, self._highest)
        variance = np.maximum(self.variance_.predict(inside), self._least)
        # More disagreement than the training rows ever showed: the variance learnt knows no more.
        beyond = np.maximum(uncertainty**2 - self._most_uncertain**2, 0)
        extra = beyond.max(axis=1) if beyond.shape[1] else 0.0
        std = np.sqrt(self._scale * variance + extra)
        return Conditional(mean, std, self.residual_weights_, self.residuals_), uncertainty

    def held_out_conditional(self) -> Conditional:
        """Return the distribution at the training rows, by models that had not seen them."""
        found = self.held_out_
        return Conditional(found.mean, found.std, self.residual_weights_, self.residuals_)

    def _rows(self, X: Any) -> tuple[Any, Floats]:
        """Return the rows for the mean, and as numbers."""
        check_is_fitted(self, "residuals_")
        numbers = new_rows(self, X)
        return (numbers if self.encoder_ is None else X), numbers

    def _mean_of(self, X: Any) -> tuple[Floats, Floats]:
        """Return the mean at each row, and how far the models of a stack disagree."""
        # A stack that was given is cross-fitted as any other regressor: that is all it says.
        if isinstance(self.mean_, StackedRegressor) and len(self._most_uncertain):
            found = self.mean_.responses(X)
            return found["predict"], found["uncertainty"]
        mean = np.asarray(self.mean_.predict(X), dtype=np.float64).ravel()
        return mean, np.empty((len(mean), 0))

    # -- scikit-learn -------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parts = [part for part in (self.mean, self.variance) if part is not None]
        tags.input_tags.allow_nan = all(get_tags(part).input_tags.allow_nan for part in parts)
        tags.input_tags.sparse = self.mean is None or get_tags(self.mean).input_tags.sparse
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out():
            state.pop("held_out_", None)
        return state
