"""Methods fitted together are the methods fitted alone, and no model is fitted twice."""

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import Deferral, RegressionRisk
from condrisk.datasets import make_heteroscedastic
from condrisk.paper._cached import CachedRegressor
from condrisk.paper.rwr import LockstepMLPRegressor, PaperSplit
from condrisk.paper.rwr._data import load_set
from condrisk.paper.rwr._fitting import Rows, fit_methods
from condrisk.paper.rwr._methods import make_methods, make_pair, pair_names

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:the predictor is worse than a constant"),
]


class Counting(RegressorMixin, BaseEstimator):
    """A linear model that tells how often it was fitted, and asked."""

    fits = 0
    asked = 0

    def __init__(self, *, name="a"):
        self.name = name

    def fit(self, X, y):
        type(self).fits += 1
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        type(self).asked += 1
        return self.model_.predict(X)


@pytest.fixture
def rows(seed):
    world = make_heteroscedastic(300, random_state=seed)
    return Rows(world.X, world.y)


def risk_of(predictor, regressor, **params):
    settings = {"cv": PaperSplit(), "refit": False, "clip": False} | params
    return RegressionRisk(predictor, regressor=regressor, **settings)


def net(**params):
    settings = {"max_iter": 8, "random_state": 3, "dtype": "float64", "hidden_layer_sizes": (7,)}
    return make_pipeline(StandardScaler(), LockstepMLPRegressor(**settings | params))


def test_together_as_alone(rows):
    methods = {
        f"{f}+{g}": risk_of(clone(predictor), clone(regressor))
        for f, predictor in {"lr": LinearRegression(), "ridge": Ridge(9.0), "net": net()}.items()
        for g, regressor in {"lr": LinearRegression(), "net": net(), "net2": net(alpha=1)}.items()
    }
    methods["clipped"] = risk_of(LinearRegression(), LinearRegression(), clip=True)
    methods["absolute"] = risk_of(LinearRegression(), net(), loss="absolute_error")
    methods["inside"] = Deferral(risk_of(LinearRegression(), net()))
    methods["cross-fitted"] = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0)
    fitted = {fit.name: fit.model for fit in fit_methods(methods, rows)}
    assert list(fitted) == list(methods)
    for name, method in methods.items():
        alone = clone(method).fit(rows.X, rows.y)
        np.testing.assert_allclose(fitted[name].predict(rows.X), alone.predict(rows.X))
        np.testing.assert_allclose(
            fitted[name].predict_risk(rows.X), alone.predict_risk(rows.X), rtol=1e-6, atol=1e-9
        )


def short(name):
    """Return a method of the study, its networks trained for a few epochs only."""
    method = make_methods(mlp="fast")[name]
    params = method.get_params()
    brief = {"max_iter": 8, "epochs": 2, "n_estimators": 10}
    return method.set_params(
        **{key: n for key in params for end, n in brief.items() if key.split("__")[-1] == end}
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_every_method_of_the_study_is_that_of_its_own_fit(grouped):
    """The shared path gives what `RegressionRisk`'s own split gives, method by method."""
    data = load_set("forest", folds="embedded")
    train, test = data.folds[0]
    groups = np.arange(len(train)) // 5 if grouped else None
    rows, X = Rows(data.X[train], data.y[train], groups), data.X[test]
    of_torch = ["NN+kNNRej", "NN+kernel"] if find_spec("torch") else []
    methods = {name: short(name) for name in [*pair_names(), *of_torch]}
    together = {fit.name: fit.model for fit in fit_methods(methods, rows)}
    given = {} if groups is None else {"groups": groups}
    for name, method in methods.items():
        alone = clone(method).fit(rows.X, rows.y, **given)
        if hasattr(alone, "decide"):
            expected, found = (model.decide(X, cost=0.5) for model in (alone, together[name]))
            np.testing.assert_array_equal(found.risk, expected.risk, err_msg=name)
            np.testing.assert_array_equal(found.deferred, expected.deferred, err_msg=name)
            continue
        np.testing.assert_array_equal(together[name].predict(X), alone.predict(X), err_msg=name)
        risk = alone.predict_risk(X)
        # Networks in lockstep are those trained alone; another BLAS may round a sum differently.
        atol = 1e-6 * np.abs(risk).max() if "+MLP" in name else 0
        np.testing.assert_allclose(
            together[name].predict_risk(X), risk, rtol=0, atol=atol, err_msg=name
        )


def test_equal_predictors_are_fitted_and_asked_once(rows):
    Counting.fits = Counting.asked = 0
    methods = {
        name: risk_of(Counting(name=which), regressor)
        for name, which, regressor in [
            ("1", "a", LinearRegression()),
            ("2", "a", net()),
            ("3", "a", Ridge()),
            ("4", "b", Ridge()),
        ]
    }
    X_new = rows.X[:50].copy()
    for fit in fit_methods(methods, rows):
        fit.model.decide(X_new, cost=1.0)
    assert Counting.fits == 2
    assert Counting.asked == 4  # by each of the two, on the held-out rows and on the new ones


def test_lockstep_networks_are_fitted_together(rows, monkeypatch):
    widths = []
    original = LockstepMLPRegressor.fit

    def counted(self, X, y, *args, **kwargs):
        widths.append(np.ndim(y) and np.shape(y)[1:])
        return original(self, X, y, *args, **kwargs)

    monkeypatch.setattr(LockstepMLPRegressor, "fit", counted)
    methods = {
        name: make_pair(name, mlp="fast").set_params(
            **({"regressor__lockstepmlpregressor__max_iter": 2} if "+MLP" in name else {}),
            **({"predictor__lockstepmlpregressor__max_iter": 2} if name.startswith("MLP") else {}),
        )
        for name in pair_names()
        if "RF" not in name
    }
    list(fit_methods(methods, rows))
    assert sorted(widths) == [(), (), (3,), (3,)]  # two predictors; each calibrator for three


def test_groups_stay_together(rows):
    groups = np.arange(len(rows.X)) // 10
    [(fit, held)] = PaperSplit().split(rows.X, rows.y, groups)
    assert not set(groups[fit]) & set(groups[held])
    assert sorted([*fit, *held]) == list(range(len(rows.X)))
    seen = {}

    class Spy(LinearRegression):
        def fit(self, X, y):
            seen["rows"] = X
            return super().fit(X, y)

    methods = {"spy": risk_of(LinearRegression(), Spy())}
    list(fit_methods(methods, rows._replace(groups=groups)))
    np.testing.assert_array_equal(seen["rows"], rows.X[held])


def test_the_split_is_the_papers(rows):
    [(fit, held)] = PaperSplit().split(rows.X)
    expected = train_test_split(np.arange(len(rows.X)), test_size=4 / 9, random_state=42)
    np.testing.assert_array_equal(fit, expected[0])
    np.testing.assert_array_equal(held, expected[1])


def test_answers_are_kept_for_the_very_rows_only(rows):
    first, second = rows.X[:50], rows.X[50:100]
    kept = CachedRegressor(LinearRegression().fit(rows.X, rows.y))
    for X in (first, second, first):
        np.testing.assert_array_equal(kept.predict(X), kept.estimator.predict(X))
    assert kept.predict(second) is kept.predict(second)
