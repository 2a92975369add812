"""Sound model files of every kind, with few trees each, and rows to predict."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

N_ROWS, MOST_TREES = 120, 2


def sound_files(names: Iterable[str] | None = None) -> dict[str, tuple[bytes, Any]]:
    """Return the bytes of files by the names of their kinds, with rows that the models predict."""
    from condrisk.persistence import load_model, save_model

    makers = {name: MAKERS[name] for name in MAKERS if names is None or name in names}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        for name, make in makers.items():
            model, rows = make()
            thin(model)
            save_model(model, path, schema=rows)
            load_model(path)  # whatever is loaded late is loaded once
            found[name] = path.read_bytes(), rows[:20]
    return found


def thin(model: Any) -> None:
    """Cut the lists of trees in a model: a change then meets each part of it more often."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            state = vars(part)
            for name in ("_predictors", "values", "_leaves", "trees"):
                if isinstance(state.get(name), list):
                    del state[name][MOST_TREES:]
            if "estimators_" in state and "bootstrap" in state:
                del state["estimators_"][MOST_TREES:]
            waiting.extend(state.values())


# -- rows ------------------------------------------------------------------------------------------


def _numbers(seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 3))
    return X, X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=N_ROWS)


def _codes() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows whose last column is a category of four."""
    X, y = _numbers()
    X[:, 2] = np.arange(N_ROWS) % 4
    return X, y + X[:, 2]


def _frame() -> tuple[pd.DataFrame, NDArray[Any]]:
    X, y = _numbers()
    rng = np.random.default_rng(1)
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 300, N_ROWS), unit="D")
    notes = [" ".join(rng.choice(list("abcdefghij"), 4)) for _ in range(N_ROWS)]
    colour = pd.Categorical(rng.choice(["red", "green", "blue"], N_ROWS))
    frame = pd.DataFrame({"x": X[:, 0], "colour": colour, "day": day, "notes": notes})
    return frame, y


# -- models ----------------------------------------------------------------------------------------


def _trees(kind: str) -> Any:
    from sklearn import ensemble

    return getattr(ensemble, kind)(MOST_TREES, max_depth=3, random_state=0)


def _boosting(kind: str = "Regressor", **options: Any) -> Any:
    from sklearn import ensemble

    options = {"max_iter": 3, "max_leaf_nodes": 5, "random_state": 0, **options}
    return getattr(ensemble, f"HistGradientBoosting{kind}")(**options)


def _one_hot(last: Any, **options: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    fill = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    spread = OneHotEncoder(**{"handle_unknown": "ignore", **options})
    return make_pipeline(make_column_transformer((fill, [0, 1]), (spread, [2])), last)


def _regression(predictor: Any, rows: Any = None, **options: Any) -> Any:
    from condrisk import Deferral, RegressionRisk

    X, y = _numbers() if rows is None else rows
    options = {"regressor": predictor, "cv": 2, "random_state": 0, **options}
    return Deferral(RegressionRisk(predictor, **options), cost=1.0).fit(X, y), X


def _linear() -> Any:
    from sklearn.linear_model import Ridge

    X, y = _codes()
    X[::7, 0] = np.nan
    return _regression(_one_hot(Ridge()), (X, y))


def _rare() -> Any:
    from sklearn.linear_model import Ridge

    X, y = _codes()
    X[:, 2] = np.where(np.arange(N_ROWS) < 6, 9.0, X[:, 2])
    X[:3, 2] = 8.0
    return _regression(_one_hot(Ridge(), min_frequency=8, drop="first"), (X, y))


def _forest() -> Any:
    return _regression(_trees("RandomForestRegressor"))


def _boosted() -> Any:
    return _regression(_boosting(categorical_features=[2], early_stopping=True), _codes())


def _classes(predictor: Any, n_classes: int = 3, **options: Any) -> Any:
    from condrisk import Deferral, PlugInRisk

    X, y = _numbers()
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])] if n_classes == 3 else y > 0
    risk = PlugInRisk(predictor, cv=2, random_state=0, **options)
    return Deferral(risk, cost=0.2).fit(X, labels), X


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return _classes(LogisticRegression())


def _isotonic() -> Any:
    return _classes(_trees("ExtraTreesClassifier"), calibration="isotonic")


def _boosted_classes() -> Any:
    return _classes(_boosting("Classifier"))


def _others() -> Any:
    """Return scikit-learn's less common classes, one behind the other."""
    from sklearn.linear_model import BayesianRidge, PoissonRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        PolynomialFeatures,
        PowerTransformer,
        QuantileTransformer,
        RobustScaler,
    )

    steps = [MaxAbsScaler(), RobustScaler(), PowerTransformer(), QuantileTransformer(n_quantiles=9)]
    predictor = make_pipeline(*steps, PolynomialFeatures(2), BayesianRidge())
    positive = make_pipeline(MinMaxScaler(), PoissonRegressor())
    return _regression(predictor, regressor=positive)


def _other_classes() -> Any:
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.naive_bayes import GaussianNB

    plain = {"l1_ratios": (0.0,), "use_legacy_attributes": False, "scoring": "neg_log_loss"}
    logistic = LogisticRegressionCV(Cs=2, cv=2, **plain)
    return _classes(GaussianNB(), probability=logistic)


def _outputs() -> Any:
    X, y = _numbers()
    return _regression(_trees("ExtraTreesRegressor"), (X, np.column_stack([y, -y])))


def _losses() -> Any:
    from condrisk.learners import LossRegressor

    frame, y = _frame()
    return _regression(_table(), (frame, y), regressor=LossRegressor(random_state=0))


def _table() -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    from condrisk.learners import TableEncoder

    return make_pipeline(TableEncoder(), Ridge())


def _hybrid() -> Any:
    from sklearn.linear_model import Ridge

    from condrisk import Deferral, HybridRisk
    from condrisk.learners import DistributionRegressor

    X, y = _numbers()
    law = DistributionRegressor(_boosting(), Ridge(), cv=2)
    risk = HybridRisk(Ridge(), distribution=law, cv=2, random_state=0)
    return Deferral(risk, cost=1.0).fit(X, y), X


def _auto(*, classes: bool) -> Any:
    from condrisk import AutoRisk

    X, y = _numbers()
    return AutoRisk(cv=2, random_state=0).fit(X, y > 0 if classes else y), X


def _rule(rule: Any) -> Any:
    from sklearn.linear_model import LinearRegression

    from condrisk import Deferral, RegressionRisk

    X, y = _numbers()
    risk = RegressionRisk(LinearRegression(), regressor=LinearRegression(), cv=2, random_state=0)
    return Deferral(risk, cost=1.0, rule=rule).fit(X, y), X


def _support(kind: str) -> Any:
    from condrisk import shift
    from condrisk.deferral import SupportRule

    return _rule(SupportRule(rate=0.1, support=getattr(shift, kind)()))


def _exploring() -> Any:
    from condrisk import BudgetRule
    from condrisk.deferral import ExploringRule

    return _rule(ExploringRule(BudgetRule(0.2), rate=0.1, random_state=0))


def _controlled() -> Any:
    from condrisk import RiskControlRule

    return _rule(RiskControlRule(2.0, cap=9.0, random_state=0))


def _router() -> Any:
    from condrisk.datasets import make_routing
    from condrisk.routing import ModelRouter

    world = make_routing(N_ROWS, n_models=2, random_state=0)
    return ModelRouter(world.costs, random_state=0).fit(world.X, world.losses), world.X


def _fitted(predictor: str) -> Any:
    """Return what `condrisk fit` makes of a table."""
    import polars as pl

    from condrisk.app.models import fit_table

    X, y = _numbers()
    colour = np.array(["red", "green", "blue"])[np.arange(N_ROWS) % 3]
    frame = pl.DataFrame({"x": X[:, 0], "z": X[:, 1], "colour": colour, "y": y})
    found = fit_table(frame, target="y", cost=0.5, predictor=predictor)
    return found.model, found.encode(frame)


Maker = Callable[[], Any]
MAKERS: dict[str, Maker] = {
    "linear": _linear,
    "rare categories": _rare,
    "forest": _forest,
    "boosting": _boosted,
    "classes": _logistic,
    "calibrated classes": _isotonic,
    "boosting of classes": _boosted_classes,
    "other regressors": _others,
    "other classifiers": _other_classes,
    "several outputs": _outputs,
    "default regressor of losses": _losses,
    "hybrid": _hybrid,
    "automatic": lambda: _auto(classes=False),
    "automatic for classes": lambda: _auto(classes=True),
    "support by leaves": lambda: _support("ForestSupport"),
    "support by distance": lambda: _support("DistanceSupport"),
    "exploring": _exploring,
    "controlled": _controlled,
    "router": _router,
    "condrisk fit, linear": lambda: _fitted("linear"),
    "condrisk fit, forest": lambda: _fitted("forest"),
    "condrisk fit, boosting": lambda: _fitted("boosting"),
}
QUICK = ("linear", "rare categories", "forest", "boosting", "classes", "boosting of classes")
