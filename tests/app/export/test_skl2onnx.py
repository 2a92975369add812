"""The view of a risk as a regressor, as skl2onnx converts it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import AutoRisk, PlugInRisk, RegressionRisk
from condrisk.app.export import ExportError, register_converter
from condrisk.datasets import make_gaussian_mixture, make_heteroscedastic

ort = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
skl2onnx = pytest.importorskip("skl2onnx", reason="the extra onnx is not installed")

WORLD = make_heteroscedastic(150, random_state=0)
CLASSES = make_gaussian_mixture(150, random_state=0)


@pytest.fixture(autouse=True)
def _registered():
    register_converter()


def run(graph, X):
    session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    [found] = session.run(None, {session.get_inputs()[0].name: X})
    return found.ravel()


@pytest.mark.parametrize(
    ("risk", "world"),
    [
        (RegressionRisk(LinearRegression(), regressor=Ridge()), WORLD),
        (RegressionRisk(Ridge(), regressor=Ridge(), features="x+response", clip=False), WORLD),
        (PlugInRisk(LogisticRegression()), CLASSES),
    ],
)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_the_graph_gives_the_risk(risk, world, dtype, rtol):
    view = risk.set_params(random_state=0).fit(world.X, world.y).as_regressor()
    X = world.X.astype(dtype)
    found = run(skl2onnx.to_onnx(view, X[:1]), X)
    assert found.dtype == dtype
    assert_allclose(found, view.predict(X), rtol=rtol, atol=rtol)


def test_at_the_end_of_a_pipeline():
    scaler = StandardScaler().fit(WORLD.X)
    risk = RegressionRisk(LinearRegression(), regressor=Ridge(), random_state=0)
    view = risk.fit(scaler.transform(WORLD.X), WORLD.y).as_regressor()
    pipeline = make_pipeline(scaler, view)
    assert_allclose(
        run(skl2onnx.to_onnx(pipeline, WORLD.X[:1]), WORLD.X), pipeline.predict(WORLD.X)
    )


@pytest.mark.parametrize(
    ("risk", "world"),
    [
        (RegressionRisk(LinearRegression()), WORLD),
        (RegressionRisk(HistGradientBoostingClassifier(max_iter=5), cv=2), CLASSES),
        (PlugInRisk(RandomForestClassifier(5), calibration=None), CLASSES),
        (AutoRisk(LogisticRegression(), cv=2, time_budget=0), CLASSES),
    ],
    ids=["default regressor", "boosting", "forest", "auto"],
)
def test_trees_compare_in_float64(risk, world):
    view = risk.set_params(random_state=0).fit(world.X, world.y).as_regressor()
    X = np.vstack([world.X, world.X * 1.5])
    assert_allclose(run(skl2onnx.to_onnx(view, X[:1]), X), view.predict(X), rtol=1e-5, atol=1e-6)


def test_missing_values_go_where_they_go_in_python():
    X = np.where(np.random.default_rng(0).random(WORLD.X.shape) < 0.2, np.nan, WORLD.X)
    boosting = HistGradientBoostingRegressor(max_iter=10)
    risk = RegressionRisk(boosting, regressor=boosting, cv=2, random_state=0).fit(X, WORLD.y)
    view = risk.as_regressor()
    assert_allclose(run(skl2onnx.to_onnx(view, X[:1]), X), view.predict(X), rtol=1e-5)


def test_what_has_no_form_is_refused():
    codes = np.column_stack([np.arange(150) % 4, WORLD.X[:, 0]])
    boosting = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0])
    risk = RegressionRisk(Ridge(), regressor=boosting).fit(codes, WORLD.y + codes[:, 0] % 2)
    with pytest.raises(ExportError, match=r"categories are for condrisk\.app\.export\.to_onnx"):
        skl2onnx.to_onnx(risk.as_regressor(), codes[:1])
    risk = RegressionRisk("precomputed", regressor=Ridge()).fit(WORLD.X, loss=WORLD.y**2)
    with pytest.raises(ExportError, match="external predictor"):
        skl2onnx.to_onnx(risk.as_regressor(), WORLD.X[:1])


def test_old_versions_are_refused():
    risk = RegressionRisk(LinearRegression(), regressor=Ridge()).fit(WORLD.X, WORLD.y)
    with pytest.raises(ExportError, match="target_opset must be 18 or more"):
        skl2onnx.to_onnx(risk.as_regressor(), WORLD.X[:1], target_opset=15)
