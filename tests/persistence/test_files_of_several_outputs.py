"""Model files of several targets, and the commands, which take one."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier
from typer.testing import CliRunner

from condrisk import AutoRisk, Deferral, PlugInRisk, RegressionRisk
from condrisk.app.cli import app
from condrisk.app.models import open_model
from condrisk.app.tables import TableError
from condrisk.learners import DistributionRegressor
from condrisk.losses import averaged
from condrisk.persistence import ModelFileError, load_model, read_manifest, save_model

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
NUMBERS = X @ rng.normal(size=(3, 2)) + rng.normal(size=(120, 2))
LABELS = (X + rng.normal(size=(120, 3)) > 0).astype(int)
ONE_IS_CONSTANT = np.column_stack([LABELS[:, 0], np.zeros(120, dtype=int)])
LAW = DistributionRegressor(Ridge(), Ridge())

MODELS = {
    "line": (RegressionRisk(LinearRegression(), regressor=Ridge()), NUMBERS, ()),
    "forest": (
        RegressionRisk(
            RandomForestRegressor(5),
            loss=averaged("absolute_error", weights=[1, 2]),
            regressor=Ridge(),
        ),
        NUMBERS,
        (),
    ),
    "plug-in": (PlugInRisk(LinearRegression(), distribution=LAW), NUMBERS, ()),
    "auto": (AutoRisk(LinearRegression(), time_budget=0), NUMBERS, ()),
    "labels": (RegressionRisk(RandomForestClassifier(5), regressor=Ridge()), LABELS, ()),
    "labels, one of them constant": (
        RegressionRisk(RandomForestClassifier(5), regressor=Ridge()),
        ONE_IS_CONSTANT,
        (),
    ),
    "plug-in of labels": (PlugInRisk(RandomForestClassifier(5)), LABELS, ()),
    "trusted": (
        RegressionRisk(MultiOutputClassifier(LogisticRegression()), regressor=Ridge()),
        LABELS,
        ("sklearn",),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_of_several_targets_is_the_saved_one(name, tmp_path):
    risk, Y, trusted = MODELS[name]
    path = tmp_path / "model.skops"
    model = Deferral(risk, cost=0.5).fit(X, Y)
    save_model(model, path, schema=X, reference=(X, Y))
    again = load_model(path, trusted)
    ours, theirs = model.decide(X), again.decide(X)
    for part in ("prediction", "risk", "deferred"):
        np.testing.assert_array_equal(getattr(theirs, part), getattr(ours, part))
    np.testing.assert_array_equal(again.loss_values(X, Y), model.loss_values(X, Y))
    assert again.risk_.loss_ == model.risk_.loss_
    manifest = read_manifest(path)
    assert manifest["outputs"] == Y.shape[1]
    assert manifest["classes"] == ([0, 1] if Y.dtype == int else None)
    assert manifest["evaluation"]["never"]["value"] == pytest.approx(model.loss_values(X, Y).mean())


def test_commands_refuse_a_model_of_several_targets_and_say_what_takes_it(tmp_path):
    path, rows = tmp_path / "model.skops", tmp_path / "rows.csv"
    save_model(RegressionRisk(LinearRegression(), regressor=Ridge()).fit(X, NUMBERS), path, X)
    rows.write_text("x0,x1,x2\n1,2,3\n")
    said = "predicts 2 targets, and commands and tables take models of one"
    with pytest.raises(TableError, match=said):
        open_model(path)
    output = tmp_path / "out.csv"
    for arguments in (
        ("score", path, rows, "-o", output, "--cost", 1),
        ("report", path, rows, "-o", output),
        ("monitor", path, rows),
    ):
        found = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "300"})
        assert found.exit_code != 0
        assert said in " ".join(found.output.split())
        assert not output.exists()
    shown = CliRunner().invoke(app, ["inspect", str(path)], env={"COLUMNS": "200"})
    assert "outputs:" in shown.output


def test_forests_whose_trees_have_other_outputs_are_refused(tmp_path):
    risk = RegressionRisk(RandomForestRegressor(3), regressor=Ridge()).fit(X, NUMBERS)
    risk.predictor_.estimators_[1].n_outputs_ = 1
    with pytest.raises(ModelFileError, match="a tree of other outputs"):
        save_model(risk, tmp_path / "model.skops", X)
