"""Reports of fitted models: what is measured, on which rows, and what is said about the others."""

import numpy as np
import polars as pl
import pytest

from condrisk.app.models import fit_table
from condrisk.app.report import build_report, render, report_from_manifest
from condrisk.app.tables import TableError, check_rows
from condrisk.metrics import deferral_loss, deferral_rate


def table(n, seed):
    rng = np.random.default_rng(seed)
    age, city = rng.integers(18, 90, n), rng.choice(["Rome", "Oslo", "Lima"], n)
    spread = np.where((age > 61) & (city == "Rome"), 3.0, 0.3)
    days = 5 + 0.05 * age + spread * rng.normal(size=n)
    return pl.DataFrame(
        {"age": age, "city": city, "days": days, "long": np.where(days > 8, "yes", "no")}
    )


@pytest.fixture(scope="module")
def regression():
    return fit_table(table(600, 0).drop("long"), target="days", cost=1.0, predictor="boosting")


def test_a_report_measures_what_the_model_does(regression):
    held = table(500, 1)
    report = build_report(regression, held)
    checked = check_rows(regression.schema, held)
    risk = regression.decide(checked.good).risk
    loss = regression.loss_values(checked.good, held["days"])
    assert report.price == 1.0
    assert report.at(1.0).rate == pytest.approx(deferral_rate(risk, 1.0))
    assert report.at(1.0).loss == pytest.approx(deferral_loss(loss, risk, 1.0))
    assert report.at(1.0).loss == pytest.approx(
        -regression.model.score(regression.encode(checked.good), held["days"].to_numpy())
    )
    assert {driver.column for driver in report.drivers[:2]} == {"age", "city"}
    assert "Rome" in report.segments[0].words()
    worst = int(np.argmax(risk))
    assert report.riskiest.numbers[0] == worst + 1
    assert report.riskiest.target[0] == held["days"][worst]
    assert report.riskiest.loss[0] == pytest.approx(loss[worst])
    assert report.notes == report.cautions == ()
    assert report.title == "Risk of predicting days"


def test_rows_that_cannot_be_used_are_counted_and_the_others_keep_their_numbers(regression):
    row, held = pl.int_range(300), table(300, 2)
    held = held.with_columns(
        pl.when((row < 5) | (row >= 295)).then(None).otherwise(held["days"]).alias("days"),
        pl.when(row == 20).then(pl.lit("old")).otherwise(held["age"].cast(pl.String)).alias("age"),
        pl.when(row > 290).then(pl.lit("Bern")).otherwise(held["city"]).alias("city"),
    )
    report = build_report(regression, held, top=300)
    assert report.n_rows == 289
    assert set(report.riskiest.numbers) == set(range(6, 296)) - {21}
    said = " ".join(report.notes)
    assert "10 of 300 rows have no target" in said
    assert "1 of 300 rows cannot be used" in said
    assert "in row 21 column 'age' holds 'old'" in said
    assert "In 9 rows the column 'city' holds a value that was not there" in said


def test_tables_that_cannot_be_used_are_refused(regression):
    with pytest.raises(TableError, match="no column 'days', the target"):
        build_report(regression, table(50, 0).drop("days"))
    with pytest.raises(TableError, match="no column 'age'"):
        build_report(regression, table(50, 0).drop("age"))
    with pytest.raises(TableError, match="no row of the table can be used"):
        build_report(regression, table(50, 0).with_columns(pl.lit(None, pl.Float64).alias("days")))


def noise(seed):
    """Rows of which nothing can be learnt but by heart."""
    values = np.random.default_rng(seed).normal(size=(700, 7))
    return pl.DataFrame(values, schema=[*"abcdef", "y"])


def test_rows_that_the_model_was_fitted_on_are_suspected():
    model = fit_table(noise(0), target="y", cost=1.0)
    assert "too good" in build_report(model, noise(0), top=0).cautions[0]
    for seed in range(1, 4):
        assert build_report(model, noise(seed), top=0).cautions == ()


def test_a_rule_that_does_not_follow_the_price_is_said_and_gives_the_start():
    model = fit_table(table(600, 0).drop("long"), target="days", budget=0.2, predictor="linear")
    held = table(500, 1)
    report = build_report(model, held)
    assert report.price == pytest.approx(model.model.rule_.threshold_, rel=0.1)
    asked = model.decide(check_rows(model.schema, held).good).deferred
    assert report.at(report.price).rate == pytest.approx(asked.mean())
    assert "does not follow the cost" in report.cautions[0]
    alone = report_from_manifest(model.manifest)
    assert alone.price == pytest.approx(alone.mean_loss, rel=0.01)


def test_classes_are_shown_as_they_are():
    model = fit_table(table(600, 0).drop("days"), target="long", cost=0.2, predictor="linear")
    report = build_report(model, table(400, 1))
    assert set(report.riskiest.target) <= {"yes", "no"}
    assert set(report.riskiest.prediction) <= {"yes", "no"}
    assert report.loss_name == "zero_one"
    assert "chance of being wrong" in render(report)


def test_predictions_from_elsewhere_are_among_what_drives_the_risk():
    rows = table(900, 0).drop("long")
    rows = rows.with_columns((pl.col("age") * 0.05 + 5).alias("theirs"))
    model = fit_table(rows[:600], target="days", cost=1.0, predictions="theirs")
    report = build_report(model, rows[600:])
    expected = (rows["days"][600:] - rows["theirs"][600:]) ** 2
    assert report.mean_loss == pytest.approx(expected.mean())
    assert {driver.column for driver in report.drivers} <= {"age", "city", "theirs"}


def test_a_model_file_alone_gives_the_figures_that_it_says_of_itself(regression):
    report = report_from_manifest(regression.manifest)
    figures = regression.manifest["evaluation"]
    assert report.n_rows == figures["rows"]
    assert report.mean_loss == pytest.approx(figures["never"]["value"])
    assert report.at(1.0).rate == pytest.approx(figures["deferral_rate"]["value"], abs=0.01)
    assert report.at(1.0).loss == pytest.approx(figures["deferral_loss"]["value"], rel=0.05)
