"""Broken and hostile tables: what each is, and what becomes of it.

`CASES` is data: the tests run it, and the documentation shows it.
"""

from __future__ import annotations

import gzip
import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import parquet

ROWS = 60


@dataclass(frozen=True)
class TableCase:
    """A file that a person might have, and what is done with it.

    `refused` is a pattern of the sentence with which reading or fitting refuses it; where it is
    None, `holds` looks at the table that was read, at the notes, and at the model.
    """

    name: str
    what: str
    outcome: str
    make: Callable[[Path], Any]
    refused: str | None = None
    holds: Callable[[pl.DataFrame, list[str], Any], bool] | None = None
    ending: str = "csv"


class _Code:
    """What a hostile pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


def rows(column: str, values: list[str] | Callable[[int], str], separator: str = ",") -> str:
    """Return CSV with a good column, the column in question, and the target."""
    lines = [separator.join(["x", column, "y"])]
    for k in range(ROWS):
        value = values(k) if callable(values) else values[k % len(values)]
        lines.append(separator.join([str(k % 7), value, str((k * 37) % 11 + 0.5)]))
    return "\n".join(lines) + "\n"


def text(content: str, encoding: str = "utf-8") -> Callable[[Path], Any]:
    """Return what writes a text."""
    return lambda path: path.write_bytes(content.encode(encoding))


def raw(content: bytes) -> Callable[[Path], Any]:
    """Return what writes bytes."""
    return lambda path: path.write_bytes(content)


def arrow(frame: pl.DataFrame) -> bytes:
    """Return a table as Parquet."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def good() -> pl.DataFrame:
    """Return a table that nothing is wrong with."""
    return pl.DataFrame(
        {"x": [k % 7 for k in range(ROWS)], "y": [(k * 37) % 11 + 0.5 for k in range(ROWS)]}
    )


def twice_named(path: Path) -> None:
    """Write Parquet with two columns of one name."""
    table = pa.table([pa.array([1.0] * ROWS), pa.array([2.0] * ROWS)], names=["x", "x"])
    parquet.write_table(table, path)


def kind(name: str) -> Callable[[pl.DataFrame, list[str], Any], bool]:
    """Return a test of what column "c" was taken for by the model."""
    return lambda frame, notes, model: {c.name: c.kind for c in model.schema.columns}["c"] == name


def noted(*words: str) -> Callable[[pl.DataFrame, list[str], Any], bool]:
    """Return a test that column "c" is left out, and that a note says so in these words."""
    return lambda frame, notes, model: (
        "c" not in model.schema.names and any(all(word in note for word in words) for note in notes)
    )


LATIN = rows("größe", ["süd", "nord"])
CASES: tuple[TableCase, ...] = (
    TableCase("empty file", "A file of no bytes.", "Refused.", raw(b""), refused="is empty"),
    TableCase(
        "header only",
        "The names of columns, and no rows.",
        "Refused.",
        text("x,y\n"),
        refused="has no rows",
    ),
    TableCase(
        "empty first line",
        "The names of the columns come after an empty line.",
        "Refused.",
        text("\n" + rows("c", ["1"])),
        refused="begins with an empty line",
    ),
    TableCase(
        "duplicate columns",
        "Two columns of the same name in a CSV file.",
        "Refused, with the name; nothing is renamed silently.",
        text(rows("x", ["1", "2"])),
        refused=r"several columns of the name 'x'",
    ),
    TableCase(
        "duplicate columns in Parquet",
        "Two columns of the same name in a Parquet file.",
        "Refused, with the name.",
        twice_named,
        refused=r"several columns of the name 'x'",
        ending="parquet",
    ),
    TableCase(
        "column without a name",
        "A comma too many at the end of the header.",
        "Refused, with its position.",
        text(rows("", ["1", "2"])),
        refused="a column without a name, number 2 of 3 in its first line",
    ),
    TableCase(
        "Latin-1",
        "Text in the old encoding of Western Europe.",
        "Read as Windows-1252, which has the same letters, and a note says so.",
        text(LATIN, "latin-1"),
        holds=lambda frame, notes, model: (
            frame.columns[1] == "größe" and "süd" in frame["größe"] and "Windows-1252" in notes[0]
        ),
    ),
    TableCase(
        "UTF-16",
        "Text as old Windows programs export it.",
        "Read: the mark at its beginning tells the encoding.",
        text(LATIN, "utf-16"),
        holds=lambda frame, notes, model: (
            frame.columns[1] == "größe" and frame["größe"][0] == "süd"
        ),
    ),
    TableCase(
        "UTF-8 with a mark",
        "UTF-8 that begins with a byte order mark.",
        "Read: the mark is no part of the first name.",
        text(rows("c", ["1", "2"]), "utf-8-sig"),
        holds=lambda frame, notes, model: frame.columns[0] == "x",
    ),
    TableCase(
        "mixed encodings",
        "Some lines in UTF-8, others in Latin-1, as files have that were glued together.",
        "Refused, with the first row that differs; scoring rejects each such row.",
        raw(rows("c", ["süd"]).encode() + "1,süd,2.0\n".encode("latin-1")),
        refused="in row 61, column 'c' holds bytes that are not UTF-8, but other rows are",
    ),
    TableCase(
        "semicolons",
        "A CSV file with semicolons, or tabs, between its cells.",
        "Read: the header tells the separator.",
        text(rows("c", ["1.5", "2.5"], separator=";")),
        holds=lambda frame, notes, model: frame["c"].to_list()[:2] == [1.5, 2.5],
    ),
    TableCase(
        "decimal commas",
        "Numbers written as 1,5.",
        "Read, and a note says so: one sign for the whole file.",
        text(rows("c", ["1,5", "2,250", " 3 ", "NA"], separator=";").replace(".5\n", ",5\n")),
        holds=lambda frame, notes, model: (
            frame["c"].to_list()[:4] == [1.5, 2.25, 3.0, None]
            and frame["y"].dtype == pl.Float64
            and any("decimal commas, such as '1,5' in column 'c'" in note for note in notes)
        ),
    ),
    TableCase(
        "decimal commas and points",
        "One column of numbers such as 1,5 and another of numbers such as 0.5.",
        "Read, each column by its own numbers, and a note says so.",
        text(rows("c", ["1,5", "2,25"], separator=";")),
        holds=lambda frame, notes, model: (
            frame["c"].to_list()[:2] == [1.5, 2.25]
            and frame["y"][0] == 0.5
            and any("decimal commas, such as '1,5' in column 'c'" in note for note in notes)
        ),
    ),
    TableCase(
        "decimal commas and points in a column",
        "Numbers such as 1,5 and 0.5 in the same column.",
        "Refused, with both.",
        text(rows("c", ["1,5", "0.5"], separator=";")),
        refused="column 'c' of .* has numbers such as '0.5' and others such as '1,5'",
    ),
    TableCase(
        "thousands",
        "Numbers written as 1,234 throughout.",
        "Refused, with an example: it may be one number or a thousand times as much.",
        text(rows("c", ["1,234", "2,500"], separator=";").replace(".5\n", "\n")),
        refused="column 'c' of .* has numbers such as '1,234', which may be thousands",
    ),
    TableCase(
        "thousands beside decimal commas",
        "Numbers written as 1.234 in a file with numbers such as 1,5.",
        "Refused, with an example.",
        text(rows("c", ["1.234", "2.500"], separator=";").replace(".5\n", ",5\n")),
        refused="column 'c' of .* has numbers such as '1.234', which may be thousands",
    ),
    TableCase(
        "thousands and decimals",
        "Numbers written as 1.234,5.",
        "Read, and a note says so: a number with both signs shows which is which.",
        text(rows("c", ["1.234,5", "250"], separator=";").replace(".5\n", ",5\n")),
        holds=lambda frame, notes, model: (
            frame["c"].to_list()[:2] == [1234.5, 250.0]
            and any("decimal commas, such as '1.234,5' in column 'c'" in note for note in notes)
        ),
    ),
    TableCase(
        "late Latin-1",
        "The only letter that is not ASCII comes after 200,000 bytes.",
        "Read as Windows-1252: the whole file tells the encoding.",
        text(rows("c", ["a", "b"]) + "1,a,2.5\n" * 25_000 + "1,süd,2.5\n", "latin-1"),
        holds=lambda frame, notes, model: "süd" in frame["c"] and "Windows-1252" in notes[0],
    ),
    TableCase(
        "a cell too many",
        "A row with more cells than the header.",
        "Refused, with the row.",
        text(rows("c", ["1"]) + "1,2,3,4\n"),
        refused="in row 61, the header has 3 cells, this row 4: '1,2,3,4'",
    ),
    TableCase(
        "a cell too few",
        "A row with fewer cells than the header.",
        "Refused, with the row.",
        text(rows("c", ["1"]) + "1,2\n"),
        refused="in row 61, the header has 3 cells, this row 2: '1,2'",
    ),
    TableCase(
        "cell not closed",
        "A quotation mark in front of a cell of line 9, and none behind it.",
        "Refused, with the line: all rows after it would be one cell.",
        text(rows("c", lambda k: '"red' if k == 7 else "blue")),
        refused=r"line 9 has a quotation mark that opens a cell and is not closed",
    ),
    TableCase(
        "cell closed by another",
        "The same, and a cell in quotation marks further down.",
        "Refused, with the line: all rows between them would be one cell.",
        text(rows("c", ['"red', "blue", '"green"', "white"])),
        refused=r"line 2 has a quotation mark that opens a cell and is not closed",
    ),
    TableCase(
        "U+2028 in a name",
        "A name with a character that some programs take for the end of a line.",
        "Read, with the name as it is.",
        text(rows("c\u2028d", lambda k: str(k % 5))),
        holds=lambda frame, notes, model: frame.columns == ["x", "c\u2028d", "y"],
    ),
    TableCase(
        "quotation mark not closed",
        "A quoted name in the header that does not end.",
        "Refused.",
        text('x,"c,y\n1,2,3\n'),
        refused="quotation mark in its first line that is not closed",
    ),
    TableCase(
        "bytes that are no text",
        "Zero bytes in a file that is called CSV.",
        "Refused.",
        raw(b"x,\x00\x00,y\n1,2,3\n"),
        refused="is not text",
    ),
    TableCase(
        "bomb",
        "A file of 13 kB that unpacks to 400 MB.",
        "Refused when it has unpacked to 256 MiB: no table shrinks to a thousandth.",
        raw(pa.compress(b"1" * 400_000_000, codec="zstd", asbytes=True)),
        refused="unpacks to more than .* MiB, too much for a table of its size",
        ending="csv.zst",
    ),
    TableCase(
        "compressed twice",
        "A compressed file, compressed.",
        "Refused.",
        raw(gzip.compress(gzip.compress(rows("c", ["1"]).encode()))),
        refused="is compressed twice",
        ending="csv.gz",
    ),
    TableCase(
        "truncated gzip",
        "The first half of a compressed file.",
        "Refused.",
        raw(gzip.compress(rows("c", ["1", "2"]).encode())[:80]),
        refused="could not be read",
        ending="csv.gz",
    ),
    TableCase(
        "zip",
        "A zip archive that is no workbook.",
        "Refused: unpack it first.",
        raw(b"PK\x03\x04" + b"\x00" * 60),
        refused="is a zip archive",
    ),
    TableCase(
        "pickle",
        "A pickle that is called CSV and would run code.",
        "Refused; it is never opened.",
        raw(pickle.dumps(_Code())),
        refused="is a pickle",
    ),
    TableCase(
        "truncated Parquet",
        "The first half of a Parquet file.",
        "Refused.",
        raw(arrow(good())[:200]),
        refused="could not be read",
        ending="parquet",
    ),
    TableCase(
        "CSV called Parquet",
        "A text file whose name ends in .parquet.",
        "Refused: the content and the name contradict each other.",
        text(rows("c", ["1"])),
        refused="does not begin as such a file does",
        ending="parquet",
    ),
    TableCase(
        "folder", "A folder in place of a file.", "Refused.", Path.mkdir, refused="is a folder"
    ),
    TableCase(
        "dates",
        "Days written as 2026-11-15.",
        "Used, as days.",
        text(rows("c", lambda k: f"2026-11-{1 + k % 28:02d}")),
        holds=kind("date"),
    ),
    TableCase(
        "moments",
        "Moments written as 2026-11-15T01:30:00+02:00.",
        "Read as moments in UTC; the day is used, with a note.",
        text(rows("c", lambda k: f"2026-11-{2 + k % 27:02d}T01:30:00+02:00")),
        holds=lambda frame, notes, model: (
            str(frame["c"][0]) == "2026-11-01 23:30:00+00:00"
            and kind("date")(frame, notes, model)
            and "of column 'c' the day is used, not the time of day" in notes
        ),
    ),
    TableCase(
        "dates of unknown order",
        "Days written as 03/04/2026: March or April.",
        "Refused, with the option that settles it.",
        text(rows("c", lambda k: f"{1 + k % 12:02d}/{1 + k % 9:02d}/{2000 + k}")),
        refused=r"in which the day or the month may come first: say date_format='%d/%m/%Y' or",
    ),
    TableCase(
        "1e308",
        "A number near the largest there is.",
        "Refused, with row, column and value: its square has no value.",
        text(rows("c", ["1.0", "2.0", "1e308"])),
        refused=r"in row 3 column 'c' holds 1e\+308",
    ),
    TableCase(
        "infinity",
        "A cell that says inf.",
        "Refused, with row, column and value.",
        text(rows("c", ["1.0", "2.0", "inf"])),
        refused=r"in row 3 column 'c' holds inf",
    ),
    TableCase(
        "1e308 in the target",
        "The same in the column to predict.",
        "Refused, with the count.",
        text(rows("c", ["1.0", "2.0"]).replace(",7.5\n", ",1e308\n")),
        refused=r"column 'y' has \d+ values that are infinite or beyond",
    ),
    TableCase(
        "all missing",
        "A column without any value.",
        "Left out, with a note.",
        text(rows("c", [""])),
        holds=noted("'c' is left out", "empty"),
    ),
    TableCase(
        "constant",
        "A column with the same value in every row.",
        "Left out, with a note.",
        text(rows("c", ["7"])),
        holds=noted("'c' is left out", "same value"),
    ),
    TableCase(
        "words for nothing",
        "NA, n/a, null, - and spaces where a number is missing.",
        "Taken as missing; the column stays one of numbers.",
        text(rows("c", ["1", "NA", "n/a", " null ", "-", "2", "  "])),
        holds=lambda frame, notes, model: (
            frame["c"].dtype == pl.Int64 and frame["c"].null_count() > ROWS / 2
        ),
    ),
    TableCase(
        "names",
        "A column of text that differs in every row.",
        "Left out, with a note: it cannot be learnt from.",
        text(rows("c", lambda k: f"Person {k}")),
        holds=noted("text with 60 distinct values"),
    ),
    TableCase(
        "numbers that are too long",
        "Identifiers of twenty digits, which no number of eight bytes can hold.",
        "Rounded, with a note.",
        text(rows("c", lambda k: f"{10**19 + k}")),
        holds=lambda frame, notes, model: any("more than 18 digits" in note for note in notes),
    ),
    TableCase(
        "leading zeros",
        "Codes such as 007.",
        "Kept as text: 007 is not 7.",
        text(rows("c", ["007", "012", "100"])),
        holds=lambda frame, notes, model: (
            frame["c"][0] == "007" and kind("category")(frame, notes, model)
        ),
    ),
    TableCase(
        "truth as text",
        "True, false and TRUE.",
        "Read as booleans.",
        text(rows("c", ["True", "false", "TRUE"])),
        holds=kind("boolean"),
    ),
    TableCase(
        "target with gaps",
        "Rows without a value in the column to predict.",
        "Left out, and a note counts them.",
        text(rows("c", ["1", "2"]).replace(",7.5\n", ",\n")),
        holds=lambda frame, notes, model: (
            any("5 of 60 rows are left out: they have no target 'y'" in note for note in notes)
            and model.schema.n_rows == ROWS - 5
        ),
    ),
    TableCase(
        "lists in cells",
        "A Parquet column of lists.",
        "Left out, with a note.",
        lambda path: good().with_columns(c=pl.lit([1, 2])).write_parquet(path),
        holds=noted("it is of type List"),
        ending="parquet",
    ),
    TableCase(
        "few rows",
        "A table of ten rows.",
        "Refused: nothing could be held out.",
        text("\n".join(rows("c", ["1", "2"]).splitlines()[:11]) + "\n"),
        refused="has 10 rows; at least 50",
    ),
)
