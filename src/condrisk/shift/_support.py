"""Support: how much calibration data stands behind the estimate at a row."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Integral, Interval, Real
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from condrisk._state import leaves_rows_out
from condrisk._validation import validated
from condrisk.shift._leaves import Leaves, trees_of

Floats = NDArray[np.float64]

# Where rows are dense, a share of them shows that as well as all, and sooner.
MOST_ROWS = 10_000
ROWS_PER_BLOCK = 4096
# The usual distance where every row is there many times, so that any other is unlike them.
DISTANCE_OF_REPEATS = 0.1
# With more features, trees of rows are slower than looking at every pair.
MOST_FEATURES_OF_TREES = 6
# A missing value counts as a value of its own, so many scales away from all others.
MISSING = 10.0
# Of a feature that never varied, nothing is known but that value.
RELATIVE_SCALE_OF_CONSTANTS = 1e-6


class _Support(BaseEstimator):
    """What the two kinds share: which rows they are given."""

    random_state: Any

    def _check(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Floats, NDArray[np.intp]]:
        """Return X, and the rows of it that count, at most so many as are worth it."""
        X = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
        )
        weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        rows = np.flatnonzero(weight > 0)
        if len(rows) > MOST_ROWS:
            drawn = check_random_state(self.random_state).permutation(len(rows))[:MOST_ROWS]
            rows = rows[np.sort(drawn)]
        if len(rows) < 2:
            raise ValueError(f"X must have at least two rows of positive weight, got {len(rows)}.")
        return X, rows

    def _check_new(self, X: Any) -> Floats:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class DistanceSupport(_Support):
    """Support by distance: how many calibration rows are as near as is usual.

    Each feature is centred at its median and scaled by its interquartile range (by its standard
    deviation where that is zero). The usual distance h is the median, over the calibration rows,
    of the distance to the k-th nearest other one. The support of a row is the sum of
    exp(−½ (d/h)²) over the distances d to its k nearest calibration rows: close to k among many
    rows, zero far from all of them.

    Parameters
    ----------
    n_neighbors : int, default=20
        k, how many rows are looked at, and the most that the support can be.
    random_state : int, RandomState instance or None, default=0
        Draws 10,000 rows where there are more: a draw shows where rows are.

    Attributes
    ----------
    usual_distance_ : float
        h.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    ForestSupport : By the leaves of a forest; slower, and finds more.
    condrisk.deferral.SupportRule : Defers where there is too little.

    Notes
    -----
    All features count the same, those too that have nothing to do with the risk. With many of
    them distances say little, and a gap is seen only if it is wider than the distances that are
    usual in the tails. A missing value is taken as a value of its own, far from others.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.shift import DistanceSupport
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> inside, outside = DistanceSupport().fit(X).score_samples([[0.0, 0.0], [6.0, 0.0]])
    >>> bool(inside > 10 and outside < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_neighbors: int = 20, *, random_state: Any = 0) -> None:
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    @validated(nested=False)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn where the calibration rows are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the risk was learnt on; missing values may be NaN.
        y : array-like of shape (n_samples,), optional
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero are not there; otherwise weights do not matter.

        Returns
        -------
        self : object
            The fitted support.
        """
        X, rows = self._check(X, sample_weight)
        X = X[rows]
        self._center, self._scale = _center_and_scale(X)
        self._neighbors = self._index(self._scaled(X))
        farthest = self._neighbors.kneighbors()[0][:, -1]  # of others: none is its own neighbour
        # Where most rows are repeated, the usual distance is that of those that are not.
        apart = farthest if np.median(farthest) > 0 else farthest[farthest > 0]
        self.usual_distance_ = float(np.median(apart)) if len(apart) else DISTANCE_OF_REPEATS
        return self

    def score_samples(self, X: Any) -> Floats:
        """Return the support of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 to `n_neighbors`.
        """
        X = self._check_new(X)
        support = np.empty(len(X))
        for start in range(0, len(X), ROWS_PER_BLOCK):
            block = slice(start, start + ROWS_PER_BLOCK)
            distance, _ = self._neighbors.kneighbors(self._scaled(X[block]))
            support[block] = np.exp(-0.5 * (distance / self.usual_distance_) ** 2).sum(axis=1)
        return support

    def _index(self, scaled: Floats) -> NearestNeighbors:
        k = min(self.n_neighbors, len(scaled) - 1)
        algorithm = "kd_tree" if scaled.shape[1] <= MOST_FEATURES_OF_TREES else "brute"
        return NearestNeighbors(n_neighbors=k, algorithm=algorithm).fit(scaled)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out() and "_neighbors" in state:
            # A model file gets the rows, which can be checked, and not the tree around them.
            state["_neighbors"] = np.asarray(state["_neighbors"]._fit_X)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if isinstance(getattr(self, "_neighbors", None), np.ndarray):
            self._neighbors = self._index(self._neighbors)

    def _scaled(self, X: Floats) -> Floats:
        return np.where(np.isnan(X), -MISSING, (X - self._center) / self._scale)


def _center_and_scale(X: Floats) -> tuple[Floats, Floats]:
    """Return the median and the spread of each column, missing values left out."""
    known = X.copy()
    known[:, np.isnan(X).all(axis=0)] = 0.0
    low, center, high = np.nanquantile(known, [0.25, 0.5, 0.75], axis=0)
    scale = (high - low) / 1.349  # the standard deviation, of a normal distribution
    scale = np.where(scale > 0, scale, np.nanstd(known, axis=0))
    tiny = RELATIVE_SCALE_OF_CONSTANTS * np.maximum(np.abs(center), 1.0)
    return center, np.where(np.nanmax(known, axis=0) > np.nanmin(known, axis=0), scale, tiny)


class ForestSupport(_Support):
    """Support by co-membership: how many calibration rows share a row's leaves.

    A forest estimates the risk at x by the losses of the rows in x's leaves. Their mean number,
    over the trees, is the support of x; but an edge leaf has no outer end, and a row far outside
    of all data falls into one too. So where x lies beyond the range of the m rows of its leaf in
    some feature, they count as m·exp(−e/margin): e is how far beyond, in mean gaps between them
    (range/(m − 1)), in the feature where that is most. A leaf of fewer than `min_rows`
    calibration rows is widened to the closest ancestor that has so many.

    Parameters
    ----------
    forest : forest, risk estimator or None, default=None
        Extra-trees or a random forest, `LossRegressor`, or a risk estimator that has one of these
        as its regressor. Fitted and frozen (`sklearn.frozen.FrozenEstimator`), it is used as it
        is; otherwise it is fitted on rows and losses. None is 100 extra-trees.
    min_rows : int, default=20
        The least number of rows in a leaf.
    margin : float, default=3.0
        How many mean gaps beyond the rows of a leaf make them count e times less.
    random_state : int, RandomState instance or None, default=0
        Draws 10,000 rows where there are more, and seeds the default forest.

    Attributes
    ----------
    forest_ : estimator
        The fitted forest.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    See Also
    --------
    DistanceSupport : For any regressor.
    condrisk.deferral.SupportRule : Defers where there is too little.

    Notes
    -----
    It sees what lies beyond the rows of a leaf, not a hole among them. Splits follow the losses,
    but the range counts in every feature. A missing value lies in every range.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.frozen import FrozenEstimator
    >>> from condrisk.shift import ForestSupport
    >>> rng = np.random.default_rng(0)
    >>> X, loss = rng.normal(size=(1000, 2)), rng.exponential(size=1000)
    >>> forest = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(X, loss)
    >>> support = ForestSupport(FrozenEstimator(forest)).fit(X)
    >>> inside, outside = support.score_samples([[0.0, 0.0], [6.0, 0.0]])
    >>> bool(inside > 15 and outside < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "forest": [HasMethods(["fit"]), None],
        "min_rows": [Interval(Integral, 2, None, closed="left")],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        forest: Any = None,
        *,
        min_rows: int = 20,
        margin: float = 3.0,
        random_state: Any = 0,
    ) -> None:
        self.forest = forest
        self.min_rows = min_rows
        self.margin = margin
        self.random_state = random_state

    @validated(nested=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the forest unless it is frozen, and put the rows into its leaves.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the risk was learnt on; missing values may be NaN.
        y : array-like of shape (n_samples,), optional
            Their losses; a frozen forest needs none.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight zero are not there; otherwise weights do not matter.

        Returns
        -------
        self : object
            The fitted support.
        """
        X, rows = self._check(X, sample_weight)
        X = X[rows]
        self.forest_ = self._fitted_forest(X, y, rows)
        trees = self._trees(X.shape[1])
        thin = as_float32(X)
        spread = _center_and_scale(X)[1].astype(np.float32)
        self._leaves = [Leaves(tree, thin, self.min_rows, spread) for tree in trees]
        return self

    def _trees(self, n_features: int) -> list[Any]:
        """Return the trees, which read columns of `X` without a look at how many there are."""
        trees = trees_of(self.forest_)
        for tree in trees:
            if tree.n_features != n_features:
                raise ValueError(
                    f"X has {n_features} features, but the forest was fitted on {tree.n_features}."
                )
        return trees

    def _fitted_forest(self, X: Floats, y: Any, rows: NDArray[np.intp]) -> Any:
        from sklearn.frozen import FrozenEstimator  # not loaded by `import sklearn.ensemble`

        if isinstance(self.forest, FrozenEstimator):
            return self.forest
        if hasattr(self.forest, "predict_risk"):
            raise ValueError(
                f"forest: {type(self.forest).__name__} must be fitted and frozen, as in "
                f"ForestSupport(FrozenEstimator(risk)): a risk estimator is not fitted on losses."
            )
        if y is None:
            raise ValueError(
                "y must be given, the losses of the rows, where the forest is not frozen: it has "
                "to be fitted. A fitted forest goes in as ForestSupport(FrozenEstimator(forest))."
            )
        y = np.asarray(y).ravel()
        if self.forest is None:
            # Smaller nodes than min_rows would only be put together again.
            forest = ExtraTreesRegressor(
                min_samples_split=self.min_rows, random_state=self.random_state
            )
        else:
            forest = clone(self.forest)
        return forest.fit(X, y[rows])

    def score_samples(self, X: Any) -> Floats:
        """Return the support of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            A mean number of calibration rows; near zero where every tree has to extrapolate.
        """
        thin = as_float32(self._check_new(X))
        trees = self._trees(thin.shape[1])
        support = np.zeros(len(thin))
        for start in range(0, len(thin), ROWS_PER_BLOCK):
            block = thin[start : start + ROWS_PER_BLOCK]
            for tree, leaves in zip(trees, self._leaves, strict=True):
                support[start : start + ROWS_PER_BLOCK] += leaves.count(tree, block, self.margin)
        return support / len(self._leaves)


def as_float32(X: Floats) -> NDArray[np.float32]:
    """Return the rows as trees take them."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(X, dtype=np.float32)
