"""Schemas: what is inferred, what is checked, and that nothing is lost on the way."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from condrisk.app.models import open_model
from condrisk.app.tables import check_rows, left_out, table_schema
from condrisk.persistence import Column, Schema


class Constant(BaseEstimator):
    """A risk estimator that takes anything."""

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X, *, prediction=None):
        return np.zeros(len(X))

    def predict_risk(self, X, *, prediction=None):
        return np.ones(len(X))


@pytest.fixture
def frame():
    return pl.DataFrame(
        {
            "number": [1, 2, None, 4],
            "float": [0.5, float("nan"), 1.5, None],
            "text": ["b", "a", None, "b"],
            "flag": [True, None, False, True],
            "day": [date(1970, 1, 2), date(1970, 1, 11), None, date(1970, 1, 2)],
            "target": [1.0, 2.0, 3.0, 4.0],
        }
    )


def test_each_column_is_described_by_what_was_seen(frame):
    assert table_schema(frame, exclude=["target"]).columns == (
        Column("number", "number", (), 1.0, 4.0, 0.25, typical=2.0),
        Column("float", "number", (), 0.5, 1.5, 0.5, typical=0.5),
        Column("text", "category", ("a", "b"), None, None, 0.25, typical="b"),
        Column("flag", "boolean", (), None, None, 0.25, typical=True),
        Column("day", "date", (), 1.0, 10.0, 0.25, typical="1970-01-02"),
    )


def test_a_schema_survives_plain_data(frame):
    schema = table_schema(frame)
    assert Schema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "spell"},
        {"name": 7},
        {"categories": ["a", 1]},
        {"categories": ["a", "a"]},
        {"categories": None},
        {"low": "zero"},
        {"high": float("inf")},
        {"required": "yes"},
        {"colour": "red"},
    ],
)
def test_what_does_not_describe_a_column_is_refused(change):
    good = {"name": "x", "kind": "category", "categories": ["a", "b"], "low": None, "high": None}
    whole = {"container": "codes", "prediction": None, "n_rows": 3}
    assert Schema.from_dict(whole | {"columns": [good]}).names == ("x",)
    with pytest.raises(ValueError, match="does not describe a column"):
        Schema.from_dict(whole | {"columns": [good | change]})


def test_numbers_stand_for_every_kind_of_column(frame):
    schema = table_schema(frame, exclude=["target"])
    checked = check_rows(schema, frame)
    assert checked.good.schema == {
        "number": pl.Float64,
        "float": pl.Float64,
        "text": pl.String,
        "flag": pl.Boolean,
        "day": pl.Date,
    }
    expected = [
        [1.0, 0.5, 1.0, 1.0, 1.0],
        [2.0, np.nan, 0.0, np.nan, 10.0],
        [np.nan, 1.5, np.nan, 0.0, np.nan],
        [4.0, np.nan, 1.0, 1.0, 1.0],
    ]
    model = open_model(Constant(), schema=schema)
    np.testing.assert_array_equal(model.encode(checked.good), expected)
    np.testing.assert_array_equal(model.numbers(checked.good), expected)


def test_rows_of_nothing_but_text_have_no_numbers():
    model = open_model(Constant(), schema=Schema((Column("t", "text", dtype="str"),), "pandas"))
    assert model.numbers(pl.DataFrame({"t": ["a b", "c d", None]})).shape == (3, 0)


def test_columns_may_come_in_any_order_and_with_others(frame):
    schema = table_schema(frame, exclude=["target"])
    shuffled = frame.select(reversed(frame.columns)).with_columns(extra=pl.lit("x"))
    ours, theirs = check_rows(schema, frame), check_rows(schema, shuffled)
    assert ours.good.equals(theirs.good)


def test_the_example_is_a_row_that_can_be_used(frame):
    schema = table_schema(frame, exclude=["target"])
    assert not check_rows(schema, pl.DataFrame([schema.example])).bad


cells = st.one_of(
    st.none(),
    st.text(max_size=5),
    st.sampled_from(["1", "-2.5", "1e400", "nan", "NA", " 3 ", "inf", "0x10", "1,5", "٣"]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(cells, min_size=1, max_size=20))
def test_every_row_is_good_or_has_a_reason(values):
    """Whatever stands in a column of text: a number, nothing, or a sentence."""
    schema = Schema((Column("x", "number", low=0.0, high=1.0), Column("k", "number")))
    frame = pl.DataFrame(
        {"x": pl.Series(values, dtype=pl.String), "k": np.arange(len(values), dtype=float)}
    )
    checked = check_rows(schema, frame)
    assert sorted([*checked.rows.tolist(), *checked.bad]) == list(range(len(values)))
    assert checked.good["k"].to_list() == checked.rows.tolist()
    for row in checked.rows:
        value = checked.good.filter(pl.col("k") == row)["x"][0]
        if value is not None and not np.isnan(value):
            words = {"true": 1.0, "false": 0.0}
            text = values[row].strip().lower()
            assert (words[text] if text in words else float(text)) == value  # as Python reads it
    assert all(reason.startswith("column 'x' holds ") for reason in checked.bad.values())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.sampled_from("abcz ")), min_size=1, max_size=20))
def test_unseen_categories_are_counted(values):
    schema = Schema((Column("x", "category", ("a", "b")),))
    checked = check_rows(schema, pl.DataFrame({"x": pl.Series(values, dtype=pl.String)}))
    assert checked.good["x"].to_list() == [v if v in ("a", "b") else None for v in values]
    assert checked.unseen.get("x", 0) == sum(v in ("c", "z") for v in values)


def test_categories_may_come_as_numbers():
    schema = Schema((Column("x", "category", ("1", "2", "2.5", "b")),))
    for given_values in ([1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"]):
        checked = check_rows(schema, pl.DataFrame({"x": given_values}))
        assert checked.good["x"].to_list() == ["1", "2", None]
    assert check_rows(schema, pl.DataFrame({"x": [2.5, 1.0]})).good["x"].to_list() == ["2.5", "1"]


def test_columns_without_information_are_named_with_the_reason():
    n = 300
    frame = pl.DataFrame(
        {
            "same": [1] * n,
            "name": [f"n{k}" for k in range(n)],
            "half": [None] * (n - 1) + [3.0],
            "nan": [float("nan")] * n,
            "many": [f"c{k % 200}" for k in range(n)],
            "some": [f"c{k % 100}" for k in range(n)],
            "time": [None] * n,
        }
    )
    assert left_out(frame, exclude=["time"]) == {
        "same": "it has the same value in every row",
        "name": "it is text with 300 distinct values",
        "nan": "it is empty",
        "many": "it is text with 200 distinct values",
    }
