"""Fitting many methods on the same rows without fitting any model twice."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import has_fit_parameter

from condrisk._delegate import is_frozen
from condrisk.deferral import Deferral
from condrisk.losses import get_loss
from condrisk.paper._memory import Memory
from condrisk.paper.rwr import LockstepMLPRegressor
from condrisk.paper.rwr._fingerprint import describe
from condrisk.risk import RegressionRisk


class Remembered(RegressorMixin, BaseEstimator):
    """A fitted predictor that keeps its answers: methods that share it ask on the same rows."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self._memory = Memory(estimator)

    def fit(self, X: Any, y: Any) -> Remembered:
        """Do nothing: it is fitted."""
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predictor's answers, at once if it was asked about these very rows before."""
        return self._memory.ask("predict", X)

    def __sklearn_is_fitted__(self) -> bool:
        return True


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


class _Half(NamedTuple):
    """A predictor, fitted on one part of the rows, and the part that is left for its risk."""

    predictor: FrozenEstimator
    held_out: Rows
    seconds: float


def fit_methods(methods: dict[str, Any], rows: Rows) -> Iterator[Fitted]:
    """Fit every method; predictors and regressors that are alike are fitted once, together."""
    halves = _fit_predictors(methods, rows)
    regressors = _fit_regressors(methods, halves)
    for name, method in methods.items():
        half = halves.get(name)
        if half is None:
            yield _fit_alone(name, method, rows)
            continue
        start = time.perf_counter()
        parts = {"predictor": half.predictor}
        regressor, seconds = regressors.get(name, (None, 0.0))
        if regressor is not None:
            parts["regressor"] = FrozenEstimator(regressor)
        model = _as_deferral(method)
        _risk_part(model).set_params(**parts)
        model = _fit(model, half.held_out)
        seconds += time.perf_counter() - start
        yield Fitted(name, model, half.seconds, seconds)


def _as_deferral(method: Any) -> Any:
    """Return something new that decides: the method, or a Deferral around its risk."""
    method = clone(method)
    return method if hasattr(method, "decide") else Deferral(method)


def _risk_part(method: Any) -> Any:
    """Return the part that has the predictor: what a Deferral is around, or the method itself."""
    return method.risk if isinstance(method, Deferral) else method


def _fit(model: Any, rows: Rows) -> Any:
    takes_groups = has_fit_parameter(model, "groups") or isinstance(model, Deferral)
    params = {"groups": rows.groups} if rows.groups is not None and takes_groups else {}
    return model.fit(rows.X, rows.y, **params)


def _fit_alone(name: str, method: Any, rows: Rows) -> Fitted:
    start = time.perf_counter()
    model = _fit(_as_deferral(method), rows)
    return Fitted(name, model, 0.0, time.perf_counter() - start)


# -- predictors ---------------------------------------------------------------------------------


def _has_one_split(method: Any) -> bool:
    """Tell whether a method fits its predictor on one part of the rows, its risk on another."""
    params = method.get_params(deep=False)
    predictor, cv = params.get("predictor"), params.get("cv")
    if predictor is None or is_frozen(predictor) or not hasattr(cv, "get_n_splits"):
        return False
    return not params.get("refit", False) and cv.get_n_splits() == 1


def _fit_predictors(methods: dict[str, Any], rows: Rows) -> dict[str, _Half]:
    """Fit the predictor of each method that has one split, each distinct one once."""
    fitted: dict[tuple[str, str], _Half] = {}
    halves = {}
    for name, method in ((name, _risk_part(method)) for name, method in methods.items()):
        if not _has_one_split(method):
            continue
        key = (describe(method.predictor), describe(method.cv))
        if key not in fitted:
            fitted[key] = _fit_half(method, rows)
        halves[name] = fitted[key]
    return _with_common_rows(halves)


def _fit_half(method: Any, rows: Rows) -> _Half:
    [(train, held_out)] = method.cv.split(rows.X, rows.y, rows.groups)
    start = time.perf_counter()
    part = rows.take(train)
    predictor = clone(method.predictor).fit(part.X, part.y)
    seconds = time.perf_counter() - start
    return _Half(FrozenEstimator(Remembered(predictor)), rows.take(held_out), seconds)


def _with_common_rows(halves: dict[str, _Half]) -> dict[str, _Half]:
    """Let equal held-out rows be one object, so that what is learnt on them can be shared."""
    known: list[Rows] = []
    common = {}
    for name, half in halves.items():
        for rows in known:
            if np.array_equal(rows.X, half.held_out.X) and np.array_equal(rows.y, half.held_out.y):
                break
        else:
            rows = half.held_out
            known.append(rows)
        common[name] = half._replace(held_out=rows)
    return common


# -- regressors of losses -----------------------------------------------------------------------


def _fit_regressors(
    methods: dict[str, Any], halves: dict[str, _Half]
) -> dict[str, tuple[Any, float]]:
    """Fit regressors that can learn many losses at once; return each, with its share of time."""
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name, half in halves.items():
        method = _risk_part(methods[name])
        if isinstance(method, RegressionRisk) and _learns_many(method):
            alike[id(half.held_out), describe(method.regressor)].append(name)
    fitted: dict[str, tuple[Any, float]] = {}
    for names in alike.values():
        start = time.perf_counter()
        rows = halves[names[0]].held_out
        risks = [_risk_part(methods[name]) for name in names]
        losses = [_losses(risk, halves[name]) for risk, name in zip(risks, names, strict=True)]
        model = clone(risks[0].regressor).fit(rows.X, np.column_stack(losses))
        seconds = (time.perf_counter() - start) / len(names)
        fitted |= {name: (_target(model, k), seconds) for k, name in enumerate(names)}
    return fitted


def _learns_many(method: RegressionRisk) -> bool:
    last = method.regressor[-1] if isinstance(method.regressor, Pipeline) else method.regressor
    return isinstance(last, LockstepMLPRegressor) and method.features == "x"


def _losses(method: RegressionRisk, half: _Half) -> NDArray[np.float64]:
    loss = get_loss(method.loss, task="regression")
    return loss(half.held_out.y, half.predictor.predict(half.held_out.X))


def _target(model: Any, k: int) -> Any:
    if isinstance(model, Pipeline):
        return make_pipeline(*(step for _, step in model.steps[:-1]), model[-1].target(k))
    return model.target(k)
