"""From cells to values: one meaning, whether a cell comes alone or in a column."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrisk.app.tables import TableError, cell_reader, check_rows, read_moments
from condrisk.persistence import Column, Schema

CATEGORIES = ("a", "B c", "3", "2.5", "007", "True", "-", "2026-11-15")
KINDS = ("number", "category", "boolean", "date", "datetime", "text")
DTYPES = {
    "number": pl.Float64,
    "category": pl.String,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
    "text": pl.String,
}

WORDS = """a;B c; a ;3;3.0;03;7;007;2.50;True;TRUE;true;FALSE;yes;No;t;F;1;0;1.0;-0;-;NA;n/a; NaN ;
    null;none;;nan;-nan;+nan;inf;-Infinity;1e5;1E+400;1e-400;.5;5.;.;e5;1_0;0x10;٣;1,5;1e30;1.1e30;
    2026-11-15;2026-2-3;2026-02-30;0000-01-01;0001-01-01;9999-12-31;2026-11-15T10:30;
    2026-11-15 23:59:59.1234567+02:00;2026-11-15T10:30:00Z;2026-11-15T10:30:00 -0930;
    2026-11-15T24:00;2026-11-15T10:30:60;2026-11-15T10;15.11.2026;2026-11-15T10:30:00+24:00;
    9999-12-31T23:00-05:00;+2026-11-15"""
words = st.sampled_from(WORDS.split(";"))
moments_as_text = st.builds(
    lambda moment, form, offset: moment.strftime(form) + offset,
    st.datetimes(),
    st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f"]),
    st.sampled_from(["", "Z", "+02:00", "-1130", " +00:30"]),
)
numbers_as_text = st.builds(str, st.one_of(st.integers(), st.floats(), st.decimals()))
COLUMNS = {
    pl.String: st.one_of(words, moments_as_text, numbers_as_text, st.text(max_size=6)),
    pl.Float64: st.one_of(st.floats(), st.integers(-9, 9).map(float), st.just(2.5)),
    pl.Int64: st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 8),
    pl.Boolean: st.booleans(),
    pl.Date: st.dates(date(1, 1, 2), date(9999, 12, 30)) | st.just(date(2026, 11, 15)),
    pl.Datetime("us"): st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    pl.Null: st.nothing(),
}


def at_once(series, column):
    """Return what checking the whole column says: values of the good rows, reasons, unseen."""
    checked = check_rows(Schema((column,)), pl.DataFrame([series.alias(column.name)]))
    return checked.good[column.name], checked.bad, checked.unseen.get(column.name, 0)


def one_by_one(column, values):
    """Return what the reader of cells says of each: values, what is wrong, how many are unseen."""
    unseen = []
    read = cell_reader(column, on_unseen=lambda: unseen.append(1))
    found, wrong = [], {}
    for row, value in enumerate(values):
        try:
            found.append(read(value))
        except ValueError as error:
            found.append(None)
            wrong[row] = str(error).removesuffix(", or null")
    return found, wrong, len(unseen)


def agree(kind, required, series):
    """Read a column at once and cell by cell, and compare."""
    column = Column("x", kind, CATEGORIES if kind == "category" else (), required=required)
    try:
        values, bad, n_unseen = at_once(series, column)
    except TableError:  # then no value of that type fits
        known = [value for value in series if value is not None and value == value]
        assert len(one_by_one(column, known)[1]) == len(known)
        return
    found, wrong, unseen = one_by_one(column, series.to_list())
    assert values.dtype == DTYPES[kind]
    assert values.to_list() == [value for row, value in enumerate(found) if row not in wrong]
    assert sorted(bad) == sorted(wrong)
    for row, right in wrong.items():
        assert bad[row].endswith(f", but it must be {right}.")
    assert n_unseen == unseen


@pytest.mark.parametrize("required", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_says_what_its_cells_say(kind, required):
    words = [word.strip("\n ") if "\n" in word else word for word in WORDS.split(";")]
    agree(kind, required, pl.Series("x", [*words, None]))
    for cell in words:  # alone, so that no other is odd
        agree(kind, required, pl.Series("x", [cell, "1", "a", "2026-11-15"]))
    agree(kind, required, pl.Series("x", [1.0, float("nan"), 2.5, 1e31, float("-inf"), 0.0, None]))
    agree(kind, required, pl.Series("x", [1.0, float("nan")]))
    agree(kind, required, pl.Series("x", [3, 7, 1, 0, None]))
    agree(kind, required, pl.Series("x", [True, False, None]))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_column_says_what_its_cells_say(kind, data):
    dtype = data.draw(st.sampled_from([*[pl.String] * 6, *COLUMNS]))
    values = data.draw(st.lists(st.none() | COLUMNS[dtype], max_size=12))
    agree(kind, data.draw(st.booleans()), pl.Series("x", values, dtype))


@pytest.mark.parametrize(
    ("kind", "same", "value"),
    [
        ("number", [1.5, "1.5", " 15e-1 ", Decimal("1.5")], 1.5),
        ("number", [True, 1, 1.0, "1", "true"], 1.0),
        ("boolean", [True, 1, 1.0, "1", "1.0", "TRUE", " yes"], True),
        ("category", ["3", 3, 3.0, " 3 ", "3.0", Decimal(3)], "3"),
        ("category", [True, "TRUE", "true"], "True"),
        ("category", [date(2026, 11, 15), "2026-11-15"], "2026-11-15"),
        ("text", [7, 7.0, "7"], "7"),
        ("text", [" NA "], " NA "),
        ("date", ["9999-12-31", date(9999, 12, 31)], date(9999, 12, 31)),
        ("date", [date(2026, 11, 14), "2026-11-14", "2026-11-15T01:00+02:00"], date(2026, 11, 14)),
        (
            "datetime",
            [
                "2026-11-15T10:30:00Z",
                "2026-11-15 12:30+0200",
                datetime(2026, 11, 15, 10, 30),
                datetime(2026, 11, 15, 10, 30, tzinfo=UTC),
                datetime(2026, 11, 15, 5, 30, tzinfo=timezone(timedelta(hours=-5))),
            ],
            datetime(2026, 11, 15, 10, 30),
        ),
        *((kind, [None, float("nan"), "", " n/a "], None) for kind in ("number", "category")),
    ],
)
def test_what_says_the_same_is_the_same(kind, same, value):
    read = cell_reader(Column("x", kind, CATEGORIES if kind == "category" else ()))
    for cell in same:
        assert read(cell) == value
        assert type(read(cell)) is type(value)


@pytest.mark.parametrize(
    ("column", "cell", "right"),
    [
        (Column("x", "number"), "many", "a number, or null"),
        (Column("x", "number"), 10**400, "a number between -1e+30 and 1e+30, or null"),
        (Column("x", "number", required=True), None, "a number"),
        (Column("x", "number"), [1.0], "a number, or null"),
        (Column("x", "boolean"), 2, "true or false, or null"),
        (Column("x", "date"), 20261115, "a date such as 2026-11-15, or null"),
        (
            Column("x", "date"),
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            "a date such as 2026-11-15, or null",
        ),
        (Column("x", "datetime"), "noon", "a date and time such as 2026-11-15T10:30:00Z, or null"),
        (Column("x", "category", ("a", "b"), required=True), "c", "one of a, b"),
        (Column("x", "category", ("a", "b")), {}, "text, or null"),
        (Column("x", "text"), [], "text, or null"),
    ],
)
def test_an_error_says_what_would_be_right(column, cell, right):
    with pytest.raises(ValueError, match=r".*") as caught:
        cell_reader(column)(cell)
    assert str(caught.value) == right


def test_a_code_is_not_the_number_that_it_looks_like():
    unseen = []
    read = cell_reader(Column("x", "category", ("7", "12")), on_unseen=lambda: unseen.append(1))
    assert [read(cell) for cell in ("007", 7, "12.0", "012")] == [None, "7", "12", None]
    assert len(unseen) == 2


def test_small_floats_are_categories_by_their_text():
    column = Column("x", "category", ("2.1", "3"))
    values, _, _ = at_once(pl.Series("x", [2.1, 3.0, None], pl.Float32), column)
    assert values.to_list() == ["2.1", "3", None]


def test_typed_moments_and_text_are_the_same():
    text = pl.Series(["2026-11-15T01:30:00.25+02:00", "2026-11-14 23:30:00.25Z", None, "soon"])
    typed = pl.Series([datetime(2026, 11, 15, 1, 30, 0, 250_000), None])
    there = typed.dt.replace_time_zone("Europe/Athens")
    assert (
        read_moments(text).to_list()
        == [datetime(2026, 11, 14, 23, 30, 0, 250_000)] * 2 + [None] * 2
    )
    assert read_moments(there)[0] == read_moments(text)[0]
    for kind in ("date", "datetime"):
        column = Column("x", kind)
        assert at_once(there, column)[0][0] == at_once(text[:1], column)[0][0]
