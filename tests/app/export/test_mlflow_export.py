"""What MLflow loads decides as `condrisk score` does, of the table as pandas reads it."""

import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from condrisk import Deferral, PlugInRisk
from condrisk.app.export import ExportError, save_mlflow
from condrisk.app.models import fit_table, open_model
from condrisk.app.scoring import score_file
from condrisk.app.tables import check_rows, read_table
from condrisk.persistence import ModelFileError, save_model

pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
pd = pytest.importorskip("pandas")
# MLflow and what it imports warn of their own ways.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("quick_fits")]


def load(folder):
    import mlflow.pyfunc

    return mlflow.pyfunc.load_model(str(folder))


def column_of(rng, n, kind):
    """Return a column by what stands in it, as text in a file."""
    if kind == "number":
        return [f"{v:.3f}" for v in rng.normal(size=n)]
    if kind == "whole":
        return [str(v) for v in rng.integers(-9, 9, n)]
    if kind == "boolean":
        return [str(v) for v in rng.random(n) < 0.5]
    if kind == "date":
        days = rng.integers(0, 300, n)
        return [(date(2026, 1, 1) + timedelta(days=int(day))).isoformat() for day in days]
    if kind == "code":  # numbers but for one of them, and with zeros in front
        return rng.choice(["01", "02", "10", "0A"], n).tolist()
    return rng.choice(["red", "green", "blue"], n).tolist()


def table(kinds, *, gaps=0.0, n=240, seed=0):
    """Return a table as text, with a target that depends on its first column."""
    rng = np.random.default_rng(seed)
    columns = {name: column_of(rng, n, kind) for name, kind in kinds.items()}
    first = pl.Series(next(iter(columns.values())))
    noise = rng.normal(size=n)
    y = first.rank("dense").to_numpy() / 20 + noise
    for cells in columns.values():
        for k in np.flatnonzero(rng.random(n) < gaps):
            cells[k] = None
    return pl.DataFrame({**columns, "y": [f"{v:.4f}" for v in y]})


# Of each table: its columns, the share of empty cells when fitted and when scored, and what the
# rows to score are changed by.
TABLES = {
    "integers where decimals were fitted": (
        {"x": "number", "z": "whole"},
        (0.0, 0.0),
        lambda frame: frame.with_columns(x=pl.Series(range(frame.height)).cast(pl.String)),
    ),
    "numbers and integers with gaps": ({"x": "number", "z": "whole"}, (0.1, 0.1), None),
    "categories, some never seen before": (
        {"x": "number", "kind": "category"},
        (0.1, 0.1),
        lambda frame: frame.with_columns(
            kind=pl.when(pl.col("kind") == "red").then(pl.lit("mauve")).otherwise("kind")
        ),
    ),
    "booleans with gaps": ({"x": "number", "flag": "boolean"}, (0.1, 0.1), None),
    "dates as text, columns in another order and one too many": (
        {"x": "number", "day": "date", "kind": "category"},
        (0.05, 0.05),
        lambda frame: frame.select("kind", pl.lit("?").alias("more"), "day", "x"),
    ),
    "categories that pandas reads as integers": (
        {"x": "number", "code": "code"},
        (0.0, 0.0),
        lambda frame: frame.filter(pl.col("code").fill_null("") != "0A"),
    ),
    "categories that pandas reads as decimals, for a gap": (
        {"x": "number", "code": "code"},
        (0.0, 0.1),
        lambda frame: frame.filter(pl.col("code").fill_null("") != "0A"),
    ),
}


# Each is a fit, a file and a folder of MLflow's: the others run with the slow tests.
QUICK = (
    "integers where decimals were fitted",
    "dates as text, columns in another order and one too many",
    "categories that pandas reads as decimals, for a gap",
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in TABLES],
)
def test_it_decides_as_score_does(name, tmp_path):
    kinds, (fitted_gaps, new_gaps), change = TABLES[name]
    file, new = tmp_path / "fit.csv", tmp_path / "new.csv"
    table(kinds, gaps=fitted_gaps).write_csv(file)
    fitted = fit_table(read_table(file), target="y", cost=1.0, holdout=0.0)
    frame = table(kinds, gaps=new_gaps, seed=1).drop("y")
    (frame if change is None else change(frame)).write_csv(new)
    risk = fitted.predict_risk(check_rows(fitted.schema, read_table(new)).good)
    halving = fitted.model.set_params(cost=float(np.quantile(risk, 0.4)))
    model = open_model(halving, schema=fitted.schema, target="y")
    score_file(model, new, tmp_path / "scored.parquet")
    scored = pl.read_parquet(tmp_path / "scored.parquet")

    rows = pd.read_csv(new)
    rows.index = rows.index[::-1] + 1000
    found = load(save_mlflow(model, tmp_path / "folder")).predict(rows)
    assert found.columns.tolist() == ["prediction", "risk", "defer"]
    assert found.index.tolist() == rows.index.tolist()
    assert found["prediction"].tolist() == scored["prediction"].to_list()
    assert found["risk"].tolist() == scored["risk"].to_list()
    assert found["defer"].tolist() == scored["defer"].to_list()
    assert 0 < found["defer"].mean() < 1


def test_pandas_has_guessed_other_types_in_these_tables(tmp_path):
    """The tables above are only a test as long as the guesses differ from what was fitted."""
    guesses = {}
    for name, (kinds, (_, gaps), change) in TABLES.items():
        frame = table(kinds, gaps=gaps, seed=1).drop("y")
        (frame if change is None else change(frame)).write_csv(tmp_path / "new.csv")
        guesses[name] = pd.read_csv(tmp_path / "new.csv").dtypes.astype(str).to_dict()
    assert guesses["integers where decimals were fitted"]["x"] == "int64"
    assert guesses["numbers and integers with gaps"]["z"] == "float64"
    assert guesses["booleans with gaps"]["flag"] == "object"
    assert guesses["categories that pandas reads as integers"]["code"] == "int64"
    assert guesses["categories that pandas reads as decimals, for a gap"]["code"] == "float64"


@pytest.fixture(scope="module")
def model():
    frame = table({"x": "number", "kind": "category", "flag": "boolean", "day": "date"}, gaps=0.1)
    typed = frame.with_columns(
        pl.col("x", "y").cast(pl.Float64, strict=False),
        flag=pl.col("flag") == "True",
        day=pl.col("day").str.to_date(strict=False),
    )
    return fit_table(typed, target="y", predictor="linear", cost=1.0)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    return save_mlflow(model, tmp_path_factory.mktemp("mlflow") / "model")


def test_the_types_of_pandas_do_not_matter(model, folder):
    """Nullable types, categorical columns, timestamps, objects: the same cells."""
    plain = pd.DataFrame(
        {
            "x": [0.5, None, 2.0],
            "kind": ["red", "blue", None],
            "flag": [True, False, None],
            "day": ["2026-03-01", None, "2026-05-02"],
        }
    )
    typed = pd.DataFrame(
        {
            "x": plain["x"].astype("Float64"),
            "kind": plain["kind"].astype("category"),
            "flag": plain["flag"].astype("boolean"),
            "day": pd.to_datetime(plain["day"]),
        }
    )
    loaded = load(folder)
    pd.testing.assert_frame_equal(loaded.predict(plain), loaded.predict(typed))
    whole = plain.assign(x=pd.array([1, None, 2], dtype="Int64"))
    found = loaded.predict(whole)["risk"]
    assert found.tolist() == loaded.predict(plain.assign(x=[1.0, None, 2.0]))["risk"].tolist()


def test_signature_and_example_are_those_of_the_table(folder):
    loaded = load(folder)
    names = ["x", "kind", "flag", "day"]
    assert loaded.metadata.signature.inputs.input_names() == names
    assert [spec.type.name for spec in loaded.metadata.signature.outputs] == [
        "double",
        "double",
        "boolean",
    ]
    shown = loaded.metadata.metadata["condrisk"]
    assert shown["cost"] == 1.0
    assert {c["name"]: c["kind"] for c in shown["columns"]} == {
        "x": "number",
        "kind": "category",
        "flag": "boolean",
        "day": "date",
    }
    assert set(loaded.input_example.columns) == set(names)
    assert len(loaded.predict(loaded.input_example)) == 1


def test_the_scoring_server_of_mlflow_reads_rows_of_json(folder):
    from mlflow.pyfunc.scoring_server import init

    row = {"x": 1, "kind": "red", "flag": None, "day": "2026-03-01"}
    handler = init(load(folder))
    testclient = pytest.importorskip("fastapi.testclient")
    answer = testclient.TestClient(handler).post("/invocations", json={"dataframe_records": [row]})
    assert answer.status_code == 200, answer.text
    (found,) = json.loads(answer.text)["predictions"]
    assert found["risk"] == load(folder).predict(pd.DataFrame([row]))["risk"].item()


def test_there_is_no_pickle_and_no_code_in_it(folder):
    names = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert (folder / "data" / "model.skops").exists()
    assert not names & {".pkl", ".pickle", ".py", ".joblib"}


def test_a_row_that_cannot_be_used_is_named(folder):
    rows = pd.DataFrame({"x": ["1", "2", "many"], "kind": "red", "flag": True, "day": "2026-03-01"})
    with pytest.raises(ValueError, match="1 rows cannot be used; in row 3 column 'x' holds 'many'"):
        load(folder).predict(rows)


def test_a_column_that_is_not_there_is_named(folder):
    with pytest.raises(Exception, match="day"):
        load(folder).predict(pd.DataFrame({"x": [1], "kind": ["red"], "flag": [True]}))


def test_a_model_file_is_as_good_as_the_model(model, tmp_path):
    save_model(model.model, tmp_path / "model.skops", model.schema)
    loaded = load(save_mlflow(tmp_path / "model.skops", tmp_path / "folder"))
    assert len(loaded.predict(loaded.input_example)) == 1


def test_trust_comes_from_whoever_loads_and_from_nothing_in_the_folder(tmp_path, monkeypatch):
    """Neither the file that was saved with trust, nor a model config, nor metadata will do."""
    import mlflow.pyfunc
    import yaml

    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = (X["a"] > 0).to_numpy(dtype=int)
    risk = PlugInRisk(lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1), cv=2)
    fitted = Deferral(risk, cost=0.2).fit(X, y)
    save_model(fitted, tmp_path / "model.skops", X)
    with pytest.raises(ModelFileError, match="lightgbm"):
        save_mlflow(tmp_path / "model.skops", tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    folder = tmp_path / "folder"
    save_mlflow(tmp_path / "model.skops", folder, trusted=["lightgbm"])
    meta = yaml.safe_load((folder / "MLmodel").read_text())
    meta["metadata"]["condrisk"]["trusted"] = ["lightgbm"]
    (folder / "MLmodel").write_text(yaml.safe_dump(meta))
    monkeypatch.delenv("CONDRISK_TRUST", raising=False)
    with pytest.raises(ModelFileError, match="environment variable CONDRISK_TRUST"):
        mlflow.pyfunc.load_model(str(folder), model_config={"trusted": ["lightgbm"]})
    flavor = meta["flavors"]["python_function"]
    (folder / "MLmodel").write_text(
        yaml.safe_dump(
            meta | {"flavors": {"python_function": flavor | {"config": {"trusted": ["lightgbm"]}}}}
        )
    )
    with pytest.raises(TypeError, match="_load_pyfunc"):  # which takes no configuration
        load(folder)
    (folder / "MLmodel").write_text(yaml.safe_dump(meta))
    with pytest.raises(ModelFileError, match="environment variable CONDRISK_TRUST"):
        load(folder)
    monkeypatch.setenv("CONDRISK_TRUST", "xgboost")
    with pytest.raises(ModelFileError, match="environment variable CONDRISK_TRUST"):
        load(folder)
    monkeypatch.setenv("CONDRISK_TRUST", "xgboost, lightgbm")
    found = load(folder).predict(X)
    assert found["risk"].tolist() == fitted.decide(X).risk.tolist()


def test_a_folder_that_is_there_is_left_alone(model, tmp_path):
    (tmp_path / "precious").write_text("1")
    with pytest.raises(ExportError, match="is there already"):
        save_mlflow(model, tmp_path)
    assert (tmp_path / "precious").read_text() == "1"
