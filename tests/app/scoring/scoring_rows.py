"""Rows of every kind, and models of them, for the tests of scoring."""

from datetime import date, timedelta
from functools import cache

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingRegressor

from condrisk import Deferral, PlugInRisk
from condrisk.app.models import fit_table, open_model
from condrisk.app.tables import check_rows
from condrisk.learners import DistributionRegressor
from saved_models import outside_of

CITIES = ["Bern", "Genève", "Basel"]


def make_rows(n_rows, seed=0):
    """Return rows with numbers, categories, booleans, dates and gaps, beside other columns."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n_rows)
    age = rng.integers(20, 90, n_rows)
    days = rng.integers(0, 999, n_rows).tolist()
    return pl.DataFrame(
        {
            "id": [f"{i:05d}" for i in range(n_rows)],
            "size": size,
            "age": pl.Series([None if i % 13 == 5 else int(a) for i, a in enumerate(age)]),
            "city": rng.choice(CITIES, n_rows),
            "member": rng.random(n_rows) < 0.5,
            "since": [date(2020, 1, 1) + timedelta(days=day) for day in days],
            "note": [None if i % 3 else f'says "{i}",\nand more' for i in range(n_rows)],
        }
    )


def with_target(rows, seed=1):
    rng = np.random.default_rng(seed)
    signal = rows["size"].to_numpy() + (rows["city"] == "Bern").to_numpy()
    return rows.with_columns(y=signal + rng.normal(size=rows.height) * rows["member"].to_numpy())


@cache
def number_model(predictor="linear"):
    """Return a model as `fit_table` makes it, with few trees: tests have many small batches."""
    rows = with_target(make_rows(600, seed=2)).drop("id", "note")
    made = fit_table(rows, target="y", cost=0.6, predictor=predictor, holdout=0.0)
    few = HistGradientBoostingRegressor(max_iter=15, random_state=0)
    risk = PlugInRisk(
        made.model.risk.predictor, distribution=DistributionRegressor(few, few), random_state=0
    )
    model = Deferral(risk, cost=0.6).fit(made.encode(rows), rows["y"].to_numpy())
    return open_model(model, schema=made.schema, target="y")


@cache
def class_model():
    rows = with_target(make_rows(600, seed=2)).drop("id", "note")
    words = pl.when(pl.col("y") > 0.5).then(pl.lit("high")).otherwise(pl.lit("low"))
    return fit_table(rows.with_columns(y=words), target="y", cost=0.2, predictor="linear")


@cache
def risk_only_model():
    rows = with_target(make_rows(600, seed=2)).drop("id", "note")
    rows = rows.with_columns(prediction=pl.col("size"))
    return fit_table(rows, target="y", cost=0.6, predictions="prediction")


def expected(model, rows):
    """Return what the model says about rows that are all good, at once."""
    checked = check_rows(model.schema, rows)
    assert not checked.bad
    decision = model.decide(checked.good)
    return rows.with_columns(
        prediction=pl.Series(decision.prediction),
        risk=pl.Series(decision.risk),
        defer=pl.Series(decision.deferred),
        outside=pl.Series(
            [", ".join(names) or None for names in outside_of(model, rows)], dtype=pl.String
        ),
    )
