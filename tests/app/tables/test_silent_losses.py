"""Tables of which a part would be lost without a word: marks that do not close, long headers."""

import io
import os
import threading

import polars as pl
import pytest

from condrisk.app.tables import TableError, TableSource, iter_batches, read_table


def write(path, content, encoding="utf-8"):
    path.write_bytes(content.encode(encoding))
    return path


# -- quotation marks ------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_mark_that_is_never_closed_is_refused_with_its_line(tmp_path, encoding, end):
    good = ["0.1,0.2,blüe"] * 3000
    lines = ["x,y,colour", *good[:41], '0.1,0.2,"red', *good]
    path = write(tmp_path / "rows.csv", end.join(lines) + end, encoding)
    with pytest.raises(TableError, match=r"line 43 has a quotation mark .* not closed"):
        read_table(path)
    with pytest.raises(TableError, match="line 43 has"):
        next(iter(iter_batches(path)))


@pytest.mark.parametrize(
    "rows",
    [
        '1,"red\n2,"blue"\n',  # closed by the mark that opens another cell
        '1,"red\n2,blue\n3,"green"\n',
        '1,"red\n2,""\n',
        '1,"red""\n2,blue\n',
        '1,"red\n' + "2,blue\n" * 800_000,  # no row can be that long
        '1,"',
    ],
)
def test_a_mark_that_is_closed_in_another_row_is_refused(tmp_path, rows):
    path = write(tmp_path / "rows.csv", 'x,colour\n0,"fine"\n' + rows)
    with pytest.raises(TableError, match="line 3 has a quotation mark"):
        read_table(path)


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        ('"red"', "red"),
        ('"two\nlines"', "two\nlines"),
        ('"says ""red"""', 'says "red"'),
        ('"a ""\n"', 'a "\n'),
        ('5" pipe', '5" pipe'),
        ('red"', 'red"'),
        ('"red" wine', "red wine"),
        ('"a,b"', "a,b"),
    ],
)
def test_marks_that_are_closed_or_open_nothing_are_read(tmp_path, cell, read):
    path = write(tmp_path / "rows.csv", f"colour,x\n{cell},1\nblue,2\n")
    assert read_table(path)["colour"].to_list() == [read.strip(), "blue"]


# -- the first line -------------------------------------------------------------------------------


def test_a_long_header_is_read_to_its_end(tmp_path):
    names = [f"{number:060d}" * 10 for number in range(1800)]  # more than a megabyte
    rows = "\n".join(",".join("1" for _ in range(1801)) for _ in range(2))
    path = write(tmp_path / "wide.csv", ",".join([*names, "last"]) + "\n" + rows + "\n")
    with TableSource(path, batch_rows=None) as source:
        (batch,) = source
    assert batch.table.num_rows == 2
    assert not batch.malformed
    assert batch.table.column_names == [*names, "last"]


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_marks_that_only_python_takes_for_ends_of_lines_stay_in_names(tmp_path, mark):
    names = [f"first{mark}half", f"{mark}second", f"third{mark}"]
    path = write(tmp_path / "rows.csv", ",".join(names) + "\n1,2,3\n")
    assert read_table(path).columns == names
    pl.DataFrame({name: [1] for name in names}).write_parquet(tmp_path / "rows.parquet")
    assert read_table(tmp_path / "rows.parquet").columns == names


# -- pipes and devices ----------------------------------------------------------------------------


@pytest.fixture
def pipe(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("the system has no named pipes")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_pipe_is_read_as_standard_input_is(pipe, kind):
    frame = pl.DataFrame({"a": range(70_000), "b": ["x", "y"] * 35_000})
    content = io.BytesIO()
    getattr(frame, f"write_{kind}")(content)
    writer = threading.Thread(target=pipe.write_bytes, args=(content.getvalue(),))
    writer.start()
    assert read_table(pipe).equals(frame)
    writer.join()


def test_an_empty_pipe_and_a_device_are_no_tables(pipe):
    writer = threading.Thread(target=pipe.write_bytes, args=(b"",))
    writer.start()
    with pytest.raises(TableError, match="is empty"):
        read_table(pipe)
    writer.join()
    with pytest.raises(TableError, match="is a device"):
        read_table("/dev/zero")
