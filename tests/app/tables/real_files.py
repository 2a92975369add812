"""Files as people have them: how each is written, and what becomes of it.

`FILES` is data: the tests run it, and the documentation shows it.
"""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pyarrow as pa

from condrisk.app.tables import TableOptions

ROWS = 60
Make = Callable[[Path], Any]


@dataclass(frozen=True)
class FileCase:
    """A file that a person has, and what is done with it.

    Column "c" is the one in question. `values` are what its first cells are read as; `kind` is what
    a model takes it for, None where it is left out. `refused` is a pattern of the message where
    the file is not read. `noted` are words of a note. `label` is how the target is then predicted.
    """

    name: str
    what: str
    outcome: str
    make: Make
    values: Sequence[Any] = ()
    kind: str | None = "number"
    refused: str | None = None
    noted: str | None = None
    options: TableOptions = TableOptions()  # noqa: RUF009
    ending: str = "csv"
    column: str = "c"
    source: str = "file"
    fits: Callable[[Any], bool] | None = None


# -- files ----------------------------------------------------------------------------------------


def table(
    cells: Sequence[str] | Callable[[int], str],
    *,
    separator: str = ",",
    name: str = "c",
    target: Callable[[int], str] = lambda k: str(k * 37 % 11),
) -> str:
    """Return text with a good column, the column in question, and the target."""
    lines = [separator.join(["x", name, "y"])]
    for k in range(ROWS):
        cell = cells(k) if callable(cells) else cells[k % len(cells)]
        lines.append(separator.join([str(k * 7 % 13), cell, target(k)]))
    return "\n".join(lines) + "\n"


def text(content: str, encoding: str = "utf-8") -> Make:
    """Return what writes a text."""
    return lambda path: path.write_bytes(content.encode(encoding))


def csv(*cells: str) -> Make:
    """Return what writes CSV with these cells in the column in question, in turn."""
    return text(table([f'"{cell}"' for cell in cells]))


def semicolons(*cells: str) -> Make:
    """Return what writes these cells between semicolons."""
    return text(table(cells, separator=";"))


def frame(values: Sequence[Any]) -> pl.DataFrame:
    """Return the table with these values, in turn."""
    return pl.DataFrame(
        {
            "x": [k * 7 % 13 for k in range(ROWS)],
            "c": [values[k % len(values)] for k in range(ROWS)],
            "y": [k * 37 % 11 for k in range(ROWS)],
        }
    )


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> None:
    """Write a workbook with sheets of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)


def lines(values: Sequence[Any]) -> list[list[Any]]:
    """Return the table as rows of a sheet."""
    rows = frame(range(len(values)))
    return [rows.columns, *([x, values[c], y] for x, c, y in rows.iter_rows())]


def database(path: Path) -> None:
    """Write a database with a table of sales."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sales (x INTEGER, c TEXT, y INTEGER)")
        cells = frame(["$1,009.03", "$5.50", None])
        connection.executemany("INSERT INTO sales VALUES (?, ?, ?)", cells.rows())
    connection.close()


def days(form: str) -> Callable[[int], str]:
    """Return days of 2020 that are written in a format, one for each row."""
    return lambda k: date(2020, 1 + k * 5 % 12, 1 + k * 11 % 28).strftime(form)


def day(k: int) -> date:
    """Return the day of a row."""
    return date(2020, 1 + k * 5 % 12, 1 + k * 11 % 28)


DAYS = [day(0), day(1), day(2)]
JSON_LINES = frame([1.5, 1.234, None]).write_ndjson()
EITHER = "which may be thousands or have decimals: say decimal='.' or decimal=','"


def _text_files() -> Iterator[FileCase]:
    yield FileCase(
        "commas", "CSV with commas.", "Read.", text(table(["1.5", "2", ""])), [1.5, 2.0, None]
    )
    yield FileCase(
        "semicolons", "Semicolons between cells.", "Read.", semicolons("1.5", "2.5"), [1.5, 2.5]
    )
    yield FileCase(
        "tabs",
        "Tabs between cells.",
        "Read.",
        text(table(["1.5", "2.5"], separator="\t")),
        [1.5, 2.5],
        ending="tsv",
    )
    yield FileCase(
        "bars",
        "Bars between cells.",
        "Read.",
        text(table(["1.5", "2.5"], separator="|")),
        [1.5, 2.5],
        ending="txt",
    )
    yield FileCase(
        "quoted cells",
        "Commas and line breaks in quoted cells.",
        "Read; they are part of the cell.",
        csv("Bern, north", "two\nlines"),
        ["Bern, north", "two\nlines"],
        kind="category",
    )
    yield FileCase(
        "Windows line ends",
        "Lines that end as on Windows.",
        "Read.",
        text(table(["1.5", "2.5"]).replace("\n", "\r\n")),
        [1.5, 2.5],
    )
    yield FileCase(
        "spaces", "Spaces around names and cells.", "Read without them.", csv(" 1.5", "2 "), [1.5]
    )
    yield FileCase(
        "UTF-8 with a mark",
        "What Excel saves as “CSV UTF-8”.",
        "Read; the mark is no part of a name.",
        text(table(["Zürich", "Genève"]), "utf-8-sig"),
        ["Zürich", "Genève"],
        kind="category",
    )
    yield FileCase(
        "Windows-1252",
        "What Excel saves as “CSV” in Western Europe.",
        "Read, and a note says as what.",
        text(table(["Zürich", "100 €"]), "cp1252"),
        ["Zürich", "100 €"],
        kind="category",
        noted="it is read as Windows-1252",
    )
    yield FileCase(
        "€ in the header",
        "A column `price €` in Windows-1252.",
        "Read; the sign is that of the euro.",
        text(table(["1.5", "2.5"], name="price €"), "cp1252"),
        [1.5, 2.5],
        column="price €",
        noted="it is read as Windows-1252",
    )
    yield FileCase(
        "UTF-16",
        "What Excel saves as “Unicode text”: UTF-16 with tabs.",
        "Read.",
        text(table(["Zürich", "Bern"], separator="\t"), "utf-16"),
        ["Zürich", "Bern"],
        kind="category",
        ending="txt",
    )
    yield FileCase(
        "UTF-16 without a mark",
        "The same without the mark at its beginning.",
        "Read.",
        text(table(["Zürich", "Bern"], separator="\t"), "utf-16-le"),
        ["Zürich", "Bern"],
        kind="category",
    )
    yield FileCase(
        "no header",
        "Numbers in the first line.",
        "Refused: the first line must name the columns.",
        text("5.1,3.5,1\n" + "4.9,3.0,2\n" * ROWS),
        refused="has numbers in its first line, which must name the columns",
    )


def _numbers() -> Iterator[FileCase]:
    yield FileCase(
        "decimal commas",
        "`1,5` with semicolons.",
        "Read as 1.5, and a note says so.",
        semicolons("1,5", "2,25", "3"),
        [1.5, 2.25, 3.0],
        noted="numbers have decimal commas, such as '1,5'",
    )
    yield FileCase(
        "thousands with points",
        "`1.234,56`.",
        "Read as 1234.56, and `1.500` beside it as 1500.",
        semicolons("1.234,56", "1.500"),
        [1234.56, 1500.0],
        noted="decimal commas",
    )
    yield FileCase(
        "1.234 alone",
        "`1.234` and `2.500` with semicolons: a thousand, or a little more than one.",
        "Refused; `--decimal` settles it.",
        semicolons("1.234", "2.500"),
        refused=f"'1.234', {EITHER}",
    )
    yield FileCase(
        "1.234 with --decimal ,",
        "The same, with `--decimal ,`.",
        "Read as 1234.",
        semicolons("1.234", "2.500"),
        [1234.0, 2500.0],
        options=TableOptions(decimal=","),
        noted="decimal commas, such as '1.234'",
    )
    yield FileCase(
        "1.234 with --decimal .",
        "The same, with `--decimal .`.",
        "Read as 1.234.",
        semicolons("1.234", "2.500"),
        [1.234, 2.5],
        options=TableOptions(decimal="."),
    )
    yield FileCase(
        "1.234 with commas",
        "`1.234` in a file with commas between cells.",
        "Read as 1.234: where commas stand between cells, points stand before decimals.",
        text(table(["1.234", "2.500"])),
        [1.234, 2.5],
    )
    yield FileCase(
        "1,234 alone",
        "`1,234` in quotes.",
        "Refused; `--decimal` settles it.",
        csv("1,234", "12,500"),
        refused=f"'1,234', {EITHER}",
    )
    yield FileCase(
        "millions",
        "`1,234,567`.",
        "Read as 1234567, and `12,500` beside it as 12500: a number has one decimal sign.",
        csv("1,234,567", "12,500"),
        [1234567.0, 12500.0],
        noted="thousands in groups, such as '1,234,567'",
    )
    yield FileCase(
        "thousands with commas",
        "`1,009.03`.",
        "Read as 1009.03.",
        csv("1,009.03", "17"),
        [1009.03, 17.0],
        noted="thousands in groups",
    )
    yield FileCase(
        "thousands with spaces",
        "`1 234,5`, with an ordinary or a narrow space.",
        "Read as 1234.5.",
        semicolons("1 234,5", "1\u202f000", "12"),
        [1234.5, 1000.0, 12.0],
        noted="decimal commas",
    )
    yield FileCase(
        "thousands with apostrophes",
        "`1'234.50`, as in Switzerland.",
        "Read as 1234.5.",
        csv("1'234.50", "12"),
        [1234.5, 12.0],
        noted="thousands in groups",
    )
    yield FileCase(
        "dollars",
        "`$1,009.03`.",
        "Read as 1009.03; the model file keeps the sign, and amounts in € are then rejected.",
        csv("$1,009.03", "$5", "250"),
        [1009.03, 5.0, 250.0],
        noted=r"is in \$",
    )
    yield FileCase(
        "negative amounts", "`-$5` and `$-5`.", "Read as −5.", csv("-$5", "$-5.5"), [-5.0, -5.5]
    )
    yield FileCase(
        "euros",
        "`12,50 €`.",
        "Read as 12.5.",
        semicolons("12,50 €", "1.234,00 €"),
        [12.5, 1234.0],
        noted="is in €",
    )
    yield FileCase(
        "EUR", "`EUR 12.50`.", "Read as 12.5.", csv("EUR 12.50", "EUR 3"), [12.5], noted="is in EUR"
    )
    yield FileCase(
        "two currencies",
        "`$5` and `€5` in one column.",
        "Kept as text: they are not the same.",
        csv("$5", "€5"),
        ["$5", "€5"],
        kind="category",
    )
    yield FileCase(
        "percent",
        "`12%`.",
        "Read as 0.12, as Excel has it, and a note says so.",
        csv("12%", "3.5 %", "0"),
        [0.12, 0.035, 0.0],
        noted="12% is read as 0.12",
        refused=None,
    )
    yield FileCase(
        "percent and none",
        "`12%` and `13` in one column.",
        "Refused: 13 may be 13 % or 13.",
        csv("12%", "13"),
        refused="numbers in percent, such as '12%', and others without the sign",
    )
    yield FileCase(
        "percent with commas",
        "`12,5 %` with semicolons.",
        "Read as 0.125.",
        semicolons("12,5 %", "7 %"),
        [0.125, 0.07],
        noted="percent",
    )
    yield FileCase(
        "scientific", "`1.5e3`.", "Read as 1500.", csv("1.5e3", "-2E-2"), [1500.0, -0.02]
    )
    yield FileCase(
        "commas and points",
        "One column with `1,5`, another with `0.5`.",
        "Read, each by its own numbers.",
        text(table(["1,5", "2,5"], separator=";", target=lambda k: f"{k * 37 % 11}.5")),
        [1.5, 2.5],
        noted="decimal commas",
    )
    yield FileCase(
        "both in a column",
        "`1,5` and `2.5` in one column.",
        "Refused, with both.",
        semicolons("1,5", "2.5"),
        refused="numbers such as '2.5' and others such as '1,5': write all in one way",
    )
    yield FileCase(
        "words for nothing",
        "`NA`, `n/a`, `null`, `-` where a number is missing.",
        "Taken as missing.",
        csv("1", "NA", "n/a", "null", "-"),
        [1, None, None, None, None],
    )
    yield FileCase(
        "post codes",
        "`0815`: digits that are no number.",
        "Kept as text.",
        csv("0815", "4711"),
        ["0815", "4711"],
        kind="category",
    )
    yield FileCase(
        "a total below",
        "Numbers, and `Total` in the last row.",
        "Kept as text, and left out if there are many; a note shows the cell that is no number.",
        csv(*[str(k / 4) for k in range(ROWS - 1)], "Total"),
        ["0.0", "0.25"],
        kind=None,
        noted="column 'c' is text: 59 of its 60 cells are numbers, but not 'Total'",
        fits=lambda model: model.schema.names == ("x",),
    )
    yield FileCase(
        "brackets for minus",
        "`(1,009.03)` as in accounts, beside `2,500.50`.",
        "Kept as text, and a note shows such a cell: write a minus instead.",
        csv("(1,009.03)", "2,500.50", "17.25"),
        ["(1,009.03)", "2,500.50"],
        kind="category",
        noted="are numbers, but not '.1,009.03.'",
    )
    yield FileCase(
        "a line for Excel",
        "`sep=;` before the line with the names.",
        "Refused: delete it.",
        text("sep=;\n" + table(["1,5", "2,5"], separator=";")),
        refused="begins with the line 'sep=;', which is for Excel alone: delete it",
    )
    yield FileCase(
        "a comma at the end",
        "A comma at the end of each line: a last column without a name.",
        "Refused: it says which column.",
        text("".join(f"{line},\n" for line in table(["1", "2"]).splitlines())),
        refused="a column without a name, number 4 of 4 in its first line: name it, or delete it",
    )
    yield FileCase(
        "true and false",
        "`True` and `False`, as Python writes them, in the target.",
        "Read as booleans; predictions are written in the same way.",
        text(table(["1", "2"], target=lambda k: str(k * 37 % 11 > 5))),
        [1, 2],
        fits=lambda model: model.classes == ["False", "True"],
    )


def _dates() -> Iterator[FileCase]:
    formats = {
        "ISO dates": ("%Y-%m-%d", "`2020-12-31`.", None),
        "slashes, year first": ("%Y/%m/%d", "`2012/01/01`.", "written as %Y/%m/%d"),
        "points": ("%d.%m.%Y", "`31.12.2020`.", r"written as %d\.%m\.%Y"),
        "US dates": ("%m/%d/%Y", "`12/31/2020`, where some day is after the 12th.", "%m/%d/%Y"),
        "British dates": ("%d/%m/%Y", "`31/12/2020`, where some day is so.", "%d/%m/%Y"),
        "dashes": ("%d-%m-%Y", "`31-12-2020`, where some day is so.", "%d-%m-%Y"),
        "months by name": ("%d %b %Y", "`5 Jan 2020` or `5 January 2020`.", "%d %B %Y"),
        "US months": ("%b %d, %Y", "`Jan 5, 2020`.", "%B %d, %Y"),
        "database dates": ("%d-%b-%Y", "`05-JAN-2020`.", "%d-%B-%Y"),
        "short years": ("%d.%m.%y", "`31.12.20`.", r"%d\.%m\.%y"),
    }
    for name, (form, what, noted) in formats.items():
        cells = [f'"{days(form)(k)}"' for k in range(ROWS)]
        yield FileCase(name, what, "Read as days.", text(table(cells)), DAYS, "date", noted=noted)
    ambiguous = text(table(lambda k: f"{1 + k % 9:02d}/{1 + k % 11:02d}/2020"))
    yield FileCase(
        "12/11/2020",
        "Dates all of which may be read in two ways.",
        "Refused; `--date-format` settles it.",
        ambiguous,
        refused="the day or the month may come first: say date_format='%d/%m/%Y' or",
    )
    yield FileCase(
        "--date-format",
        "The same, with `--date-format %m/%d/%Y`.",
        "Read, the month first.",
        ambiguous,
        [date(2020, 1, 1), date(2020, 2, 2)],
        "date",
        options=TableOptions(date_formats=("%m/%d/%Y",)),
    )
    yield FileCase(
        "20201231",
        "Dates without a sign, with `--date-format %Y%m%d`.",
        "Read as days; else they would be numbers.",
        text(table(days("%Y%m%d"))),
        DAYS,
        "date",
        options=TableOptions(date_formats=("%Y%m%d",)),
    )
    yield FileCase(
        "half days",
        "`1/15/2020 9:30 PM`.",
        "Read; the day is used.",
        text(table(["1/15/2020 9:30 PM", "12/1/2020 11:05 AM"])),
        [datetime(2020, 1, 15, 21, 30), datetime(2020, 12, 1, 11, 5)],
        "date",
        noted="%m/%d/%Y %I:%M %p",
    )
    zones = {
        "offsets": "2020-06-01T01:30:00+02:00",
        "offsets in hours": "2020-06-01 01:30:00+02",
        "zones by name": "2020-06-01T01:30+02:00[Europe/Berlin]",
        "UTC by name": "2020-05-31 23:30:00 UTC",
    }
    for name, cell in zones.items():
        yield FileCase(
            name,
            f"`{cell}`.",
            "Read as a moment in UTC; its day is used.",
            text(table([cell, "2020-07-01T00:00:00Z"])),
            [datetime.fromisoformat("2020-05-31T23:30:00+00:00")],
            "date",
        )


def _columns() -> Iterator[FileCase]:
    yield FileCase(
        "index",
        "A first column without a name, as `DataFrame.to_csv` writes it.",
        "Called `Unnamed: 0`, as in pandas, and left out with a note.",
        text("".join(f"{line}\n" for line in _indexed())),
        [0, 1, 2],
        kind=None,
        column="Unnamed: 0",
        noted="'Unnamed: 0' is left out: it has no name and whole numbers: an index",
        fits=lambda model: model.schema.names == ("x", "c"),
    )
    yield FileCase(
        "numbered rows",
        "Whole numbers from 1001 to 1060.",
        "Left out, with a note; `--only` keeps them.",
        text(table(lambda k: str(1001 + k))),
        [1001],
        kind=None,
        noted="it numbers the rows, from 1001 to 1060",
        fits=lambda model: model.schema.names == ("x",),
    )
    yield FileCase(
        "customer_id",
        "Whole numbers that differ in each row, in a column named like an id.",
        "Left out, with a note; `--only` keeps them.",
        text(table(lambda k: str(k * k + 17), name="customer_id")),
        [17, 18],
        kind=None,
        column="customer_id",
        noted="named like an id",
        fits=lambda model: model.schema.names == ("x",),
    )
    yield FileCase(
        "missing targets",
        "Rows without a value in the column to predict.",
        "Left out, and a note counts them.",
        text(table(["1.5", "2.5"], target=lambda k: "" if k < 4 else str(k * 37 % 11))),
        [1.5, 2.5],
        noted="4 of 60 rows are left out: they have no target 'y'",
        fits=lambda model: model.schema.n_rows == 56,
    )


def _indexed() -> list[str]:
    head, *rows = table(["1.5", "2.5"]).splitlines()
    return [f",{head}", *(f"{k},{row}" for k, row in enumerate(rows))]


def _with_index(rows: list[list[Any]]) -> list[list[Any]]:
    return [[None if k == 0 else k - 1, *row] for k, row in enumerate(rows)]


def _formats() -> Iterator[FileCase]:
    content = table(["1.5", "2.5"]).encode()
    yield FileCase(
        "gzip",
        "CSV compressed with gzip.",
        "Unpacked and read.",
        lambda path: path.write_bytes(gzip.compress(content)),
        [1.5, 2.5],
        ending="csv.gz",
    )
    yield FileCase(
        "zstd",
        "CSV compressed with zstd.",
        "Unpacked and read.",
        lambda path: path.write_bytes(pa.compress(content, codec="zstd", asbytes=True)),
        [1.5, 2.5],
        ending="csv.zst",
    )
    yield FileCase(
        "Parquet",
        "A Parquet file.",
        "Read, in its own types.",
        lambda path: frame([1.5, None]).write_parquet(path),
        [1.5, None],
        ending="parquet",
    )
    yield FileCase(
        "Arrow",
        "An Arrow or Feather file.",
        "Read, in its own types.",
        lambda path: frame([1.5, None]).write_ipc(path),
        [1.5, None],
        ending="feather",
    )
    yield FileCase(
        "Excel",
        "A workbook with one sheet that is not empty.",
        "Read, with the names in its first row.",
        lambda path: workbook(path, {"Sheet1": lines([1.5, 1.234, None]), "Sheet2": []}),
        [1.5, 1.234, None],
        ending="xlsx",
    )
    yield FileCase(
        "Excel dates",
        "Dates in cells of a workbook.",
        "Read as days.",
        lambda path: workbook(path, {"Sheet1": lines([datetime(2020, 12, 31), None])}),
        [date(2020, 12, 31), None],
        "date",
        ending="xlsx",
    )
    yield FileCase(
        "Excel text",
        "Amounts that are text, and errors such as #N/A, in a workbook.",
        "Read as in CSV; errors are missing.",
        lambda path: workbook(path, {"Sheet1": lines(["$1,009.03", "#N/A"])}),
        [1009.03, None],
        ending="xlsx",
        noted=r"is in \$",
    )
    yield FileCase(
        "Excel, lower on the sheet",
        "A table that begins in a later row and column of its sheet.",
        "Read from there.",
        lambda path: workbook(path, {"a": [[], *([None, *row] for row in lines([1.5, 2.5]))]}),
        [1.5, 2.5],
        ending="xlsx",
    )
    yield FileCase(
        "Excel with an index",
        "A first column without a name, as `DataFrame.to_excel` writes it.",
        "Left out, with a note.",
        lambda path: workbook(path, {"a": _with_index(lines([1.5, 2.5, 3.5] * 20))}),
        [0, 1, 2],
        kind=None,
        ending="xlsx",
        column="Unnamed: 0",
        noted="no name and whole numbers: an index",
        fits=lambda model: model.schema.names == ("x", "c"),
    )
    two = {"old": lines([1.5]), "new": lines([2.5, 3.5])}
    yield FileCase(
        "Excel with sheets",
        "A workbook with several sheets.",
        "Refused; `--sheet` settles it.",
        lambda path: workbook(path, two),
        refused="has several sheets, 'old', 'new': say which, such as sheet='old'",
        ending="xlsx",
    )
    yield FileCase(
        "--sheet",
        "The same, with `--sheet new` or `--sheet 2`.",
        "Read.",
        lambda path: workbook(path, two),
        [2.5, 3.5],
        options=TableOptions(sheet="new"),
        ending="xlsx",
    )
    yield FileCase(
        "old Excel",
        "A workbook of the 1990s, .xls.",
        "Refused: save it as .xlsx or CSV.",
        lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)),
        refused="is an old workbook",
        ending="xls",
    )
    yield FileCase(
        "JSON lines",
        "An object a line; keys may be missing.",
        "Read.",
        text(JSON_LINES.replace('"c":null,', "")),
        [1.5, 1.234, None],
        ending="jsonl",
    )
    yield FileCase(
        "JSON array",
        "One array of objects.",
        "Read.",
        text("[" + ",\n".join(JSON_LINES.splitlines()) + "]"),
        [1.5, 1.234, None],
        ending="json",
    )
    yield FileCase(
        "compressed JSON lines",
        "JSON lines in .gz.",
        "Unpacked and read.",
        lambda path: path.write_bytes(gzip.compress(JSON_LINES.encode())),
        [1.5, 1.234, None],
        ending="jsonl.gz",
    )
    yield FileCase(
        "standard input",
        "`-` in place of a file: what another command writes.",
        "Read, whatever format it is.",
        lambda path: path.write_bytes(gzip.compress(content)),
        [1.5, 2.5],
        source="stdin",
    )
    yield FileCase(
        "database",
        "`sqlite:///sales.db` with `--query`.",
        "Read; types and notations as in CSV.",
        database,
        [1009.03, 5.5, None],
        options=TableOptions(query="SELECT * FROM sales"),
        source="sqlite",
        ending="db",
        noted=r"is in \$",
    )
    yield FileCase(
        "database without a query",
        "The same without `--query`.",
        "Refused: it says what to give.",
        database,
        refused="is a database: give the rows that are meant, such as query=",
        source="sqlite",
        ending="db",
    )


FILES: tuple[FileCase, ...] = (
    *_text_files(),
    *_numbers(),
    *_dates(),
    *_columns(),
    *_formats(),
)
