"""From a table to a model: what is fitted, on which rows, and what is said about it."""

import json
from functools import partial

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split

from condrisk import Deferral
from condrisk.app.models import _predictors, fit_table, open_model
from condrisk.app.tables import TableError, check_rows
from condrisk.metrics import aurc, deferral_loss, deferral_rate
from saved_models import classes, save_table_model, table


def small(forest):
    return partial(forest, n_estimators=20)


@pytest.mark.parametrize("predictor", ["boosting", "forest", "linear", "auto"])
@pytest.mark.parametrize("make", [table, classes])
def test_every_predictor_learns_where_the_noise_is(make, predictor, monkeypatch):
    if predictor == "forest":
        monkeypatch.setattr(_predictors, "RandomForestRegressor", small(RandomForestRegressor))
        monkeypatch.setattr(_predictors, "RandomForestClassifier", small(RandomForestClassifier))
    if predictor == "auto" and make is classes:
        pytest.skip("it takes long, and the files of models have it")
    n = 150 if predictor == "auto" else 300
    model = fit_table(make(n), target="y", cost=0.3, predictor=predictor)
    fresh = make(600, seed=1)
    decision = model.decide(check_rows(model.schema, fresh).good)
    red = (fresh["colour"] == "red").to_numpy()
    assert decision.risk[red].mean() > 1.5 * decision.risk[~red].mean()
    assert decision.prediction.dtype.kind == ("f" if make is table else "U")
    json.dumps(model.manifest, allow_nan=False)


def test_figures_are_those_of_rows_that_were_not_fitted_on():
    """The same by hand: split, fit on the rest, measure on what was held out."""
    frame = table()
    model = fit_table(frame, target="y", cost=0.3, holdout=0.25, random_state=3)
    train, held = train_test_split(np.arange(300), test_size=75, random_state=3)
    train, held = np.sort(train), np.sort(held)
    X, y = model.encode(frame), frame["y"].to_numpy()
    risk, loss = model.model.predict_risk(X[held]), model.model.loss_values(X[held], y[held])
    assert not np.isin(held, train).any()
    again = Deferral(model.model.risk, cost=0.3).fit(X[train], y[train])
    np.testing.assert_array_equal(again.predict_risk(X), model.model.predict_risk(X))
    figures = model.manifest["evaluation"]
    assert figures["rows"] == 75
    assert figures["deferral_rate"]["value"] == pytest.approx(deferral_rate(risk, 0.3))
    assert figures["deferral_loss"]["value"] == pytest.approx(deferral_loss(loss, risk, 0.3))
    assert figures["never"]["value"] == pytest.approx(loss.mean())
    assert figures["accepted_loss"]["value"] == pytest.approx(loss[risk <= 0.3].mean())
    assert figures["always"] == {"value": 0.3, "low": 0.3, "high": 0.3}
    assert model.schema.n_rows == 300


def test_without_a_holdout_all_rows_are_fitted_on_and_nothing_is_said():
    frame = table()
    model = fit_table(frame, target="y", cost=0.3, predictor="linear", holdout=0.0)
    assert model.manifest["evaluation"] is None is model.manifest["profile"]
    X, y = model.encode(frame), frame["y"].to_numpy()
    again = Deferral(model.model.risk, cost=0.3).fit(X, y)
    np.testing.assert_array_equal(again.predict_risk(X), model.model.predict_risk(X))


def test_same_seed_same_model():
    frame = table(100)
    models = [fit_table(frame, target="y", cost=0.3, random_state=seed) for seed in (0, 0, 1)]
    risks = [model.predict_risk(check_rows(model.schema, frame).good) for model in models]
    np.testing.assert_array_equal(risks[0], risks[1])
    assert not np.array_equal(risks[0], risks[2])


@pytest.mark.slow
def test_risks_of_classes_rank_as_well_as_calibrated_boosting():
    """Over five splits; `python -m benchmarks.fit_risk` has more sets."""
    X, y = load_breast_cancer(return_X_y=True)
    frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(X.shape[1])]).with_columns(y=y)
    ours, theirs = [], []
    for seed in range(5):
        split = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
        train, test = (np.sort(part) for part in split)
        model = fit_table(frame[train], target="y", cost=0.1, holdout=0.0)
        good = check_rows(model.schema, frame[test]).good
        ours.append(aurc(model.loss_values(good, y[test]), model.predict_risk(good)))
        boosting = HistGradientBoostingClassifier(random_state=0)
        proba = (
            CalibratedClassifierCV(boosting, cv=5).fit(X[train], y[train]).predict_proba(X[test])
        )
        theirs.append(aurc(proba.argmax(axis=1) != y[test], 1 - proba.max(axis=1)))
    assert np.mean(ours) < np.mean(theirs)


# -- rules ----------------------------------------------------------------------------------------


def test_a_budget_is_kept_on_the_rows_that_it_was_fitted_on():
    model = fit_table(table(), target="y", budget=0.2, predictor="linear")
    assert model.cost is None
    figures = model.manifest["evaluation"]
    assert figures["deferral_loss"] is None is figures["always"]
    assert 0.05 < figures["deferral_rate"]["value"] < 0.4
    assert "defer at most 20 % of the rows" in model.manifest["rule"]


def test_a_risk_target_comes_with_its_promise():
    model = fit_table(classes(600), target="y", risk_target=0.1, confidence=0.8, predictor="linear")
    assert "mean loss of accepted rows <= 0.1 with probability >= 0.8" in model.manifest["rule"]
    assert model.model.rule_.n_calibration_ == 144  # of the 480 rows that were not held out
    assert model.manifest["evaluation"]["accepted_loss"]["value"] < 0.15


def test_figures_of_a_calibrated_model_are_of_the_rule_in_the_file(tmp_path):
    """The rule is calibrated once, and what is shown was measured with its threshold."""
    frame = classes(600)
    model = fit_table(frame, target="y", risk_target=0.1, confidence=0.8, predictor="linear")
    save_table_model(model, tmp_path / "model.skops")
    again = open_model(tmp_path / "model.skops")
    X, y = model.reference
    rule, figures = again.model.rule_, again.manifest["evaluation"]
    deferred = again.model.predict_risk(X) > rule.threshold_
    assert figures["deferral_rate"]["value"] == pytest.approx(deferred.mean())
    accepted = again.model.loss_values(X, y)[~deferred].mean()
    assert figures["accepted_loss"]["value"] == pytest.approx(accepted)
    assert f"{rule.threshold_:.4g}" in again.manifest["rule"]


def test_a_promise_that_cannot_be_kept_is_told():
    notes = []
    model = fit_table(
        classes(), target="y", risk_target=1e-6, predictor="linear", note=notes.append
    )
    assert any("no threshold" in note or "defer" in note for note in notes)
    assert model.manifest["evaluation"]["accepted_loss"] is None
    assert model.manifest["evaluation"]["deferral_rate"]["value"] == 1.0


# -- a predictor that lives elsewhere --------------------------------------------------------------


def test_predictions_of_numbers_are_scored_and_not_learnt():
    frame = table().with_columns(p=2 * pl.col("x").fill_null(0.0))
    model = fit_table(frame, target="y", cost=0.3, predictions="p")
    assert model.prediction_column == "p"
    column = model.schema.columns[-1]
    assert (column.name, column.kind, column.required) == ("p", "number", True)
    good = check_rows(model.schema, frame).good
    decision = model.decide(good)
    np.testing.assert_array_equal(decision.prediction, frame["p"].to_numpy())
    np.testing.assert_allclose(
        model.loss_values(good, frame["y"]), (frame["y"] - frame["p"]).to_numpy() ** 2
    )
    away = model.decide(good.with_columns(p=pl.col("p") + 5.0)).risk
    assert (away > 3 + decision.risk).mean() > 0.9  # five off what the rows themselves say
    floor, gap, correction = model.decompose_risk(good)
    np.testing.assert_allclose(floor + gap + correction, decision.risk)


@pytest.mark.parametrize(
    "labels",
    [("up", "down"), (1, 0), (True, False)],
    ids=["text", "numbers", "booleans"],
)
def test_predictions_of_labels_keep_their_type(labels, tmp_path):
    up, down = labels
    frame = table().with_columns(
        y=pl.when(pl.col("y") > 0).then(pl.lit(up)).otherwise(pl.lit(down)),
        p=pl.when(pl.col("x") > 0).then(pl.lit(up)).otherwise(pl.lit(down)),
    )
    model = fit_table(frame, target="y", task="classification", cost=0.1, predictions="p")
    assert model.classes == sorted(labels)
    checked = check_rows(model.schema, frame)
    decision = model.decide(checked.good)
    assert decision.prediction.tolist() == frame["p"].to_list()
    loss = model.loss_values(checked.good, frame["y"])
    np.testing.assert_array_equal(loss, (frame["y"] != frame["p"]).to_numpy().astype(float))
    as_text = pl.read_csv(frame.write_csv().encode(), infer_schema=False)
    again = check_rows(model.schema, as_text)
    np.testing.assert_array_equal(model.decide(again.good).risk, decision.risk)
    assert model.decide(again.good).prediction.tolist() == frame["p"].to_list()
    np.testing.assert_array_equal(model.loss_values(again.good, as_text["y"]), loss)


def test_a_row_without_its_prediction_is_bad():
    frame = classes().with_columns(p=pl.col("y"))
    model = fit_table(frame, target="y", cost=0.1, predictions="p", predictor="linear")
    checked = check_rows(
        model.schema, frame.head(3).with_columns(p=pl.Series(["up", None, "sideways"]))
    )
    assert checked.rows.tolist() == [0]
    assert checked.bad[1] == "column 'p' is empty, but it must be one of down, up."
    assert checked.bad[2] == "column 'p' holds 'sideways', but it must be one of down, up."


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({}, "give cost=0.1 .*, budget=0.1 .* or risk_target="),
        ({"budget": 0.1, "risk_target": 0.1}, "two rules"),
        ({"cost": -1.0}, "cost must be a number"),
        ({"cost": float("nan")}, "cost must be a number"),
        ({"budget": 1.5}, "budget is a share"),
        ({"cost": 1.0, "holdout": 1.0}, "holdout is a share"),
        ({"risk_target": 0.1, "confidence": 1.0}, "confidence is a probability"),
        ({"risk_target": 0.1}, "cap must be given"),
        ({"cost": 1.0, "target": "z"}, "target 'z' is not a column"),
        ({"cost": 1.0, "predictions": "z"}, "predictions 'z' is not a column"),
        ({"cost": 1.0, "predictions": "y"}, "must be two columns"),
        ({"cost": 1.0, "loss": "zero_one"}, "'zero_one' is for classification"),
        ({"cost": 1.0, "loss": "nothing"}, "loss must be one of"),
        ({"cost": 1.0, "task": "classification"}, "must be text, whole numbers or booleans"),
        ({"cost": 1.0, "predictor": "oracle"}, "predictor must be one of boosting, forest"),
        ({"cost": 1.0, "target": "day"}, "target 'day' is of type Date"),
        ({"cost": 1.0, "target": "colour", "task": "regression"}, "must be numbers for regression"),
        (
            {"cost": 1.0, "predictor": "os:system"},
            "'os:system' is code: to get it, its module is imported and thereby run. Say --trust",
        ),
        ({"cost": 1.0, "predictor": "os:nothing", "trust": True}, "cannot be imported"),
        ({"cost": 1.0, "predictor": "nowhere:x", "trust": True}, "cannot be imported"),
        ({"cost": 1.0, "predictor": "collections:OrderedDict", "trust": True}, "no scikit-learn"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_sentence(choices, message):
    with pytest.raises(ValueError, match=message):
        fit_table(table(), **{"target": "y", "predictor": "linear"} | choices)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "one class only"),
        (["a"] * 98 + ["b"] * 2, "classes of fewer than 5 rows: 'b'"),
        ([f"id {k}" for k in range(100)], "100 classes in 100 rows"),
    ],
)
def test_targets_without_enough_of_each_class_are_refused(labels, message):
    frame = table(100).with_columns(y=pl.Series(labels * (100 // len(labels))))
    with pytest.raises(TableError, match=message):
        fit_table(frame, target="y", cost=0.1)


def test_a_trusted_predictor_is_fitted_and_kept(tmp_path):

    name = "sklearn.linear_model:BayesianRidge"
    frame = table().select("y", pl.col("x").fill_null(0.0))
    model = fit_table(frame, target="y", cost=0.3, predictor=name, trust=True)
    save_table_model(model, tmp_path / "model.skops")
    again = open_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.decide(frame).risk, model.decide(frame).risk)
    expected = "BayesianRidge, risk by HybridRisk (DistributionRegressor of HistGradientBoosting"
    assert again.manifest["predictor"].startswith(expected)


def test_a_target_that_is_always_predicted_right_can_be_fitted(tmp_path):
    """No loss at all is a loss too: a logarithm of it is not."""

    x = np.linspace(-1, 1, 200)
    frame = pl.DataFrame({"x": x, "y": np.where(x > 0, "up", "down")}).filter(
        pl.col("x").abs() > 0.1
    )
    for predictor in ("boosting", "linear"):
        model = fit_table(frame, target="y", cost=0.1, predictor=predictor)
        save_table_model(model, tmp_path / "model.skops")
        decision = open_model(tmp_path / "model.skops").decide(frame)
        assert not decision.deferred.any()
