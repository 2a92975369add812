"""The default regressor of losses."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from condrisk._autologging import without_autologging
from condrisk._budget import MANY_ROWS
from condrisk._mixing import convex_shares
from condrisk._outliers import capped
from condrisk._state import leaves_rows_out
from condrisk._validation import check_row_weights
from condrisk.learners._encoder import new_rows, training_rows
from condrisk.learners._importances import ImportancesMixin
from condrisk.learners._members import (
    Committee,
    Floats,
    Forest,
    fit_boosting,
    fit_log_linear,
)

N_FOLDS = 5
FEW_ROWS = 20_000
# The shares are found on at most so many rows.
MOST_ROWS = 50_000
# Models of folds are fitted on at most so many rows, and numbers in them, in all, one model at
# least: where there are so many, a second one that has seen four fifths of them again adds time and
# little else.
ROWS_FITTED, NUMBERS_FITTED = 1_000_000, 100_000_000
# Among many rows trees with a smaller share than this are left out: boosting has learnt nearly all
# that they know, and they take most of the time of an estimate and of the room of a model file.
LEAST_OF_TREES = 0.1
# Fewer rows than this teach nothing but their mean.
FEWEST_ROWS = 20
# The level of losses that have no more values than this is set by their mean.
FEW_VALUES = 10


class LossRegressor(ImportancesMixin, RegressorMixin, BaseEstimator):
    """Regressor of noisy losses: a convex mixture found on held-out rows.

    A realised loss is a poor witness of its mean: the squared error of a Gaussian has a standard
    deviation of √2 times its mean. How much to smooth is then what matters, and it depends on
    data that range from noise alone to hardly any. So several members learn the losses,

    * extra-trees, answering at every leaf size from one row to a quarter of all,
    * boosted trees under the Poisson deviance, stopped early,
    * a log-linear model under the Poisson deviance,
    * the mean of the losses,

    and their mixture is the one with the least squared error on rows that the members were not
    fitted on (out-of-bag for the trees, five folds for the others; of more than 200,000 rows fewer
    folds, and one from 500,000 on), each row weighted by the inverse of its predicted mean. Of more
    than 30,000 rows trees with a share below a tenth are left out, and the others share again: they
    would take most of the time of an estimate. All members are consistent for the conditional mean.
    The losses are shifted and scaled first, so that the estimate scales with them; it never leaves
    their range.

    A few huge losses would otherwise be all that is learnt. Where the tail amounts to fewer than
    20 equal losses, (Σz²)² < 20 Σz⁴, losses are capped at the highest value at which it does not.
    The mean of what was cut off is added to every estimate: so few losses do not tell where the
    next ones will be. (With fewer than 40 losses above the least, half of them take the place of
    the 20.)

    Losses of at most ten values, such as 0 and 1, have no such tail, and a few errors in many rows
    are smoothed away easily: estimates of these are multiplied so that on held-out rows their mean
    is that of the losses.

    Parameters
    ----------
    n_jobs : int or None, default=None
        How many trees to grow at a time.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and trees.

    Attributes
    ----------
    shares_ : dict of str to float
        The share of each member in the mixture.
    held_out_ : ndarray of shape (n_samples,)
        The estimate of each training row by members that had not seen its loss; NaN for rows
        that the mixture was not found on: those without weight, and of more than 50,000 the rest.
        Not part of a model file.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How far predictions depend on each column: half the mean squared change where its values
        are those of another row, as a share of the sum. Computed when first asked for, on 500
        training rows at most, which are kept for it and are not part of a model file. It says what
        the model uses, not what that is worth: `sklearn.inspection.permutation_importance` does, on
        rows held out.
    encoder_ : TableEncoder or None
        What makes numbers of the rows; None where they are numbers already.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    Notes
    -----
    On synthetic worlds and on the embedded data it is the best of these or within four per cent
    of it, except on energy, whose losses hardly have noise. Measured by ``python -m
    benchmarks.default_regressor`` (its docstring says how; forest/5 has five rows a leaf)::

                                           default   forest/1   forest/5  forest/20   boosting
        Variance of the true risk explained (mean of five seeds)
        σ² = exp(x₁), d = 5, n = 500          0.76       0.38       0.59       0.63       0.34
        σ² = exp(x₁), d = 5, n = 20,000       0.96       0.69       0.80       0.87       0.77
        σ² bounded, d = 1, n = 500            0.44      -8.27      -1.86      -0.06      -1.38
        σ² bounded, d = 1, n = 20,000         0.96      -7.17      -1.33       0.22       0.89
        hidden noise, d = 5, n = 500          0.67       0.31       0.55       0.66       0.26
        hidden noise, d = 5, n = 20,000       0.95       0.62       0.79       0.91       0.83
        Squared error on embedded data, relative to a constant (geometric mean)
        airfoil                               0.56       0.63       0.72       0.79       0.65
        concrete                              0.70       0.74       0.75       0.87       0.79
        energy                                0.35       0.25       0.47       0.55       0.43
        forest                                1.01       1.17       1.07       1.04       1.26
        housing                               0.85       1.33       0.95       1.07       0.98
        parkinsons                            0.41       0.43       0.45       0.54       0.43
        solar                                 0.87       1.18       0.91       0.89       1.00
        wine                                  0.85       0.94       0.96       0.94       0.99
        all                                   0.66       0.74       0.75       0.81       0.76
        500,000 rows of 10 features: 15 s on one core, 0.99 of the variance explained

    Its construction was chosen by looking at these same sets, folds and worlds, so the figures
    flatter it beside the others, which were taken as they come.

    What it does not do: extrapolate, or find a risk that fewer rows than a
    leaf needs can show. With weights that differ, boosting takes longer to find its bins.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.learners import LossRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> loss = np.exp(X[:, 0]) * rng.normal(size=2000) ** 2
    >>> regressor = LossRegressor(random_state=0).fit(X, loss)
    >>> low, high = regressor.predict([[-1, 0, 0], [1, 0, 0]])
    >>> bool(low < 0.6 < 2 < high)
    True
    """

    def __init__(self, *, n_jobs: int | None = None, random_state: Any = None) -> None:
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None
    ) -> Self:
        """Fit the members and their mixture.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows, encoded by `TableEncoder`; values may be missing.
        y : array-like of shape (n_samples,)
            Their losses, of any sign.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together where the mixture is found.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        X, y = training_rows(self, X, y, y_numeric=True)
        weight = check_row_weights(sample_weight, X)
        used = weight > 0
        y = np.asarray(y, dtype=np.float64)
        if not used.all():
            X, y, weight = X[used], y[used], weight[used]
        self._keep_sample(X, weight)
        self._lowest, self._highest = float(y.min()), float(y.max())
        self._mean = float(np.clip(np.average(y, weights=weight), self._lowest, self._highest))
        self._base, self._scale = self._lowest, self._mean - self._lowest
        self._members: list[Any] = []
        self.shares_ = {"mean": 1.0}
        self.held_out_ = np.full(len(used), self._mean)
        if len(y) >= FEWEST_ROWS and self._lowest < self._mean:
            known = None if groups is None else np.asarray(groups)[used]
            z = capped(y - self._lowest, weight)
            scale = float(np.average(z, weights=weight))
            z /= scale
            if known is None or len(np.unique(known)) > 1:
                rows, estimate = self._mix(X, z, weight / weight.mean(), known)
                self._base, self._scale = self._mean - scale, scale
                total = float(np.average(estimate, weights=weight[rows]))
                if len(np.unique(z)) <= FEW_VALUES and self._members and total > 0:
                    self._scale *= float(np.average(z[rows], weights=weight[rows])) / total
                self.held_out_ = np.full(len(used), np.nan)
                estimate = self._base + self._scale * estimate
                self.held_out_[np.flatnonzero(used)[rows]] = estimate.clip(None, self._highest)
        return self

    @property
    def forest_(self) -> Any:
        """The extra-trees of the mixture; None where they have no share in it."""
        check_is_fitted(self, "shares_")
        return next((member.forest for member in self._members if hasattr(member, "forest")), None)

    def _mix(
        self, X: Floats, z: Floats, weight: Floats, groups: NDArray[Any] | None
    ) -> tuple[NDArray[np.intp], Floats]:
        """Fit the members on losses of least value zero and mean one, then mix them.

        Returns the rows that the mixture was found on, and its estimates for these.
        """
        # Rounded, so that losses in other units give the same splits, not nearly the same.
        z = z.astype(np.float32).astype(np.float64)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(np.iinfo(np.int32).max))
        n_folds = N_FOLDS if groups is None else min(N_FOLDS, len(np.unique(groups)))
        kind = KFold if groups is None else GroupKFold
        splitter = kind(n_folds, shuffle=True, random_state=seed)
        folds = list(splitter.split(X, groups=groups))
        fitted = folds[: max(1, min(ROWS_FITTED // len(z), NUMBERS_FITTED // X.size))]
        members: dict[str, Any] = {
            "trees": Forest(seed, self.n_jobs, None if groups is None else folds),
            "boosting": Committee(fit_boosting, fitted, seed),
            "log-linear": Committee(fit_log_linear, fitted, seed),
        }
        rows = np.arange(len(z))
        if len(z) > MOST_ROWS:
            rows = np.concatenate([held_out for _, held_out in fitted])
            rows = rng.permutation(rows)[:MOST_ROWS]
        # On few rows the threads of boosting wait for each other, badly so on a busy machine.
        threads = threadpool_limits(1 if len(z) < FEW_ROWS else None, user_api="openmp")
        with threads, without_autologging():
            columns = [m.fit(X, z, weight).held_out(X, rows) for m in members.values()]
        table = np.column_stack([*columns, np.ones(len(rows))]).clip(0, z.max())
        ends = np.cumsum([column.shape[1] for column in columns])
        weights = weight[rows] / table.mean(axis=1)
        shares = convex_shares(table, z[rows], weights)
        if len(z) > MANY_ROWS and 0 < shares[: ends[0]].sum() < LEAST_OF_TREES:
            shares[: ends[0]] = 0.0
            shares[ends[0] :] = convex_shares(table[:, ends[0] :], z[rows], weights)
        for member, part in zip(members.values(), np.split(shares, ends)[:-1], strict=True):
            member.blend(part)
        parts = np.split(shares, ends)
        self.shares_ = {
            name: float(part.sum()) for name, part in zip([*members, "mean"], parts, strict=True)
        }
        self._members = [m for name, m in members.items() if self.shares_[name] > 0]
        return rows, table @ shares

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Estimate the mean loss at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Between the least and the largest loss seen in fit.
        """
        check_is_fitted(self, "shares_")
        return self._predictions(new_rows(self, X))

    def _predictions(self, X: Floats) -> Floats:
        if not self._members:
            return np.full(len(X), self._mean)
        mixture = np.full(len(X), self.shares_["mean"])
        for member in self._members:
            mixture += member.predict(X, (self._highest - self._lowest) / self._scale)
        return np.clip(self._base + self._scale * mixture, self._lowest, self._highest)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out():
            state.pop("held_out_", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags
