"""Strong predictors that keep their held-out predictions: stacks of unlike models."""

from __future__ import annotations

import time
from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from condrisk._autologging import without_autologging
from condrisk._budget import FOLDS_MATTER, MANY_ROWS, Clock
from condrisk._crossfit import Split, make_partition
from condrisk._mixing import convex_shares, fit_pool, log_probabilities
from condrisk._progress import announce
from condrisk._state import leaves_rows_out
from condrisk._validation import check_row_weights, validated
from condrisk.learners._encoder import new_rows, training_rows
from condrisk.learners._importances import ImportancesMixin
from condrisk.learners._loss_regressor import FEW_ROWS
from condrisk.learners._stack_members import (
    CLASSIFIERS,
    MANY_ROWS_CLASSIFIERS,
    MANY_ROWS_REGRESSORS,
    REGRESSORS,
    SPENDING,
    Folds,
    Maker,
    Member,
)

Floats = NDArray[np.float64]


class HeldOutStack(NamedTuple):
    """Responses of a stack to its training rows, by models that had not seen them.

    Attributes
    ----------
    responses : dict of str to ndarray
        Each response, "uncertainty" among them.
    fold : ndarray of shape (n_samples,)
        The fold in which each row was held out.
    """

    responses: dict[str, NDArray[Any]]
    fold: NDArray[np.intp]


class _Stack(ImportancesMixin, BaseEstimator, metaclass=ABCMeta):
    """Cross-fits models and mixes them by their held-out responses."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cv": ["cv_object"],
        "time_budget": [float, int, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, *, cv: Any = 5, time_budget: float | None = None, random_state: Any = None
    ) -> None:
        self.cv = cv
        self.time_budget = time_budget
        self.random_state = random_state

    @validated(nested=False)
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: Any = None
    ) -> Self:
        """Cross-fit the models and mix them.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_samples, n_features)
            Rows, encoded by `TableEncoder`; values may be missing.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; a Gaussian process takes no notice of them.
        groups : array-like of shape (n_samples,), optional
            Rows of one group are held out together.

        Returns
        -------
        self : object
            The fitted stack.
        """
        X, target = self._check(X, y)
        weight = check_row_weights(sample_weight, X)
        self._keep_sample(X, weight)
        splits = self._folds(X, target, groups)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fold = np.empty(len(target), dtype=np.intp)
        for k, (_, test) in enumerate(splits):
            fold[test] = k
        leave_one_out = isinstance(self.cv, int) and groups is None
        held_out = self._cross_fit(X, target, weight, Folds(splits, fold, leave_one_out), seed)
        self._mix(held_out, target, weight, fold)
        self.held_out_ = HeldOutStack(self._combine(held_out, len(X), fold=fold), fold)
        return self

    def responses(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return all responses, each model called once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        dict of str to ndarray
            "predict", shape (n_samples,); for classes "predict_proba"; and "uncertainty", shape
            (n_samples, n_columns): how far the models disagree, and their own deviations.
        """
        check_is_fitted(self, "seconds_")
        return self._responses(new_rows(self, X))

    def _responses(self, X: Floats) -> dict[str, NDArray[Any]]:
        found = {name: member.predict(X) for name, member in self._members.items()}
        return self._combine(found, len(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers or labels.
        """
        return self.responses(X)["predict"]

    def _predictions(self, numbers: Floats) -> Floats:
        found = self._responses(numbers)
        return found.get("predict_proba", found["predict"])

    @abstractmethod
    def _check(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        """Return validated rows, and targets as the models want them."""

    @abstractmethod
    def _makers(self, n_rows: int) -> dict[str, Maker]:
        """Return what makes each model for so many rows."""

    @abstractmethod
    def _mix(
        self, held_out: dict[str, Any], target: NDArray[Any], weight: Floats, fold: NDArray[np.intp]
    ) -> None:
        """Learn from held-out responses how to mix the models."""

    @abstractmethod
    def _combine(
        self, found: dict[str, Any], n_rows: int, *, fold: NDArray[np.intp] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Make one response of those of the models; `fold` is for training rows."""

    def _folds(self, X: Floats, target: NDArray[Any], groups: Any) -> list[Split]:
        classes = isinstance(self, ClassifierMixin)
        cv = self.cv
        if isinstance(cv, int) and len(target) > FOLDS_MATTER:
            cv = 2
        elif isinstance(cv, int) and groups is None:
            rarest = np.bincount(target).min() if classes else len(target)
            cv = max(2, min(cv, int(rarest)))
        return make_partition(
            cv, X, target, classifier=classes, groups=groups, random_state=self.random_state
        )

    def _cross_fit(
        self, X: Floats, target: NDArray[Any], weight: Floats, folds: Folds, seed: int
    ) -> dict[str, Any]:
        """Return held-out responses of each model that the budget allows for."""
        clock = Clock(self.time_budget)
        makers = self._makers(len(target))
        fitted: dict[str, tuple[Member, Any]] = {}
        seconds = dict.fromkeys(makers, 0.0)
        threads = threadpool_limits(1 if len(target) < FEW_ROWS else None, user_api="openmp")
        # Weights are handed to the models by name, whatever the caller's setting is.
        with threads, without_autologging(), config_context(enable_metadata_routing=False):
            for name in sorted(makers, key=SPENDING.index):
                maker, start = makers[name], time.perf_counter()
                if fitted and not maker.ends_in_time(clock, X, target, weight, folds, seed):
                    continue
                announce(f"{type(self).__name__}: {name}")
                member = maker.make(seed)
                fitted[name] = member, member.fit(X, target, weight, folds)
                seconds[name] = time.perf_counter() - start
        self.seconds_ = seconds
        self._members = {name: fitted[name][0] for name in makers if name in fitted}
        return {name: fitted[name][1] for name in makers if name in fitted}

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if leaves_rows_out():
            state.pop("held_out_", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


class StackedRegressor(RegressorMixin, _Stack):
    """Regressor: a convex mixture of unlike models, with shares found by cross-fitting.

    Ridge regression, extra-trees and boosting are fitted on the rows outside each fold, and the
    average over folds predicts. Two Gaussian processes (Matérn 3/2 and 1/2, on the rows and their
    Yeo-Johnson scores) are fitted on all rows; their prediction of a row without having seen it
    has a closed form. The shares of all these, and of the mean, minimise the squared error
    of the held-out predictions. These are kept, since they are what a risk is learnt from:
    nothing has to be fitted twice for it.

    Parameters
    ----------
    cv : int, cross-validation splitter or iterable, default=5
        The folds, which together must hold out each row once.
    time_budget : float or None, default=None
        Limit in seconds. How long a model will take is estimated on few rows, and it is left out
        if that is too long; the first one, which is fast, never is. What is found then depends on
        the machine.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and models.

    Attributes
    ----------
    shares_ : dict of str to float
        The share of each model, and of the mean.
    held_out_ : HeldOutStack
        Responses to the training rows, each by models that had not seen it. Not part of a model
        file.
    seconds_ : dict of str to float
        What each model took; zero for those that the budget did not allow for.
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

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.learners import StackedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> model = StackedRegressor(random_state=0).fit(X, y)
    >>> bool(np.mean((model.held_out_.responses["predict"] - y) ** 2) < 0.1)
    True
    """

    def _check(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        X, y = training_rows(self, X, y, y_numeric=True)
        return X, np.asarray(y, dtype=np.float64)

    def _makers(self, n_rows: int) -> dict[str, Maker]:
        return REGRESSORS if n_rows <= MANY_ROWS else MANY_ROWS_REGRESSORS

    def _mix(
        self, held_out: dict[str, Any], target: NDArray[Any], weight: Floats, fold: NDArray[np.intp]
    ) -> None:
        self._mean = float(np.average(target, weights=weight))
        # The mean of the other folds is what was known when a row was held out.
        self._fold_means = np.array(
            [
                np.average(target[fold != k], weights=weight[fold != k] + np.finfo(float).tiny)
                for k in range(fold.max() + 1)
            ]
        )
        table = np.column_stack([response for response, _ in held_out.values()])
        table = np.column_stack([table, self._fold_means[fold]])
        scale = float(target.std()) or 1.0
        shares = convex_shares((table - self._mean) / scale, (target - self._mean) / scale, weight)
        self.shares_ = dict(zip([*held_out, "mean"], shares.tolist(), strict=True))
        # What has no share is still called if it knows its own deviation.
        self._members = {
            name: member
            for name, member in self._members.items()
            if self.shares_[name] > 0 or held_out[name][1] is not None
        }

    def _combine(
        self, found: dict[str, Any], n_rows: int, *, fold: NDArray[np.intp] | None = None
    ) -> dict[str, NDArray[Any]]:
        columns = [response for response, _ in found.values()]
        constant = np.full(n_rows, self._mean) if fold is None else self._fold_means[fold]
        table = np.column_stack([*columns, constant])
        shares = np.array([self.shares_[name] for name in (*found, "mean")])
        prediction = table @ shares
        spread = np.sqrt(((table - prediction[:, None]) ** 2) @ shares)
        deviations = [deviation for _, deviation in found.values() if deviation is not None]
        return {"predict": prediction, "uncertainty": np.column_stack([spread, *deviations])}


class StackedClassifier(ClassifierMixin, _Stack):
    """Classifier: a log-linear pool of unlike models, with weights found by cross-fitting.

    Logistic regression, extra-trees and boosting are fitted on the rows outside each fold, and the
    average over folds predicts. Their log-probabilities are added with the weights that have the
    least log loss on held-out rows, which calibrates them too. The held-out responses are
    kept, since they are what a risk is learnt from: nothing has to be fitted twice for it.

    Parameters
    ----------
    cv : int, cross-validation splitter or iterable, default=5
        The folds, which together must hold out each row once.
    time_budget : float or None, default=None
        Limit in seconds. How long a model will take is estimated on few rows, and it is left out
        if that is too long; the first one, which is fast, never is. What is found then depends on
        the machine.
    random_state : int, RandomState instance or None, default=None
        Seeds folds and models.

    Attributes
    ----------
    weights_ : dict of str to float
        The weight of each model in the pool; none need be positive.
    held_out_ : HeldOutStack
        Responses to the training rows, each by models that had not seen it. Not part of a model
        file.
    seconds_ : dict of str to float
        What each model took; zero for those that the budget did not allow for.
    classes_ : ndarray of shape (n_classes,)
        The labels.
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

    Examples
    --------
    >>> from condrisk.datasets import make_gaussian_mixture
    >>> from condrisk.learners import StackedClassifier
    >>> world = make_gaussian_mixture(500, random_state=0)
    >>> model = StackedClassifier(random_state=0).fit(world.X, world.y)
    >>> model.predict_proba(world.X[:3]).shape[0]
    3
    """

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self.responses(X)["predict_proba"]

    def _check(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        X, y = training_rows(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have two classes or more, got one class, {self.classes_[0]!r}."
            )
        return X, codes

    def _makers(self, n_rows: int) -> dict[str, Maker]:
        return CLASSIFIERS if n_rows <= MANY_ROWS else MANY_ROWS_CLASSIFIERS

    def _mix(
        self, held_out: dict[str, Any], target: NDArray[Any], weight: Floats, fold: NDArray[np.intp]
    ) -> None:
        probabilities = [response for response, _ in held_out.values()]
        self._pool = fit_pool(log_probabilities(probabilities), target, weight)
        self.weights_ = dict(zip(held_out, self._pool.weights.tolist(), strict=True))

    def _combine(
        self, found: dict[str, Any], n_rows: int, *, fold: NDArray[np.intp] | None = None
    ) -> dict[str, NDArray[Any]]:
        probabilities = [response for response, _ in found.values()]
        proba = self._pool(log_probabilities(probabilities))
        # How far the models are from the pool, each as total variation.
        apart = [np.abs(own - proba).sum(axis=1) / 2 for own in probabilities]
        return {
            "predict": self.classes_[proba.argmax(axis=1)],
            "predict_proba": proba,
            "uncertainty": np.column_stack(apart),
        }
