"""The second path of the study: many methods fitted on the same rows, no model fitted twice.

`clone(method).fit(...)` fits each method by itself, through `RegressionRisk`'s own split. Here the
sixteen pairs share their four predictors, and networks that regress the losses of several
predictors are trained in lockstep. How much less time that takes than fitting each pair anew for
each cost, and where the rest of it goes, is measured by ``python -m benchmarks rwr``
(``results/benchmarks.json``, "rwr"): a part is one fit for all costs, a part this sharing
("one_fold"), and the rest two processes, and arithmetic in float32.

It is the one place where a method is taken apart, by its public parameters, and
``tests/paper/test_fitting_once.py`` shows that its risks are those of the first path.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import has_fit_parameter

from condrisk._delegate import is_frozen
from condrisk.deferral import Deferral
from condrisk.losses import get_loss
from condrisk.paper._cached import CachedRegressor
from condrisk.paper.rwr import LockstepMLPRegressor
from condrisk.paper.rwr._fingerprint import describe
from condrisk.risk import RegressionRisk


class Rows(NamedTuple):
    """Rows to fit on."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    groups: NDArray[Any] | None = None

    def take(self, index: NDArray[np.intp]) -> Rows:
        """Return some of them."""
        groups = None if self.groups is None else self.groups[index]
        return Rows(self.X[index], self.y[index], groups)


class Fitted(NamedTuple):
    """A fitted method, and what it took: shared parts count in full for each that shares them."""

    name: str
    model: Any
    predictor_seconds: float
    risk_seconds: float


class _Shared(NamedTuple):
    """A predictor, fitted on one part of the rows, and the part that is left for its risk."""

    predictor: FrozenEstimator
    held_out: Rows
    seconds: float


def fit_methods(methods: dict[str, Any], rows: Rows) -> Iterator[Fitted]:
    """Fit every method; predictors and regressors that are alike are fitted once, together."""
    predictors = _fit_predictors(methods, rows)
    regressors = _fit_regressors(methods, predictors)
    for name, method in methods.items():
        start = time.perf_counter()
        model = clone(method) if hasattr(method, "decide") else Deferral(clone(method))
        shared = predictors.get(name)
        regressor, seconds = regressors.get(name, (None, 0.0))
        if shared is not None:
            parts = {"predictor": shared.predictor}
            if regressor is not None:
                parts["regressor"] = FrozenEstimator(regressor)
            _risk_part(model).set_params(**parts)
        model = _fit(model, rows if shared is None else shared.held_out)
        seconds += time.perf_counter() - start
        yield Fitted(name, model, 0.0 if shared is None else shared.seconds, seconds)


def _risk_part(method: Any) -> Any:
    """Return the part that has the predictor: what a Deferral is around, or the method itself."""
    return method.risk if isinstance(method, Deferral) else method


def _fit(model: Any, rows: Rows) -> Any:
    takes_groups = has_fit_parameter(model, "groups") or isinstance(model, Deferral)
    params = {"groups": rows.groups} if rows.groups is not None and takes_groups else {}
    return model.fit(rows.X, rows.y, **params)


# -- predictors ---------------------------------------------------------------------------------


def _has_one_split(method: Any) -> bool:
    """Tell whether a method fits its predictor on one part of the rows, its risk on another."""
    params = method.get_params(deep=False)
    predictor, cv = params.get("predictor"), params.get("cv")
    if not hasattr(predictor, "fit") or is_frozen(predictor) or not hasattr(cv, "get_n_splits"):
        return False
    return not params.get("refit", False) and cv.get_n_splits() == 1


def _fit_predictors(methods: dict[str, Any], rows: Rows) -> dict[str, _Shared]:
    """Fit the predictor of each method that has one split, each distinct one once."""
    splits: dict[str, tuple[Rows, Rows]] = {}
    fitted: dict[tuple[str, str], _Shared] = {}
    found = {}
    for name, method in ((name, _risk_part(method)) for name, method in methods.items()):
        if not _has_one_split(method):
            continue
        split, predictor = describe(method.cv), describe(method.predictor)
        if split not in splits:
            [parts] = method.cv.split(rows.X, rows.y, rows.groups)
            splits[split] = rows.take(parts[0]), rows.take(parts[1])
        if (split, predictor) not in fitted:
            train, held_out = splits[split]
            start = time.perf_counter()
            model = FrozenEstimator(CachedRegressor(clone(method.predictor).fit(train.X, train.y)))
            fitted[split, predictor] = _Shared(model, held_out, time.perf_counter() - start)
        found[name] = fitted[split, predictor]
    return found


# -- regressors of losses -----------------------------------------------------------------------


def _fit_regressors(
    methods: dict[str, Any], predictors: dict[str, _Shared]
) -> dict[str, tuple[Any, float]]:
    """Fit regressors that can learn many losses at once; return each, with its share of time."""
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name, shared in predictors.items():
        method = _risk_part(methods[name])
        if isinstance(method, RegressionRisk) and _learns_many(method):
            alike[id(shared.held_out), describe(method.regressor)].append(name)
    fitted: dict[str, tuple[Any, float]] = {}
    for names in alike.values():
        start = time.perf_counter()
        rows = predictors[names[0]].held_out
        losses = [_losses(_risk_part(methods[name]), predictors[name]) for name in names]
        regressor = clone(_risk_part(methods[names[0]]).regressor)
        regressor.fit(rows.X, np.column_stack(losses))
        seconds = (time.perf_counter() - start) / len(names)
        fitted |= {name: (_of_target(regressor, k), seconds) for k, name in enumerate(names)}
    return fitted


def _learns_many(method: RegressionRisk) -> bool:
    last = method.regressor[-1] if isinstance(method.regressor, Pipeline) else method.regressor
    # "auto" is "x" for regressors, and these are.
    return isinstance(last, LockstepMLPRegressor) and method.features != "x+response"


def _losses(method: RegressionRisk, shared: _Shared) -> NDArray[np.float64]:
    loss = get_loss(method.loss, task="regression")
    return loss(shared.held_out.y, shared.predictor.predict(shared.held_out.X))


def _of_target(model: Any, k: int) -> Any:
    if isinstance(model, Pipeline):
        return make_pipeline(*(step for _, step in model.steps[:-1]), model[-1].target(k))
    return model.target(k)
