"""Chunks, bands and the alarm, on arrays: against truth that is known, over many draws."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from condrisk.app.models import fit_table
from condrisk.app.monitor import Reference, TwoSampleTest, expected_loss, loss_alarm, monitor
from condrisk.app.monitor._chunks import read_times, starts_of
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


def test_stretches_of_time_agree_with_the_calendar(seed):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2025-12-20") + rng.integers(0, 120, 500).astype("timedelta64[D]")
    times = pl.Series("t", days).cast(pl.Date)
    times = times.set(pl.Series(rng.random(500) < 0.1), None)
    starts = starts_of(times, "1mo")
    for day, start in zip(times, starts, strict=True):
        assert (day is None) == (start is None)
        assert day is None or f"{start:%Y-%m-%d}" == f"{day:%Y-%m}-01"


def test_weeks_begin_on_mondays_and_hours_are_kept():
    monday, sunday = date(2026, 11, 16), date(2026, 11, 15)
    weeks = starts_of(pl.Series([monday, sunday]), "1w")
    assert weeks.dt.strftime("%Y-%m-%d").to_list() == ["2026-11-16", "2026-11-09"]
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
    assert read_times(pl.Series(["2026-02-30", "2026-02-28"])).to_list() == [
        None,
        datetime(2026, 2, 28),
    ]
    starts = starts_of(moments, "6h").drop_nulls().dt.hour().to_list()
    assert starts == [0, 6, 0]


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
        starts_of(pl.Series([date(2026, 1, 1)]), every)


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


def test_a_risk_that_was_wrong_everywhere_is_corrected(seed):
    rng = np.random.default_rng(seed)
    risk, loss = draw(4000, rng)
    wrong = Reference.from_rows(0.7 * risk, loss)
    right = Reference.from_rows(risk, loss)
    new, new_loss = draw(2000, rng)
    off, fine = expected_loss(0.7 * new, wrong), expected_loss(new, right)
    assert off.risk < 0.75 * fine.mean
    assert off.mean == pytest.approx(fine.mean, rel=0.1)
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
    assert expected.mean == pytest.approx(1.3)  # the risks were right: nothing to correct
    assert expected.risk == pytest.approx(1.3)
    assert expected.noise == pytest.approx(noise)
    # The level of the risk is known as well as 1,000 rows allow, in units of (r + 2.5)/2.
    units, share = np.array([1.75, 3.25]), np.array([1.75, 3.25]) / 5.0
    own = share**2 @ (np.array([0.25, 4.0]) / 499 / units**2)
    assert expected.estimate == pytest.approx((0.9 * 1.75 + 0.1 * 3.25) * np.sqrt(own))
    assert expected.rows == pytest.approx(np.std(new, ddof=1) / 10)
    half = expected.high - expected.mean
    assert half > 1.96 * np.hypot(expected.noise, expected.estimate)
    assert half < 2.0 * np.hypot(expected.noise, expected.estimate)
    # Beyond the largest risk seen the spread of the losses grows with the risk.
    twice = expected_loss(np.full(100, 8.0), reference)
    assert twice.noise == pytest.approx(2 * expected_loss(np.full(100, 4.0), reference).noise)


def test_of_two_levels_of_risk_each_is_corrected_by_its_own_error():
    """The losses of each are all alike, so nothing is left to chance and nothing is shrunk."""
    risk = np.repeat([1.0, 4.0], 100)
    reference = Reference.from_rows(risk, np.repeat([1.5, 3.0], 100))
    for level, mean in ((1.0, 1.5), (4.0, 3.0)):
        assert expected_loss(np.full(7, level), reference).mean == pytest.approx(mean)


def test_a_band_needs_two_held_out_rows():
    """The losses of one have no spread, and a band of no width would promise too much."""
    with pytest.raises(ValueError, match="at least two rows"):
        expected_loss([1.0], Reference.from_rows([1.0], [2.0]))
    two = expected_loss([1.0], Reference.from_rows([1.0, 1.0], [0.0, 2.0]))
    assert (two.mean, two.noise, two.estimate) == pytest.approx((1.0, np.sqrt(2), 1.0))


def test_a_level_that_was_off_is_corrected_and_a_shape_too(seed):
    """g is too low by a fifth for small risks and by half for large ones; rows are riskier now."""
    rng = np.random.default_rng(seed)
    wrong = lambda g: g * np.where(g > 1.5, 0.5, 0.8)  # noqa: E731
    old, new = draw(6000, rng), draw(6000, rng)
    reference = Reference.from_rows(wrong(old[0]), old[1])
    rows = rng.choice(6000, 4000, p=new[0] / new[0].sum())
    truth, expected = new[0][rows].mean(), expected_loss(wrong(new[0][rows]), reference)
    assert expected.risk < 0.7 * truth
    assert expected.mean == pytest.approx(truth, rel=0.12)
    assert expected.low < truth < expected.high


def test_a_risk_that_is_right_is_hardly_touched(seed):
    rng = np.random.default_rng(seed)
    reference = Reference.from_rows(*draw(500, rng))
    new = draw(2000, rng)[0]
    expected = expected_loss(new, reference)
    assert expected.mean == pytest.approx(new.mean(), rel=0.25)


def test_no_band_goes_below_the_least_loss():
    reference = Reference.from_rows(np.ones(50), np.r_[np.zeros(49), 50.0])
    assert expected_loss(np.ones(3), reference).low == 0.0
    assert expected_loss(np.ones(3), reference, minimum=-100.0).low < 0.0


def test_a_band_is_in_the_unit_of_the_losses():
    g, loss = draw(600, np.random.default_rng(3))
    one, other = (
        expected_loss(size * g[:200], Reference.from_rows(size * g, size * loss))
        for size in (1.0, 1024.0)
    )
    for name in ("estimate", "low", "high"):
        np.testing.assert_allclose(1024.0 * getattr(one, name), getattr(other, name))


# -- evidence -------------------------------------------------------------------------------------


def brute_force(test, reference, chunks, level):
    """Return the least over means of the largest capital so far, every product written out."""

    n_kinds, n_cells, _ = test._first.shape
    best = np.full(n_cells, 0.0)
    for k in range(n_cells):
        start = np.exp(test._first[:, k])  # with the shares of the stake
        # Nothing staked yet on new rows: the quick bets wait, the patient one begins at once.
        capital = [start[0].min() + start[1:].min(axis=1).sum()]
        for c in range(1, len(chunks) + 1):
            total = 0.0
            for kind in range(n_kinds):
                for begin in range(1, c + 1):
                    if kind == 0 and begin > 1:
                        continue
                    share = 1.0 if kind == 0 else 1 / (begin * (begin + 1))
                    rows = np.concatenate(chunks[begin - 1 : c])
                    ends = [
                        start[kind, e] * np.prod(1 + test.bets[kind, k] * (rows - test.ends[k, e]))
                        for e in (0, 1)
                    ]
                    total += share * min(ends)
            total += start[1:].min(axis=1).sum() / (c + 1)
            capital.append(total)
        best[k] = max(capital)
    return best.min()


def test_the_evidence_is_the_mixture_written_out():
    """On scores that lie on the grid, of which a histogram loses nothing."""
    rng = np.random.default_rng(0)
    reference = rng.choice([-0.25, 0.0, 0.25], 60, p=[0.3, 0.5, 0.2])
    chunks = [rng.choice([-0.25, 0.0, 0.25], 15, p=[0.1, 0.3, 0.6]) for _ in range(4)]
    test = TwoSampleTest(reference, low=-0.5, level=0.05)
    for k, rows in enumerate(chunks, start=1):
        found = test.update(test.gain_of(rows))
        assert found == pytest.approx(brute_force(test, reference, chunks[:k], 0.05), rel=1e-9)


def test_what_the_reference_wins_is_a_fair_game_under_every_mean():
    """At an end of a cell that is the true mean, the capital of each bet has expectation one."""
    from condrisk.app.monitor._evidence import PATIENT, QUICK

    rng = np.random.default_rng(0)
    shares = np.array([PATIENT, *[(1 - PATIENT) / len(QUICK)] * len(QUICK)])
    wins = []
    for _ in range(300):
        # Cells are fixed: 0 is an end of two of them, and the mean of these scores.
        test = TwoSampleTest(rng.choice([-0.2, 0.8], 40, p=[0.8, 0.2]), low=-0.5, level=0.2)
        k = int(np.flatnonzero(test.ends[:, 0] == 0.0)[0])
        wins.append(np.exp(test._first[:, k, 0]) / shares)
    mean, error = np.mean(wins, axis=0), np.std(wins, axis=0) / np.sqrt(len(wins))
    assert (np.abs(mean - 1) < 4 * error).all()


@pytest.mark.parametrize("n_large", [1, 200])
def test_no_bet_on_the_reference_loses_everything(n_large):
    """The worst order: after many small scores, on which bets have grown, the largest there is."""
    reference = np.sort(np.arange(400) < n_large).astype(float)
    test = TwoSampleTest(reference, low=-0.5, level=0.05)
    assert test.evidence > 0
    assert test.update(test.gain_of(reference)) > 0


def test_the_gain_of_a_chunk_is_that_of_its_parts_in_any_order(seed):
    rng = np.random.default_rng(seed)
    test = TwoSampleTest(rng.uniform(-0.3, 0.5, 200), low=-0.5, level=0.05)
    rows = rng.uniform(-0.7, 1.0, 500)
    whole = test.gain_of(rows)
    mixed = rng.permutation(rows)
    np.testing.assert_allclose(test.gain_of(mixed[:123]) + test.gain_of(mixed[123:]), whole)
    # The grid can only lower the capital, and hardly does.
    k, kind = 40, 0
    exact = np.log1p(test.bets[kind, k] * (rows.clip(-0.5) - test.ends[k, 1])).sum()
    assert exact - 1e-3 * len(rows) < whole[kind, k, 1] <= exact + 1e-9


def test_a_test_goes_on_from_its_state(seed):
    rng = np.random.default_rng(seed)
    reference = rng.uniform(-0.3, 0.5, 100)
    one, other = (TwoSampleTest(reference, low=-0.5, level=0.05) for _ in range(2))
    for _ in range(40):
        gain = one.gain_of(rng.uniform(-0.3, 0.6, 30))
        one.update(gain)
        fresh = TwoSampleTest(reference, low=-0.5, level=0.05)
        fresh.restore(other.state())
        assert fresh.update(gain) == one.evidence
        other = fresh


# -- alarm --------------------------------------------------------------------------------------


def alarms(kind, *, n_runs, n_held, n_chunks, n_rows, rng, factor=1.0, level=0.05, **options):
    """Return in how many runs there is an alarm."""
    parts = np.split(np.arange(n_chunks * n_rows), n_chunks)
    found = []
    for _ in range(n_runs):
        reference = Reference.from_rows(*draw(n_held, rng, kind))
        risk, loss = draw(n_chunks * n_rows, rng, kind, factor)
        found.append(loss_alarm(loss, risk, parts, reference, level=level, **options).first)
    return sum(first is not None for first in found)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("zero_one", {"maximum": 1.0}),
        ("squared", {}),
        ("heavy", {}),
        ("heavy", {"cap": 4.0}),
    ],
)
def test_the_rate_of_false_alarms_holds_over_the_whole_sequence(kind, options):
    """At a level of 0.3, where more than a tenth of runs would show an error of a factor of two."""
    rng = np.random.default_rng(0)
    runs = {"n_runs": 120, "n_held": 100, "n_chunks": 10, "n_rows": 100}
    n = alarms(kind, rng=rng, level=0.3, **runs, **options)
    assert binomtest(n, 120, 0.3, alternative="greater").pvalue > 0.001


def test_the_evidence_is_what_it_was_when_its_power_was_measured():
    """Other bets are as sound, but results/alarm_power.json is about these."""
    rng = np.random.default_rng(0)
    rare = TwoSampleTest((rng.random(400) < 0.1) - 0.1, low=-0.5, level=0.05)
    even = TwoSampleTest(rng.uniform(-0.3, 0.5, 300), low=-0.5, level=0.05)
    found = []
    for k in range(24):
        worse = k >= 15
        chunk = (rng.random(50) < (0.3 if worse else 0.1)) - 0.1
        found.append(rare.update(rare.gain_of(chunk)))
    expected = [9.049353107e-41, 1.641401093e-04, 6.403169777e02, 1.105197461e04]
    np.testing.assert_allclose(np.take(found, [0, 10, 18, 23]), expected, rtol=1e-6)
    for k in range(24):
        found[k] = even.update(even.gain_of(rng.uniform(-0.3, 0.8 if k >= 15 else 0.5, 50)))
    expected = [1.478682641e-12, 1.496751475e-04, 5.087189012e02, 9.967307708e05]
    np.testing.assert_allclose(np.take(found, [0, 10, 18, 23]), expected, rtol=1e-6)


@pytest.mark.parametrize("level", [1e-6, 0.5, 0.75, 0.999])
def test_any_probability_of_a_false_alarm_can_be_asked_for(level):
    rng = np.random.default_rng(0)
    test = TwoSampleTest(rng.uniform(-0.3, 0.5, 300), low=-0.5, level=level)
    assert test.update(test.gain_of(rng.uniform(-0.3, 0.5, 50))) > 0
    assert test.evidence < test.threshold
    for _ in range(3):
        test.update(test.gain_of(np.full(500, 0.5)))
    assert test.evidence > test.threshold


def test_a_quiet_reference_by_chance_raises_no_alarm():
    """Of 100 held-out rows one was wrong where eight would be usual: no reason to believe it."""
    rng = np.random.default_rng(0)
    risk = np.full(100, 0.08)
    reference = Reference.from_rows(risk, np.eye(100)[0])
    new = (rng.random(3000) < 0.03).astype(float)
    parts = np.split(np.arange(3000), 30)
    found = loss_alarm(new, np.full(3000, 0.08), parts, reference, maximum=1.0)
    assert found.first is None
    assert found.kind == "bounded"


@pytest.mark.parametrize("kind", KINDS)
def test_a_shift_is_found_and_not_before_it_is_there(kind):
    rng = np.random.default_rng(1)
    delays = []
    options = {"maximum": 1.0} if kind == "zero_one" else {}
    for _ in range(15):
        reference = Reference.from_rows(*draw(1000, rng, kind))
        before, after = draw(2000, rng, kind), draw(4000, rng, kind, 2.0)
        risk, loss = (np.concatenate(pair) for pair in zip(before, after, strict=True))
        parts = np.split(np.arange(6000), 30)
        found = loss_alarm(loss, risk, parts, reference, **options)
        delays.append(np.inf if found.first is None else found.first - 10)
    assert np.sum(np.array(delays) < 0) <= 2
    assert np.median(delays) <= 5
    assert np.mean(np.isfinite(delays)) >= 0.9


def test_smaller_losses_and_tolerated_ones_raise_no_alarm(seed):
    rng = np.random.default_rng(seed)
    reference = Reference.from_rows(*draw(1000, rng))
    parts = np.split(np.arange(4000), 20)
    risk, loss = draw(4000, rng)
    for options in ({}, {"cap": 20.0}):
        assert loss_alarm(0.5 * loss, risk, parts, reference, **options).first is None
        assert loss_alarm(1.8 * loss, risk, parts, reference, **options).first is not None
        tolerant = loss_alarm(1.8 * loss, risk, parts, reference, tolerance=1.0, **options)
        assert tolerant.first is None


@pytest.mark.parametrize("options", [{}, {"cap": 9.0}])
def test_losses_may_be_shifted_and_scaled(seed, options):
    rng = np.random.default_rng(seed)
    old, new = draw(500, rng), draw(2000, rng, factor=1.5)
    parts = np.split(np.arange(2000), 10)
    first = loss_alarm(new[1], new[0], parts, Reference.from_rows(*old), **options)
    moved = Reference.from_rows(*(3 * part - 5 for part in old))
    options = {key: 3 * value - 5 for key, value in options.items()}
    second = loss_alarm(3 * new[1] - 5, 3 * new[0] - 5, parts, moved, minimum=-5.0, **options)
    np.testing.assert_allclose(first.evidence, second.evidence, rtol=1e-6)


def test_a_huge_loss_is_one_loss():
    """One loss a million times the others is no evidence of all being larger."""
    rng = np.random.default_rng(0)
    reference = Reference.from_rows(*draw(500, rng))
    risk, loss = draw(1000, rng)
    loss[7] = 1e6
    parts = np.split(np.arange(1000), 10)
    for options in ({}, {"cap": 20.0}):
        assert loss_alarm(loss, risk, parts, reference, **options).first is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 0.0}, "strictly between 0 and 1"),
        ({"tolerance": -0.1}, "tolerance must be a share"),
        ({"minimum": -np.inf}, "minimum must be finite"),
        ({"minimum": 1.0}, "loss must be at least minimum"),
        ({"cap": 0.0}, "cap must be a loss above the least one"),
    ],
)
def test_what_the_alarm_refuses(change, message):
    reference = Reference.from_rows(np.ones(50), np.ones(50))
    with pytest.raises(ValueError, match=message):
        loss_alarm([0.5], [0.5], [np.arange(1)], reference, **change)


def test_few_held_out_rows_are_refused():
    reference = Reference.from_rows(np.ones(19), np.ones(19))
    with pytest.raises(ValueError, match="needs at least 20"):
        loss_alarm([0.5], [0.5], [np.arange(1)], reference)


def test_losses_where_there_never_were_any_raise_an_alarm():
    reference = Reference.from_rows(np.zeros(300), np.zeros(300))
    parts = np.split(np.arange(300), 10)
    for options in ({}, {"maximum": 1.0}):
        quiet = loss_alarm(np.zeros(300), np.zeros(300), parts, reference, **options)
        assert quiet.first is None
        loud = loss_alarm(np.ones(300), np.zeros(300), parts, reference, **options)
        assert loud.first is not None
