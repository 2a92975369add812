"""Model files that must not be loaded, and what keeps them from it."""

import io
import json
import os
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hostile_models import (
    BOOSTING,
    CASES,
    nodes,
    pack,
    plain,
    unpack,
    with_array,
    with_attribute,
    with_manifest,
    with_schema,
    with_tree_argument,
)
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from condrisk import Deferral, PlugInRisk, RegressionRisk, _files
from condrisk.app.models import fit_table
from condrisk.learners import DistributionRegressor, LossRegressor, StackedRegressor
from condrisk.losses import pinball
from condrisk.persistence import ModelFileError, _archive, load_model, read_manifest, save_model


def table(n=120):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, n)
    colour = rng.choice(["red", "green", "blue"], n)
    y = x + np.where(colour == "red", 1.0, 0.1) * rng.normal(size=n)
    return pl.DataFrame({"x": x, "z": rng.normal(size=n), "colour": colour, "y": y})


def small_forest():
    return make_pipeline(SimpleImputer(), RandomForestRegressor(5, random_state=0))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Model files by the predictor in them."""
    folder, frame = tmp_path_factory.mktemp("sound"), table()
    made = fit_table(frame, target="y", cost=0.5, predictor="linear")
    X, y = made.encode(frame), frame["y"].to_numpy()
    boosting = HistGradientBoostingRegressor(max_iter=20, categorical_features=[2])
    predictors = {"linear": made.model.risk.predictor, "boosting": boosting}
    for name, predictor in predictors.items():  # with few parts, each of which a case may change
        risk = RegressionRisk(predictor, regressor=predictor, random_state=0)
        model = Deferral(risk, cost=0.5).fit(X, y)
        save_model(model, folder / name, made.schema, target="y", reference=made.reference)
    forest = RegressionRisk(small_forest(), regressor=small_forest(), random_state=0)
    model = Deferral(forest, cost=0.5).fit(frame.select("x", "z"), frame["y"].to_numpy())
    save_model(model, folder / "forest", frame.select("x", "z"))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_hostile_file_is_refused_in_one_sentence(case, sound, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.skops"
    path.write_bytes(case.change(sound[case.predictor]))
    with pytest.raises(ModelFileError, match=case.refused) as caught:
        load_model(path)
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert [p.name for p in tmp_path.rglob("*")] == ["model.skops"]  # nothing written or executed


def test_what_a_file_says_of_itself_is_not_obeyed_by_a_terminal(sound, tmp_path):
    path = tmp_path / "model.skops"
    for version in ("\x1b[2J", "1.9\x9b31m"):
        path.write_bytes(with_manifest(versions={"scikit-learn": version})(sound["linear"]))
        with pytest.raises(ModelFileError, match="its manifest has no versions") as caught:
            load_model(path)
        assert str(caught.value).isprintable()
    hidden = with_attribute("RegressionRisk", "\x1b[2J", plain("hello"))
    path.write_bytes(hidden(sound["linear"]))
    with pytest.raises(ModelFileError, match="which is not its own") as caught:
        load_model(path)
    assert str(caught.value).isprintable()

    def strange(schema):
        """Have a class of a package whose name would clear the screen: the advice names it."""
        node = next(n for n in nodes(schema) if n["__class__"] == "Ridge")
        node["__module__"] = "own\x1b[2J"

    path.write_bytes(with_schema(strange)(sound["linear"]))
    with pytest.raises(ModelFileError, match="--trust own") as caught:
        load_model(path)
    assert str(caught.value).isprintable()


def schema_with(**changes):
    """Return a change of the first column in a manifest."""

    def change(data):
        manifest = json.loads(unpack(data)["manifest.json"])
        schema = manifest["schema"]
        schema["columns"][0] |= changes
        return with_manifest(schema=schema)(data)

    return change


RIVALS = ("always", "never", "below_always", "below_never", "below_rival")


def evaluation(**changes):
    """Return what a manifest says of rows that a model was measured on."""
    figure = {"value": 1.0, "low": 0.5, "high": 1.5}
    savings = dict.fromkeys(RIVALS, figure) | {"deferral_rate": 0.1, "choice": "a", "rival": "b"}
    return {"never": figure, "rows": 5, "confidence": 0.95, "savings": savings} | changes


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (with_manifest(outputs=10**9), "no outputs"),
        (with_manifest(classes=["a"] * 20_000), "no classes"),
        (with_manifest(profile=[[1.0] * 6] * 300), "no profile"),
        (with_manifest(profile=[["x"]]), "no profile"),
        (with_manifest(evaluation=evaluation(savings={})), "no evaluation"),
        (with_manifest(evaluation=evaluation(savings=dict.fromkeys(RIVALS, "1"))), "no evaluation"),
        (with_manifest(cost=10**400), "no cost"),
        (with_manifest(predictor="\x1b[2J"), "no predictor"),
        (with_manifest(versions={str(k): "1" for k in range(1000)}), "no versions"),
        (with_manifest(trusted={"\x1b[2J": None}), "no trusted"),
        (schema_with(dtype="U100000000"), "does not describe columns"),
        (schema_with(low=2.0, high=1.0), "does not describe columns"),
        (schema_with(missing=1.5), "does not describe columns"),
        (schema_with(kind="date", low=0.0, high=1e9), "does not describe columns"),
        (schema_with(name="x" * 20_000), "does not describe columns"),
    ],
)
def test_manifests_have_limits(sound, tmp_path, change, refused):
    path = tmp_path / "model.skops"
    path.write_bytes(sound["linear"])
    read_manifest(path)
    path.write_bytes(change(sound["linear"]))
    with pytest.raises(ModelFileError, match=refused) as caught:
        read_manifest(path)
    assert str(caught.value).isprintable()


def test_what_is_just_within_the_limits_is_read(sound, tmp_path):
    path = tmp_path / "model.skops"
    days = date.min.toordinal(), date.max.toordinal()
    epoch = date(1970, 1, 1).toordinal()
    for change in (
        with_manifest(evaluation=evaluation()),
        schema_with(kind="date", low=days[0] - epoch, high=days[1] - epoch),
        schema_with(missing=1.0),
        schema_with(name="x" * 10_000),
    ):
        path.write_bytes(change(sound["linear"]))
        read_manifest(path)


def test_names_and_sentences_are_there_for_each_case():
    assert len({case.name for case in CASES}) == len(CASES) >= 30
    assert all(case.what.endswith(".") and case.outcome.endswith(".") for case in CASES)


def test_taking_apart_and_packing_changes_nothing(sound, tmp_path):
    """Otherwise the cases would be refused for the way in which they were made."""
    for name, data in sound.items():
        path = tmp_path / f"{name}.skops"
        path.write_bytes(pack(unpack(data)))
        assert load_model(path).cost == 0.5


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_the_formats_of_arrays_that_are_known(sound, tmp_path, version):
    """The second has longer heads, the third has names in UTF-8, which no array here has."""
    members = unpack(sound["linear"])
    for name in [name for name in members if name.endswith(".npy")]:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.load(io.BytesIO(members[name])), version=version)
        members[name] = buffer.getvalue()
    path = tmp_path / "model.skops"
    path.write_bytes(pack(members))
    if version == (3, 0):
        with pytest.raises(ModelFileError, match="is not an array"):
            load_model(path)
    else:
        assert load_model(path).cost == 0.5


def test_a_file_with_too_many_members_is_refused(sound, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(sound["linear"])
    monkeypatch.setattr(_archive, "MOST_MEMBERS", 5)
    with pytest.raises(ModelFileError, match="members, more than any model"):
        load_model(path)


def test_a_file_that_is_too_large_is_not_read(sound, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    path.write_bytes(sound["linear"])
    monkeypatch.setattr(_files, "MOST_MODEL_BYTES", 100)
    with pytest.raises(ModelFileError, match="no model has"):
        load_model(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"nothing\.skops does not exist\.$"):
        load_model(tmp_path / "nothing.skops")
    with pytest.raises(ModelFileError, match=r"is not a file\.$"):
        load_model(tmp_path)
    os.mkfifo(tmp_path / "pipe.skops")  # reading it would wait for ever
    with pytest.raises(ModelFileError, match=r"is not a file\.$"):
        load_model(tmp_path / "pipe.skops")


def test_an_encoder_of_another_width_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=30), "b": rng.choice(["x", "y"], 30)})
    y = frame["a"] + np.where(frame["b"] == "x", 2.0, 0.1) * rng.normal(size=30)
    regressor = LossRegressor(random_state=0)
    risk = RegressionRisk(DummyRegressor(), regressor=regressor, cv=2, random_state=0)
    save_model(risk.fit(frame, y), tmp_path / "good.skops", schema=frame)
    assert risk.regressor_.forest_ is not None
    loaded = load_model(tmp_path / "good.skops")
    assert_array_equal(loaded.predict_risk(frame), risk.predict_risk(frame))
    edited = with_attribute("TableEncoder", "n_features_out_", plain(2))
    (tmp_path / "bad.skops").write_bytes(edited((tmp_path / "good.skops").read_bytes()))
    with pytest.raises(ModelFileError, match="a forest for other columns"):
        load_model(tmp_path / "bad.skops")


@pytest.fixture(scope="module")
def with_learners(tmp_path_factory):
    """Model files with a loss that has a parameter, and a distribution or a Gaussian process."""
    folder, frame = tmp_path_factory.mktemp("sound"), table().select("x", "z", "y")
    X, y = frame.select("x", "z"), frame["y"].to_numpy()
    loss, distribution = pinball(0.9), DistributionRegressor(Ridge(), Ridge())
    found = {}
    for name, risk in {
        "plug-in": PlugInRisk(Ridge(), loss=loss, distribution=distribution, random_state=0),
        "stack": RegressionRisk(
            FrozenEstimator(StackedRegressor(random_state=0).fit(X, y)),
            loss=loss,
            regressor=Ridge(),
        ),
    }.items():
        save_model(risk.fit(X, y), folder / name, X)
        found[name] = (folder / name).read_bytes()
    return found


def negative(array):
    array[0] = -0.5


@pytest.mark.parametrize(
    ("predictor", "name", "change"),
    [
        ("linear", "n_outputs_", with_attribute("RegressionRisk", "n_outputs_", plain(0))),
        (
            "boosting",
            "n_trees_per_iteration_",
            with_attribute(BOOSTING, "n_trees_per_iteration_", plain(0)),
        ),
        ("stack", "seed", with_attribute("GaussianProcess", "seed", plain(-1))),
        ("stack", "smoothness", with_attribute("GaussianProcess", "smoothness", plain(0.4))),
        ("stack", "quantile", with_attribute("Pinball", "quantile", plain(-0.5))),
        (
            "plug-in",
            "residual_weights_",
            with_array("DistributionRegressor", "residual_weights_", negative),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_number_below_its_range_is_refused(
    predictor, name, change, sound, with_learners, tmp_path
):
    path = tmp_path / "model.skops"
    path.write_bytes(change((sound | with_learners)[predictor]))
    with pytest.raises(ModelFileError, match=f" {name} is not "):
        load_model(path)


def test_a_tree_of_no_columns_is_refused(sound, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(with_tree_argument(0, 0)(sound["forest"]))
    with pytest.raises(ModelFileError, match="a tree that contradicts itself"):
        load_model(path)


def with_n_samples(value):
    return with_attribute("RandomForestRegressor", "_n_samples", plain(value))


def with_spawn_key(value):
    """Return what gives a seed sequence a key, as numpy gives those that it makes of another."""

    def edit(schema):
        seeds = next(n for n in nodes(schema) if n["__loader__"] == "RandomGeneratorNode")
        seeds["content"]["seed_seq"]["content"]["spawn_key"]["content"] = [plain(value)]

    return with_schema(edit)


@pytest.mark.parametrize(
    ("predictor", "with_value", "most", "refused"),
    [
        ("forest", with_n_samples, 2**63 - 1, "_n_samples is not a whole"),
        ("boosting", with_spawn_key, 2**64 - 1, "rng is not None or a generator"),
    ],
    ids=["as many as are counted in 64 bits", "a word of a seed"],
)
def test_a_whole_number_is_read_up_to_its_limit(
    predictor, with_value, most, refused, sound, tmp_path
):
    path = tmp_path / "model.skops"
    path.write_bytes(with_value(most)(sound[predictor]))
    assert load_model(path).cost == 0.5
    path.write_bytes(with_value(most + 1)(sound[predictor]))
    with pytest.raises(ModelFileError, match=refused):
        load_model(path)


def test_an_indicator_of_gaps_has_columns_that_exist(tmp_path):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 3)) < 0.2, np.nan, rng.normal(size=(60, 3)))
    predictor = make_pipeline(SimpleImputer(add_indicator=True), Ridge())
    risk = RegressionRisk(predictor, regressor=predictor, random_state=0)
    path = tmp_path / "model.skops"
    save_model(risk.fit(X, rng.normal(size=60)), path, X)
    sound_one = path.read_bytes()
    assert_array_equal(load_model(path).predict_risk(X), risk.predict_risk(X))

    def beyond(array):
        array[-1] = 3

    path.write_bytes(with_array("MissingIndicator", "features_", beyond)(sound_one))
    with pytest.raises(ModelFileError, match="an indicator of columns it has not"):
        load_model(path)


def test_boosting_may_have_many_categories(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(200, size=2000), rng.normal(size=2000)]).astype(float)
    boosting = HistGradientBoostingRegressor(max_iter=2, categorical_features=[0])
    risk = RegressionRisk(boosting, regressor=boosting, random_state=0)
    save_model(risk.fit(X, rng.normal(size=2000)), tmp_path / "model.skops", X)
    assert_array_equal(load_model(tmp_path / "model.skops").predict_risk(X), risk.predict_risk(X))
