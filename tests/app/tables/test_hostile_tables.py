"""Tables as people have them, and as people should not have them."""

import os
import random
import threading

import polars as pl
import pytest
from hostile_tables import CASES, ROWS, good

from condrisk.app.models import fit_table
from condrisk.app.tables import TableError, _local, _quotes, _read, check_rows, read_table

pytestmark = pytest.mark.usefixtures("quick_fits")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_broken_table_has_its_outcome(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"table.{case.ending}"
    case.make(path)
    before = sorted(tmp_path.iterdir())
    notes = []

    def use():
        frame = read_table(path, note=notes.append)
        model = fit_table(frame, target="y", cost=1.0, predictor="linear", note=notes.append)
        return frame, model

    if case.refused is not None:
        with pytest.raises(TableError, match=case.refused) as caught:
            use()
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)
    else:
        frame, model = use()
        assert case.holds(frame, notes, model)
    assert sorted(tmp_path.iterdir()) == before  # nothing written, nothing executed


def test_names_and_sentences_are_there_for_each_case():
    assert len({case.name for case in CASES}) == len(CASES) >= 30
    assert all(case.what.endswith(".") and case.outcome.endswith(".") for case in CASES)


def test_a_table_that_claims_more_rows_than_can_be_held_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "many.parquet"
    good().write_parquet(path)
    monkeypatch.setattr(_read, "MOST_BYTES", 8 * 2 * ROWS - 1)
    with pytest.raises(TableError, match="60 rows of 2 columns, too many"):
        read_table(path)
    monkeypatch.setattr(_read, "MOST_FILE_BYTES", path.stat().st_size - 1)
    with pytest.raises(TableError, match="too large to be read at once"):
        read_table(path)


# -- at scoring -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    frame = good().with_columns(
        c=pl.Series(["a", "b", "c"] * (ROWS // 3)),
        b=pl.Series([True, False] * (ROWS // 2)),
        d=pl.Series(["2026-11-15", "2026-11-16"] * (ROWS // 2)).str.to_date(),
    )
    return fit_table(frame, target="y", cost=1.0, predictor="linear")


def new(**columns):
    row = {"x": 1.0, "c": "a", "b": True, "d": "2026-11-15"}
    n = max(len(values) for values in columns.values())
    return pl.DataFrame({name: [value] * n for name, value in row.items()} | columns)


def test_an_unseen_category_is_missing_and_counted(model):
    checked = check_rows(model.schema, new(c=["a", "zebra", None, " b ", "NA"]))
    assert checked.good["c"].to_list() == ["a", None, None, "b", None]
    assert checked.unseen == {"c": 1}
    assert not checked.bad
    assert model.decide(checked.good).risk.shape == (5,)


def test_a_missing_column_refuses_the_whole_table(model):
    with pytest.raises(TableError, match=r"no column 'c', 'd', which the model needs"):
        check_rows(model.schema, new(x=[1.0]).drop("c", "d"))


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("x", ["1", "two", ""], "column 'x' holds 'two', but it must be a number."),
        ("x", [1.0, float("inf"), None], "column 'x' holds inf, but it must be a number between"),
        ("x", [1.0, -1e308, float("nan")], r"column 'x' holds -1e+308, but it must be a number"),
        ("b", ["yes", "maybe", "FALSE"], "column 'b' holds 'maybe', but it must be true or false."),
        ("b", [1, 7, 0], "column 'b' holds 7, but it must be true or false."),
        ("d", ["2026-11-15", "15.11.2026", None], "column 'd' holds '15.11.2026', but it must be"),
        ("d", ["2026-11-15T10:00:00Z", "2026-02-30", ""], "column 'd' holds '2026-02-30', but"),
    ],
)
def test_a_bad_cell_makes_its_row_bad_and_no_other(model, column, values, reason):
    checked = check_rows(model.schema, new(**{column: values}))
    assert list(checked.bad) == [1]
    assert checked.bad[1].startswith(reason)
    assert checked.rows.tolist() == [0, 2]
    assert checked.good.height == 2


def test_a_column_of_another_type_refuses_the_whole_table(model):
    with pytest.raises(TableError, match="column 'x' must hold numbers, as when the model"):
        check_rows(model.schema, new(x=[[1.0, 2.0]]))


# -- what is small here stands for what is large ---------------------------------------------------


def write(path, content):
    path.write_bytes(content.encode())
    return path


@pytest.fixture
def pipe(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("the system has no named pipes")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def first_unclosed(text):
    """Return the line where a cell begins that is not closed: mark by mark."""
    state, line, began, several = "start", 1, 0, False
    at = 0
    while at < len(text):
        mark = text[at]
        if state == "quoted":
            if mark == '"' and text[at + 1 : at + 2] == '"':
                at += 1
            elif mark == '"':
                if several and text[at + 1 : at + 2] not in ("", ",", "\n"):
                    return began
                state = "cell"
            several = several or mark == "\n"
        elif mark in ",\n":
            state = "start"
        elif mark == '"' and state == "start":
            state, began, several = "quoted", line, False
        else:
            state = "cell"
        line += mark == "\n"
        at += 1
    return began if state == "quoted" else None


def test_wherever_marks_stand_and_a_file_is_cut_into_blocks(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    for _ in range(200):
        text = "".join(rng.choice('",\na"x') for _ in range(rng.randrange(1, 30)))
        path = write(tmp_path / "rows.csv", text)
        monkeypatch.setattr(_quotes, "_READ_BYTES", rng.choice([1, 2, 3, 7, 100]))
        line = first_unclosed(text)
        if line is None:
            _quotes.check_quotes(path, "rows", ",", "utf-8")
        else:
            with pytest.raises(TableError, match=f"line {line} has"):
                _quotes.check_quotes(path, "rows", ",", "utf-8")


def test_a_header_longer_than_a_block_is_read_too(tmp_path, monkeypatch):
    """What cannot be skipped is no reason to find no rows."""
    monkeypatch.setattr("condrisk.app.tables._csv.BLOCK_BYTES", 100)
    monkeypatch.setattr("condrisk.app.tables._layout.HEAD_BYTES", 16)
    names = [f"column_{number}" for number in range(50)]
    rows = "\n".join(",".join(map(str, range(50))) for _ in range(3))
    frame = read_table(write(tmp_path / "rows.csv", ",".join(names) + "\n" + rows + "\n"))
    assert frame.columns == names
    assert frame.height == 3


def test_a_first_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("condrisk.app.tables._layout._LONGEST_HEADER", 1 << 20)
    path = write(tmp_path / "rows.csv", "x" * (3 << 20))
    with pytest.raises(TableError, match=r"first line of .* is longer than 1 MiB"):
        read_table(path)
    path = write(tmp_path / "cell.csv", "x" * 200_000 + ",y\n1,2\n")
    with pytest.raises(TableError, match=r"first line of .* cannot be read: field larger"):
        read_table(path)


def test_a_pipe_into_which_nobody_writes_is_refused(pipe, monkeypatch):
    monkeypatch.setattr(_local, "WRITER_SECONDS", 0.1)
    with pytest.raises(TableError, match="is a pipe into which nobody writes"):
        read_table(pipe)


def test_a_pipe_that_somebody_holds_open_is_waited_for(pipe, monkeypatch):
    monkeypatch.setattr(_local, "WRITER_SECONDS", 0.1)
    write_now = threading.Event()

    def hold():
        with open(pipe, "w") as file:
            write_now.wait(20)
            file.write("a\n1\n")

    writer = threading.Thread(target=hold)
    writer.start()
    threading.Timer(0.5, write_now.set).start()
    assert read_table(pipe)["a"].to_list() == [1]
    writer.join()
