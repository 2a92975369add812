"""Tables read in batches: the same rows whatever the format and the size of a batch."""

from datetime import datetime
from tempfile import NamedTemporaryFile

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scoring_rows import make_rows

from condrisk.app.tables import TableError, TableSource, iter_batches, read_table
from condrisk.persistence import Column, Schema

ROWS = make_rows(53)


def write(rows, path):
    if path.suffix == ".csv":
        rows.write_csv(path)
    elif path.suffix == ".parquet":
        rows.write_parquet(path, row_group_size=7)
    elif path.suffix == ".arrow":
        rows.write_ipc(path)
    else:
        rows.write_ipc_stream(path)
    return path


@pytest.mark.parametrize("size", [1, 7, 10, 53, 54])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "arrows"])
def test_all_rows_in_order_and_batches_of_one_size(tmp_path, ending, size):
    path = write(ROWS, tmp_path / f"rows.{ending}")
    batches = list(iter_batches(path, batch_rows=size))
    assert [batch.height for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert len(batches) == -(-53 // size)
    assert pl.concat(batches).equals(ROWS)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 10))
def test_batches_of_arrow_are_cut_anew_and_keep_their_rows(lengths, size):
    column = pa.array(np.arange(sum(lengths)))
    ends = np.cumsum([0, *lengths])
    schema = pa.schema([("x", pa.int64())])
    with NamedTemporaryFile(suffix=".arrow") as file:
        with pa.ipc.new_file(file.name, schema) as writer:
            for k, n in enumerate(lengths):
                writer.write(pa.record_batch([column.slice(ends[k], n)], schema=schema))
        tables = list(iter_batches(file.name, batch_rows=size))
    assert pl.concat(tables)["x"].to_list() == column.to_pylist()
    assert all(table.height == size for table in tables[:-1])
    assert tables[-1].height <= size
    assert len(tables) == max(1, -(-len(column) // size))


@pytest.mark.parametrize("text", ["a,b\n", "a,b"])
def test_a_header_alone_is_a_table_without_rows(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    (only,) = iter_batches(path)
    assert only.columns == ["a", "b"]
    assert only.height == 0


def test_wide_tables_have_short_batches(tmp_path):
    path = tmp_path / "wide.parquet"
    parquet.write_table(pa.table({f"x{k}": [1.0] for k in range(3000)}), path)
    with TableSource(path, batch_rows=None) as source:
        assert 1000 < source.batch_rows < 2000
    with pytest.raises(ValueError, match="batch_rows must be at least 1"):
        TableSource(path, batch_rows=0)


def test_lines_that_do_not_fit_have_numbers_and_so_have_the_others(tmp_path):
    path = tmp_path / "rows.csv"
    bad = {2, 3, 9, 10, 11, 20}  # from 1; the last line too
    lines = [f"{k}" if k in bad else f'{k},"two\nlines"' for k in range(1, 21)]
    path.write_text("k,b\n" + "\n".join(lines) + "\n")
    for size in (1, 2, 4, 7, 14, 100):
        with TableSource(path, batch_rows=size) as source:
            batches = list(source)
        numbers = [
            (int(k), row)
            for b in batches
            for k, row in zip(b.table["k"].to_pylist(), b.rows.tolist(), strict=True)
        ]
        assert numbers == [(k, k) for k in range(1, 21) if k not in bad]
        malformed = [line for b in batches for line in b.malformed]
        assert [row for row, _ in malformed] == sorted(bad)
        assert malformed[0][1] == "the header has 2 cells, this row 1: '2'."
    with pytest.raises(TableError, match="in row 2, the header has 2 cells, this row 1"):
        list(iter_batches(path))


def test_bytes_that_are_not_text_make_a_row_bad(tmp_path):
    path = tmp_path / "rows.csv"
    fine = "".join(f"{k},Genève\n" for k in range(20_000)).encode()  # so it is taken for UTF-8
    path.write_bytes(b"k,city\n" + fine + b"20000,Gen\xe8ve\n" + fine)
    with TableSource(path, batch_rows=30_000) as source:
        first, second = source
    assert first.bad == {
        20_000: "column 'city' holds bytes that are not UTF-8, but other rows are: "
        "the file mixes encodings."
    }
    assert first.table["city"][20_000].as_py() == "Gen\ufffdve"
    assert not second.bad


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_as_people_have_it(tmp_path, encoding, separator):
    path = tmp_path / "rows.csv"
    text = f"näme{separator}b\nGenève{separator}\nZürich{separator}2\n"
    path.write_bytes(text.encode(encoding))
    (frame,) = iter_batches(path)
    assert frame.rows(named=True) == [{"näme": "Genève", "b": None}, {"näme": "Zürich", "b": 2}]


def test_one_column_may_have_gaps(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n\n3\n")
    (frame,) = iter_batches(path)
    assert frame["a"].to_list() == [1, None, 3]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_a_broken_file_is_one_sentence(tmp_path, ending):
    path = write(make_rows(5000), tmp_path / f"rows.{ending}")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(TableError, match="could not be read") as caught:
        list(iter_batches(path))
    assert "\n" not in str(caught.value)


def test_long_groups_of_rows_are_not_read_at_once(tmp_path):
    path = tmp_path / "rows.parquet"
    noise = np.random.default_rng(0).normal(size=(4, 1_000_000))
    parquet.write_table(
        pa.table({f"x{k}": x for k, x in enumerate(noise)}), path, row_group_size=1_000_000
    )
    most = 0
    before = pa.total_allocated_bytes()
    for frame in iter_batches(path):
        most = max(most, pa.total_allocated_bytes() - before)
        del frame
    assert most < 16e6  # of 32e6


def test_the_type_of_a_column_is_that_of_all_its_cells(tmp_path):
    """Whatever the first batches hold: the last row decides, and every batch has the same type."""
    path = tmp_path / "rows.csv"
    late = {
        "whole": "2.5",
        "code": "007",
        "flag": "perhaps",
        "day": "2026-11-16 10:00",
        "n": " NA ",
    }
    header, first = ",".join(late), "1,12,true,2026-11-15,3"
    path.write_text("\n".join([header, *[first] * 90_000, ",".join(late.values())]) + "\n")
    batches = list(iter_batches(path, batch_rows=40_000))
    wanted = [pl.Float64, pl.String, pl.String, pl.Datetime("us"), pl.Int64]
    assert [batch.dtypes for batch in batches] == [wanted] * 3
    assert batches[-1].row(-1)[1:] == ("007", "perhaps", datetime(2026, 11, 16, 10), None)
    assert pl.concat(batches).equals(read_table(path))


def test_moments_with_an_offset_are_in_utc(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("t\n2026-11-15T01:30:00+02:00\n2026-11-14 23:30:00.5Z\n2026-11-15\n")
    (frame,) = iter_batches(path)
    assert frame["t"].dtype == pl.Datetime("us", "UTC")
    assert [str(t) for t in frame["t"]] == [
        "2026-11-14 23:30:00+00:00",
        "2026-11-14 23:30:00.500000+00:00",
        "2026-11-15 00:00:00+00:00",
    ]


def test_a_bad_cell_does_not_hide_the_decimal_sign(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x;word\n1,5;1,5\nmany;a\n1.500;b\n-2,25e1;c\n")
    schema = Schema((Column("x", "number"),))
    (frame,) = iter_batches(path, schema=schema)
    assert frame["x"].to_list() == [
        "1.5",
        "many",
        "1.500 (in a file with decimal commas)",
        "-2.25e1",
    ]
    assert frame["word"].to_list() == ["1,5", "a", "b", "c"]


def test_the_whole_file_tells_the_encoding(tmp_path):
    """One letter after three million bytes: the same for reading at once and in batches."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b"k,city\n" + b"1,Bern\n" * 450_000 + "2,Genève\n".encode("latin-1"))
    *_, last = iter_batches(path)
    assert last["city"][-1] == read_table(path)["city"][-1] == "Genève"


def test_a_first_line_of_another_encoding_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("größe\n".encode("latin-1") + "süd\n".encode())
    with pytest.raises(TableError, match=r"the first line of .* holds bytes that are not UTF-8"):
        list(iter_batches(path))
