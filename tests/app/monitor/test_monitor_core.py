"""Chunks, bands and the alarm, on arrays: against truth that is known, over many draws."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.stats import binomtest

from condrisk.app.models import fit_table
from condrisk.app.monitor import Reference, expected_loss, loss_alarm, monitor
from condrisk.app.monitor._alarm import BETS, mixed_evidence, scaled_excess
from condrisk.app.monitor._chunks import chunks_by_rows, chunks_by_time, read_times
from condrisk.app.tables import TableError, iter_batches

pytestmark = pytest.mark.usefixtures("quick_fits")


def draw(shape, rng, kind="squared", factor=1.0):
    """Return risks and losses whose conditional mean is `factor` times the risk."""
    g = np.exp(0.7 * rng.normal(size=shape))
    if kind == "zero_one":
        g = np.minimum(g / 10, 0.45)
        return g, (rng.random(shape) < factor * g).astype(float)
    if kind == "heavy":
        return g, factor * g * rng.standard_t(5, size=shape) ** 2 * 0.6
    return g, factor * g * rng.normal(size=shape) ** 2


KINDS = ["squared", "heavy", "zero_one"]


# -- chunks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "size", "sizes"), [(10, 4, [4, 4, 2]), (8, 4, [4, 4]), (3, 9, [3])])
def test_chunks_of_rows_are_all_rows_in_order(n, size, sizes):
    chunks = chunks_by_rows(n, size)
    assert [len(chunk.rows) for chunk in chunks] == sizes
    assert np.concatenate([chunk.rows for chunk in chunks]).tolist() == list(range(n))


def test_chunks_of_time_agree_with_the_calendar(seed):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2025-12-20") + rng.integers(0, 120, 500).astype("timedelta64[D]")
    times = pl.Series("t", days).cast(pl.Date)
    times = times.set(pl.Series(rng.random(500) < 0.1), None)
    chunks = chunks_by_time(times, "1mo")
    known = [value for value in times if value is not None]
    assert [chunk.name for chunk in chunks] == sorted({f"{day:%Y-%m}-01" for day in known})
    for chunk in chunks:
        inside = [times[int(row)] for row in chunk.rows]
        assert all(f"{day:%Y-%m}-01" == chunk.name for day in inside)
        assert inside == sorted(inside)
    assert sum(len(chunk.rows) for chunk in chunks) == len(known)


def test_weeks_begin_on_mondays_and_hours_are_kept():
    monday, sunday = date(2026, 11, 16), date(2026, 11, 15)
    chunks = chunks_by_time(pl.Series([monday, sunday]), "1w")
    assert [chunk.name for chunk in chunks] == ["2026-11-09", "2026-11-16"]
    text = pl.Series("t", ["2026-01-01T05:59:00Z", " 2026-01-01 06:00", "soon", None, "2026-01-01"])
    moments = read_times(text)
    day = datetime(2026, 1, 1)
    assert moments.to_list() == [
        day.replace(hour=5, minute=59),
        day.replace(hour=6),
        None,
        None,
        day,
    ]
    chunks = chunks_by_time(moments, "6h")
    assert [(c.name, c.rows.tolist()) for c in chunks] == [
        ("2026-01-01 00:00", [4, 0]),
        ("2026-01-01 06:00", [1]),
    ]


def test_text_with_an_offset_and_typed_moments_are_in_the_same_chunks(tmp_path):
    """Half past one in Athens is the day before in UTC, whatever the file says it in."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    rows = pl.DataFrame({"x": x, "y": x + rng.normal(size=400)})
    model = fit_table(rows[:300], target="y", cost=1.0, predictor="linear")
    days = [datetime(2026, 11, 1 + k // 10, 1, 30) for k in range(100)]
    typed = rows[300:].with_columns(t=pl.Series(days).dt.replace_time_zone("Europe/Athens"))
    text = pl.Series([f"{day:%Y-%m-%dT%H:%M}+02:00" for day in days])
    typed.write_parquet(tmp_path / "typed.parquet")
    written = rows[300:].with_columns(t=text)
    written.write_csv(tmp_path / "text.csv")
    written.write_csv(tmp_path / "commas.csv", separator=";", decimal_comma=True)
    found = [
        monitor(model, iter_batches(path), every="1d", time="t").to_dict()
        for path in sorted(tmp_path.iterdir())
    ]
    assert found[0] == found[1] == found[2]
    assert found[0]["chunks"][0]["name"] == "2026-10-31"


@pytest.mark.parametrize("every", ["", "1", "0d", "week", "-1d", "1s", "1d1h"])
def test_a_time_that_is_none_is_refused(every):
    with pytest.raises(TableError, match="every must be a time such as"):
        chunks_by_time(pl.Series([date(2026, 1, 1)]), every)


# -- reference ----------------------------------------------------------------------------------


def test_merging_keeps_the_moments_and_never_splits_equal_risks(seed):
    rng = np.random.default_rng(seed)
    risk = np.round(rng.exponential(size=1003), 1)
    loss = risk * rng.exponential(size=1003)
    reference = Reference.from_rows(risk, loss)
    for at_most, at_least in ((10, 1), (20, 30), (1, 1), (500, 400)):
        merged = reference.merged(at_most=at_most, at_least=at_least)
        assert merged.rows == 1003
        assert len(merged.n) <= at_most
        assert merged.n.min() >= at_least
        assert merged.mean_risk == pytest.approx(risk.mean())
        assert merged.mean_loss == pytest.approx(loss.mean())
        assert np.average(merged.square, weights=merged.n) == pytest.approx(np.mean(loss**2))
        assert (merged.low[1:] > merged.high[:-1]).all()
        counts = np.bincount(merged.group_of(risk), minlength=len(merged.n))
        assert counts.tolist() == merged.n.tolist()


# -- bands --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_the_band_covers_the_realised_mean_as_often_as_it_says(kind, tilt):
    """With the true risk; the new rows are as before, or riskier ones."""
    rng = np.random.default_rng(0)
    inside, narrow = [], []
    for _ in range(400):
        reference = Reference.from_rows(*draw(1000, rng, kind))
        risk, loss = draw(2000, rng, kind)
        rows = rng.choice(2000, 300, p=risk**tilt / np.sum(risk**tilt))
        expected = expected_loss(risk[rows], reference)
        # Losses anew, since a row may have been drawn twice.
        loss = draw_again(risk[rows], rng, kind)
        inside.append(expected.low <= loss.mean() <= expected.high)
        narrow.append((expected.high - expected.low) / expected.mean)
    assert 0.90 <= np.mean(inside) <= 0.995
    assert np.median(narrow) < 1.5


def draw_again(g, rng, kind):
    if kind == "zero_one":
        return (rng.random(len(g)) < g).astype(float)
    noise = (
        rng.standard_t(5, len(g)) ** 2 * 0.6 if kind == "heavy" else rng.normal(size=len(g)) ** 2
    )
    return g * noise


def test_the_band_is_wide_enough_for_a_risk_that_is_wrong_and_says_so(seed):
    rng = np.random.default_rng(seed)
    risk, loss = draw(4000, rng)
    wrong = Reference.from_rows(0.7 * risk, loss)
    right = Reference.from_rows(risk, loss)
    new, new_loss = draw(2000, rng)
    off, fine = expected_loss(0.7 * new, wrong), expected_loss(new, right)
    assert off.estimate > 3 * fine.estimate
    assert off.noise == pytest.approx(fine.noise, rel=0.3)
    assert off.low < new_loss.mean() < off.high


def test_parts_of_the_band_against_closed_forms():
    """Two risks, each with losses of known variance: the noise is what the formula gives."""
    risk = np.repeat([1.0, 4.0], 500)
    loss = risk + np.tile([-1.0, 1.0], 500) * np.where(risk == 1.0, 0.5, 2.0)
    reference = Reference.from_rows(risk, loss)
    new = np.repeat([1.0, 4.0], [90, 10])
    expected = expected_loss(new, reference)
    noise = np.sqrt((90 * 0.25 + 10 * 4.0) * 500 / 499) / 100
    assert expected.mean == pytest.approx(1.3)
    assert expected.noise == pytest.approx(noise)
    own = np.sqrt((0.25 + 4.0) / 4 / 499)
    assert expected.estimate == pytest.approx(own)
    assert expected.high - expected.mean == pytest.approx(1.959964 * np.hypot(noise, own))
    assert expected.rows == pytest.approx(np.std(new, ddof=1) / 10)
    # Beyond the largest risk seen the spread of the losses grows with the risk.
    twice = expected_loss(np.full(100, 8.0), reference)
    assert twice.noise == pytest.approx(2 * expected_loss(np.full(100, 4.0), reference).noise)


def test_no_band_goes_below_the_least_loss():
    reference = Reference.from_rows(np.ones(50), np.r_[np.zeros(49), 50.0])
    assert expected_loss(np.ones(3), reference).low == 0.0
    assert expected_loss(np.ones(3), reference, minimum=-100.0).low < 0.0


# -- alarm --------------------------------------------------------------------------------------


def alarms(kind, *, n_runs, n_held, n_chunks, n_rows, rng, factor=1.0, level=0.05):
    """Return in how many runs there is an alarm."""
    parts = np.split(np.arange(n_chunks * n_rows), n_chunks)
    found = []
    for _ in range(n_runs):
        reference = Reference.from_rows(*draw(n_held, rng, kind))
        risk, loss = draw(n_chunks * n_rows, rng, kind, factor)
        found.append(loss_alarm(loss, risk, parts, reference, level=level).first)
    return sum(first is not None for first in found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_held", [100, 1000])
def test_the_rate_of_false_alarms_holds_over_the_whole_sequence(kind, n_held):
    rng = np.random.default_rng(0)
    n_runs = 1000
    n = alarms(kind, n_runs=n_runs, n_held=n_held, n_chunks=20, n_rows=50, rng=rng)
    assert binomtest(n, n_runs, 0.05, alternative="greater").pvalue > 0.001


def test_the_mixture_alone_keeps_its_level_where_the_limit_is_the_truth():
    """Losses at the very edge of the hypothesis, 4,000 runs at once: Ville's inequality."""
    rng = np.random.default_rng(0)
    gains = np.empty((25, len(BETS), 4000))
    for c in range(25):
        risk, loss = draw((40, 4000), rng)
        excess = scaled_excess(loss, risk, 1.0, 0.0, 0.0)
        gains[c] = [np.log1p(bet * excess).sum(axis=0) for bet in BETS]
    evidence = mixed_evidence(gains)
    for level in (0.025, 0.1, 0.3):
        n = int((evidence.max(axis=0) >= 1 / level).sum())
        assert binomtest(n, 4000, level, alternative="greater").pvalue > 0.001
    assert evidence[0].mean() == pytest.approx(1.0, abs=0.1)  # a martingale: a fair game


@pytest.mark.parametrize("kind", KINDS)
def test_a_shift_is_found_and_not_before_it_is_there(kind):
    rng = np.random.default_rng(1)
    delays = []
    for _ in range(40):
        reference = Reference.from_rows(*draw(1000, rng, kind))
        before, after = draw(4000, rng, kind), draw(6000, rng, kind, 2.0)
        risk, loss = (np.concatenate(pair) for pair in zip(before, after, strict=True))
        found = loss_alarm(loss, risk, np.split(np.arange(10_000), 50), reference)
        delays.append(np.inf if found.first is None else found.first - 20)
    assert np.mean(np.array(delays) < 0) <= 0.1
    assert np.median(delays) <= 4
    assert np.mean(np.isfinite(delays)) >= 0.9


def test_smaller_losses_and_tolerated_ones_raise_no_alarm(seed):
    rng = np.random.default_rng(seed)
    reference = Reference.from_rows(*draw(1000, rng))
    parts = np.split(np.arange(4000), 20)
    risk, loss = draw(4000, rng)
    assert loss_alarm(0.5 * loss, risk, parts, reference).first is None
    assert loss_alarm(1.8 * loss, risk, parts, reference).first is not None
    assert loss_alarm(1.8 * loss, risk, parts, reference, tolerance=1.0).first is None


def test_the_evidence_is_the_mixture_written_out():
    rng = np.random.default_rng(0)
    reference = Reference.from_rows(*draw(500, rng))
    risk, loss = draw(30, rng)
    parts = [np.arange(10), np.arange(0), np.arange(10, 30)]
    found = loss_alarm(loss, risk, parts, reference)
    scale = reference.mean_risk
    u = (loss - risk) / (risk + scale)
    total = 0.0
    for begin, weight in ((0, 1 / 2), (10, 1 / 6), (10, 1 / 12)):
        bets = BETS / (1 + found.limit)
        total += weight * np.mean([np.prod(1 + b * (u[begin:] - found.limit)) for b in bets])
    assert found.evidence[-1] == pytest.approx(total + 1 / 4)
    assert found.threshold == 40.0


def test_losses_may_be_shifted_and_scaled(seed):
    rng = np.random.default_rng(seed)
    old, new = draw(500, rng), draw(2000, rng, factor=1.5)
    parts = np.split(np.arange(2000), 10)
    first = loss_alarm(new[1], new[0], parts, Reference.from_rows(*old))
    moved = Reference.from_rows(*(3 * part - 5 for part in old))
    second = loss_alarm(3 * new[1] - 5, 3 * new[0] - 5, parts, moved, minimum=-5.0)
    np.testing.assert_allclose(first.evidence, second.evidence, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 0.0}, "strictly between 0 and 1"),
        ({"tolerance": -0.1}, "tolerance must be a share"),
        ({"minimum": -np.inf}, "minimum must be finite"),
        ({"minimum": 1.0}, "loss must be at least minimum"),
    ],
)
def test_what_the_alarm_refuses(change, message):
    reference = Reference.from_rows(np.ones(50), np.ones(50))
    with pytest.raises(ValueError, match=message):
        loss_alarm([0.5], [0.5], [np.arange(1)], reference, **change)


def test_a_loss_that_never_was_there_raises_an_alarm_at_once():
    reference = Reference.from_rows(np.zeros(50), np.zeros(50))
    parts = [np.arange(10), np.arange(10, 20)]
    assert loss_alarm(np.zeros(20), np.zeros(20), parts, reference).first is None
    assert loss_alarm(np.eye(20)[15], np.zeros(20), parts, reference).first == 1


def test_the_limit_is_an_upper_confidence_limit_of_the_mean_excess():
    """By scipy, on held-out rows that are each a group of their own."""
    rng = np.random.default_rng(3)
    risk = rng.uniform(1, 3, size=150)
    loss = risk * rng.exponential(1.1, size=150)
    found = loss_alarm(loss[:10], risk[:10], [np.arange(10)], Reference.from_rows(risk, loss))
    excess = (loss - risk) / (risk + risk.mean())
    expected = stats.ttest_1samp(excess, 0.0).confidence_interval(0.95).high
    assert found.limit == pytest.approx(expected)
