"""Segments: planted ones are found, their words are true, and their figures are honest."""

from datetime import date

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from condrisk.app._numbers import roundest
from condrisk.app.report import render, report_from_arrays
from condrisk.app.report._segments import Condition, Segment, find_segments, years_of


def people(n, seed):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "city": rng.choice(["Rome", "Oslo", "Lima"], n),
            "member": rng.random(n) < 0.5,
            "since": [date(2020, 1, 1 + int(k)) for k in rng.integers(0, 28, n)],
        }
    )


def test_a_planted_segment_is_found_and_said_in_words(seed):
    frame = people(4_000, seed)
    planted = ((frame["age"] > 61) & (frame["city"] == "Rome")).to_numpy()
    risk = np.where(planted, 5.0, 1.0) + np.random.default_rng(seed).normal(0, 0.1, 4_000)
    worst = find_segments(frame, risk, risk, random_state=seed)[0]
    assert worst.words() in (
        "<bdi>age</bdi> &gt; 61 and <bdi>city</bdi> is <bdi>Rome</bdi>",
        "<bdi>city</bdi> is <bdi>Rome</bdi> and <bdi>age</bdi> &gt; 61",
    )
    np.testing.assert_array_equal(worst.holds(frame), planted)
    assert worst.mean_risk == pytest.approx(5.0, abs=0.1)
    assert worst.share == pytest.approx(planted.mean(), abs=0.03)


def test_where_no_group_is_above_the_others_hardly_ever_one_is_listed():
    """Pure noise: the tree finds groups that look bad, and the other half does not agree."""
    listed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        frame = people(400, seed)
        loss = rng.gamma(4.0, 0.25, 400)  # of mean 1, whatever the columns
        listed += bool(find_segments(frame, loss, loss, random_state=seed))
    assert binomtest(listed, 200, 0.05, alternative="greater").pvalue > 0.001


def test_limits_of_all_groups_hold_at_once_and_none_is_below_the_mean():
    covered = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        frame = people(1_000, seed)
        risk = np.where(frame["age"] > 60, 3.0, 1.0) * np.where(frame["city"] == "Rome", 2.0, 1.0)
        loss = risk * rng.gamma(4.0, 0.25, 1_000)
        found = find_segments(frame, loss, risk, random_state=seed)
        assert found
        assert all(segment.times_average > 1 for segment in found)
        means = [float(risk[segment.holds(frame)].mean()) for segment in found]
        covered.append(all(s.low <= m <= s.high for s, m in zip(found, means, strict=True)))
    assert binomtest(sum(covered), 100, 0.95, alternative="less").pvalue > 0.001


def test_rates_of_errors_are_compared_exactly():
    """Five errors in fifty rows against none in the rest are not chance; one error may be."""
    frame = pl.DataFrame({"a": [0] * 900 + [1] * 100})
    risk = np.where(frame["a"] == 1, 0.3, 0.01)
    rng = np.random.default_rng(0)
    many = ((frame["a"] == 1).to_numpy() & (rng.random(1_000) < 0.3)).astype(float)
    assert find_segments(frame, many, risk)[0].words() == "<bdi>a</bdi> &gt; 0"
    few = np.zeros(1_000)
    few[950] = 1.0
    assert find_segments(frame, few, risk) == ()


def test_the_mean_of_a_segment_is_not_biased_by_the_search():
    gaps = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        frame = people(600, seed)
        risk = np.where(frame["age"] > 50, 2.0, 1.0) + rng.normal(0, 0.3, 600)
        loss = risk + rng.normal(0, 1.0, 600)
        gaps += [s.mean_loss - s.mean_risk for s in find_segments(frame, loss, risk)]
    gaps = np.array(gaps)
    assert abs(gaps.mean()) < 4 * gaps.std() / np.sqrt(len(gaps))


def said(test, value):
    if test.relation in ("is", "is not"):
        return (str(value).lower() == test.value.lower()) == (test.relation == "is")
    return test.or_missing if value is None else (value <= test.value) == (test.relation == "≤")


def test_words_mean_what_is_measured(seed):
    """Each condition, evaluated by other means, gives the same rows."""
    rng = np.random.default_rng(seed)
    frame = people(3_000, seed).with_columns(
        pl.Series(
            "income", np.where(rng.random(3_000) < 0.2, np.nan, rng.normal(50, 9, 3_000))
        ).fill_nan(None),
    )
    gap = frame["income"].is_null().to_numpy()
    risk = 1 + 3 * gap + 2 * (frame["since"].dt.day() > 20).to_numpy() + rng.gamma(1, 0.1, 3_000)
    segments = find_segments(frame, risk, risk, random_state=seed)
    assert segments
    for segment in segments:
        expected = np.ones(3_000, dtype=bool)
        for test in segment.tests:
            column = frame[test.column]
            values = column.to_list()
            if test.column == "since":
                values = [(value - date(1970, 1, 1)).days for value in values]
            expected &= [said(test, value) for value in values]
        np.testing.assert_array_equal(segment.holds(frame), expected)
    assert any("or missing" in segment.words() for segment in segments)


def test_words_join_what_is_said_of_one_column():
    def words(*tests, dates=frozenset(), years=frozenset()):
        return (
            Segment(tests, 1, 1, 1, 1, 1, 1, 1)
            .words(dates, years)
            .replace("<bdi>", "")
            .replace("</bdi>", "")
        )

    assert words(Condition("a", ">", 1.0), Condition("a", "≤", 5.0), Condition("a", ">", 2.5)) == (
        "2.5 &lt; a ≤ 5"
    )
    assert words(Condition("a", "≤", 1e6, or_missing=True)) == "(a ≤ 1,000,000 or missing)"
    assert words(Condition("a", ">", 1.0, or_missing=True), Condition("a", "≤", 5.0)) == (
        "1 &lt; a ≤ 5"
    )
    assert words(Condition("c", "is not", "x"), Condition("c", "is not", "y")) == "c is not x or y"
    assert words(Condition("c", "is not", "x"), Condition("c", "is", "y")) == "c is y"
    day = (date(2024, 2, 29) - date(1970, 1, 1)).days
    assert words(Condition("d", ">", day), dates=frozenset("d")) == "d &gt; 2024-02-29"
    assert words(Condition("y", ">", 2008.0), years=frozenset("y")) == "y &gt; 2008"
    assert words(Condition("y", ">", 2008.0)) == "y &gt; 2,008"


def test_years_have_no_thousands():
    columns = {
        "year": [2007, None, 2009],
        "grams": [1613, 2000, 4955],
        "share": [1950.5, 1900, 2000],
    }
    assert years_of(pl.DataFrame(columns, strict=False)) == {"year"}


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [1.0] * 300}),
        pl.DataFrame({"a": [None] * 300}, schema={"a": pl.Float64}),
        pl.DataFrame({"a": [1e308, -1e308] * 150}),
        pl.DataFrame({"a": [None, "x"] * 150}),
        pl.DataFrame({"a": [[1, 2]] * 300}),
        pl.DataFrame({"a": range(20)}),
    ],
    ids=["constant", "missing", "huge", "one category", "lists", "few rows"],
)
def test_columns_that_tell_nothing_do_no_harm(frame):
    risk = np.random.default_rng(0).gamma(1, 1, frame.height)
    for segment in find_segments(frame, risk, risk):
        assert segment.rows > 1
        assert segment.words()


@pytest.mark.parametrize(("low", "high"), [(60.97, 62.4), (-0.013, -0.0121), (5.0, 6.0), (0, 1e-9)])
def test_the_roundest_number_splits_as_any_other(low, high):
    found = roundest(low, high)
    assert low <= found < high
    digits = len(repr(found).replace("-", "").replace(".", "").strip("0").split("e")[0])
    assert digits <= 3


def test_the_same_rows_give_the_same_segments():
    frame = people(500, 0)
    risk = frame["age"].to_numpy() / 50.0
    assert find_segments(frame, risk, risk) == find_segments(frame, risk, risk)


# -- where the estimate is off ---------------------------------------------------------------------


def test_segments_where_the_risk_is_off_are_named_and_no_others():
    rng = np.random.default_rng(0)
    n = 3000
    frame = pl.DataFrame(
        {"city": rng.choice(["Oslo", "Rome", "Bern"], n), "age": rng.uniform(20, 70, n)}
    )
    risk = rng.uniform(0.1, 0.5, n)
    off = 0.2 * ((frame["city"] == "Rome") & (frame["age"] > 55)).to_numpy()
    loss = (rng.random(n) < risk + off).astype(float)
    report = report_from_arrays(loss, risk, frame=frame)
    names = [segment.name for segment in report.off_segments]
    assert "city = Rome" in names
    assert not {"city = Oslo", "city = Bern"} & set(names)
    assert "Where the estimate is off" in render(report)
    found = [
        report_from_arrays((rng.random(n) < risk).astype(float), risk, frame=frame).off_segments
        for _ in range(20)
    ]
    assert sum(map(bool, found)) <= 4  # 5 % are allowed
