"""Tables read in batches: the same rows whatever the format and the size of a batch."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scoring_rows import make_rows

from condrisk.app.tables import TableError, iter_batches
from condrisk.app.tables._batches import TableSource, regroup

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
    whole = pl.concat(batches)
    if ending == "csv":  # text: numbers as they were written
        assert whole["id"].to_list() == ROWS["id"].to_list()
        assert whole["note"].to_list() == ROWS["note"].to_list()
        assert whole["size"].cast(pl.Float64).to_list() == ROWS["size"].to_list()
        assert whole["age"].null_count() == ROWS["age"].null_count()
    else:
        assert whole.equals(ROWS)


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 10))
def test_regrouping_keeps_rows(lengths, size):
    column = pa.array(np.arange(sum(lengths)))
    ends = np.cumsum([0, *lengths])
    parts = [
        pa.record_batch([column.slice(ends[k], n)], names=["x"]) for k, n in enumerate(lengths)
    ]
    schema = pa.schema([("x", pa.int64())])
    tables = list(regroup(parts, size, schema=schema))
    assert pa.concat_tables(tables)["x"].to_pylist() == column.to_pylist()
    assert all(table.num_rows == size for table in tables[:-1])
    assert tables[-1].num_rows <= size
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
        assert malformed[0][1] == "there are 1 cells where the header has 2: '2'."
    with pytest.raises(TableError, match="in row 2, there are 1 cells"):
        list(iter_batches(path))


def test_bytes_that_are_not_text_make_a_row_bad(tmp_path):
    path = tmp_path / "rows.csv"
    fine = "".join(f"{k},Genève\n" for k in range(20_000)).encode()  # so it is taken for UTF-8
    path.write_bytes(b"k,city\n" + fine + b"20000,Gen\xe8ve\n" + fine)
    with TableSource(path, batch_rows=30_000) as source:
        first, second = source
    assert first.bad == {20_000: "column 'city' holds bytes that are not UTF-8."}
    assert first.table["city"][20_000].as_py() == "Gen\ufffdve"
    assert not second.bad


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_as_people_have_it(tmp_path, encoding, separator):
    path = tmp_path / "rows.csv"
    text = f"näme{separator}b\nGenève{separator}\nZürich{separator}2\n"
    path.write_bytes(text.encode(encoding))
    (frame,) = iter_batches(path)
    assert frame.rows(named=True) == [{"näme": "Genève", "b": None}, {"näme": "Zürich", "b": "2"}]


def test_one_column_may_have_gaps(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n\n3\n")
    (frame,) = iter_batches(path)
    assert frame["a"].to_list() == ["1", None, "3"]


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
