"""What a model of tables says beside its decisions: what is outside, what raises a risk."""

import numpy as np
import polars as pl
import pytest

from condrisk.app.models import fit_table, read_cost_matrix
from condrisk.app.scoring import score_file
from condrisk.app.tables import TableError, check_rows
from saved_models import outside_of

pytestmark = pytest.mark.usefixtures("quick_fits")


def rows(n=400, seed=0):
    """Risks rise with |x| and with the colour red; z says nothing."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-1, 1, n), rng.uniform(0, 54, n)
    colour = rng.choice(["red", "blue"], n)
    spread = 0.1 + 2 * np.abs(x) + 2 * (colour == "red")
    days = pl.Series(np.datetime64("2024-01-01") + np.arange(n)).cast(pl.Date)
    y = x + spread * rng.normal(size=n)
    return pl.DataFrame({"x": x, "z": z, "colour": colour, "day": days, "y": y})


@pytest.fixture(scope="module")
def model():
    return fit_table(rows(), target="y", cost=2.0, predictor="linear")


def outside(model, frame):
    checked = check_rows(model.schema, frame)
    return model.outside(checked.good, model.unseen(frame, checked)).names()


def test_rows_beyond_what_was_seen_are_named_by_column(model):
    frame = (
        rows(7, 1)
        .drop("y")
        .with_columns(
            z=pl.Series([5000.0, 20.0, 56.0, -9.0, None, 20.0, 20.0]),
            colour=pl.Series(["red", "green", "red", "red", "red", None, "red"]),
            day=pl.Series(["2031-01-01"] * 7).str.to_date(),
        )
    )
    # 56 lies within a tenth of the range beyond it; time goes on.
    wanted = [["z"], ["colour"], [], ["z"], ["z"], ["colour"], []]
    assert outside(model, frame) == wanted == outside_of(model, frame)


def test_ordinary_rows_are_hardly_ever_outside(model):
    flagged = [bool(names) for names in outside(model, rows(4000, 2))]
    assert np.mean(flagged) < 0.005


def test_rows_outside_can_be_deferred_whatever_their_risk(model, tmp_path):
    frame = rows(50, 3).drop("y").with_columns(z=pl.Series([1e6] * 10 + [20.0] * 40))
    frame.write_csv(tmp_path / "new.csv")
    for flag in (False, True):
        score_file(
            model, tmp_path / "new.csv", tmp_path / f"{flag}.csv", cost=1e9, defer_outside=flag
        )
        found = pl.read_csv(tmp_path / f"{flag}.csv")
        assert found["defer"].sum() == (10 if flag else 0)
        assert found["outside"].to_list() == ["z"] * 10 + [None] * 40


def test_the_columns_that_raise_a_risk_are_those_that_make_it(model):
    frame = rows(300, 4).drop("y").with_columns(colour=pl.lit("red"), x=pl.lit(0.95))
    good = check_rows(model.schema, frame).good
    risk = model.predict_risk(good)
    found = model.explain(good, risk)
    assert found.change.shape == (300, len(model.schema.columns))
    means = dict(zip(found.columns, found.change.mean(axis=0), strict=True))
    assert means["x"] > abs(means["z"])
    # By hand: the average value in one column, all else as it is.
    typical = {column.name: column.typical for column in model.schema.columns}
    changed = good.with_columns(x=pl.lit(typical["x"]))
    at = found.columns.index("x")
    np.testing.assert_allclose(found.change[:, at], risk - model.predict_risk(changed))
    most = found.most(0)
    assert [change for _, change in most] == sorted((c for _, c in most), reverse=True)


def test_a_row_is_asked_about_twenty_times_at_most():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 30))
    frame = pl.DataFrame(values, schema=[f"c{k}" for k in range(30)])
    frame = frame.with_columns(y=pl.col("c7") * pl.Series(rng.normal(size=300)) * 3)
    model = fit_table(frame, target="y", cost=1.0, predictor="linear", holdout=0)
    good = check_rows(model.schema, frame).good
    chosen = model.important_columns(good, model.predict_risk(good))
    assert len(chosen) == 20
    assert "c7" in [column.name for column in chosen]


def test_the_last_rows_by_time_are_held_out_ties_together():
    frame = rows(500, 5).with_columns(week=pl.int_range(500) // 7)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
    notes = []
    model = fit_table(
        shuffled, target="y", cost=2.0, predictor="linear", time="week", note=notes.append
    )
    held = model.reference[0]
    last = shuffled.filter(pl.col("week") >= 400 // 7)
    assert model.manifest["evaluation"]["rows"] == last.height == len(held)
    np.testing.assert_allclose(np.sort(model.reference[1]), np.sort(last["y"].to_numpy()))
    assert "week" not in model.schema.names
    assert f"the last {last.height} rows by 'week' are held out, from 57 on" in notes[-1]


def test_a_random_holdout_flatters_where_the_world_changes():
    """Noise doubles with time: the last rows lose more than random ones say."""
    rng = np.random.default_rng(0)
    n = 1200
    x = rng.uniform(-1, 1, n)
    y = x + np.linspace(0.2, 2.0, n) * rng.normal(size=n)
    frame = pl.DataFrame({"x": x, "t": np.arange(n), "y": y})
    losses = [
        fit_table(
            frame.select(names), target="y", cost=1.0, predictor="linear", time=time
        ).manifest["evaluation"]["never"]["value"]
        for names, time in ((["x", "y"], None), (["x", "t", "y"], "t"))
    ]
    assert losses[1] > 1.5 * losses[0]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pl.Series("t", [None] * 400, dtype=pl.Date), "has no time that can be read"),
        (pl.Series("t", [1.0] * 400), "too many rows of one time"),
        (pl.Series("t", [True, False] * 200), "must hold dates or numbers"),
    ],
)
def test_a_time_that_orders_nothing_is_refused(column, message):
    with pytest.raises(TableError, match=message):
        fit_table(rows().with_columns(column), target="y", cost=1.0, time="t")


def test_each_row_has_its_own_cost(tmp_path):
    rng = np.random.default_rng(1)
    frame = rows(500, 6).with_columns(fee=pl.Series(rng.choice([0.1, 50.0], 500)))
    model = fit_table(frame, target="y", cost_column="fee", predictor="linear")
    assert "fee" not in model.schema.names
    assert model.manifest["cost_column"] == "fee"
    savings = model.manifest["evaluation"]["savings"]
    assert savings["always"]["value"] == pytest.approx(model.reference[3].mean())
    new = rows(60, 7).drop("y").with_columns(fee=pl.Series(["0.1", "50", "-1"] * 20))
    new.write_csv(tmp_path / "new.csv")
    summary = score_file(model, tmp_path / "new.csv", tmp_path / "scored.csv")
    scored = pl.read_csv(tmp_path / "scored.csv")
    assert summary.rejected == 20
    assert (scored["defer"] == (scored["risk"] > scored["fee"])).all()
    assert 0 < scored["defer"].sum() < 40
    new.drop("fee").write_csv(tmp_path / "without.csv")
    with pytest.raises(TableError, match="no column 'fee'"):
        score_file(model, tmp_path / "without.csv", tmp_path / "other.csv")


def test_a_matrix_of_costs_is_the_loss(tmp_path):
    frame = rows(400, 8).with_columns(
        y=pl.when(pl.col("y") > 0).then(pl.lit("ill")).otherwise(pl.lit("well"))
    )
    (tmp_path / "costs.csv").write_text("true;well;ill\nill;9,5;0\nwell;0;1\n")
    costs = read_cost_matrix(tmp_path / "costs.csv")
    model = fit_table(frame, target="y", cost=1.0, cost_matrix=costs, predictor="linear")
    good = check_rows(model.schema, frame).good
    said = model.decide(good).prediction
    losses = model.loss_values(good, frame["y"])
    wanted = [costs[true, predicted] for true, predicted in zip(frame["y"], said, strict=True)]
    np.testing.assert_allclose(losses, wanted)
    assert set(losses) == {0.0, 1.0, 9.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("true,a,b\na,0,1\n", "must name the same classes"),
        ("true,a,b\na,0\nb,1,0\n", "1 costs in the line of 'a'"),
        ("true,a,b\na,0,much\nb,1,0\n", "holds 'much' for true 'a' and predicted 'b'"),
        ("", "must have a header"),
    ],
)
def test_a_matrix_that_is_none_is_refused(tmp_path, text, message):
    (tmp_path / "costs.csv").write_text(text)
    with pytest.raises(TableError, match=message):
        read_cost_matrix(tmp_path / "costs.csv")


def test_a_matrix_needs_all_classes_and_no_other_loss(tmp_path):
    frame = rows(400, 8).with_columns(
        y=pl.when(pl.col("y") > 0).then(pl.lit("ill")).otherwise(pl.lit("well"))
    )
    costs = {("ill", "ill"): 0.0}
    with pytest.raises(TableError, match="has no class 'well'"):
        fit_table(frame, target="y", cost=1.0, cost_matrix=costs)
    with pytest.raises(TableError, match="give no loss beside it"):
        fit_table(frame, target="y", cost=1.0, cost_matrix=costs, loss="zero_one")
    with pytest.raises(TableError, match="is for classes"):
        fit_table(rows(), target="y", cost=1.0, cost_matrix=costs)


def test_class_probabilities_are_the_predictors(tmp_path):
    frame = rows(400, 8).with_columns(y=pl.col("y") > 0)
    model = fit_table(frame, target="y", cost=0.2, predictor="linear")
    frame.drop("y").write_csv(tmp_path / "new.csv")
    score_file(model, tmp_path / "new.csv", tmp_path / "scored.csv", probabilities=True)
    scored = pl.read_csv(tmp_path / "scored.csv")
    both = scored.select("p_False", "p_True").to_numpy()
    np.testing.assert_allclose(both.sum(axis=1), 1.0)
    assert ((both[:, 1] > 0.5) == scored["prediction"].to_numpy()).all()
    number = fit_table(rows(), target="y", cost=1.0, predictor="linear")
    with pytest.raises(TableError, match="no class probabilities"):
        score_file(number, tmp_path / "new.csv", tmp_path / "o.csv", probabilities=True)
