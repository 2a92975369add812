"""Weights that make calibration rows stand for a population with other rows: covariate shift."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Integral, Interval, Real
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from condrisk._crossfit import seeded
from condrisk._validation import check_vector, check_weight, validated

Floats = NDArray[np.float64]

# A probability closer to 0 or 1 says no more than this: a forest of few trees is soon sure.
SUREST = 1e-3


def effective_sample_size(sample_weight: ArrayLike) -> float:
    """Return of how many rows of equal weight a weighted mean is worth: (Σw)² / Σw².

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,)
        Weights, not negative.

    Returns
    -------
    float
        From 1 to the number of rows.

    Examples
    --------
    >>> from condrisk.shift import effective_sample_size
    >>> effective_sample_size([1.0, 1.0, 1.0]), effective_sample_size([8.0, 1.0, 1.0])
    (3.0, 1.515...)
    """
    given = check_vector(sample_weight, "sample_weight")
    check_weight(given, given, "sample_weight")
    weight = given / given.max()
    return float(weight.sum() ** 2 / (weight**2).sum())


class ShiftWeights(BaseEstimator):
    """Weights under which calibration rows look like rows of another population.

    Where only the distribution of x differs between the calibration rows and the target
    population, and not that of y given x, a mean over the target population is a mean over
    calibration rows weighted by the ratio of the densities, w(x) = p_target(x)/p(x). A classifier
    that tells the two kinds of rows apart gives it: w = (c/(1 − c))·(n/n_target), c being the
    probability of a target row. Here c is

    * cross-fitted: a row's weight comes from classifiers that have not seen it;
    * calibrated: a logistic regression on the out-of-fold log-odds, which by default pools two
      classifiers, a linear and a boosted one.

    The weights are clipped, then scaled to a mean of one. They go into the `sample_weight` of
    risks, rules, scores and metrics.

    Parameters
    ----------
    classifier : classifier or None, default=None
        Has `predict_proba`. None pools logistic regression and gradient boosting.
    clip : float or None, default=None
        The largest weight, where the mean is one; None is √n of n calibration rows.
    min_effective : float, default=50
        `fit` refuses if the effective sample size is less.
    min_coverage : float, default=0.5
        `fit` refuses if `coverage_` is less.
    cv : int, default=5
        The number of folds.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and classifiers.

    Attributes
    ----------
    weight_ : ndarray of shape (n_samples,)
        The weights of the calibration rows, of mean one.
    effective_size_ : float
        The effective sample size, (Σw)²/Σw²: of how many target rows they are worth.
    coverage_ : float
        The share of the target population for which weights up to `clip` can stand, the mean of
        min(1, clip/w) over target rows: near one if all of it is found among the calibration
        rows, near zero if none is.
    clipped_ : float
        The share of calibration rows whose weight was clipped.
    auc_ : float
        How well the two kinds are told apart out of fold: 0.5 is no shift that could be seen.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    Notes
    -----
    Weights cannot be checked against labels that are not there: a shift in y given x goes unseen.
    They are estimates, and clipping adds bias where `coverage_` is below one: guarantees such as
    those of risk control, which hold for known weights, do not hold for these.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.shift import ShiftWeights
    >>> rng = np.random.default_rng(0)
    >>> X, X_target = rng.normal(0, 1, (2000, 2)), rng.normal([1, 0], 1, (2000, 2))
    >>> shift = ShiftWeights(random_state=0).fit(X, X_target)
    >>> mean = np.average(X, axis=0, weights=shift.weight_)
    >>> bool(0.8 < mean[0] < 1.2 and abs(mean[1]) < 0.2)
    True
    >>> bool(400 < shift.effective_size_ < 1200)  # of 2,000
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "classifier": [HasMethods(["fit", "predict_proba"]), None],
        "clip": [Interval(Real, 1, None, closed="left"), None],
        "min_effective": [Interval(Real, 1, None, closed="left")],
        "min_coverage": [Interval(Real, 0, 1, closed="both")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        classifier: Any = None,
        *,
        clip: float | None = None,
        min_effective: float = 50,
        min_coverage: float = 0.5,
        cv: int = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.clip = clip
        self.min_effective = min_effective
        self.min_coverage = min_coverage
        self.cv = cv
        self.random_state = random_state

    @validated(nested=True)
    def fit(self, X: Any, X_target: Any) -> Self:
        """Learn the weights of the calibration rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The calibration rows; missing values may be NaN.
        X_target : array-like of shape (n_target, n_features)
            Rows of the target population; no labels are needed.

        Returns
        -------
        self : object
            With the weights in `weight_`. Raises ValueError, and says what was found, if the
            calibration rows cannot stand for the target population.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        X_target = check_array(
            X_target, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X_target"
        )
        if X_target.shape[1] != X.shape[1]:
            raise ValueError(
                f"X_target has {X_target.shape[1]} features, but X has {X.shape[1]}: they must be "
                f"the same."
            )
        n = len(X)
        if min(n, len(X_target)) < self.cv:
            raise ValueError(
                f"X and X_target must have at least a row for each of the {self.cv} folds, got "
                f"{n} and {len(X_target)} rows."
            )
        both, kind = np.vstack([X, X_target]), np.repeat([0, 1], [n, len(X_target)])
        log_ratio, self.auc_ = self._fit_log_ratio(both, kind)
        self._limit = float(np.sqrt(n) if self.clip is None else self.clip)
        raw = np.exp(log_ratio)
        self.coverage_ = float(np.mean(np.minimum(1.0, self._limit / raw[n:])))
        self.clipped_ = float(np.mean(raw[:n] > self._limit))
        clipped = np.minimum(raw[:n], self._limit)
        self._unit = float(clipped.mean())
        self.weight_ = clipped / self._unit
        self.effective_size_ = effective_sample_size(self.weight_)
        self._refuse_if_hopeless(n)
        return self

    def _fit_log_ratio(self, both: Floats, kind: NDArray[np.intp]) -> tuple[Floats, float]:
        """Fit the classifiers; return the out-of-fold log of the ratio at each row, and the AUC."""
        rng = check_random_state(self.random_state)
        members = [seeded(member, rng) for member in self._members()]
        folds = StratifiedKFold(
            self.cv, shuffle=True, random_state=int(rng.randint(np.iinfo(np.int32).max))
        )
        odds = np.empty((len(kind), len(members)))
        for train, held_out in folds.split(both, kind):
            for j, member in enumerate(members):
                fitted = clone(member).fit(both[train], kind[train])
                odds[held_out, j] = _log_odds(fitted, both[held_out])
        self._pool, used = _pool(odds, kind)
        self._classifiers = [members[j].fit(both, kind) for j in used]
        # The log-odds of a target row, were nothing known about it.
        self._prior = float(np.log(np.count_nonzero(kind) / np.count_nonzero(kind == 0)))
        log_ratio = self._log_ratio(odds[:, used])
        return log_ratio, float(roc_auc_score(kind, log_ratio))

    def _log_ratio(self, odds: Floats) -> Floats:
        if self._pool is None:
            return np.zeros(len(odds))
        return self._pool.decision_function(odds) - self._prior

    def _members(self) -> list[Any]:
        from sklearn.impute import SimpleImputer  # not loaded by `import sklearn.ensemble`

        if self.classifier is not None:
            if not is_classifier(self.classifier):
                raise ValueError(
                    f"classifier must be a classifier, got {type(self.classifier).__name__}."
                )
            return [self.classifier]
        linear = make_pipeline(
            SimpleImputer(keep_empty_features=True, add_indicator=True),
            StandardScaler(),
            LogisticRegression(max_iter=1000),
        )
        return [linear, HistGradientBoostingClassifier(early_stopping=True, learning_rate=0.05)]

    def _refuse_if_hopeless(self, n: int) -> None:
        few, uncovered = self.effective_size_ < self.min_effective, 1 - self.coverage_
        if not few and self.coverage_ >= self.min_coverage:
            return
        raise ValueError(
            f"X cannot stand for X_target: its {n} rows are worth {self.effective_size_:.1f} rows "
            f"of the target population (min_effective={self.min_effective:g}), {uncovered:.0%} of "
            f"that population lies where X has next to no rows "
            f"(min_coverage={self.min_coverage:g}), and a classifier tells the two apart with an "
            f"AUC of {self.auc_:.3f}. Labels from the target population are needed; until then "
            f"SupportRule defers what X does not cover."
        )

    def predict(self, X: Any) -> Floats:
        """Return the weights of further rows of the calibration population, such as test rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows drawn like the calibration rows, that `fit` has not seen.

        Returns
        -------
        ndarray of shape (n_samples,)
            Weights, clipped and scaled as those of the calibration rows.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        odds = np.empty((len(X), len(self._classifiers)))
        for j, member in enumerate(self._classifiers):
            odds[:, j] = _log_odds(member, X)
        return np.minimum(np.exp(self._log_ratio(odds)), self._limit) / self._unit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _pool(odds: Floats, kind: NDArray[np.intp]) -> tuple[Any, list[int]]:
    """Return a logistic regression on the log-odds of those members that help, and which do.

    One that would be held against its own opinion has seen noise; without any, there is no shift.
    """
    used = list(range(odds.shape[1]))
    while used:
        # Hardly regularised, so that a classifier which is calibrated already is left alone.
        pool = LogisticRegression(C=1e3).fit(odds[:, used], kind)
        worst = int(pool.coef_[0].argmin())
        if pool.coef_[0, worst] > 0:
            return pool, used
        del used[worst]
    return None, used


def _log_odds(classifier: Any, X: Floats) -> Floats:
    """Return the log-odds of a target row, which has the label 1."""
    chance = np.clip(classifier.predict_proba(X)[:, 1], SUREST, 1 - SUREST)
    return np.log(chance) - np.log1p(-chance)
