"""Monitoring of tables: what is found, what is said, and what is left out."""

import json
import math
import re
from dataclasses import FrozenInstanceError, asdict, replace
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator

from condrisk import Deferral
from condrisk.app.models import fit_table, open_model
from condrisk.app.monitor import Reference, expected_loss, monitor
from condrisk.app.tables import TableError, check_rows

pytestmark = pytest.mark.usefixtures("quick_fits")


def make(n, seed, *, shift=0.0, noise=1.0):
    """Rows whose noise grows with x: a date, a category, a gap now and then."""
    rng = np.random.default_rng(seed)
    x = np.clip(rng.normal(shift, 1, n), -3, 3) if shift == 0 else rng.normal(shift, 1, n)
    kind = rng.choice(["a", "b"], n)
    y = x + (kind == "b") + noise * np.exp(x / 2) * rng.normal(size=n)
    return pl.DataFrame(
        {
            "x": [None if k % 23 == 0 else float(v) for k, v in enumerate(x)],
            "kind": kind,
            "day": [date(2026, 1, 1) + timedelta(days=k // 20) for k in range(n)],
            "y": y,
        }
    )


@pytest.fixture(scope="module")
def model():
    rows = make(1500, 0).drop("day")
    return fit_table(rows, target="y", cost=1.0, predictor="linear")


def test_figures_are_those_of_the_model(model):
    frame = make(600, 1)
    found = monitor(model, frame, rows=250)
    assert [chunk.rows for chunk in found.chunks] == [250, 250, 100]
    good = check_rows(model.schema, frame).good
    decision, loss = model.decide(good), model.loss_values(good, frame["y"])
    reference = Reference.from_manifest(model.manifest)
    assert reference.row_loss.mean() == pytest.approx(reference.mean_loss)
    for chunk, part in zip(found.chunks, np.split(np.arange(600), [250, 500]), strict=True):
        expected = expected_loss(decision.risk[part], reference)
        assert asdict(chunk.expected) == pytest.approx(asdict(expected))
        assert chunk.realised == pytest.approx(loss[part].mean())
        assert chunk.labelled == chunk.rows
    held_out = model.manifest["evaluation"]
    assert found.reference["mean_loss"] == pytest.approx(held_out["never"]["value"])
    assert found.reference["rows"] == held_out["rows"]


def test_quiet_rows_raise_nothing_and_worse_ones_an_alarm(model):
    quiet = monitor(model, make(2000, 2), rows=500)
    assert quiet.alarm is None
    assert not any(chunk.notes for chunk in quiet.chunks)
    loud = monitor(model, pl.concat([make(1000, 3), make(1000, 4, noise=2.0)]), rows=250)
    first = next(k for k, chunk in enumerate(loud.chunks) if chunk.alarm)
    assert loud.chunks[first].name == loud.alarm
    assert 4 <= first <= 5
    assert all(chunk.alarm for chunk in loud.chunks[first:])
    assert loud.chunks[first].evidence >= loud.threshold == pytest.approx(20.0)
    assert loud.chunks[-1].in_band is False


def assert_alike(one, other):
    """Compare plain data: numbers but for rounding, since sums are made in another order."""
    if isinstance(other, dict):
        assert one.keys() == other.keys()
        for key in other:
            assert_alike(one[key], other[key])
    elif isinstance(other, list):
        assert len(one) == len(other)
        for part, like in zip(one, other, strict=True):
            assert_alike(part, like)
    elif isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9)
    else:
        assert one == other


def test_batches_make_no_difference(model):
    frame = make(700, 5)
    whole = monitor(model, frame, rows=200).to_dict()
    parts = [frame[start : start + 150] for start in range(0, 700, 150)]
    seen = []
    assert_alike(monitor(model, iter(parts), rows=200, progress=seen.append).to_dict(), whole)
    assert seen == [150, 300, 450, 600, 700]


def test_what_was_found_stays_as_it_is(model):
    found = monitor(model, make(200, 5))
    with pytest.raises(FrozenInstanceError):
        found.overall.rows = 0


def test_text_as_a_csv_file_has_it_makes_no_difference(model):
    frame = make(300, 5)
    text = frame.select(pl.all().cast(pl.String).fill_null("NA"))
    a = monitor(model, frame, every="1w", time="day")
    b = monitor(model, text, every="1w", time="day")
    assert a.to_dict() == b.to_dict()


def test_time_orders_the_rows_whatever_their_order_in_the_table(model, seed):
    frame = make(600, 6)
    order = np.random.default_rng(seed).permutation(600)
    a = monitor(model, frame, every="1w", time="day")
    b = monitor(model, frame[order], every="1w", time="day")
    assert [chunk.name for chunk in a.chunks] == [chunk.name for chunk in b.chunks]
    for one, other in zip(a.chunks, b.chunks, strict=True):
        assert one.rows == other.rows
        assert one.realised == pytest.approx(other.realised)
        assert one.evidence == pytest.approx(other.evidence)


def test_labels_that_come_late_are_compared_with_their_own_rows(model):
    frame = make(400, 7)
    labelled = np.arange(400) < 300
    frame = frame.with_columns(pl.when(pl.Series(labelled)).then("y").alias("y"))
    found = monitor(model, frame, rows=200)
    first, second = found.chunks
    assert (first.labelled, second.labelled) == (200, 100)
    assert first.expected == first.expected_labelled
    half = monitor(model, frame[200:300], rows=200).chunks[0]
    assert second.expected_labelled == half.expected
    assert second.realised == pytest.approx(half.realised)
    without = monitor(model, frame.drop("y"), rows=200)
    assert (without.alarm, without.threshold) == (None, None)
    assert without.chunks[0].expected == first.expected
    assert without.chunks[0].realised is None
    assert without.chunks[0].in_band is None


def test_rows_beyond_what_was_seen_are_told_with_the_column(model):
    frame = make(1000, 8)
    frame = frame.with_columns(
        x=pl.when(pl.int_range(1000) >= 500).then(pl.lit(9.0)).otherwise("x"),
        kind=pl.when(pl.int_range(1000) >= 750).then(pl.lit("new")).otherwise("kind"),
    )
    found = monitor(model, frame, rows=250)
    shares = [chunk.outside for chunk in found.chunks]
    assert max(shares[:2]) < 0.02
    assert shares[2:] == [1.0, 1.0]
    assert not found.chunks[0].notes
    assert "100 % of the rows are outside the region" in found.chunks[3].notes[0]
    assert "'x', 'kind'" in found.chunks[3].notes[0]
    assert "riskier" in found.chunks[3].notes[1]


def test_that_time_goes_on_is_no_drift(model):
    """The model has a column of dates; all new rows are later than any that it has seen."""
    later = make(1000, 8).with_columns(pl.col("day") + timedelta(days=400))
    found = monitor(model, later, every="1w", time="day")
    assert not found.drifted
    assert max(chunk.outside for chunk in found.chunks) < 0.05
    on_losses, on_drift = found.verdict()
    assert on_drift.text.startswith(f"No drift in {len(found.chunks)} chunks")
    assert on_losses.text.startswith("No alarm")


def test_drift_is_one_sentence_however_many_chunks_have_it(model):
    frame = make(1000, 8).with_columns(kind=pl.lit("new"))
    found = monitor(model, frame, rows=100)
    assert len(found.drifted) == 10
    (said,) = (sentence for sentence in found.verdict() if "rift" in sentence.text)
    assert said.text.startswith("Drift in 10 of 10 chunks (1–100 and 9 more)")
    assert said.text.count("'kind'") == 1
    assert found.to_dict()["verdict"][1] == said.text.replace("\u00a0", " ")


def test_missing_where_nothing_was_missing_is_outside(model):
    frame = make(300, 9).with_columns(kind=pl.lit(None, dtype=pl.String))
    assert monitor(model, frame, rows=300).chunks[0].outside == 1.0
    frame = make(300, 9).with_columns(x=pl.lit(None, dtype=pl.Float64))  # here gaps were usual
    assert monitor(model, frame, rows=300).chunks[0].outside == 0.0


def test_drift_within_every_range_is_seen_with_the_rows_fitted_on():
    """Rows off the line on which all rows lay: no column alone shows it."""
    rng = np.random.default_rng(0)

    def line(n, sign):
        a = rng.uniform(-1, 1, n)
        b = sign * a + 0.05 * rng.normal(size=n)
        return pl.DataFrame({"a": a, "b": b.clip(-1, 1), "y": a + rng.normal(size=n)})

    train = line(1000, 1)
    model = fit_table(train, target="y", cost=1.0, predictor="linear")
    new = line(400, -1)
    assert monitor(model, new, rows=400).chunks[0].outside < 0.2
    by_support = monitor(model, new, rows=400, reference=train).chunks[0]
    assert by_support.outside > 0.7
    assert "outside the region" in by_support.notes[0]
    alike = monitor(model, line(400, 1), rows=400, reference=train).chunks[0]
    assert alike.outside < 0.04
    assert not alike.notes


def test_notes_on_drift_are_rare_where_there_is_none(model):
    runs = [monitor(model, make(1000, seed), rows=250) for seed in range(100, 140)]
    noted = [any(chunk.notes for chunk in run.chunks) for run in runs]
    assert np.mean(noted) <= 0.15


def test_rows_that_cannot_be_used_are_counted(model):
    frame = make(100, 10).with_columns(x=pl.col("x").cast(pl.String))
    frame = frame.with_columns(
        x=pl.when(pl.int_range(100) % 50 == 7).then(pl.lit("?")).otherwise("x")
    )
    found = monitor(model, frame, rows=1000)
    assert found.chunks[0].rows == 98
    assert found.notes == (
        "2 rows cannot be used and are left out; in row 8 column 'x' holds '?', but it must be a "
        "number.",
    )


def test_everything_is_plain_data(model):
    found = monitor(model, make(201, 11), rows=200)
    text = json.dumps(found.to_dict(), allow_nan=False)
    plain = json.loads(text)
    assert plain["chunks"][1]["expected"]["rows"] is None  # one row has no spread
    assert plain["chunks"][0]["realised"] == found.chunks[0].realised
    assert math.isfinite(plain["threshold"])


def test_classes_and_predictions_from_elsewhere_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    label = np.where(rng.random(2000) < 1 / (1 + np.exp(-2 * x)), "yes", "no")
    said = np.where(x > 0, "yes", "no")
    frame = pl.DataFrame({"x": x, "said": said, "label": label})
    for extra in ({"predictor": "linear"}, {"predictions": "said"}):
        model = fit_table(frame[:1000], target="label", cost=0.2, **extra)
        quiet = monitor(model, frame[1000:], rows=250)
        assert quiet.alarm is None
        assert quiet.loss == "zero_one"
        flipped = pl.col("label").replace({"yes": "no", "no": "yes"})
        loud = monitor(model, frame[1000:].with_columns(flipped), rows=250)
        assert loud.alarm == loud.chunks[0].name
        # A share of wrong answers is at most one, however few rows a chunk has.
        few = monitor(model, frame[1000:1030], rows=1)
        assert max(chunk.expected.high for chunk in few.chunks) == 1.0


def test_losses_above_their_band_are_told_without_an_alarm_too(model):
    found = monitor(model, make(400, 1).drop("day"), rows=100)
    chunks = [replace(found.chunks[0], realised=1e6), *found.chunks[1:]]
    said = replace(found, chunks=tuple(chunks), alarm=None).verdict()[0]
    assert said.text.startswith(
        "No alarm, but in 1 of 4 chunks the realised loss is above its band"
    )
    assert said.kind == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 10, "every": "1d", "time": "day"}, "rows and every are two ways"),
        ({"every": "1d"}, "every and time belong together"),
        ({"time": "day"}, "every and time belong together"),
        ({"every": "1d", "time": "when"}, "no column 'when' with times"),
        ({"every": "1d", "time": "x"}, "must hold dates or moments"),
        ({"every": "1d", "time": "kind"}, "has no time such as 2026-11-15"),
        ({"rows": 0}, "rows must be at least 1"),
        ({"false_alarms": 1.0}, "false_alarms must lie between 0 and 1"),
    ],
)
def test_what_is_refused(model, options, message):
    with pytest.raises(TableError, match=message):
        monitor(model, make(50, 0), **options)


def test_an_empty_table_is_refused(model):
    with pytest.raises(TableError, match="no row that the model can use"):
        monitor(model, make(50, 0)[:0])


def test_the_figure_shows_what_was_found(model):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    frame = pl.concat([make(600, 3), make(600, 4, noise=2.0)])
    found = monitor(model, frame, rows=200)
    ax = found.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"expected loss", "95 % band", "realised loss", "alarm"} <= set(labels)
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    inside = [chunk.realised for chunk in found.chunks if chunk.in_band]
    assert list(drawn["realised loss"]) == inside
    assert ax.get_ylabel() == "mean squared error"
    only = monitor(model, frame.drop("y"), rows=2000).plot()
    assert "alarm" not in [text.get_text() for text in only.get_legend().get_texts()]
    plt.close("all")


def test_a_note_on_drift_has_to_stand_out_among_all_chunks(model):
    """What is worth a note in one chunk may come by chance in one of forty."""
    quiet = [make(100, 500 + k) for k in range(39)]
    alone, among = [], []
    for shift in np.linspace(0.1, 1.2, 12):
        last = make(100, 7).with_columns(pl.col("x") + shift)
        alone.append(bool(monitor(model, last, rows=100).chunks[0].notes))
        whole = monitor(model, pl.concat([*quiet, last]), rows=100)
        among.append(bool(whole.chunks[-1].notes))
    assert alone[-1]
    assert among[-1]  # a drift that is plain is noted in any company
    assert sum(among) < sum(alone)


def test_a_model_that_was_not_measured_needs_rows_with_targets():
    frame = make(300, 1).select("x", "kind", "y")
    model = fit_table(frame, target="y", cost=1.0, predictor="linear", holdout=0)
    for reference in (None, make(100, 2).select("x", "kind")):
        with pytest.raises(TableError, match=r"give reference \(--reference\), rows with targets"):
            monitor(model, make(100, 3), reference=reference)
    held = make(100, 2)
    found = monitor(model, make(100, 3), reference=held)
    good = check_rows(model.schema, held).good
    assert found.reference["mean_loss"] == pytest.approx(model.loss_values(good, held["y"]).mean())


class Known(BaseEstimator):
    """A risk that leaves nothing to chance where y is x: the loss is |y|, and the risk |x|."""

    def fit(self, X, y, *, sample_weight=None, prediction=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X, *, prediction=None):
        return np.zeros(len(X))

    def predict_risk(self, X, *, prediction=None):
        return np.abs(np.asarray(X)[:, 0])

    def loss_values(self, X, y, *, prediction=None):
        return np.abs(np.asarray(y))


def constant(value, n_rows=60):
    """Rows that differ in a column which is of no account."""
    x = np.full(n_rows, value)
    return np.column_stack([x, np.random.default_rng(0).normal(size=n_rows)]), x


def test_any_difference_is_one_where_nothing_varies():
    deferral = Deferral(Known(), cost=0.5).fit(*constant(1.0))
    for value, wanted in ((1.0, False), (2.0, True)):
        found = monitor(deferral, constant(value), reference=constant(1.0))
        notes = found.chunks[0].notes
        assert any(note.startswith("rows are riskier than") for note in notes) == wanted, notes
        assert (found.reference["mean_loss"], found.chunks[0].realised) == (1.0, value)


def test_reference_may_be_a_tuple_for_every_kind_of_model():
    """Its X tells the columns of a fitted model; a table model has its own."""
    X, y = constant(1.0)
    deferral = Deferral(Known(), cost=0.5).fit(X, y)
    found = monitor(deferral, (X, y), reference=(X, y))
    table = open_model(deferral, schema=X)
    assert monitor(table, (X, y), reference=(X, y)).to_dict() == found.to_dict()


@pytest.mark.parametrize("n_known", [0, 1])
def test_reference_needs_two_targets(n_known):
    X, y = constant(1.0)
    deferral = Deferral(Known(), cost=0.5).fit(X, y)
    y = np.where(np.arange(60) < n_known, y, np.nan)
    with pytest.raises(TableError, match="reference must have at least two rows with a target"):
        monitor(deferral, (X, y), reference=(X, y))


# -- what happened --------------------------------------------------------------------------------


def test_y_given_x_has_moved(model):
    found = monitor(model, pl.concat([make(500, 21), make(1500, 22, noise=2.5)]), rows=500)
    assert found.alarm is not None
    assert found.overall.cause == "y given x"
    assert found.overall.y_part > 0
    said = found.verdict()[-1].text
    assert "Y given x has moved" in said
    assert "the realised one differs from what was expected by +" in said


def test_losses_far_below_the_risk_may_be_those_of_rows_fitted_on(model):
    found = monitor(model, make(2000, 22, noise=0.3), rows=500)
    assert found.overall.cause == "y given x"
    assert found.verdict()[-1].text.endswith(
        "rows that the model was fitted on look like this, too."
    )
    assert "fitted on" not in monitor(model, make(2000, 22, noise=2.5), rows=500).verdict()[-1].text


def test_x_has_moved_and_which_column_explains_it(model):
    """x moves within its range, kind does not; the risk grows with x."""
    rng = np.random.default_rng(0)
    frame = make(6000, 23)
    chance = 1 / (1 + np.exp(-3 * frame["x"].fill_null(0.0).to_numpy()))
    frame = frame.filter(pl.Series(rng.random(6000) < chance))
    found = monitor(model, frame, rows=1000)
    assert found.overall.cause in ("x", "unknown")
    assert found.overall.moved[0].name == "x"
    assert "kind" not in {column.name for column in found.overall.moved}
    assert found.overall.moved[0].explained == pytest.approx(found.overall.x_part, rel=0.4)
    assert found.overall.x_part > 0
    without = monitor(model, frame.drop("y"), rows=1000)
    assert without.overall.cause == "x"
    assert "cannot be seen without labels" in without.verdict()[-1].text


def test_a_note_names_three_of_the_columns_that_have_moved_and_counts_the_others():
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(rng.uniform(-1, 1, (2400, 5)), schema=list("abcde"))
    rows = rows.with_columns(y=pl.col("e") + rng.normal(size=2400))
    model = fit_table(rows[:1200], target="y", cost=1.0, predictor="linear")
    for n_moved, more in ((3, ""), (4, " and 1 more")):
        new = rows[1200:].with_columns(pl.col(list("abcd")[:n_moved]).abs())
        note = monitor(model, new, rows=1200).chunks[0].notes[-1]
        assert re.fullmatch(f"('[abcd]', ){{2}}'[abcd]'{more} are distributed otherwise", note)


def test_nothing_has_happened_and_without_labels_that_is_not_known(model):
    frame = make(2000, 24)
    assert monitor(model, frame, rows=500).overall.cause == "none"
    without = monitor(model, frame.drop("y"), rows=500)
    assert without.overall.cause == "unknown"
    assert "In x nothing" in without.verdict()[-1].text


def test_the_claim_says_what_is_sure(model):
    frame = make(500, 25)
    sure = "False-alarm probability over the whole run: at most 5 %"
    relative = monitor(model, frame)
    assert relative.kind == "relative"
    assert relative.claim.startswith(f"{sure}, of a test whether losses are exchangeable")
    capped = monitor(model, frame, cap=9.0)
    assert (capped.kind, capped.claim) == ("capped", f"{sure}, for losses up to the cap of 9")
    assert monitor(model, frame.drop("y")).claim is None
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    rows = pl.DataFrame({"x": x, "label": np.where(rng.random(600) < 0.8, x > 0, x < 0)})
    wrong = fit_table(rows[:400], target="label", cost=0.2, predictor="linear")
    bounded = monitor(wrong, rows[400:])
    assert (bounded.kind, bounded.claim) == ("bounded", sure)
    assert sure in bounded.verdict()[0].text


def test_without_single_held_out_rows_there_is_no_alarm_and_no_claim(model):
    from condrisk.app.models import TableModel

    older = TableModel(model.model, model.manifest | {"held_out": None})
    found = monitor(older, make(500, 26))
    assert (found.alarm, found.threshold, found.claim) == (None, None, None)
    assert "needs at least 20 held-out rows one by one" in found.notes[0]
    assert "probability" not in " ".join(sentence.text for sentence in found.verdict())


# -- the page -------------------------------------------------------------------------------------


def test_the_page_has_verdict_figure_and_chunks_and_loads_nothing(model):
    pytest.importorskip("matplotlib")
    frame = pl.concat([make(600, 3), make(600, 4, shift=0.8, noise=2.0)])
    labelled = pl.int_range(1200) < 1000  # the labels of the last chunk are still to come
    frame = frame.with_columns(pl.when(labelled).then("y").alias("y"))
    found = monitor(model, frame, rows=200)
    html = found.to_html()
    for sentence in found.verdict():
        assert sentence.text.split(":")[0].split("'")[0] in html
    lines = re.findall("<tr class=.*", html)
    assert len(lines) == len(found.chunks)
    for chunk, line in zip(found.chunks[::-1], lines, strict=True):
        name, rows, mean, _, realised, *_ = re.findall("<td>(.*?)</td>", line)
        assert (name, rows) == (chunk.name, "200")
        assert float(mean) == pytest.approx(chunk.expected.mean, rel=0.01)
        if chunk.labelled:
            assert float(realised) == pytest.approx(chunk.realised, rel=0.01)
        else:
            assert realised == ""
    assert "<svg" in html
    assert "currentColor" in html
    assert "#000000" not in html
    assert not any(f'{kind}="http' in html.split("<svg")[0] for kind in ("src", "href"))
    assert "columns that moved" in html


def test_what_comes_from_a_table_is_escaped_on_the_page(model):
    pytest.importorskip("matplotlib")
    found = monitor(model, make(200, 3), rows=100)
    hostile = replace(found.chunks[0], name="<script>alert(1)</script>")
    html = replace(found, chunks=(hostile, *found.chunks[1:])).to_html()
    assert "<script>" not in html


def test_the_figure_has_room_for_all_chunks_and_the_columns_that_moved_most_on_top(model):
    found = monitor(model, make(1500, 5, shift=1.5).with_columns(kind=pl.lit("a")), rows=50)
    moved = {}
    for chunk in found.chunks:
        for column in chunk.moved:
            moved[column.name] = moved.get(column.name, 0.0) + abs(column.explained)
    figure = found.plot_all()
    columns = figure.axes[-1]
    assert len(moved) > 1
    assert [text.get_text() for text in columns.get_yticklabels()] == sorted(moved, key=moved.get)
    assert columns.get_xlim() == (-0.5, len(found.chunks) - 0.5)
    names = [chunk.name for chunk in found.chunks[::3]]  # of thirty, there is room for twelve
    assert [text.get_text() for text in columns.get_xticklabels()] == names
    assert figure.get_figwidth() == 6.8 + 0.25 * (len(found.chunks) - 12)
    assert monitor(model, make(1500, 5), rows=15).plot_all().get_figwidth() == 14
