"""`condrisk export`, as somebody runs it who has a model file."""

import json
import re

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from condrisk import Deferral, PlugInRisk
from condrisk.app.cli import app
from condrisk.app.models import fit_table
from condrisk.persistence import save_model

pytestmark = pytest.mark.usefixtures("quick_fits")

pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


def run(*arguments):
    words = ["export", *map(str, arguments)]
    return CliRunner().invoke(app, words, env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pl.DataFrame(
        {"x": x, "kind": rng.choice(["a", "b"], 200), "y": x + rng.normal(size=200)}
    )
    frame.write_csv(folder / "rows.csv")
    model = fit_table(frame, target="y", predictor="linear", cost=1.0)
    save_model(model.model, folder / "model.skops", model.schema)
    return folder


def test_onnx_is_compared_and_written(place, tmp_path):
    import onnxruntime

    target = tmp_path / "model.onnx"
    result = run(place / "model.skops", "-o", target, "--check", place / "rows.csv", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["rows_compared"] == 200
    assert said["largest_difference"] <= said["tolerance"] * 10
    assert (said["inputs"], said["outputs"]) == (["x", "kind"], ["prediction", "risk", "defer"])
    session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
    rows = {"x": np.array([[0.5], [np.nan]]), "kind": np.array([["a"], [""]], dtype=object)}
    risk, defer = session.run(["risk", "defer"], rows)
    assert risk.shape == defer.shape == (2,)
    assert defer.tolist() == (risk > 1.0).tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_in_words(place, tmp_path):
    result = run(place / "model.skops", "-o", tmp_path / "model.onnx")
    said = re.sub(r"\s+", " ", result.output)
    assert "Compared with Python on 2,000 rows: the same, within 1e-09" in said
    assert "inputs x, kind; outputs prediction, risk, defer" in said


@pytest.mark.filterwarnings("ignore")  # MLflow and pandas, of each other
def test_mlflow_is_what_a_folder_means(place, tmp_path):
    pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    result = run(place / "model.skops", "-o", tmp_path / "flow")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "flow" / "MLmodel").exists()
    assert "is there already" in run(place / "model.skops", "-o", tmp_path / "flow").output
    (tmp_path / "flow" / "older").touch()
    again = run(place / "model.skops", "-o", tmp_path / "flow", "--overwrite")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "flow" / "MLmodel").exists()
    assert not (tmp_path / "flow" / "older").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["flow"]


def test_a_folder_of_something_else_is_never_replaced(place, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    result = run(place / "model.skops", "-o", tmp_path / "mine", "--overwrite")
    assert result.exit_code == 2
    assert (tmp_path / "mine" / "thesis.tex").exists()


@pytest.mark.filterwarnings("ignore")  # MLflow and pandas, of each other
def test_what_a_file_holds_is_trusted_by_name(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X = np.random.default_rng(0).normal(size=(200, 2))
    predictor = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1)
    model = Deferral(PlugInRisk(predictor, cv=2), cost=0.2).fit(X, (X[:, 0] > 0).astype(int))
    save_model(model, tmp_path / "model.skops", X)
    arguments = (tmp_path / "model.skops", "-o", tmp_path / "model.onnx")
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "--trust lightgbm" in re.sub(r"\s+", " ", refused.output)
    assert not (tmp_path / "model.onnx").exists()
    assert run(*arguments, "--trust", "xgboost", "--trust", "lightgbm").exit_code == 0
    assert (tmp_path / "model.onnx").exists()
    if pytest.importorskip("mlflow"):
        assert run(arguments[0], "-o", tmp_path / "flow", "--trust", "lightgbm").exit_code == 0


@pytest.mark.parametrize(
    ("model", "output", "options", "message"),
    [
        ("none.skops", "a.onnx", [], "none.skops"),
        ("rows.csv", "a.onnx", [], "rows.csv"),
        ("model.skops", "a.onnx", ["--check", "none.csv"], "none.csv does not exist"),
        ("model.skops", "no folder/a.onnx", [], "no folder"),
        ("model.skops", ".", ["--format", "mlflow"], "is there already"),
        ("model.skops", "a.txt", [], "a.txt tells no format"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_two(
    place, tmp_path, model, output, options, message
):
    options = [place / part if part.endswith(".csv") else part for part in options]
    result = run(place / model, "-o", tmp_path / output, *options)
    assert result.exit_code == 2, result.output
    assert message in re.sub(r"\s+", " ", result.output)
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []
