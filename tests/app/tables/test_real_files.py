"""Files as people have them: each is read as the page says, when fitting and when scoring."""

from types import SimpleNamespace

import polars as pl
import psutil
import pytest
from real_files import FILES

from condrisk.app.models import fit_table
from condrisk.app.tables import (
    TableError,
    TableOptions,
    TableSource,
    cell_reader,
    check_rows,
    left_out,
    read_noted,
    read_table,
    table_schema,
)
from condrisk.persistence import Column, Schema

pytestmark = pytest.mark.usefixtures("quick_fits")


def made(case, folder, monkeypatch):
    """Make a file, and return where a user would say it is."""
    path = folder / f"table.{case.ending}"
    case.make(path)
    if case.source == "sqlite":
        return f"sqlite:///{path}"
    if case.source == "stdin":
        data = path.read_bytes()
        monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False, buffer=None))
        monkeypatch.setattr("shutil.copyfileobj", lambda _, to, *__: to.write(data))
        return "-"
    return path


@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
def test_each_file_has_its_outcome(case, tmp_path, monkeypatch):
    source = made(case, tmp_path, monkeypatch)
    before = sorted(tmp_path.iterdir())
    notes = []
    if case.refused is not None:
        with pytest.raises(TableError, match=case.refused.replace("$", r"\$")) as caught:
            read_noted(source, options=case.options)
        assert str(caught.value).endswith(".")
        assert sorted(tmp_path.iterdir()) == before
        return
    rows, notations = read_noted(source, options=case.options, note=notes.append)
    assert rows[case.column].head(len(case.values)).to_list() == list(case.values)
    if case.fits is not None:
        model = fit_table(
            rows,
            target="y",
            cost=1.0,
            predictor="linear",
            notations=notations,
            note=notes.append,
        )
        assert case.fits(model)
        schema = model.schema
    else:
        assert case.column not in left_out(rows, exclude=["y"])
        schema = table_schema(rows, exclude=["y"], notations=notations)
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds.get(case.column) == case.kind
    if case.noted is not None:
        assert any(pl.Series([note]).str.contains(case.noted).all() for note in notes), notes
    assert_scored_alike(source, case, rows, Schema.from_dict(schema.to_dict()))
    assert sorted(tmp_path.iterdir()) == before


def assert_scored_alike(source, case, rows, schema):
    """What a model file knows of a table is enough to read it again, in batches of any size."""
    fitted = check_rows(schema, rows)
    with TableSource(source, batch_rows=17, options=case.options, schema=schema) as table:
        parts = [check_rows(schema, pl.from_arrow(b.values(schema.names))) for b in table]
    assert not fitted.bad
    assert not any(part.bad for part in parts)
    assert pl.concat([part.good for part in parts]).equals(fitted.good)


def test_there_are_sixty_of_them_and_each_is_described():
    assert len({case.name for case in FILES}) == len(FILES) >= 60
    assert all(case.what.endswith(".") and case.outcome.endswith(".") for case in FILES)


# -- what one row of a new file cannot show, the model file knows --------------------------------


@pytest.mark.parametrize(
    ("learnt", "new", "value"),
    [
        (["$1,009.03", "$5"], "$1,234", 1234.0),
        (["12%", "0.5%"], "7%", 0.07),
        (["1.234,5", "2,5"], "1.234", 1234.0),
        (["13/01/2020", "01/02/2020"], "03/04/2020", pl.date(2020, 4, 3)),
        (["1/13/2020", "2/1/2020"], "3/4/2020", pl.date(2020, 3, 4)),
    ],
)
def test_a_file_of_one_row_is_read_as_the_rows_fitted_on(tmp_path, learnt, new, value):
    path, later = tmp_path / "learnt.csv", tmp_path / "later.csv"
    path.write_text("c;y\n" + "".join(f"{cell};1\n" for cell in learnt))
    later.write_text(f"c;z\n{new};1\n")
    rows, notations = read_noted(path)
    schema = table_schema(rows, exclude=["y"], notations=notations)
    with TableSource(later, batch_rows=None, schema=schema) as source:
        (batch,) = source
    (checked,) = [check_rows(schema, pl.from_arrow(batch.values(["c"])))]
    assert not checked.bad
    wanted = pl.select(value).item() if isinstance(value, pl.Expr) else value
    assert checked.good["c"].to_list() == [wanted]
    # The service reads the same text, and Parquet may hold it.
    (column,) = schema.columns
    assert check_rows(schema, pl.DataFrame({"c": [new]})).good["c"].to_list() == [wanted]
    assert cell_reader(column)(new) == wanted


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        (Column("c", "number", unit="$"), "€5"),
        (Column("c", "number"), "$5"),
        (Column("c", "number"), "5%"),
        (Column("c", "number", unit="%"), "$5"),
    ],
)
def test_another_unit_is_rejected(tmp_path, column, cell):
    path = tmp_path / "rows.csv"
    path.write_text(f"c,z\n{cell},1\n1,1\n")
    schema = Schema((column,))
    with TableSource(path, batch_rows=None, schema=schema) as source:
        (batch,) = source
    checked = check_rows(schema, pl.from_arrow(batch.values(["c"])))
    assert list(checked.bad) == [0]
    assert f"holds '{cell}'" in checked.bad[0]
    with pytest.raises(ValueError, match="a number, or null"):
        cell_reader(column)(cell)


def test_percent_without_its_sign_is_rejected_among_percents(tmp_path):
    path = tmp_path / "rows.csv"
    schema = Schema((Column("c", "number", unit="%"),))
    for text, bad in (("12%\n13\n0\n", [1]), ("0.12\n0.13\n0\n", [])):
        path.write_text("c\n" + text)
        with TableSource(path, batch_rows=None, schema=schema) as source:
            (batch,) = source
        assert list(check_rows(schema, pl.from_arrow(batch.values(["c"]))).bad) == bad


def test_a_line_that_is_not_json_is_a_row_that_is_rejected(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": 1, "y": 2}\nnope\n[3]\n{"x": 4}\n')
    with TableSource(path, batch_rows=None) as source:
        (batch,) = source
    assert [number for number, _ in batch.malformed] == [2, 3]
    assert batch.malformed[0][1].startswith("the line is not JSON")
    assert batch.malformed[1][1] == "the line is no object: '[3]'."
    assert batch.rows.tolist() == [1, 4]


def test_notes_are_about_what_is_in_the_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b;c\n1;2;0.5\n3;4;0.25\n")
    units = (Column("a", "number", unit="$"), Column("b", "number", written=",."))
    schema = Schema((*units, Column("c", "number", unit="%")))
    with TableSource(path, batch_rows=None, schema=schema) as source:
        assert not source.notes


def test_unclear_columns_may_be_there_where_nobody_uses_them(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,b\n"1,234",1\n"2,345",2\n')
    with pytest.raises(TableError, match="column 'a'"):
        read_noted(path)
    rows, _ = read_noted(path, used=lambda name: name != "a")
    assert rows["b"].to_list() == [1, 2]


def test_days_that_may_be_months_are_text_among_other_things(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a\n01/02/2020\n03/04/2020\n")
    with pytest.raises(TableError, match="the day or the month may come first"):
        read_noted(path)
    path.write_text("a\n01/02/2020\n03/04/2020\n7\n")
    rows, _ = read_noted(path)
    assert rows["a"].to_list() == ["01/02/2020", "03/04/2020", "7"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, "decimal must be a point or a comma"),
        ({"date_formats": ("%H:%M",)}, "must have a year, a month and a day, such as %d/%m/%Y"),
        ({"sheet": "a"}, "sheet='a' is for workbooks"),
        ({"query": "SELECT 1"}, "query='SELECT 1' is for a database"),
    ],
)
def test_options_that_mean_nothing_are_refused(tmp_path, options, message):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(TableError, match=message):
        read_table(path, options=TableOptions(**options))


def test_a_sheet_that_is_not_there_is_told_from_the_nearest(tmp_path):
    path = tmp_path / "rows.xlsx"
    FILES_BY_NAME["--sheet"].make(path)
    with pytest.raises(TableError, match=r"sheet='newer' is not in .* \(did you mean 'new'\?\)"):
        read_table(path, options=TableOptions(sheet="newer"))
    assert read_table(path, options=TableOptions(sheet="2"))["c"][0] == 2.5


FILES_BY_NAME = {case.name: case for case in FILES}


def test_a_database_that_is_not_there_is_not_made_and_no_password_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = TableOptions(query="SELECT 1")
    with pytest.raises(TableError, match=r"no\.db does not exist"):
        read_table("sqlite:///no.db", options=options)
    assert not list(tmp_path.iterdir())
    with pytest.raises(TableError, match="did not answer the query") as caught:
        read_table("postgresql://me:secret@localhost/x", options=options)
    assert "secret" not in str(caught.value)
    FILES_BY_NAME["database"].make(tmp_path / "t.db")
    with pytest.raises(TableError, match="no such table: nope") as caught:
        read_table("sqlite:///t.db", options=TableOptions(query="SELECT * FROM nope"))
    assert "did not answer the query" in str(caught.value)
    assert not [file for file in psutil.Process().open_files() if file.path.endswith("t.db")]
