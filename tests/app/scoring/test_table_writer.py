"""Tables written in batches, whole or not at all."""

import errno

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from pyarrow import parquet
from scoring_rows import make_rows

from condrisk.app.tables import TableError, TableWriter, read_table

ROWS = make_rows(50)
ENDINGS = ["csv", "parquet", "pq", "arrow", "feather", "tsv", "jsonl", "xlsx", "csv.gz", "tsv.zst"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read(tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    path.write_text("old")
    with TableWriter(path) as writer:
        for start in range(0, 50, 20):
            writer.write(ROWS[start : start + 20])
            assert path.read_text() == "old"
    # A workbook has no 2.0, and sixteen digits of each number.
    assert_frame_equal(read_table(path).cast(ROWS.schema), ROWS, check_exact=ending != "xlsx")
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_error_leaves_nothing_and_what_was_there(tmp_path, ending):
    path = tmp_path / f"rows.{ending}"
    path.write_text("old")

    def fail():
        with TableWriter(path) as writer:
            writer.write(ROWS)
            raise KeyError("stop")

    with pytest.raises(KeyError):
        fail()
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_an_unknown_ending_and_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(TableError, match=r"rows.txt must end in one of .csv"):
        TableWriter(tmp_path / "rows.txt")
    with pytest.raises(TableError, match=r"rows.parquet.gz cannot be written: parquet is compress"):
        TableWriter(tmp_path / "rows.parquet.gz")
    with pytest.raises(TableError, match="cannot be written: No such file"):
        TableWriter(tmp_path / "nowhere" / "rows.csv").__enter__()


def test_a_table_without_rows_has_columns(tmp_path):
    with TableWriter(tmp_path / "rows.csv") as writer:
        writer.write(ROWS[:0])
    assert (tmp_path / "rows.csv").read_text() == ",".join(ROWS.columns) + "\n"
    with pytest.raises(ValueError, match="nothing was written"), TableWriter(tmp_path / "b.csv"):
        pass
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_must_have_the_same_columns(tmp_path, ending):
    with TableWriter(tmp_path / f"rows.{ending}") as writer:
        writer.write(pl.DataFrame({"a": [1]}))
        with pytest.raises(TableError, match="must have the columns"):
            writer.write(pl.DataFrame({"b": [1]}))


def test_groups_of_parquet_do_not_depend_on_batches(tmp_path):
    table = pa.table({"a": range(600_000)})
    for size in (600_000, 70_000):
        with TableWriter(tmp_path / f"{size}.parquet") as writer:
            for start in range(0, 600_000, size):
                writer.write(table.slice(start, size))
    one, other = (parquet.ParquetFile(tmp_path / f"{s}.parquet") for s in (600_000, 70_000))
    groups = [one.metadata.row_group(k).num_rows for k in range(one.num_row_groups)]
    assert groups == [262_144, 262_144, 75_712]
    assert groups == [other.metadata.row_group(k).num_rows for k in range(other.num_row_groups)]
    assert one.read().equals(table)
    assert other.read().equals(table)


def test_each_batch_may_bring_its_own_dictionary(tmp_path):
    with TableWriter(tmp_path / "rows.arrow") as writer:
        for words in (["a", "b"], ["c", "a"]):
            writer.write(pa.table({"w": pa.array(words).dictionary_encode()}))
    assert read_table(tmp_path / "rows.arrow")["w"].to_list() == ["a", "b", "c", "a"]


def test_csv_tells_nothing_from_an_empty_text_and_holds_no_lists(tmp_path):
    with TableWriter(tmp_path / "rows.csv", separator=";") as writer:
        writer.write(pl.DataFrame({"a": ["", None, "x;y"], "b": [1, 2, 3]}))
    assert (tmp_path / "rows.csv").read_text() == 'a;b\n"";1\n;2\n"x;y";3\n'
    with (
        pytest.raises(TableError, match="column 'l' holds lists"),
        TableWriter(tmp_path / "lists.csv") as writer,
    ):
        writer.write(pl.DataFrame({"l": [[1], [2]]}))


class FullDisk:
    """A file that takes so many bytes, as one on a disk that is full."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, data):
        self.room -= len(memoryview(data).cast("B")) if len(data) else 0
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)

    def close(self):
        self.file.close()
        if self.room < 0:  # what is buffered cannot be written either
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("room", [0, 300])
def test_a_full_disk_is_not_kept_full(tmp_path, monkeypatch, ending, room):
    path = tmp_path / f"rows.{ending}"
    path.write_text("old")
    real = open

    def opened(name, mode="r", *args, **kwargs):
        file = real(name, mode, *args, **kwargs)
        return FullDisk(file, room) if mode == "wb" and str(name).endswith(".tmp") else file

    monkeypatch.setattr("builtins.open", opened)

    def write():
        with TableWriter(path) as writer:
            for _ in range(40):
                writer.write(ROWS)

    with pytest.raises((OSError, pa.ArrowException, ValueError)):
        write()
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
