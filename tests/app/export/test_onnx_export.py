"""Whole models as graphs: tables, files, frames, external predictors, and the check itself."""

import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from condrisk import Deferral, PlugInRisk, RegressionRisk
from condrisk.app.export import ExportError, check_onnx, to_onnx
from condrisk.app.models import fit_table
from condrisk.app.tables import check_rows
from condrisk.persistence import ModelFileError, Schema, save_model

pytestmark = pytest.mark.usefixtures("quick_fits")

pd = pytest.importorskip("pandas")
lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
onnx = pytest.importorskip("onnx")


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
    cost = {"y": 0.8, "number": 0.45}.get(target, 0.2)
    return fit_table(frame, target=target, predictor=predictor, cost=cost)


def test_prediction_risk_and_decision_in_one_graph(model, run_graph):
    frame = table(seed=1)
    made = to_onnx(model, check=frame)
    found, decision = run_graph(made, frame), model.decide(check_rows(model.schema, frame).good)
    np.testing.assert_allclose(found["risk"], decision.risk, rtol=1e-9)
    assert found["defer"].dtype == bool
    assert found["defer"].tolist() == decision.deferred.tolist()
    assert 0 < decision.deferred.mean() < 1
    if model.task == "regression":
        np.testing.assert_allclose(found["prediction"], decision.prediction, rtol=1e-9)
    else:
        assert found["prediction"].tolist() == decision.prediction.tolist()
    for values in found.values():
        assert values.shape == (frame.height,)
    shown = json.loads({p.key: p.value for p in made.metadata_props}["condrisk"])
    assert shown["rule"] == model.manifest["rule"]
    assert [c["name"] for c in shown["columns"]] == [i.name for i in made.graph.input]


# -- the check ------------------------------------------------------------------------------------


def test_a_graph_that_differs_is_found(model):
    """Break the graph: another cost decides."""
    frame = table(seed=2)
    made = to_onnx(model)
    risk = model.decide(check_rows(model.schema, frame).good).risk
    for constant in made.graph.initializer:
        array = onnx.numpy_helper.to_array(constant)
        if array.dtype == np.float64 and array.shape == () and array == model.cost:
            constant.CopyFrom(onnx.numpy_helper.from_array(np.median(risk), constant.name))
    found = check_onnx(made, model, frame)
    moved = (risk > model.cost) != (risk > np.median(risk))
    assert list(found.wrong) == np.flatnonzero(moved).tolist()
    assert check_onnx(made.SerializeToString(), model, frame) == found


def test_a_risk_that_differs_is_found():
    X, y = np.random.default_rng(0).normal(size=(2, 100, 1))
    ours = Deferral(RegressionRisk(Ridge(), regressor=Ridge(), cv=2), cost=0.5).fit(X, y[:, 0])
    other = Deferral(RegressionRisk(Ridge(), regressor=Ridge(9), cv=2), cost=0.5).fit(X, y[:, 0])
    found = check_onnx(to_onnx(ours, schema=X), other, schema=X)
    assert len(found.wrong) == found.rows == 2000
    assert found.largest > 1
    assert check_onnx(to_onnx(ours, schema=X), other, schema=X, tolerance=9.0).wrong == ()


def test_rows_at_the_threshold_are_told():
    frame = table().drop("word", "number", "truth")
    model = fit_table(frame, target="y", predictor="linear", cost=0.8)
    risk = model.decide(check_rows(model.schema, frame).good).risk
    model.model.cost = float(risk[7])
    found = check_onnx(to_onnx(model), model, frame)
    assert 7 in found.close
    assert found.wrong == ()


def test_the_tolerance_is_that_of_float64_but_where_a_part_rounds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    exact = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    rough = xgboost.XGBRegressor(n_estimators=5, n_jobs=1)
    for predictor, tolerance in ((exact, 1e-9), (rough, 2e-6)):
        risk = RegressionRisk(predictor, regressor=Ridge(), cv=2)
        fitted = Deferral(risk, cost=0.5).fit(X, y)
        assert check_onnx(to_onnx(fitted, schema=X), fitted, schema=X).tolerance == tolerance


def test_there_must_be_rows_to_compare_on(model):
    none = table().with_columns(x=pl.lit("many"))
    with pytest.raises(ExportError, match="no row to compare"):
        to_onnx(model, check=none)


def test_a_model_that_takes_no_gaps_is_checked_on_rows_without():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    fitted = Deferral(RegressionRisk(Ridge(), regressor=Ridge()), cost=1.0).fit(X, y)
    assert check_onnx(to_onnx(fitted, schema=X), fitted, schema=X).rows == 2000


# -- files, external predictors -------------------------------------------------------------------


def test_a_file_is_as_good_as_the_model_and_trusted_by_the_caller_alone(tmp_path, run_graph):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200)
    predictor = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    fitted = Deferral(RegressionRisk(predictor, regressor=Ridge(), cv=2), cost=1.0).fit(X, y)
    save_model(fitted, tmp_path / "model.skops", X)
    with pytest.raises(ModelFileError, match="lightgbm"):
        to_onnx(tmp_path / "model.skops")
    graph = to_onnx(tmp_path / "model.skops", trusted=["lightgbm"])
    found = run_graph(graph, pl.DataFrame({"x0": X[:, 0], "x1": X[:, 1]}))
    np.testing.assert_allclose(found["risk"], fitted.decide(X).risk, rtol=1e-12)
    again = check_onnx(graph, tmp_path / "model.skops", trusted=["lightgbm"])
    assert again.wrong == ()


@pytest.mark.parametrize("target", ["y", "word", "number", "truth"])
def test_predictions_from_elsewhere(target, run_graph):
    said = pl.col("y") * 0.5 if target == "y" else pl.col(target).shuffle(seed=0)
    frame = table().drop([name for name in TARGETS if name != target]).with_columns(said=said)
    model = fit_table(frame, target=target, predictions="said", predictor="linear", budget=0.3)
    texts = frame if target == "y" else frame.with_columns(pl.col("said").cast(pl.String))
    found = run_graph(to_onnx(model, check=frame), texts)
    assert found["prediction"].tolist() == frame["said"].to_list()
    assert found["defer"].mean() == pytest.approx(0.3, abs=0.1)


def test_plug_in_risks_of_labels_from_elsewhere(run_graph):
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=300)})
    labels = np.where(frame["x"] > 0, "yes", "no")
    said = np.where(frame["x"] > 0.5, "yes", "no")
    model = {"probability": LogisticRegression(), "calibration": None}
    risk = PlugInRisk("precomputed", loss="zero_one", **model)
    fitted = Deferral(risk, cost=0.2).fit(frame, labels, prediction=said)
    schema = Schema.infer(frame.assign(said=said), prediction="said")
    found = run_graph(to_onnx(fitted, schema=schema), pl.from_pandas(frame.assign(said=said)))
    assert found["prediction"].tolist() == said.tolist()
    proba = fitted.risk_.probability_.predict_proba(frame)
    expected = 1 - np.where(said == "yes", proba[:, 1], proba[:, 0])
    np.testing.assert_allclose(found["risk"], expected, atol=1e-12)


# -- rows that reach the model as frames ----------------------------------------------------------


def frame_of(n=300, seed=0):
    """A pandas frame: a number, whole numbers, float32, truth values, categories out of order."""
    rng = np.random.default_rng(seed)
    kinds = pd.CategoricalDtype(["small", "large", "medium", "never"])
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "thin": rng.normal(size=n).astype(np.float32),
            "flag": rng.random(n) < 0.5,
            "size": pd.Categorical(rng.choice(["small", "medium", "large"], n), dtype=kinds),
            "level": pd.Categorical(rng.choice([10, 20, 30], n)),
        }
    )


def target_of(frame, seed=0):
    noise = np.random.default_rng(seed).normal(size=len(frame))
    return frame["x"] + 3 * (frame["size"] == "large") + frame["level"].astype(int) / 5 + noise


def encoder():
    spread = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = make_column_selector(dtype_include=["number", "bool"])
    return make_column_transformer(
        (StandardScaler(), numbers), (spread, ["size"]), (codes, ["level"])
    )


PREDICTORS = {
    "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1),
    "xgboost": lambda: xgboost.XGBRegressor(n_estimators=20, enable_categorical=True, n_jobs=1),
    "boosting": lambda: HistGradientBoostingRegressor(max_iter=20),
    "encoded": lambda: make_pipeline(encoder(), Ridge()),
}


@pytest.mark.parametrize("name", PREDICTORS)
def test_pandas_frames_with_categories(name, run_graph):
    """Categories are text for the graph, whatever they become on their way into the model."""
    X = frame_of()
    risk = RegressionRisk(PREDICTORS[name](), regressor=PREDICTORS[name](), cv=2)
    fitted = Deferral(risk, cost=1.0).fit(X, target_of(X))
    graph = to_onnx(fitted, schema=X)
    new = frame_of(seed=1)
    cells = pl.from_pandas(new.astype({"size": "str", "level": "str"}))
    found = run_graph(graph, cells)
    tolerance = 2e-6 if name == "xgboost" else 1e-10
    expected = fitted.decide(new)
    np.testing.assert_allclose(found["prediction"], expected.prediction, rtol=tolerance)
    np.testing.assert_allclose(found["risk"], expected.risk, rtol=tolerance, atol=tolerance)
    assert len(np.unique(found["prediction"].round(6))) > 100
    if name != "encoded":  # missing and unknown categories, missing numbers
        gaps = cells.with_columns(
            size=pl.lit("huge"), x=pl.lit(None, pl.Float64), level=pl.lit(None, pl.String)
        )
        empty = new.assign(x=np.nan)
        empty["size"] = empty["size"].cat.set_categories(["small", "large", "medium", "never"])
        empty.loc[:, "size"] = None
        empty.loc[:, "level"] = None
        found = run_graph(graph, gaps)["risk"]
        np.testing.assert_allclose(found, fitted.decide(empty).risk, rtol=tolerance, atol=tolerance)


def test_float32_columns_are_rounded_as_in_python(run_graph):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=200)
    predictor = HistGradientBoostingRegressor(max_iter=20)
    fitted = Deferral(RegressionRisk(predictor, regressor=Ridge(), cv=2), cost=1.0).fit(X, y)
    nodes = np.concatenate([tree.nodes for (tree,) in fitted.risk_.predictor_._predictors])
    cuts = nodes["num_threshold"][(nodes["feature_idx"] == 0) & (nodes["is_leaf"] == 0)]
    near = np.concatenate([cuts - 1e-12, cuts + 1e-12])  # many of which float32 takes across
    wide = np.column_stack([near, np.zeros(len(near))])
    found = run_graph(to_onnx(fitted, schema=X), pl.DataFrame({"x0": wide[:, 0], "x1": wide[:, 1]}))
    thin = fitted.decide(wide.astype(np.float32)).prediction
    np.testing.assert_allclose(found["prediction"], thin, rtol=1e-6)
    assert (np.abs(thin - fitted.risk_.predictor_.predict(wide)) > 1e-3).mean() > 0.1


def test_columns_that_have_no_form_are_refused():
    n = 300
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n), "note": [f"note {k}" for k in range(n)]})
    predictor = make_pipeline(make_column_transformer((StandardScaler(), ["x"])), Ridge())
    risk = RegressionRisk(predictor, regressor=predictor, cv=2)
    with pytest.raises(ExportError, match="column 'note' reaches the model as text"):
        to_onnx(Deferral(risk, cost=1.0).fit(X, X["x"] * 2), schema=X)
    X["note"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n), unit="D")
    with pytest.raises(ExportError, match="column 'note' reaches the model as dates"):
        to_onnx(Deferral(risk, cost=1.0).fit(X, X["x"] * 2), schema=X)


def test_a_torch_module_is_refused_by_name():
    torch = pytest.importorskip("torch")
    from condrisk.torch import TorchRegressor

    class Flat(torch.nn.Linear):
        def __init__(self, in_features):
            super().__init__(in_features, 1)

    X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    predictor = TorchRegressor(
        Flat, epochs=30, learning_rate=0.1, augment=False, device="cpu", random_state=0
    )
    fitted = Deferral(RegressionRisk(predictor, regressor=Ridge(), cv=2), cost=1.0).fit(X, X[:, 0])
    with pytest.raises(ExportError, match="TorchRegressor cannot be converted to ONNX"):
        to_onnx(fitted, schema=X)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="Ridge"):
        to_onnx(Ridge().fit([[0.0], [1.0]], [0, 1]))
