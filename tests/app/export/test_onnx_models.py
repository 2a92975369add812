"""Predictors in a graph: what each says, against its own `predict` and `predict_proba`."""

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor

from condrisk import Deferral, PlugInRisk, RegressionRisk
from condrisk.app.export import ExportError, to_onnx
from condrisk.learners import LossRegressor, StackedClassifier, StackedRegressor

# Targets that are made up: no good predictors.
pytestmark = pytest.mark.filterwarnings("ignore:the predictor is worse")

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")


def rows(seed=0, n=500):
    """Four columns: a number with gaps, whole numbers, codes with gaps, a number without."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 20, n).astype(float)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 6, n), codes, rng.normal(size=n)])
    y = X[:, 0] + (codes % 3) + X[:, 1] * X[:, 3] + rng.normal(size=n)
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    return X, y


def as_frame(X):
    return pl.DataFrame({f"x{k}": column for k, column in enumerate(X.T)}).fill_nan(None)


def new_rows(fitted_on):
    """Rows that were not fitted on: ordinary ones, codes never seen, halves, and zeros."""
    X = rows(100, n=1500)[0]
    X[:40, 2] = np.arange(40)
    X[40:80, 2] = np.linspace(-3, 25, 40)
    X[80:90] = 0.0
    return X if np.isnan(fitted_on).any() else np.nan_to_num(X, nan=3.0)


@pytest.fixture
def say(run_graph):
    """Return a function that gives what the graph of an estimator says of rows."""

    def said(model, X, new):
        frozen = FrozenEstimator(model)
        if hasattr(model, "predict_proba"):
            risk = PlugInRisk(frozen, loss="brier", probability=frozen, calibration=None)
            y = model.classes_[np.arange(len(X)) % len(model.classes_)]
        else:
            losses = HistGradientBoostingRegressor(max_iter=1)  # which takes gaps
            risk, y = RegressionRisk(frozen, regressor=losses), model.predict(X) + 1
        fitted = Deferral(risk, cost=0.5).fit(X, y)
        graph = to_onnx(fitted, schema=X, check=as_frame(X))
        return run_graph(graph, as_frame(new))

    return said


def spread():
    return OneHotEncoder(handle_unknown="ignore", sparse_output=False)


def prepared(scaler):
    fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
    return make_column_transformer((make_pipeline(fill, scaler), [0, 1, 3]), (spread(), [2]))


ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
BOOST = {"n_estimators": 25, "verbose": -1, "n_jobs": 1}
XGB = {"n_estimators": 25, "n_jobs": 1}
CAT = {"iterations": 25, "verbose": 0, "allow_writing_files": False, "thread_count": 1}

REGRESSORS = {
    "boosting": HistGradientBoostingRegressor(max_iter=30, categorical_features=[2]),
    "boosting without categories": HistGradientBoostingRegressor(max_iter=30),
    "boosting of counts": HistGradientBoostingRegressor(loss="poisson", max_iter=20),
    "boosting that learns nothing": HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=490),
    "forest": RandomForestRegressor(10, random_state=0),
    "forest in a pipeline": make_pipeline(prepared(MinMaxScaler()), RandomForestRegressor(10)),
    "extra-trees": make_pipeline(SimpleImputer(), ExtraTreesRegressor(10)),
    "tree": DecisionTreeRegressor(),
    "ridge": make_pipeline(prepared(StandardScaler()), Ridge()),
    "ridge on scores": make_pipeline(SimpleImputer(), PowerTransformer(), RobustScaler(), Ridge()),
    "codes": make_pipeline(make_column_transformer((ORDINAL, [1, 2])), SimpleImputer(), Ridge()),
    "log-linear": make_pipeline(prepared(StandardScaler()), PoissonRegressor(alpha=0.1)),
    "support vectors": make_pipeline(SimpleImputer(), StandardScaler(), LinearSVR()),
    "mixture": LossRegressor(random_state=0),
    "lightgbm": lightgbm.LGBMRegressor(**BOOST),
    "lightgbm with categories": lightgbm.LGBMRegressor(**BOOST, categorical_feature=[2]),
    "lightgbm of counts": lightgbm.LGBMRegressor(**BOOST, objective="poisson"),
    "lightgbm of roots": lightgbm.LGBMRegressor(**BOOST, reg_sqrt=True),
    "lightgbm, zeros missing": lightgbm.LGBMRegressor(**BOOST, zero_as_missing=True),
    "lightgbm, nothing missing": lightgbm.LGBMRegressor(**BOOST, use_missing=False),
    "lightgbm forest": lightgbm.LGBMRegressor(
        **BOOST, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5
    ),
    "xgboost": xgboost.XGBRegressor(**XGB),
    "xgboost with categories": xgboost.XGBRegressor(
        **XGB, enable_categorical=True, feature_types=["q", "q", "c", "q"], max_cat_to_onehot=3
    ),
    "xgboost of counts": xgboost.XGBRegressor(**XGB, objective="count:poisson"),
    "xgboost forest": xgboost.XGBRFRegressor(**XGB),
    "catboost": catboost.CatBoostRegressor(**CAT),
    "catboost by leaves": catboost.CatBoostRegressor(**CAT, grow_policy="Lossguide"),
    "catboost, missing above": catboost.CatBoostRegressor(**CAT, nan_mode="Max"),
    "catboost of counts": catboost.CatBoostRegressor(**CAT, loss_function="Poisson"),
}
COUNTS = ("counts", "log", "roots", "mixture")


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_say_the_same(name, say):
    X, y = rows()
    y = np.abs(y) if any(word in name for word in COUNTS) else y
    model = REGRESSORS[name]
    keywords = {"categorical_feature": [2]} if name == "lightgbm with categories" else {}
    if keywords:
        model = lightgbm.LGBMRegressor(**BOOST)
    fitted = model.fit(X, y, **keywords)
    new = new_rows(X)
    if name == "xgboost with categories":
        new[new[:, 2] < 0, 2] = 0.0  # which it refuses
    found = say(fitted, X, new)["prediction"]
    tolerance = 1e-6 if "xgboost" in name else 1e-11
    np.testing.assert_allclose(found, fitted.predict(new), rtol=tolerance, atol=tolerance)
    assert np.std(found) > 0 or "nothing" in name


CLASSIFIERS = {
    "boosting": HistGradientBoostingClassifier(max_iter=20, categorical_features=[2]),
    "forest": RandomForestClassifier(10),
    "logistic": make_pipeline(prepared(StandardScaler()), LogisticRegression()),
    "prior": DummyClassifier(),
    "calibrated": CalibratedClassifierCV(
        make_pipeline(prepared(StandardScaler()), LogisticRegression()), cv=2
    ),
    "calibrated, by steps": CalibratedClassifierCV(
        RandomForestClassifier(10), method="isotonic", cv=2
    ),
    "by skl2onnx": make_pipeline(SimpleImputer(), GaussianNB()),
    "stack": StackedClassifier(random_state=0, cv=2),
    "lightgbm": lightgbm.LGBMClassifier(**BOOST),
    "xgboost": xgboost.XGBClassifier(**XGB),
    "catboost": catboost.CatBoostClassifier(**CAT),
}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_say_the_same(name, n_classes, say):
    """The Brier loss of a model under its own probabilities is 1 − Σ p²."""
    X, y = rows()
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    fitted = CLASSIFIERS[name].fit(X, labels)
    new = new_rows(X)
    found = say(fitted, X, new)
    proba = np.asarray(fitted.predict_proba(new), dtype=np.float64)
    tolerance = 1e-6 if name in ("xgboost", "by skl2onnx") else 1e-11
    np.testing.assert_allclose(found["risk"], 1 - (proba**2).sum(axis=1), atol=tolerance)
    best = np.sort(proba, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-6
    assert found["prediction"][clear].tolist() == fitted.predict(new).ravel()[clear].tolist()


def test_rows_out_of_range_and_early_stopping_of_xgboost(say):
    """The trees after the best round do not count; float32 sums are the same to the last bit."""
    X, y = rows()
    model = xgboost.XGBRegressor(n_estimators=60, early_stopping_rounds=2, n_jobs=1)
    fitted = model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:] * 0)], verbose=False)
    assert fitted.best_iteration < 50
    new = new_rows(X) * 1e6
    assert say(fitted, X, new)["prediction"].tolist() == fitted.predict(new).tolist()


def test_categories_that_were_not_in_the_rows_fitted_on_are_taken_as_missing(say):
    """Codes 0, 2, 4, …: what boosting calls the second category is not the code 1."""
    X, y = rows()
    X[:, 2] = np.where(X[:, 2] % 2 == 0, X[:, 2], np.nan)
    fitted = HistGradientBoostingRegressor(max_iter=30, categorical_features=[2]).fit(X, y)
    new = rows(100, n=1500)[0]  # with odd codes
    np.testing.assert_allclose(say(fitted, X, new)["prediction"], fitted.predict(new), atol=1e-11)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_one_column_alone_is_not_rounded(n_classes, say):
    """A runtime may join the scaling of a single column with what follows, in float32."""
    X, y = rows()
    X = np.nan_to_num(X[:, :1]) / 3 + 0.1
    if n_classes is None:
        fitted = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
        found, expected = say(fitted, X, X)["prediction"], fitted.predict(X)
    else:
        labels = np.digitize(y, np.quantile(y, [0.3, 0.7])[: n_classes - 1])
        fitted = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, labels)
        found, expected = say(fitted, X, X)["risk"], 1 - (fitted.predict_proba(X) ** 2).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def thresholds(fitted):
    """Return what the trees of a model compare the first column with."""
    if isinstance(fitted, RandomForestRegressor):
        return np.concatenate([t.tree_.threshold[t.tree_.feature == 0] for t in fitted])
    if isinstance(fitted, HistGradientBoostingRegressor):
        nodes = np.concatenate([p.nodes for (p,) in fitted._predictors])
        return nodes["num_threshold"][(nodes["feature_idx"] == 0) & (nodes["is_leaf"] == 0)]
    if isinstance(fitted, catboost.CatBoostRegressor):
        return np.asarray(fitted.get_borders()[0])
    if isinstance(fitted, lightgbm.LGBMRegressor):
        nodes = fitted.booster_.trees_to_dataframe()
        return nodes["threshold"][nodes["split_feature"] == "Column_0"].to_numpy(dtype=float)
    nodes = fitted.get_booster().trees_to_dataframe()
    return nodes["Split"][nodes["Feature"] == "f0"].to_numpy(dtype=float)


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=20),
        RandomForestRegressor(5, random_state=0),
        lightgbm.LGBMRegressor(**BOOST),
        xgboost.XGBRegressor(**XGB),
        catboost.CatBoostRegressor(**CAT),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_value_at_a_threshold_goes_the_same_way(model, say):
    """Thresholds, and the numbers before and after them, in float64 and in float32."""
    X, y = rows()
    fitted = model.fit(X, y)
    cuts = thresholds(fitted)
    cuts = cuts[np.isfinite(cuts) & (np.abs(cuts) < 1e30)]
    thin = cuts.astype(np.float32)
    near = np.concatenate(
        [
            np.nextafter(values, values.dtype.type(to)).astype(float)
            for values in (cuts, thin)
            for to in (np.inf, -np.inf)
        ]
        + [cuts, thin.astype(float)]
    )
    assert len(near) > 100
    new = np.tile(X[X[:, 0] == X[:, 0]][:1], (len(near), 1))
    new[:, 0] = near
    found, expected = say(fitted, X, new)["prediction"], fitted.predict(new)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(np.unique(expected.round(9))) > 5


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lightgbm.LGBMRegressor(**BOOST, linear_tree=True), "LightGBM's linear_tree cannot be"),
        (xgboost.XGBRegressor(**XGB, booster="dart"), "booster 'dart' cannot be .*'gbtree' can"),
        (catboost.CatBoostRegressor(**CAT, loss_function="LogLinQuantile"), "RMSE can"),
        (catboost.CatBoostRegressor(**CAT, cat_features=[1]), "categorical features cannot be"),
        (make_pipeline(OneHotEncoder(), Ridge()), "only with handle_unknown='ignore'"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_converted_is_refused_with_the_reason(model, message, say):
    X, y = rows()
    X = np.nan_to_num(X).round()
    if isinstance(model, catboost.CatBoostRegressor) and "categorical" in message:
        X, y = X.astype(int), np.where(X[:, 1] > 2, y + 9, y)
    fitted = model.fit(X, y)
    with pytest.raises(ExportError, match=message):
        say(fitted, X, X)


def test_a_stack_of_regressors_with_gaussian_processes(say):
    """The processes take roots of differences: of rows fitted on, those are rounding alone."""
    X, y = rows(n=200)
    fitted = StackedRegressor(random_state=0, cv=3).fit(X, y)
    assert "process" in fitted.shares_
    new = rows(7)[0]
    np.testing.assert_allclose(say(fitted, X, new)["prediction"], fitted.predict(new), atol=1e-11)
    np.testing.assert_allclose(say(fitted, X, X)["prediction"], fitted.predict(X), atol=1e-6)
