"""Model files: what goes in comes out, and nothing else goes in."""

import json
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest
from skops import io as skops_io

from condrisk.app.models import fit_table, open_model
from condrisk.app.tables import check_rows
from condrisk.learners import _stack_members
from condrisk.persistence import ModelFileError, load_model, read_manifest
from condrisk.risk import _committee
from saved_models import classes, save_table_model, table


@pytest.fixture
def few_trees(monkeypatch):
    """Make AutoRisk of few trees: as many kinds of parts, in less time."""
    monkeypatch.setattr(_committee, "N_TREES", 3)
    for name in ("ExtraTreesRegressor", "ExtraTreesClassifier"):
        kind = getattr(_stack_members, name)
        monkeypatch.setattr(_stack_members, name, lambda n, _kind=kind, **rest: _kind(3, **rest))
    for name in ("HistGradientBoostingRegressor", "HistGradientBoostingClassifier"):
        kind = getattr(_stack_members, name)
        few = lambda _kind=kind, **rest: _kind(**rest | {"max_iter": 3})  # noqa: E731
        monkeypatch.setattr(_stack_members, name, few)


@pytest.mark.parametrize(
    ("make", "choices"),
    [
        (table, {"cost": 0.3}),
        (classes, {"cost": 0.3, "loss": "log_loss"}),
        (classes, {"cost": 0.3, "loss": "brier", "predictor": "linear"}),
        (table, {"cost": 0.3, "loss": "absolute_error", "predictor": "linear"}),
        (table, {"budget": 0.2, "predictor": "linear"}),
        (classes, {"risk_target": 0.2, "predictor": "linear"}),
        (table, {"cost": 0.3, "predictor": "auto"}),
        (classes, {"cost": 0.3, "predictor": "auto"}),
    ],
)
def test_a_loaded_model_decides_as_the_saved_one(make, choices, tmp_path, few_trees, quick_fits):
    frame = make(100)
    model = fit_table(frame, target="y", **choices)
    path = tmp_path / "model.skops"
    save_table_model(model, path)
    again = open_model(path)
    good = check_rows(model.schema, make(50, seed=1)).good
    ours, theirs = model.decide(good), again.decide(good)
    np.testing.assert_array_equal(ours.risk, theirs.risk)
    np.testing.assert_array_equal(ours.prediction, theirs.prediction)
    np.testing.assert_array_equal(ours.deferred, theirs.deferred)
    assert again.manifest == read_manifest(path)
    same = ("task", "target", "loss", "cost", "rule", "schema", "classes", "evaluation", "profile")
    assert {k: again.manifest[k] for k in same} == {k: model.manifest[k] for k in same}
    assert again.schema == model.schema


@pytest.fixture(scope="module")
def model():
    return fit_table(table(), target="y", cost=0.3)


def test_rows_stay_out_of_the_file(model, tmp_path):
    path = tmp_path / "model.skops"
    save_table_model(model, path)
    with ZipFile(path) as file:
        arrays = [np.load(file.open(name)) for name in file.namelist() if name.endswith(".npy")]
    # The residuals of the distribution and their weights, in order of size.
    assert sorted(a.shape for a in arrays if {len(table()), 240} & {*a.shape}) == [(240,)] * 2
    assert (np.diff(model.model.risk_.distribution_.residuals_) >= 0).all()
    assert len(model.model.risk_.held_out_.rows) == 240  # they were there to be left out
    assert not hasattr(load_model(path).risk_, "held_out_")


def test_plain_skops_can_read_the_file_too(model, tmp_path):
    path = tmp_path / "model.skops"
    save_table_model(model, path)
    types = skops_io.get_untrusted_types(file=path)
    X = model.encode(check_rows(model.schema, table(20, seed=2)).good)
    loaded = skops_io.load(path, trusted=types)
    np.testing.assert_array_equal(loaded.predict_risk(X), model.model.predict_risk(X))


def test_the_manifest_is_read_without_the_rest(model, tmp_path):
    path = tmp_path / "model.skops"
    save_table_model(model, path)
    with ZipFile(path) as file:
        manifest = file.read("manifest.json")
    with ZipFile(path, "w") as file:
        file.writestr("manifest.json", manifest)
        file.writestr("schema.json", b"not even JSON")
    assert read_manifest(path) == json.loads(manifest)
    with pytest.raises(ModelFileError, match=r"schema\.json is not JSON"):
        load_model(path)


def test_a_write_that_fails_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    save_table_model(model, path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(ModelFileError, match=r"cannot be written: No space left on device\.$"):
        save_table_model(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.skops"]


def write_versions(path, versions):
    """Have the manifest of a model file name these versions."""
    with ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(members["manifest.json"]) | {"versions": versions}
    members["manifest.json"] = json.dumps(manifest).encode()
    with ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)


def test_a_manifest_of_another_scikit_learn_can_be_read_but_not_loaded(model, tmp_path):
    path = tmp_path / "model.skops"
    save_table_model(model, path)
    write_versions(path, {"scikit-learn": "1.2.99"})
    assert read_manifest(path)["versions"] == {"scikit-learn": "1.2.99"}
    with pytest.raises(ModelFileError, match="was written with scikit-learn"):
        load_model(path)


def test_a_version_that_is_no_text_is_refused(model, tmp_path):
    path = tmp_path / "model.skops"
    save_table_model(model, path)
    write_versions(path, {"scikit-learn": 7})
    with pytest.raises(ModelFileError, match="its manifest has no versions"):
        read_manifest(path)


def test_new_rows_may_come_as_text_or_as_they_were(model):
    frame = table(30, seed=5)
    ours = model.decide(check_rows(model.schema, frame).good)
    as_text = pl.read_csv(frame.write_csv().encode(), infer_schema=False)
    theirs = model.decide(check_rows(model.schema, as_text).good)
    np.testing.assert_array_equal(ours.risk, theirs.risk)
