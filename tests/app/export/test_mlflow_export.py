"""An MLflow model says what the model says, and holds no code."""

import numpy as np
import polars as pl
import pytest

from condrisk.app.export import ExportError, save_mlflow
from condrisk.app.export._mlflow import decide_frame, import_mlflow, signature
from condrisk.app.models import fit_table

pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
pytest.importorskip("pandas")
# MLflow and what it imports warn of their own ways.
pytestmark = [pytest.mark.filterwarnings("ignore")]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x, kind = rng.normal(size=n), rng.choice(["a", "b"], n)
    label = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * x)), "yes", "no")
    gaps = [None if k % 9 == 0 else float(v) for k, v in enumerate(x)]
    days = pl.Series(rng.integers(20_000, 20_300, n), dtype=pl.Int32).cast(pl.Date)
    return pl.DataFrame({"x": gaps, "kind": kind, "flag": x > 1, "day": days, "label": label})


@pytest.fixture(scope="module")
def model():
    return fit_table(table(), target="label", predictor="linear", cost=0.2)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    return save_mlflow(model, tmp_path_factory.mktemp("mlflow") / "model")


def test_it_says_what_the_model_says(model, folder):
    frame = table(seed=1).drop("label")
    rows = frame.to_pandas()
    rows.index = rows.index[::-1] + 1000
    loaded = import_mlflow().pyfunc.load_model(str(folder))
    said = loaded.predict(rows)
    decision = model.decide(model.schema.check(frame).good)
    assert said.columns.tolist() == ["prediction", "risk", "defer"]
    assert said.index.tolist() == rows.index.tolist()
    assert said["prediction"].tolist() == decision.prediction.tolist()
    np.testing.assert_allclose(said["risk"], decision.risk)
    assert said["defer"].tolist() == decision.deferred.tolist()


def test_signature_and_example_are_those_of_the_table(model, folder):
    loaded = import_mlflow().pyfunc.load_model(str(folder))
    found = {spec.name: (spec.type.name, spec.required) for spec in signature(model).inputs}
    assert found == {
        "x": ("double", False),
        "kind": ("string", True),
        "flag": ("boolean", True),
        "day": ("datetime", True),
    }
    assert loaded.metadata.signature == signature(model)
    assert loaded.metadata.metadata["condrisk"]["cost"] == 0.2
    example = loaded.input_example
    assert set(example.columns) == {"x", "kind", "flag", "day"}
    assert len(loaded.predict(example)) == 1


def test_there_is_no_pickle_and_no_code_in_it(folder):
    names = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert (folder / "data" / "model.skops").exists()
    assert not names & {".pkl", ".pickle", ".py", ".joblib"}


def test_a_row_that_cannot_be_used_is_named(model):
    rows = table().drop("label").to_pandas().astype({"x": object})
    rows.loc[4, "x"] = "many"
    with pytest.raises(ValueError, match="1 rows cannot be used; in row 5 column 'x' holds 'many'"):
        decide_frame(model, rows.astype({"x": str}).replace({"None": None, "nan": None}))


def test_a_folder_that_is_there_is_left_alone(model, tmp_path):
    (tmp_path / "precious").write_text("1")
    with pytest.raises(ExportError, match="is there already"):
        save_mlflow(model, tmp_path)
    assert (tmp_path / "precious").read_text() == "1"
