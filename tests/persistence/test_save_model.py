"""What is kept of a model: every estimator and rule, its rows' types, its figures."""

from zipfile import ZipFile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from strangers import Forgetful, StrangerRisk, late

from condrisk import (
    BudgetRule,
    CostRule,
    Deferral,
    ExpertRule,
    HybridRisk,
    PlugInRisk,
    RegressionRisk,
    RiskControlRule,
    huber,
    make_loss,
    pinball,
)
from condrisk.datasets import make_heteroscedastic
from condrisk.deferral import ExploringRule, RateControlRule, SupportRule
from condrisk.inference import betting_interval
from condrisk.metrics import deferral_loss, deferral_rate
from condrisk.persistence import (
    ModelFileError,
    Schema,
    describe_model,
    load_model,
    read_manifest,
    save_model,
)
from condrisk.shift import ForestSupport

WORLD = make_heteroscedastic(300, random_state=0)
X, Y = WORLD.X, WORLD.y
LABELS = np.where(Y > 0, "up", "down")
NEW = WORLD.sample(100, random_state=1).X


def line(**options):
    return RegressionRisk(
        LinearRegression(), regressor=LinearRegression(), random_state=0, **options
    )


RULES = {
    "cost": CostRule(),
    "budget": BudgetRule(0.2),
    "risk control": RiskControlRule(1.2, cap=9.0, random_state=0),
    "rate control": RateControlRule(0.3, cap=9.0, random_state=0),
    "distance": SupportRule(BudgetRule(0.2)),
    "leaves": SupportRule(BudgetRule(0.2), support=ForestSupport(random_state=0)),
    "exploring": ExploringRule(BudgetRule(0.2), random_state=0),
    "expert": ExpertRule(0.2, fee=0.3),
}


def round_trip(model, path, trusted=(), schema=X):
    save_model(model, path, schema=schema)
    return load_model(path, trusted=trusted)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_decides_as_before(name, tmp_path):
    model = Deferral(line(), cost=1.0, rule=RULES[name]).fit(X, Y)
    again = round_trip(model, tmp_path / "model.skops")
    ours, theirs = model.decide(NEW), again.decide(NEW)
    assert_array_equal(ours.deferred, theirs.deferred)
    assert_array_equal(ours.risk, theirs.risk)
    assert_array_equal(ours.prediction, theirs.prediction)


def test_groups_by_the_first_column_of_an_array_come_back(tmp_path):
    rows = np.column_stack([np.arange(300) % 2, X])
    rule = RiskControlRule(3.0, cap=9.0, subgroups=[0], random_state=0)
    model = Deferral(line(), cost=1.0, rule=rule).fit(rows, Y)
    again = round_trip(model, tmp_path / "model.skops", schema=rows)
    assert_array_equal(again.defer(rows), model.defer(rows))
    assert again.rule_.group_guarantees_ == model.rule_.group_guarantees_


RISKS = {
    "pipeline": make_pipeline(StandardScaler(), line()),
    "pinball": line(loss=pinball(0.9)),
    "huber": line(loss=huber(1.0)),
    "plug-in": PlugInRisk(LogisticRegression(), calibration=None, cv=2, random_state=0),
    "temperature": PlugInRisk(LogisticRegression(), calibration="temperature", cv=2),
    "isotonic": PlugInRisk(LogisticRegression(), calibration="isotonic", cv=2, random_state=0),
    "cost matrix": PlugInRisk(LogisticRegression(), loss=np.array([[0, 1], [5, 0]]), cv=2),
    "hybrid": HybridRisk(LogisticRegression(), cv=2, random_state=0),
}


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # a mean is no quantile
@pytest.mark.parametrize("name", RISKS)
def test_every_risk_estimator_comes_back(name, tmp_path):
    classes = type(RISKS[name]) in (PlugInRisk, HybridRisk)
    risk = RISKS[name].fit(X, LABELS if classes else Y)
    model = Deferral(RISKS[name], cost=0.5).fit(X, LABELS if classes else Y)
    again = round_trip(model, tmp_path / "model.skops")
    assert_array_equal(again.decide(NEW).risk, model.decide(NEW).risk)
    if name != "pipeline":  # a Pipeline has predict_risk only through condrisk.predict_risk
        alone = round_trip(risk, tmp_path / "risk.skops")
        assert type(alone) is type(risk)
        assert_array_equal(alone.predict_risk(NEW), risk.predict_risk(NEW))


def test_native_code_of_scikit_learn_needs_trust(tmp_path):
    risk = RegressionRisk(GradientBoostingRegressor(n_estimators=3), regressor=LinearRegression())
    path = tmp_path / "model.skops"
    save_model(risk.fit(X, Y), path, schema=X)
    with pytest.raises(ModelFileError, match="--trust sklearn"):
        load_model(path)
    assert_array_equal(load_model(path, ["sklearn"]).predict(NEW), risk.predict(NEW))


# -- functions and classes of the user's ---------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # being early costs nothing
def test_a_loss_of_the_users_is_named_as_a_function(tmp_path):
    path = tmp_path / "model.skops"
    model = line(loss=make_loss(late)).fit(X, Y)
    save_model(model, path, schema=X)
    assert list(read_manifest(path)["trusted"]) == ["function:strangers.late"]
    for trusted in ([], ["strangers.late"], ["function:strangers.touch"]):
        with pytest.raises(ModelFileError, match=r"function:strangers\.late"):
            load_model(path, trusted=trusted)
    again = load_model(path, trusted=["function:strangers.late"])
    assert_array_equal(again.loss_values(X, Y), model.loss_values(X, Y))


def test_what_could_not_be_imported_again_is_not_written(tmp_path):
    path = tmp_path / "model.skops"

    class Local(StrangerRisk):
        pass

    cases = [
        line(loss=make_loss(lambda y, f: np.abs(y - f))).fit(X, Y),
        Local().fit(X, Y),
    ]
    for model, kind in zip(cases, ("function", "class"), strict=True):
        with pytest.raises(ModelFileError, match=f"its {kind} .* cannot be imported .*lambda"):
            save_model(model, path, schema=X)
    assert not list(tmp_path.iterdir())


def test_a_model_that_does_not_come_back_is_not_written(tmp_path):
    with pytest.raises(ModelFileError, match="5, and 1 once loaded"):
        save_model(Forgetful().fit(X, Y), tmp_path / "model.skops", schema=X)
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:the predictor is worse")  # hardly trained
def test_an_instance_of_a_network_is_refused_with_what_to_do(tmp_path):
    pytest.importorskip("torch")
    from stranger_nets import Net

    from condrisk.torch import TorchRegressor

    net = TorchRegressor(Net(in_features=5), epochs=1, device="cpu", random_state=0)
    risk = RegressionRisk(net, regressor=LinearRegression(), cv=2).fit(X, Y)
    with pytest.raises(ModelFileError, match="module must be a class or function"):
        save_model(risk, tmp_path / "model.skops", schema=X)


@pytest.mark.parametrize(
    ("model", "schema", "message"),
    [
        (LinearRegression().fit(X, Y), X, "model must be a fitted Deferral or risk estimator"),
        (line().fit(X, Y), None, "schema must be given"),
        (line().fit(X, Y), X[:, :3], "schema has 3 columns, but the model was fitted on 5"),
        (line().fit(X, Y), X[0], "schema must be a table of rows and columns"),
        (line(), X, "not fitted"),
    ],
)
def test_bad_arguments_are_named(model, schema, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        save_model(model, tmp_path / "model.skops", schema=schema)


# -- rows as the model was fitted ------------------------------------------------------------------


def typed_frame():
    return pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "single": np.array([0.5, 1.5, 2.5], dtype=np.float32),
            "gap": [1.0, np.nan, 3.0],
            "text": ["a", "b", "a"],
            "object": pd.Series(["x", None, "y"], dtype=object),
            "size": pd.Categorical(["S", "L", "S"], categories=["S", "M", "L"], ordered=True),
            "code": pd.Categorical([7, 3, 7], categories=[7, 5, 3]),
            "flag": [True, False, True],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "maybe": pd.array([True, None, False], dtype="boolean"),
            "when": pd.to_datetime(["2026-01-01 10:00", "2026-01-02 11:30", "2026-01-03 00:00"]),
            "zoned": pd.to_datetime(["2026-07-01 10:00"] * 3).tz_localize("Europe/Zurich"),
        }
    )


class Recorder(StrangerRisk):
    """Keeps the frame that it is asked about."""

    seen = None

    def fit(self, X, y, **params):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X, *, prediction=None):
        type(self).seen = X
        return np.zeros(len(X))

    def predict_risk(self, X, *, prediction=None):
        return np.ones(len(X))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_rows_of_a_file_reach_the_model_with_the_types_it_was_fitted_with(container, tmp_path):
    from condrisk.app.models import open_model
    from condrisk.app.tables import check_rows, read_table

    given = typed_frame()
    if container == "polars":
        given = pl.from_pandas(given.drop(columns="code"))
    model = open_model(Recorder().fit(given, None), schema=given)
    path = tmp_path / "rows.csv"
    given.to_csv(path, index=False) if container == "pandas" else given.write_csv(path)
    checked = check_rows(model.schema, read_table(path))
    assert not checked.bad
    model.decide(checked.good, cost=1.0)
    if container == "pandas":
        pd.testing.assert_frame_equal(Recorder.seen, given)
    else:
        assert_frame_equal(Recorder.seen, given)


def test_what_is_not_whole_is_not_cut_off():
    """2.5 in a column of whole numbers, or a gap, is for the model to judge."""
    for given in (np.array([[1, 2], [3, 4]]), pd.DataFrame({"x0": [1, 3], "x1": [2, 4]})):
        rows = Schema.infer(given).rows({"x0": np.array([2.5, 1.0]), "x1": np.array([1.0, np.nan])})
        assert_array_equal(np.asarray(rows, dtype=float), [[2.5, 1.0], [1.0, np.nan]])
        whole = Schema.infer(given).rows({"x0": np.array([2.0]), "x1": np.array([1.0])})
        assert np.asarray(whole).dtype == np.int64


def test_a_schema_survives_plain_data():
    schema = Schema.infer(typed_frame(), prediction="gap")
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.names[-1] == schema.prediction.name == "gap"
    assert "gap" not in [column.name for column in schema.columns]


def one_hot(unknown):
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "a", "b")})
    spread = make_column_transformer(
        (OneHotEncoder(handle_unknown=unknown), ["kind"]), remainder="passthrough"
    )
    steps = make_pipeline(spread, LinearRegression())
    return RegressionRisk(steps, regressor=steps, random_state=0).fit(frame, Y), frame


def test_columns_are_required_where_the_model_cannot_do_without():
    for unknown, kind, required in (("ignore", "text", False), ("error", "category", True)):
        columns = Schema.from_dict(describe_model(*one_hot(unknown))["schema"]).columns
        assert [(c.name, c.required) for c in columns] == [("x", True), ("kind", required)]
        assert columns[1].kind == kind  # any text where the encoder takes any
    boosted = HistGradientBoostingRegressor(max_iter=2)
    model = RegressionRisk(boosted, regressor=boosted, cv=2).fit(X, Y)
    assert not any(c.required for c in Schema.from_dict(describe_model(model, X)["schema"]).columns)


def test_what_only_the_prediction_cannot_do_without_is_required_too():
    """The risk looks at the first column alone, the line at all of them."""
    model = StrangerRisk().fit(X, Y)
    assert np.isfinite(model.predict_risk(np.array([[1.0, *[np.nan] * 4]]))).all()
    columns = Schema.from_dict(describe_model(model, X)["schema"]).columns
    assert all(column.required for column in columns)


def test_no_held_out_rows_are_in_the_file(tmp_path):
    model = line().fit(X, Y)
    assert len(model.held_out_.rows) == 300
    path = tmp_path / "model.skops"
    again = round_trip(model, path)
    assert not hasattr(again, "held_out_")
    with ZipFile(path) as file:
        shapes = [np.load(file.open(n)).shape for n in file.namelist() if n.endswith(".npy")]
    assert shapes
    assert not any(300 in shape for shape in shapes)


# -- figures ---------------------------------------------------------------------------------------


def test_figures_are_those_of_the_reference_rows():
    fresh = WORLD.sample(200, random_state=2)
    model = Deferral(line(), cost=1.0).fit(X, Y)
    found = describe_model(model, X, reference=(fresh.X, fresh.y))
    risk, loss = model.predict_risk(fresh.X), model.loss_values(fresh.X, fresh.y)
    figures = found["evaluation"]
    assert figures["rows"] == 200
    assert figures["deferral_rate"]["value"] == pytest.approx(deferral_rate(risk, 1.0))
    assert figures["deferral_loss"]["value"] == pytest.approx(deferral_loss(loss, risk, 1.0))
    assert figures["always"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert figures["accepted_loss"]["value"] == pytest.approx(loss[risk <= 1.0].mean())
    low, high = stats.t.interval(0.95, 199, loc=loss.mean(), scale=stats.sem(loss))
    assert figures["never"] == pytest.approx({"value": loss.mean(), "low": low, "high": high})


def test_of_a_single_reference_row_there_are_no_tests():
    model = Deferral(line(), cost=1.0).fit(X, Y)
    figures = describe_model(model, X, reference=(NEW[:1], [3.0]))["evaluation"]
    loss = float((model.predict(NEW[:1])[0] - 3.0) ** 2)
    assert figures["never"] == pytest.approx({"value": loss, "low": loss, "high": loss})
    assert (figures["calibration"], figures["savings"]) == (None, None)
    two = describe_model(model, X, reference=(NEW[:2], [3.0, 4.0]))["evaluation"]
    assert two["calibration"] is not None
    assert two["savings"] is not None


@pytest.mark.parametrize(
    ("cost", "column", "said"),
    [
        (2.5, None, "2.5"),
        (None, None, "of each request"),
        (None, "fee", "in the column 'fee'"),
    ],
)
def test_a_rule_by_costs_says_where_they_come_from(cost, column, said):
    model = Deferral(line(), cost=cost).fit(X, Y)
    rule = describe_model(model, X, cost_column=column)["rule"]
    assert rule == f"defer where the risk exceeds the cost, {said}"


def test_bounded_losses_have_betting_intervals():
    fresh = WORLD.sample(80, random_state=3)
    model = PlugInRisk(LogisticRegression(), cv=2, random_state=0).fit(X, LABELS)
    y = np.where(fresh.y > 0, "up", "down")
    figures = describe_model(model, X, reference=(fresh.X, y))["evaluation"]
    found = betting_interval(model.loss_values(fresh.X, y), confidence=0.95, upper=1.0)
    assert figures["never"] == pytest.approx(
        {"value": found.estimate, "low": found.lower, "high": found.upper}
    )
    assert figures["deferral_rate"] is None  # a risk estimator has no rule


@pytest.mark.parametrize("n", [3, 200, 1003])
def test_the_profile_tells_figures_at_any_cost(n):
    fresh = WORLD.sample(n, random_state=n)
    model = line().fit(X, Y)
    groups = np.array(describe_model(model, X, reference=(fresh.X, fresh.y))["profile"])
    risk, loss = model.predict_risk(fresh.X), model.loss_values(fresh.X, fresh.y)
    assert len(groups) == min(200, n)
    assert groups[:, 0].sum() == n
    assert np.ptp(groups[:, 0]) <= 1
    assert groups[:, 0] @ groups[:, 5] == pytest.approx((loss**2).sum())
    assert (groups[1:, 2] >= groups[:-1, 3]).all()
    cost = groups[len(groups) // 2, 3]  # between two groups nothing has to be guessed
    below = groups[:, 3] <= cost
    accepted = groups[below, 0] @ groups[below, 4]
    assert (accepted + cost * groups[~below, 0].sum()) / n == pytest.approx(
        deferral_loss(loss, risk, cost)
    )


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (X, "must be a tuple"),
        ((X,), "must be a tuple"),
        ((X[:0], Y[:0]), "at least one row|minimum"),
    ],
)
def test_a_bad_reference_is_named(reference, message):
    with pytest.raises(ValueError, match=message):
        describe_model(line().fit(X, Y), X, reference=reference)


def test_boosting_that_was_fitted_on_categories_of_text_comes_back(tmp_path):
    rows = pd.DataFrame({"x": X[:, 0], "kind": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    boosting = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    model = RegressionRisk(boosting, regressor=boosting, cv=2, random_state=0).fit(rows, Y)
    again = round_trip(model, tmp_path / "model.skops", schema=rows)
    assert_array_equal(again.predict_risk(rows), model.predict_risk(rows))


@pytest.mark.parametrize("dtype", ["bool", "int32"])
def test_the_type_of_labels_needs_no_trust_of_its_own(dtype, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    classifier = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    model = PlugInRisk(classifier, cv=2, random_state=0).fit(X, (Y > 0).astype(dtype))
    save_model(model, tmp_path / "model.skops", schema=X)
    assert list(read_manifest(tmp_path / "model.skops")["trusted"]) == ["lightgbm"]


def test_an_array_of_objects_is_read_back_as_one(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.choice(["a", "b"], 60), rng.choice(["u", "v", "w"], 60)])
    rows = rows.astype(object)
    predictor = make_pipeline(OneHotEncoder(), LinearRegression())
    risk = RegressionRisk(predictor, regressor=predictor, random_state=0)
    model = Deferral(risk, cost=0.5).fit(rows, rng.normal(size=60))
    save_model(model, tmp_path / "model.skops", rows)
    assert_array_equal(
        load_model(tmp_path / "model.skops").decide(rows).risk, model.decide(rows).risk
    )
