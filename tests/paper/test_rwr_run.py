"""The study of regression with rejection: its figures, and that it can be stopped and resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrisk import RegressionRisk
from condrisk.datasets import load_uci
from condrisk.paper.rwr import RwRConfig, register_method, run_rwr, unregister_method
from condrisk.paper.rwr._data import SETS, load_set
from condrisk.paper.rwr._methods import make_methods, make_pair

FAST = ["LR+LR", "LR+RF"]


def timeless(folder):
    """Return the lines of the records without their times."""
    lines = (folder / "records.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        record.pop("seconds", None)
    return [json.dumps(record) for record in records]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run on two sets."""
    folder = tmp_path_factory.mktemp("finished")
    records = run_rwr(folder, sets=["housing", "forest"], methods=FAST)
    return folder, records


def test_figures_are_those_of_the_protocol(finished):
    """Written down once more, straight from scikit-learn."""
    _, records = finished
    housing = load_uci("housing")
    train, test = housing.folds[3]
    X, y = (part - part.mean(axis=0) for part in (housing.data, housing.target))
    first, second = train_test_split(train, test_size=4 / 9, random_state=42)
    linear = make_pipeline(StandardScaler(), LinearRegression()).fit(X[first], y[first])
    z = (y[second] - linear.predict(X[second])) ** 2
    forest = RandomForestRegressor(random_state=42).fit(X[second], z)
    risk, loss = forest.predict(X[test]), (y[test] - linear.predict(X[test])) ** 2
    [record] = [r for r in records if (r["set"], r["fold"], r["method"]) == ("housing", 3, "LR+RF")]
    assert record["n_train"] == len(train)
    assert record["n_test"] == len(test)
    expected = {
        "predictor_loss": loss.mean(),
        "loss_variance": loss.var(),
        "risk_l1": np.abs(risk - loss).mean(),
        "risk_l2": ((risk - loss) ** 2).mean(),
        "risk_bias": (risk - loss).mean(),
    }
    for name, value in expected.items():
        assert record[name] == pytest.approx(value), name
    for price, figures in record["costs"].items():
        cost = float(price)
        assert figures["loss"] == pytest.approx(np.where(risk < cost, loss, cost).mean())
        assert figures["rate"] == pytest.approx((risk >= cost).mean())
        assert figures["oracle"] == pytest.approx(np.minimum(loss, cost).mean())
    assert list(record["costs"]) == ["0.2", "0.5", "1", "2"]


def test_one_record_for_each_set_fold_and_method(finished):
    _, records = finished
    keys = [(r["set"], r["fold"], r["method"]) for r in records]
    assert keys == [(s, k, m) for s in ("housing", "forest") for k in range(10) for m in FAST]


def test_number_of_processes_does_not_matter(finished, tmp_path):
    run_rwr(tmp_path, sets=["forest", "housing"], methods=FAST, n_jobs=2)
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_second_run_fits_nothing(finished, monkeypatch):
    monkeypatch.setattr("condrisk.paper.rwr._run.fit_methods", pytest.fail)
    folder, records = finished
    before = (folder / "records.jsonl").stat().st_mtime_ns
    assert run_rwr(folder, sets=["housing", "forest"], methods=FAST) == records
    assert len(run_rwr(folder, sets=["forest"], methods=["LR+RF"])) == 10
    assert (folder / "records.jsonl").stat().st_mtime_ns == before


def test_sets_and_methods_can_come_one_after_the_other(finished, tmp_path):
    run_rwr(tmp_path, sets=["forest"], methods=["LR+LR"])
    run_rwr(tmp_path, sets=["housing"], methods=FAST)
    run_rwr(tmp_path, sets=["forest"], methods=["LR+RF"])
    assert timeless(tmp_path) == timeless(finished[0])


RUN = """
import sys
from condrisk.paper.rwr import run_rwr
folder, n_jobs = sys.argv[1], int(sys.argv[2])
run_rwr(folder, sets=["housing", "forest"], methods=["LR+LR", "LR+RF"], n_jobs=n_jobs)
"""


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_and_resumed(finished, tmp_path, n_jobs):
    command = [sys.executable, "-c", RUN, str(tmp_path), str(n_jobs)]
    process = subprocess.Popen(command, start_new_session=True)
    while len(list(tmp_path.glob("units/*.jsonl"))) < 3:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "records.jsonl").exists()
    left = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("units/*.jsonl")}
    assert 3 <= len(left) < 20
    seen = []
    run_rwr(
        tmp_path,
        sets=["housing", "forest"],
        methods=FAST,
        progress=lambda done, total, what: seen.append(what),
    )
    assert len(seen) == 20 - len(left)  # what was finished is not done again
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_corrupt_file_costs_only_itself(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    path = tmp_path / "records.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[4] = lines[4].replace('"predictor_loss": ', '"predictor_loss": 1')
    path.write_text("".join(lines))
    told, seen = [], []
    run_rwr(
        tmp_path,
        sets=["housing", "forest"],
        methods=FAST,
        progress=lambda done, total, what: seen.append(what),
        warn=told.append,
    )
    assert len(told) == 1
    assert "records.jsonl is corrupt" in told[0]
    assert seen == ["housing, fold 2"]
    assert timeless(tmp_path) == timeless(finished[0])


def test_a_folder_has_one_configuration(finished):
    with pytest.raises(ValueError, match="another configuration"):
        run_rwr(finished[0], config=RwRConfig(mlp="sklearn"), sets=["forest"], methods=FAST)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sets": ["Housing"]}, "sets must be a list of some of concrete, wine"),
        ({"sets": "housing"}, "sets must be a list"),
        ({"sets": []}, "sets must be a list"),
        ({"methods": ["LR"]}, r"methods must be a list of some of LR\+LR"),
    ],
)
def test_bad_arguments_are_named(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        run_rwr(tmp_path, **wrong)


@pytest.mark.parametrize("wrong", [{"folds": "theirs"}, {"mlp": "torch"}])
def test_bad_configurations_are_named(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be one of"):
        RwRConfig(**wrong)


# -- methods of one's own -------------------------------------------------------------------------


@pytest.fixture
def registered():
    made = set()

    def register(name, factory):
        register_method(name)(factory)
        made.add(name)

    yield register
    for name in made:
        unregister_method(name)


def test_a_registered_method_is_run_and_joins_the_records(tmp_path, registered):
    run_rwr(tmp_path, sets=["forest"], methods=["LR+LR"])
    registered("constant", lambda: RegressionRisk(DummyRegressor(), regressor=DummyRegressor()))
    records = run_rwr(tmp_path, sets=["forest"], methods=["LR+LR", "constant"])
    constant = [r for r in records if r["method"] == "constant"]
    assert len(constant) == 10
    assert len(records) == 20
    for record in constant:
        assert record["costs"]["0.2"]["rate"] == 1
        assert record["costs"]["0.2"]["loss"] == pytest.approx(0.2)
    unregister_method("constant")
    registered("constant", lambda: RegressionRisk(LinearRegression(), regressor=DummyRegressor()))
    again = run_rwr(tmp_path, sets=["forest"], methods=["constant"])
    assert [r["predictor_loss"] for r in again] != [r["predictor_loss"] for r in constant]


def test_names_are_taken_once(registered):
    registered("mine", lambda: make_pair("LR+LR", mlp="fast"))
    for name in ("mine", "LR+RF", "SelNet"):
        with pytest.raises(ValueError, match="is taken"):
            register_method(name)
    with pytest.raises(ValueError, match="name must be"):
        register_method(" ")
    with pytest.raises(TypeError, match="decorates a function"):
        register_method("other")(LinearRegression())
    with pytest.raises(ValueError, match="is not registered"):
        unregister_method("other")


def test_what_is_registered_must_decide(registered):
    registered("plain", LinearRegression)
    with pytest.raises(TypeError, match="'plain' must return an estimator with predict_risk"):
        make_methods(mlp="fast")


def test_a_method_that_fails_is_named(tmp_path, registered):
    broken = RegressionRisk(LinearRegression(), regressor=DummyRegressor(strategy="quantile"))
    registered("broken", lambda: broken)
    with pytest.raises(Exception, match="quantile") as caught:
        run_rwr(tmp_path, sets=["forest"], methods=["broken"])
    assert any("broken on forest, fold 1" in note for note in caught.value.__notes__)


# -- parts ----------------------------------------------------------------------------------------


def test_patients_are_on_one_side():
    by_patient = load_set("parkinsons-by-patient", folds="embedded")
    assert len(by_patient.folds) == 10
    for train, test in by_patient.folds:
        assert not set(by_patient.groups[train]) & set(by_patient.groups[test])
    tested = np.concatenate([test for _, test in by_patient.folds])
    assert sorted(tested) == list(range(len(by_patient.X)))


@pytest.mark.parametrize("name", SETS)
def test_columns_have_mean_zero(name):
    data = load_set(name, folds="embedded")
    scale = np.abs(data.X).max(axis=0) + 1e-300
    np.testing.assert_allclose(data.X.mean(axis=0) / scale, 0, atol=1e-12)
    assert data.y.mean() == pytest.approx(0, abs=1e-12 * np.abs(data.y).max())


def test_wine_by_quality_has_alcohol_among_its_features():
    usual, quality = (load_set(name, folds="embedded") for name in ("wine", "wine-quality"))
    assert sorted(set(np.round(quality.y - quality.y.min(), 9))) == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(quality.X[:, -1], usual.y, atol=1e-12)
    for ours, theirs in zip(quality.folds, usual.folds, strict=True):
        np.testing.assert_array_equal(ours[1], theirs[1])
