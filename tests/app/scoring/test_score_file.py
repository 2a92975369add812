"""Files scored in batches: against the model asked at once, with whatever stands in the rows."""

import json
import threading
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from pyarrow import parquet
from scoring_rows import class_model, expected, make_rows, number_model, risk_only_model
from sklearn.linear_model import LinearRegression

from condrisk import RegressionRisk
from condrisk.app.scoring import score_file
from condrisk.app.scoring._read_ahead import read_ahead
from condrisk.app.tables import TableError, TableWriter, read_table

pytestmark = pytest.mark.usefixtures("quick_fits")

ROWS = make_rows(230)
WRITERS = {"csv": "write_csv", "parquet": "write_parquet", "arrow": "write_ipc"}


def put(rows, path):
    getattr(rows, WRITERS[path.suffix[1:]])(path)
    return path


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("given", WRITERS)
def test_every_format_into_every_other(tmp_path, given, ending):
    model = number_model()
    source = put(ROWS, tmp_path / f"rows.{given}")
    output = tmp_path / f"scored.{ending}"
    summary = score_file(model, source, output, batch_rows=64)
    wanted = expected(model, ROWS)
    assert_frame_equal(read_table(output), wanted)
    assert (summary.rows, summary.scored, summary.rejected) == (230, 230, 0)
    assert summary.deferred == wanted["defer"].sum() > 0
    assert summary.mean_risk == pytest.approx(wanted["risk"].mean())
    assert summary.batches == 4
    assert summary.rejects is None
    assert {path.name for path in tmp_path.iterdir()} == {
        source.name,
        output.name,
        f"{output.name}.json",
    }


@pytest.mark.parametrize("make", [number_model, class_model, risk_only_model])
@pytest.mark.parametrize("batch_rows", [1, 7, 1000])
def test_any_model_and_any_size_of_batches(tmp_path, make, batch_rows):
    model = make()
    rows = ROWS[:40]
    if make is risk_only_model:
        rows = rows.with_columns(prediction=pl.col("size"))
    source = put(rows, tmp_path / "rows.parquet")
    score_file(model, source, tmp_path / "scored.parquet", batch_rows=batch_rows)
    assert_frame_equal(read_table(tmp_path / "scored.parquet"), expected(model, rows))


def test_boosted_models_say_the_same_in_any_number_of_threads(tmp_path):
    model = number_model("boosting")
    source = put(ROWS, tmp_path / "rows.csv")
    for threads in (1, 3):
        score_file(model, source, tmp_path / f"{threads}.csv", batch_rows=20, threads=threads)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "3.csv").read_bytes()
    assert_frame_equal(read_table(tmp_path / "1.csv"), expected(model, ROWS))


def test_text_of_csv_stays_as_it_is(tmp_path):
    lines = ["size;age;city;member;since;code", '1.50;;" Bern ";yes;2020-03-01;"0,70"']
    (tmp_path / "rows.csv").write_text("\n".join([*lines, "2E0;31;Rome;0;2020-03-02;\n"]))
    summary = score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    first, second = (tmp_path / "scored.csv").read_text().splitlines()[1:]
    assert first.startswith("1.50;; Bern ;yes;2020-03-01;0,70;")
    assert second.startswith("2E0;31;Rome;0;2020-03-02;;")
    assert (first[-1], second.rpartition(";")[2]) == (";", "city")
    assert summary.unseen == {"city": 1}
    stripped = ROWS[:1].with_columns(size=1.5, age=pl.lit(None, pl.Int64), city=pl.lit("Bern"))
    stripped = stripped.with_columns(member=True, since=pl.date(2020, 3, 1))
    risk = expected(number_model(), stripped)["risk"][0]
    assert float(first.split(";")[-3]) == pytest.approx(risk)


def test_what_had_to_be_guessed_is_told(tmp_path):
    text = "size,age,city,member,since\n1,2,Genève,1,2020-03-01\n"
    (tmp_path / "rows.csv").write_bytes(text.encode("latin-1"))
    summary = score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    assert summary.notes == [f"{tmp_path / 'rows.csv'} is not UTF-8; it is read as Windows-1252"]
    assert not summary.unseen
    assert "Genève" in (tmp_path / "scored.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_csv_gets_the_types_of_its_cells(tmp_path, ending):
    """The same in every batch, whether the model reads the column or not."""
    unread = {
        "whole": ("7", pl.Int64, 7),
        "code": ("007", pl.String, "007"),
        "price": ("1e2", pl.Float64, 100.0),
        "moment": ("2026-11-15 10:30:01", pl.Datetime("us"), datetime(2026, 11, 15, 10, 30, 1)),
        "zone": (
            "2026-11-15T01:30+02:00",
            pl.Datetime("us", "UTC"),
            datetime(2026, 11, 14, 23, 30, tzinfo=UTC),
        ),
        "day": ("2026-11-15", pl.Date, date(2026, 11, 15)),
        "paid": ("TRUE", pl.Boolean, True),
        "word": (" NA ", pl.String, " NA "),
    }
    cells = {name: pl.lit(cell) for name, (cell, _, _) in unread.items()}
    rows = ROWS[:20].drop("note").with_columns(**cells)
    rows = rows.with_columns(
        word=pl.when(pl.col("id") == "00003").then(pl.lit("x")).otherwise("word")
    )
    lines = rows.write_csv().splitlines()
    lines[5] = lines[5].replace(f",{rows['age'][4]},", ",old,", 1)
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    summary = score_file(
        number_model(), tmp_path / "rows.csv", tmp_path / f"scored.{ending}", batch_rows=3
    )
    assert summary.rejected == 1
    scored = read_table(summary.output)
    wanted = {name: dtype for name, (_, dtype, _) in unread.items()}
    read = {"size": pl.Float64, "age": pl.Float64, "city": pl.String, "since": pl.Date}
    assert {name: scored.schema[name] for name in wanted | read} == wanted | read
    assert scored.row(0, named=True).items() >= {n: v for n, (_, _, v) in unread.items()}.items()
    assert scored["age"].to_list() == [age for k, age in enumerate(rows["age"]) if k != 4]


def test_decimal_commas_score_as_points_do(tmp_path):
    """Also where a bad cell keeps the column from being one of numbers; cells stay as written."""
    lines = ROWS[:40].drop("note").write_csv(separator=";").splitlines()
    lines += ["00040;many;31;Bern;true;2020-03-01", "00041;1.250;31;Bern;true;2020-03-01"]
    points, commas = tmp_path / "points.csv", tmp_path / "commas.csv"
    points.write_text("\n".join(lines) + "\n")
    mended = [line.replace(".", ",", 1) for line in lines[:-1]]
    commas.write_text("\n".join([*mended, lines[-1]]) + "\n")
    ours, theirs = (
        score_file(number_model(), path, path.with_name(f"scored-{path.name}"))
        for path in (commas, points)
    )
    assert any("decimal commas" in note for note in ours.notes)
    assert_frame_equal(read_table(ours.output), read_table(theirs.output)[:-1])
    assert ours.output.read_text().splitlines()[1].startswith(mended[1])
    rejects = pl.read_csv(ours.rejects, separator=";")
    assert rejects["reason"].to_list() == [
        "column 'size' holds 'many', but it must be a number.",
        "column 'size' holds '1.250 (in a file with decimal commas)', but it must be a number.",
    ]
    typed = score_file(number_model(), commas, tmp_path / "scored.parquet")
    assert read_table(typed.output)["size"].to_list() == ROWS["size"].to_list()[:40]


def test_latin_letters_late_in_the_file_are_read(tmp_path):
    header, *rows = ROWS[:30].drop("note").write_csv().replace("Genève", "Bern").splitlines()
    late = rows[0].replace("Bern", "Basel").replace("Basel", "Genève")
    text = "\n".join([header, *rows * 100, late]) + "\n"
    assert len(text) > 1 << 17
    (tmp_path / "rows.csv").write_bytes(text.encode("latin-1"))
    summary = score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    assert (summary.rejected, summary.unseen) == (0, {})


def test_columns_of_any_type_stay(tmp_path):
    table = ROWS[:3].to_arrow()
    odd = {
        "list": pa.array([[1], None, [2, 3]]),
        "decimal": pa.array([Decimal("1.20"), None, Decimal("3.45")]),
        "word": pa.array(["a", "b", "a"]).dictionary_encode(),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    }
    for name, column in odd.items():
        table = table.append_column(name, column)
    parquet.write_table(table.replace_schema_metadata({b"who": b"me"}), tmp_path / "rows.parquet")
    score_file(number_model(), tmp_path / "rows.parquet", tmp_path / "scored.parquet")
    scored = parquet.read_table(tmp_path / "scored.parquet")
    assert scored.schema.metadata[b"who"] == b"me"
    for name, column in odd.items():
        assert scored[name].type == column.type
        assert scored[name].to_pylist() == column.to_pylist()
    with pytest.raises(TableError, match="column 'list' holds lists"):
        score_file(number_model(), tmp_path / "rows.parquet", tmp_path / "scored.csv")
    assert not (tmp_path / "scored.csv").exists()


@pytest.mark.parametrize("batch_rows", [1, 3, 1000])
@pytest.mark.parametrize("ending", [*WRITERS, "csv.gz"])
def test_rejects_have_number_reason_and_cells(tmp_path, ending, batch_rows):
    lines = ROWS[:12].drop("note").write_csv().splitlines()
    lines[3] = lines[3].replace("00002,", "00002,huge", 1)
    lines[5] = "only,two"
    lines[9] = lines[9].rsplit(",", 1)[0] + ",yesterday"
    lines.append("00012,1,2")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    output = tmp_path / f"scored.{ending}"
    summary = score_file(number_model(), tmp_path / "rows.csv", output, batch_rows=batch_rows)
    assert (summary.rows, summary.scored, summary.rejected) == (13, 9, 4)
    assert summary.rejects == tmp_path / f"scored.rejects.{ending}"
    rejects = read_table(summary.rejects)
    assert rejects["row"].to_list() == [3, 5, 9, 13]
    number, short, day, last = rejects["reason"]
    assert number.startswith("column 'size' holds 'huge")
    assert short == "the header has 6 cells, this row 2: 'only,two'."
    assert day == "column 'since' holds 'yesterday', but it must be a date such as 2026-11-15."
    assert last.endswith("'00012,1,2'.")
    assert rejects["id"].to_list() == ["00002", None, "00008", None]
    assert rejects["since"].cast(pl.String)[2] == "yesterday"
    good = [k for k in range(12) if k not in (2, 4, 8)]
    assert read_table(output)["id"].to_list() == [f"{k:05d}" for k in good]
    wanted = expected(number_model(), ROWS[:12])["risk"].gather(good)
    assert read_table(output)["risk"].to_list() == pytest.approx(wanted.to_list())


def test_bad_cells_of_parquet_and_no_good_row_at_all(tmp_path):
    rows = ROWS[:3].with_columns(size=pl.Series([1e300, None, float("inf")]), row=pl.lit(1))
    put(rows, tmp_path / "rows.parquet")
    summary = score_file(number_model(), tmp_path / "rows.parquet", tmp_path / "s.parquet")
    assert read_table(summary.rejects)["row"].to_list() == [1, 1]  # the table's own
    assert read_table(summary.rejects)["row_"].to_list() == [1, 3]
    put(rows[:1], tmp_path / "rows.parquet")
    summary = score_file(
        class_model(), tmp_path / "rows.parquet", tmp_path / "s.parquet", overwrite=True
    )
    assert summary.mean_risk is summary.deferral_rate is None
    scored = parquet.read_table(tmp_path / "s.parquet")
    assert scored.num_rows == 0
    assert scored.schema.field("prediction").type == pa.string()


def test_old_rejects_go_when_there_are_none(tmp_path):
    put(ROWS[:3], tmp_path / "rows.csv")
    (tmp_path / "scored.rejects.csv").write_text("of an earlier run")
    with pytest.raises(TableError, match=r"scored.rejects.csv is there already"):
        score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    assert (tmp_path / "scored.rejects.csv").exists()
    score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv", overwrite=True)
    assert not (tmp_path / "scored.rejects.csv").exists()


def test_a_table_without_rows(tmp_path):
    put(ROWS[:0], tmp_path / "rows.csv")
    summary = score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.parquet")
    assert summary.rows == 0
    scored = parquet.read_table(tmp_path / "scored.parquet")
    assert scored.column_names == [*ROWS.columns, "prediction", "risk", "defer", "outside"]


def test_names_that_are_taken(tmp_path):
    put(ROWS.with_columns(risk=1.0), tmp_path / "rows.csv")
    with pytest.raises(TableError, match=r"has a column 'risk' already.*prefix='model_'"):
        score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv", prefix="model_")
    names = read_table(tmp_path / "scored.csv").columns
    added = ["prediction", "risk", "defer", "outside"]
    assert names[-5:] == ["risk", *(f"model_{name}" for name in added)]


def test_a_price_of_ones_own(tmp_path):
    put(ROWS, tmp_path / "rows.csv")
    score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv", cost=0.3)
    scored = read_table(tmp_path / "scored.csv")
    assert (scored["defer"] == (scored["risk"] > 0.3)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "nowhere.csv"}, "nowhere.csv does not exist"),
        ({"output": "scored.txt"}, "must end in one of"),
        ({"output": "rows.csv"}, "is the input"),
        ({"output": "nowhere/scored.csv"}, "is in a folder that does not exist"),
        ({"engine": "spark"}, "engine must be 'local' or 'dask'"),
        ({"workers": 2}, "only for engine='dask'"),
        ({"engine": "dask", "threads": 2}, "only for engine='local'"),
        ({"batch_rows": 0}, "batch_rows must be at least 1"),
    ],
)
def test_errors_are_sentences_and_leave_nothing(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    put(ROWS, tmp_path / "rows.csv")
    given = {"source": "rows.csv", "output": "scored.csv"} | arguments
    with pytest.raises(ValueError, match=message):
        score_file(number_model(), given.pop("source"), given.pop("output"), **given)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_column_that_is_missing_is_named(tmp_path):
    put(ROWS.drop("city"), tmp_path / "rows.csv")
    with pytest.raises(TableError, match="no column 'city'"):
        score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    assert not (tmp_path / "scored.csv").exists()


def test_progress_is_told(tmp_path):
    put(ROWS, tmp_path / "rows.parquet")
    put(ROWS, tmp_path / "rows.csv")
    for name in ("rows.parquet", "rows.csv"):
        told = []
        summary = score_file(
            number_model(),
            tmp_path / name,
            tmp_path / f"scored-{name}",
            batch_rows=50,
            progress=lambda rows, share, told=told: told.append((rows, share)),
        )
        assert [rows for rows, _ in told] == [50, 100, 150, 200, 230]
        assert told[-1][1] == 1.0
        assert (summary.batches, summary.resumed) == (5, 0)


def test_memory_does_not_grow_with_the_rows(tmp_path):
    most = {}
    for copies in (30, 150):
        rows = pl.concat([make_rows(1000).drop("note")] * copies)
        rows.write_parquet(tmp_path / "rows.parquet", row_group_size=10_000)
        seen = []
        score_file(
            number_model(),
            tmp_path / "rows.parquet",
            tmp_path / f"{copies}.csv",
            batch_rows=1000,
            progress=lambda *_, seen=seen: seen.append(pa.total_allocated_bytes()),
        )
        most[copies] = max(seen)
    assert most[150] < 1.5 * most[30]


def test_the_receipt_tells_what_came_of_it(tmp_path):
    put(ROWS, tmp_path / "rows.csv")
    summary = score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    record = json.loads((tmp_path / "scored.csv.json").read_text())
    assert record["summary"] == summary.to_dict()
    assert record["bytes"] == (tmp_path / "scored.csv").stat().st_size


def test_reading_ahead_is_bounded_and_ends():
    taken = []

    def numbers():
        for k in range(100):
            taken.append(k)
            yield k

    ahead = read_ahead(numbers(), most=2)
    assert next(ahead) == 0
    for _ in range(100):
        threading.Event().wait(0.005)
        if len(taken) >= 4:
            break
    assert len(taken) == 4  # one given, two waiting, one in hand
    ahead.close()
    assert not [t for t in threading.enumerate() if t.name == "condrisk-reader"]
    assert list(read_ahead(range(50))) == list(range(50))


def test_an_error_leaves_no_thread_behind(tmp_path):
    put(ROWS, tmp_path / "rows.csv")

    def fail(rows, share):
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        score_file(
            number_model(), tmp_path / "rows.csv", tmp_path / "s.csv", batch_rows=5, progress=fail
        )
    assert not [t for t in threading.enumerate() if t.name == "condrisk-reader"]


def test_errors_of_the_reader_are_raised():
    def broken():
        yield 1
        raise TableError("no more")

    with pytest.raises(TableError, match="no more"):
        list(read_ahead(broken()))


def test_a_cell_that_is_no_text_makes_its_row_a_reject(tmp_path):
    """The row would be fine for the model: an unknown category. Its bytes are not."""
    header, *rows = ROWS[:30].drop("note").write_csv().encode().splitlines()
    filler = b"\n".join(rows * 700)  # in UTF-8, with letters that are not ASCII
    bad = rows[0].replace(ROWS["city"][0].encode(), b"Gen\xe8ve")
    assert bad != rows[0]
    (tmp_path / "rows.csv").write_bytes(b"\n".join([header, filler, bad, rows[1]]) + b"\n")
    summary = score_file(number_model(), tmp_path / "rows.csv", tmp_path / "scored.csv")
    assert (summary.rows, summary.rejected) == (21_002, 1)
    rejects = pl.read_csv(summary.rejects, infer_schema_length=0)
    assert "bytes that are not UTF-8" in rejects["reason"][0]
    assert read_table(tmp_path / "scored.csv").height == 21_001


def test_a_model_without_a_cost_is_refused_before_anything_is_written(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    risk = RegressionRisk(LinearRegression(), regressor=LinearRegression()).fit(X, y)
    pl.DataFrame({"x0": X[:, 0]}).write_csv(tmp_path / "new.csv")
    with pytest.raises(TableError, match=r"no cost of deferring.*give cost \(--cost\)"):
        score_file(risk, tmp_path / "new.csv", tmp_path / "out.csv", schema=X)
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]
    summary = score_file(risk, tmp_path / "new.csv", tmp_path / "out.csv", schema=X, cost=1.0)
    assert summary.deferred == int((risk.predict_risk(X) > 1.0).sum())
    again = score_file(risk, tmp_path / "new.csv", tmp_path / "out.csv", schema=X, cost=1.0)
    assert again.finished_before  # a fitted model is known again by itself, not by when it came


def test_a_workbook_is_filled_to_its_last_row_and_no_further(tmp_path, monkeypatch):
    monkeypatch.setattr("condrisk.app.tables._excel.MOST_ROWS", 21)  # the header among them
    path = tmp_path / "rows.xlsx"
    with TableWriter(path) as writer:
        writer.write(make_rows(20))
    assert len(read_table(path)) == 20
    with pytest.raises(TableError, match="no more than 21 rows"), TableWriter(path) as writer:
        writer.write(make_rows(21))
