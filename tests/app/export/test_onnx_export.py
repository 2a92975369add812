"""The ONNX graph against Python, row by row, part by part and whole."""

import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeRegressor

from condrisk import PlugInRisk, RegressionRisk
from condrisk.app.export import ExportError, check_onnx, to_onnx
from condrisk.app.export._check import random_rows, run_onnx
from condrisk.app.export._graph import IR_VERSION, ML_OPSET, OPSET, Graph
from condrisk.app.export._onnx import build
from condrisk.app.export._parts import add_classifier, add_regressor
from condrisk.app.models import TableModel, fit_table
from condrisk.deferral import CostRule, Deferral, SupportRule

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


def run_part(model, X):
    """Return what the graph of one estimator says."""
    graph = Graph()
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    add = add_classifier if hasattr(model, "predict_proba") else add_regressor
    graph.call("answer", add(graph, model, "X"))
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "part",
            [helper.make_tensor_value_info("X", types.DOUBLE, [None, X.shape[1]])],
            [helper.make_tensor_value_info("answer", types.DOUBLE, None)],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
    )
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X})[0]


def rows(seed=0, n=600):
    """Four columns: a number with gaps, whole numbers, codes with gaps, a number without."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 40, n).astype(float)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 6, n), codes, rng.normal(size=n)])
    y = X[:, 0] + (codes % 3) + X[:, 1] * X[:, 3] + rng.normal(size=n)
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    return X, y


def prepared(scale=True):
    fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
    spread = OneHotEncoder(
        categories=[np.arange(40.0)], handle_unknown="ignore", sparse_output=False
    )
    first = make_pipeline(fill, StandardScaler()) if scale else fill
    return make_column_transformer((first, [0, 1, 3]), (spread, [2]))


REGRESSORS = {
    "boosting": HistGradientBoostingRegressor(max_iter=30, categorical_features=[2]),
    "boosting without categories": HistGradientBoostingRegressor(max_iter=30),
    "boosting of counts": HistGradientBoostingRegressor(loss="poisson", max_iter=20),
    "boosting that learns nothing": HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=590),
    "forest": RandomForestRegressor(10),
    "forest in a pipeline": make_pipeline(prepared(scale=False), RandomForestRegressor(10)),
    "extra-trees": make_pipeline(SimpleImputer(), ExtraTreesRegressor(10)),
    "tree": DecisionTreeRegressor(),
    "ridge": make_pipeline(prepared(), Ridge()),
    "log-linear": make_pipeline(prepared(), PoissonRegressor(alpha=0.1)),
    "by skl2onnx": make_pipeline(SimpleImputer(), StandardScaler(), LinearSVR()),
}
CLASSIFIERS = {
    "boosting": HistGradientBoostingClassifier(max_iter=20, categorical_features=[2]),
    "forest": RandomForestClassifier(10),
    "logistic": make_pipeline(prepared(), LogisticRegression()),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_say_the_same(name, seed):
    X, y = rows(seed)
    y = np.abs(y) if "counts" in name or "log" in name else y
    model = REGRESSORS[name]
    model.set_params(**{p: seed for p in model.get_params() if p.endswith("random_state")})
    fitted = model.fit(X, y)
    new = rows(seed + 100, n=3000)[0]
    new[:40, 2] = np.arange(40)
    new[40:60, 2] = 200  # a code never seen
    said = run_part(fitted, new).ravel()
    tolerance = 1e-4 if name == "by skl2onnx" else 1e-10
    np.testing.assert_allclose(said, fitted.predict(new), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_classifiers_say_the_same(name, n_classes):
    X, y = rows()
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    fitted = CLASSIFIERS[name].fit(X, labels)
    new = rows(100, n=3000)[0]
    np.testing.assert_allclose(run_part(fitted, new), fitted.predict_proba(new), atol=1e-10)


def test_categories_that_were_not_in_the_rows_fitted_on_are_taken_as_missing():
    """Codes 0, 2, 4, …: what boosting calls the second category is not the code 1."""
    X, y = rows()
    X[:, 2] = np.where(X[:, 2] % 2 == 0, X[:, 2], np.nan)
    fitted = HistGradientBoostingRegressor(max_iter=30, categorical_features=[2]).fit(X, y)
    new = rows(100, n=3000)[0]  # with odd codes
    np.testing.assert_allclose(run_part(fitted, new).ravel(), fitted.predict(new), atol=1e-10)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_one_column_alone_is_not_rounded(n_classes):
    """A runtime may join the scaling of a single column with what follows, in float32."""
    X, y = rows()
    X = np.nan_to_num(X[:, :1]) / 3 + 0.1
    last = Ridge() if n_classes is None else LogisticRegression()
    labels = y if n_classes is None else np.digitize(y, np.quantile(y, [0.3, 0.7])[: n_classes - 1])
    fitted = make_pipeline(StandardScaler(), last).fit(X, labels)
    expected = fitted.predict(X) if n_classes is None else fitted.predict_proba(X)
    said = run_part(fitted, X).reshape(expected.shape)
    np.testing.assert_allclose(said, expected, rtol=1e-12)


def test_a_value_at_a_threshold_goes_the_same_way():
    X, y = rows()
    for fitted in (
        HistGradientBoostingRegressor(max_iter=20).fit(X, y),
        RandomForestRegressor(5, random_state=0).fit(X, y),
    ):
        if hasattr(fitted, "estimators_"):
            cuts = np.concatenate([t.tree_.threshold[t.tree_.feature == 0] for t in fitted])
        else:
            nodes = np.concatenate([p.nodes for (p,) in fitted._predictors])
            cuts = nodes["num_threshold"][(nodes["feature_idx"] == 0) & (nodes["is_leaf"] == 0)]
        cuts = cuts[np.abs(cuts) < 1e30]
        near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])
        new = np.tile(X[:1], (len(near), 1))
        new[:, 0] = near
        np.testing.assert_allclose(run_part(fitted, new).ravel(), fitted.predict(new), atol=1e-10)


# -- whole models ---------------------------------------------------------------------------------


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x, kind = rng.normal(size=n), rng.choice(["low", "Ünïcode", "high"], n)
    y = x + (kind == "high") + np.exp(x / 2) * rng.normal(size=n)
    return pl.DataFrame(
        {
            "x": [None if i % 11 == 0 else float(v) for i, v in enumerate(x)],
            "kind": [None if i % 13 == 0 else str(v) for i, v in enumerate(kind)],
            "flag": rng.random(n) < 0.4,
            "day": [date(2026, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 200, n)],
            "y": y,
            "word": np.where(y > 1, "yes", "no"),
            "number": np.digitize(y, [-1.0, 1.0]),
            "truth": y > 1,
        }
    )


TARGETS = ("y", "word", "number", "truth")


@pytest.fixture(scope="module", params=[("linear", t) for t in TARGETS] + [("boosting", "word")])
def model(request):
    predictor, target = request.param
    frame = table().drop([name for name in TARGETS if name != target])
    return fit_table(frame, target=target, predictor=predictor, cost=0.8 if target == "y" else 0.2)


def test_prediction_risk_and_decision_in_one_graph(model):
    frame = table(seed=1)
    made = to_onnx(model, check=frame)
    good = model.schema.check(frame).good
    said, decision = run_onnx(made, good, model.schema), model.decide(good)
    np.testing.assert_allclose(said["risk"], decision.risk, rtol=1e-9)
    assert said["defer"].dtype == bool
    assert said["defer"].tolist() == decision.deferred.tolist()
    assert 0 < decision.deferred.mean() < 1
    if model.task == "regression":
        np.testing.assert_allclose(said["prediction"], decision.prediction, rtol=1e-9)
    else:
        assert said["prediction"].tolist() == decision.prediction.tolist()
    for values in said.values():
        assert values.shape == (frame.height,)
    shown = json.loads({p.key: p.value for p in made.metadata_props}["condrisk"])
    assert shown["rule"] == model.manifest["rule"]
    assert [c["name"] for c in shown["columns"]] == [i.name for i in made.graph.input]


def test_a_graph_that_differs_is_found(model):
    """Break the graph: another price, then another prediction."""
    frame = random_rows(model.schema)
    made = build(model)
    assert check_onnx(made, model, frame).wrong == ()
    risk = model.decide(model.schema.check(frame).good).risk
    for constant in made.graph.initializer:
        if constant.double_data or constant.raw_data:
            array = _array(made, constant)
            if array.shape == () and array == model.cost:
                constant.CopyFrom(_constant(float(np.median(risk)), constant.name))
    found = check_onnx(made, model, frame)
    moved = (risk > model.cost) != (risk > np.median(risk))
    assert list(found.wrong) == np.flatnonzero(moved).tolist()


def _array(made, constant):
    from onnx import numpy_helper

    return numpy_helper.to_array(constant)


def _constant(value, name):
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(value), name)


def test_rows_at_the_threshold_are_told():
    frame = table().drop("word", "number", "truth")
    model = fit_table(frame, target="y", predictor="linear", cost=0.8)
    risk = model.decide(model.schema.check(frame).good).risk
    model.model.cost = float(risk[7])
    found = check_onnx(build(model), model, frame)
    assert 7 in found.close
    assert found.wrong == ()


def test_a_budget_and_predictions_from_elsewhere():
    frame = table().drop("word", "number", "truth").with_columns(said=pl.col("y") * 0.5)
    model = fit_table(frame, target="y", predictions="said", predictor="linear", budget=0.3)
    made = to_onnx(model, check=frame)
    said = run_onnx(made, model.schema.check(frame).good, model.schema)
    assert said["prediction"].tolist() == frame["said"].to_list()
    assert said["defer"].mean() == pytest.approx(0.3, abs=0.1)


def wrapped(risk, rule=None):
    """Return a model of tables around any risk estimator."""
    frame = table(n=80).select("x", "flag", "y", "word").fill_null(0.0)
    target = "word" if isinstance(risk, PlugInRisk) else "y"
    made = fit_table(frame, target=target, predictor="linear", cost=0.5)
    X = made.encode(made.schema.check(frame).good)
    y = frame[target].to_numpy()
    return TableModel(Deferral(risk, cost=0.5, rule=rule).fit(X, y), made.manifest)


@pytest.mark.parametrize(
    ("risk", "rule", "message"),
    [
        (PlugInRisk(LogisticRegression()), None, "a risk by PlugInRisk has no form in ONNX here"),
        (RegressionRisk(Ridge(), regressor=Ridge()), SupportRule(CostRule()), "rule SupportRule"),
        (RegressionRisk(Ridge(), cv=2), None, "LossRegressor has no form in ONNX"),
        (
            RegressionRisk(make_pipeline(PowerTransformer(), Ridge()), regressor=Ridge()),
            None,
            "PowerTransformer before a model has no form",
        ),
    ],
)
def test_what_has_no_form_is_refused_in_a_sentence(risk, rule, message):
    with pytest.raises(ExportError, match=message):
        to_onnx(wrapped(risk, rule))


def test_what_skl2onnx_makes_is_compared_too():
    """Its support vectors are in float32, and the graph is not kept; in float64 it would be."""
    gaps = make_pipeline(SimpleImputer(), LinearSVR())
    model = wrapped(RegressionRisk(gaps, regressor=make_pipeline(SimpleImputer(), Ridge())))
    found = check_onnx(build(model), model, random_rows(model.schema), tolerance=1e-4)
    assert found.wrong == ()


def test_the_response_may_be_among_the_inputs_of_the_risk():
    fill = SimpleImputer()
    risk = RegressionRisk(
        make_pipeline(fill, Ridge()), regressor=make_pipeline(fill, Ridge()), features="x+response"
    )
    model = wrapped(risk)
    assert check_onnx(to_onnx(model), model, random_rows(model.schema)).wrong == ()
