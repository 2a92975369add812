"""Cross-fitting: responses of a model on rows that it was not fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from condrisk._progress import announcer
from condrisk.losses import encode

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


class Job(NamedTuple):
    """A model to fit on each split, and the methods to call on the rows held out."""

    estimator: Any
    fit_params: dict[str, Any]
    methods: tuple[str, ...]


class CrossFitted(NamedTuple):
    """Responses on held-out rows: one pair of row and response each time a row was held out.

    Attributes
    ----------
    rows : ndarray of int, shape (n_pairs,)
        The row of each pair.
    split : ndarray of int, shape (n_pairs,)
        The split that held it out.
    n_splits : int
        The number of splits.
    responses : tuple of dict of str to ndarray
        For each job, what its methods gave.
    """

    rows: NDArray[np.intp]
    split: NDArray[np.intp]
    n_splits: int
    responses: tuple[dict[str, NDArray[Any]], ...]

    def folds(self) -> list[Split]:
        """Return, for each split, the pairs that share no row with it, and its own pairs."""
        found = []
        for k in range(self.n_splits):
            own = np.flatnonzero(self.split == k)
            others = np.flatnonzero(~np.isin(self.rows, self.rows[own]))
            if not len(others):
                raise ValueError("cv gives splits that all hold out the same rows.")
            found.append((others, own))
        return found


def make_splits(
    cv: Any, X: Any, y: NDArray[Any], *, classifier: bool, groups: Any, random_state: Any
) -> list[Split]:
    """Return the splits that `cv` stands for, each checked not to hold out what it trains on."""
    if cv is None or isinstance(cv, Integral):
        stratified = classifier and y.ndim == 1  # several labels at once have no strata
        n_folds = 5 if cv is None else int(cv)
        _check_enough_groups(n_folds, groups)
        cv = _shuffled_folds(n_folds, stratified, groups is not None, random_state)
    splitter = check_cv(cv, y, classifier=classifier)
    splits = [(_positions(a), _positions(b)) for a, b in splitter.split(X, y, groups)]
    held_out = np.zeros(len(y), dtype=bool)
    for train, test in splits:
        if not len(train) or not len(test):
            raise ValueError("cv gives a split without training rows or without held-out rows.")
        held_out[:] = False
        held_out[test] = True
        if held_out[train].any():
            raise ValueError(
                "cv gives a split that holds out rows it also trains on: losses on those would "
                "be too small. Training and held-out rows must not overlap."
            )
    if not splits:
        raise ValueError("cv gives no split at all.")
    return splits


def make_partition(
    cv: Any, X: Any, y: NDArray[Any], *, classifier: bool, groups: Any, random_state: Any
) -> list[Split]:
    """Return the splits that `cv` stands for, which together must hold out each row once."""
    splits = make_splits(cv, X, y, classifier=classifier, groups=groups, random_state=random_state)
    held_out = np.sort(np.concatenate([test for _, test in splits]))
    if not np.array_equal(held_out, np.arange(len(y))):
        once, n = len(np.unique(held_out)), len(y)
        found = "some rows twice" if once < len(held_out) else f"{once} of {n} rows"
        raise ValueError(
            f"cv must hold out each row exactly once here, as k folds do, but holds out {found}. "
            f"Splits that leave rows out, as TimeSeriesSplit does, are for a predictor that is "
            f"given: RegressionRisk(predictor, cv=…) or AutoRisk(predictor, cv=…)."
        )
    return splits


def _check_enough_groups(n_folds: int, groups: Any) -> None:
    n_groups = n_folds if groups is None else len(set(np.asarray(groups).ravel().tolist()))
    if n_groups < n_folds:
        remedy = "at least two are needed" if n_groups < 2 else f"give cv={n_groups} or less"
        raise ValueError(
            f"groups has {n_groups} different value{'s' * (n_groups != 1)}, too few for "
            f"cv={n_folds}, whose folds hold out whole groups: {remedy}."
        )


def _shuffled_folds(n_splits: int, classifier: bool, grouped: bool, random_state: Any) -> Any:
    kind = {
        (False, False): KFold,
        (True, False): StratifiedKFold,
        (False, True): GroupKFold,
        (True, True): StratifiedGroupKFold,
    }[classifier, grouped]
    return kind(n_splits=n_splits, shuffle=True, random_state=random_state)


def _positions(index: Any) -> NDArray[np.intp]:
    index = np.asarray(index)
    return np.flatnonzero(index) if index.dtype == bool else index.astype(np.intp)


def cross_fit(
    jobs: Sequence[Job],
    X: Any,
    y: NDArray[Any],
    splits: Sequence[Split],
    *,
    classes: NDArray[Any] | None,
    n_jobs: int | None,
) -> CrossFitted:
    """Fit each job's model on the training rows of each split; collect held-out responses."""
    results = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_respond)(job, X, y, train, test, classes)
        for job, train, test in _announced(jobs, splits)
    )
    rows = np.concatenate([test for _, test in splits])
    split = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    # In the order of the rows: folds that hold out each row once then need no copy of X.
    order = np.argsort(rows, kind="stable")
    responses = (_stack(results[start :: len(jobs)], order) for start in range(len(jobs)))
    return CrossFitted(rows[order], split[order], len(splits), tuple(responses))


def _announced(
    jobs: Sequence[Job], splits: Sequence[Split]
) -> Iterator[tuple[Job, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield what is to be fitted, and say so as it is handed out."""
    say = announcer()  # joblib asks for later fits from a thread of its own
    for k, (train, test) in enumerate(splits, start=1):
        for job in jobs:
            say(f"{type(job.estimator).__name__}, fold {k} of {len(splits)}")
            yield job, train, test


def _stack(
    parts: Sequence[dict[str, NDArray[Any]]], order: NDArray[np.intp]
) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def rows_of(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return the given rows of `X`, and `X` itself where they are all of it in order."""
    if len(rows) == _num_samples(X) and np.array_equal(rows, np.arange(len(rows))):
        return X
    return _safe_indexing(X, rows)


def _fit_and_respond(
    job: Job,
    X: Any,
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    classes: NDArray[Any] | None,
) -> dict[str, NDArray[Any]]:
    model = fit_on(job.estimator, X, y, train, job.fit_params)
    X_test = _safe_indexing(X, test)
    return {name: respond(model, X_test, name, classes=classes) for name in job.methods}


def fit_on(
    estimator: Any, X: Any, y: NDArray[Any], rows: NDArray[np.intp], fit_params: dict[str, Any]
) -> Any:
    """Fit a clone of `estimator` on some rows, with the metadata of those rows."""
    params = _check_method_params(X, params=fit_params, indices=rows)
    return clone(estimator).fit(_safe_indexing(X, rows), y[rows], **params)


def respond(
    model: Any, X: Any, method: str, *, classes: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Return what a method gives; probabilities get a column for each of `classes`.

    Of several outputs predictions have a column for each, and probabilities are those of label 1.
    """
    found = getattr(model, method)(X)
    if isinstance(found, list) and method == "predict_proba":
        known = zip(found, model.classes_, strict=True)
        return np.column_stack([align(proba, own, [1])[:, 0] for proba, own in known])
    # Of a module of torch: what it predicts is all that is wanted, wherever it was computed.
    found = found.detach().cpu() if hasattr(found, "detach") else found
    values = found.toarray() if issparse(found) else np.asarray(found)
    if method == "predict":
        return values if values.ndim == 2 and values.shape[1] > 1 else values.ravel()
    if classes is None or len(getattr(model, "classes_", classes)) == len(classes):
        return values
    if method == "predict_proba":
        return align(values, model.classes_, classes)
    missing = np.setdiff1d(classes, model.classes_)
    raise ValueError(
        f"cv gives a fold whose training rows lack class {missing.tolist()[0]!r}, which has too "
        f"few rows, so that the decision_function of {type(model).__name__} there cannot be "
        f"calibrated. Leave the class out, give more rows of it, or a probability model with "
        f"predict_proba."
    )


def align(proba: NDArray[Any], known: Any, classes: Any) -> NDArray[np.float64]:
    """Move columns of probabilities from the classes of a model to those of `classes`."""
    codes = encode(known, classes)
    aligned = np.zeros((len(proba), len(classes)))
    aligned[:, codes[codes >= 0]] = proba[:, codes >= 0]
    return aligned


def seeded(estimator: Any, random_state: Any) -> Any:
    """Return a clone in which every random_state that was left open is drawn from ours.

    Otherwise an unseeded forest inside would make a seeded estimator give new results every time.
    """
    estimator = clone(estimator)
    if random_state is None:
        return estimator
    rng = check_random_state(random_state)
    open_seeds = {
        key: int(rng.randint(np.iinfo(np.int32).max))
        for key, value in sorted(estimator.get_params(deep=True).items())
        if value is None and (key == "random_state" or key.endswith("__random_state"))
    }
    return estimator.set_params(**open_seeds) if open_seeds else estimator


def mean_by_row(values: NDArray[Any], rows: NDArray[np.intp], n_rows: int) -> NDArray[np.float64]:
    """Average the values of each row over the splits that held it out; NaN where none did."""
    total = np.bincount(rows, weights=values, minlength=n_rows)
    count = np.bincount(rows, minlength=n_rows)
    return np.divide(total, count, out=np.full(n_rows, np.nan), where=count > 0)
