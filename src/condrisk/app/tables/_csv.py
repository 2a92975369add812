"""CSV as people have it: which encoding, which separator, and what stands in each column."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from condrisk.app._errors import TableError
from condrisk.app.tables._cells import as_days, clean_text

SEPARATORS = (",", ";", "\t", "|")
# How much is looked at for the separator.
_HEAD = 1 << 16
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WHOLE = r"^[+-]?\d{1,18}$"
_LONG = r"^[+-]?\d{19,}$"
_LEADING_ZERO = r"^[+-]?0\d"
_DECIMAL_COMMA = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$"


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    encoding: str
    separator: str
    names: tuple[str, ...]


def read_dialect(path: Path, *, note: Callable[[str], None] | None = None) -> Dialect:
    """Find out how a CSV file is written, from its beginning."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    return dialect_of(head, str(path), whole=len(head) < _HEAD, note=note)


def dialect_of(
    data: bytes, name: str, *, whole: bool, note: Callable[[str], None] | None = None
) -> Dialect:
    """Find out how CSV is written; `name` stands for it in messages."""
    encoding = _encoding(data, name, whole=whole)
    if encoding == "latin-1" and note is not None:
        note(f"{name} is not UTF-8; it is read as Latin-1")
    text = data.decode(encoding, errors="replace").lstrip("\ufeff")
    if not text.strip():
        raise TableError(f"{name} is empty.")
    first = text.splitlines()[0]
    if not first.strip():
        raise TableError(f"{name} begins with an empty line; its first line must name the columns.")
    if "\x00" in first:
        raise TableError(f"{name} is not text: its first line has zero bytes in it.")
    if first.count('"') % 2:
        raise TableError(f"{name} has a quotation mark in its first line that is not closed.")
    separator = max(SEPARATORS, key=lambda mark: _count_outside_quotes(first, mark))
    names = tuple(cell.strip() for cell in next(csv.reader([first], delimiter=separator)))
    check_names(names, name)
    return Dialect(encoding, separator, names)


def check_names(names: Sequence[str], name: str) -> None:
    """Refuse a header with a name twice, or with none."""
    twice = [text for text, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(repr(text) for text in twice[:5])
        raise TableError(f"{name} has several columns of the name {shown}: name each differently.")
    if "" in names:
        raise TableError(
            f"{name} has a column without a name, the {names.index('') + 1}. of its first line."
        )


def _encoding(data: bytes, name: str, *, whole: bool) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, whole)
    except UnicodeDecodeError as error:
        _refuse_mixture(data, name, error.start)
        return "latin-1"
    return "utf-8"


def _refuse_mixture(data: bytes, name: str, at: int) -> None:
    """Refuse bytes of which some lines are UTF-8 and others are not."""
    for line in data.split(b"\n"):
        try:
            mixed = not line.decode("utf-8").isascii()
        except UnicodeDecodeError:
            continue
        if mixed:
            number = data.count(b"\n", 0, at) + 1
            raise TableError(
                f"{name} mixes encodings: line {number} is not UTF-8, but other lines are; "
                f"write the whole file as UTF-8."
            )


def _count_outside_quotes(line: str, mark: str) -> int:
    return sum(part.count(mark) for part in line.split('"')[::2])


def read_csv(path: Path, *, note: Callable[[str], None] | None = None) -> pl.DataFrame:
    """Read a whole CSV file, and give each column the type of what stands in it."""
    data = path.read_bytes()
    dialect = dialect_of(data, str(path), whole=True, note=note)
    if dialect.encoding != "utf-8":
        data = data.decode(dialect.encoding, errors="replace").encode()
    frame = read_text_columns(data, dialect, str(path))
    note = note or (lambda what: None)
    return pl.DataFrame([typed(frame[column], str(path), note) for column in frame.columns])


def read_text_columns(data: bytes, dialect: Dialect, name: str) -> pl.DataFrame:
    """Read UTF-8 text into columns of text; a row with too few or too many cells is an error."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    odd: list[str] = []

    def remember(row: arrow_csv.InvalidRow) -> str:
        odd.append(
            f"line {row.number} has {row.actual_columns} cells, but the first line names "
            f"{row.expected_columns} columns"
        )
        return "error"

    try:
        table = arrow_csv.read_csv(
            io.BytesIO(data),
            # One thread: only then is the number of a bad line known.
            arrow_csv.ReadOptions(column_names=list(dialect.names), skip_rows=1, use_threads=False),
            arrow_csv.ParseOptions(
                delimiter=dialect.separator, newlines_in_values=True, invalid_row_handler=remember
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        reason = odd[0] if odd else str(error).splitlines()[0][:200].rstrip(".")
        raise TableError(f"{name} could not be read as CSV: {reason}.") from None
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def typed(column: pl.Series, name: str, note: Callable[[str], None]) -> pl.Series:
    """Return a column of text as numbers, booleans or dates where all of it is such."""
    text = clean_text(column)
    known = text.drop_nulls()
    if not len(known):
        return text
    if known.str.to_lowercase().is_in(["true", "false"]).all():
        return text.str.to_lowercase() == "true"
    if known.str.contains(_LEADING_ZERO).any() and known.str.contains(r"^[+-]?\d+$").all():
        return text  # 007 is a name, as post codes are
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        if known.str.contains(_WHOLE).all():
            return text.cast(pl.Int64)
        if known.str.contains(_LONG).any():
            note(f"column {column.name!r} has numbers of more than 18 digits; they are rounded")
        return numbers
    if known.str.contains(_DECIMAL_COMMA).any() and _is_number_but_for_commas(known):
        example = known.filter(known.str.contains(_DECIMAL_COMMA))[0]
        raise TableError(
            f"column {column.name!r} of {name} has numbers with commas, such as {example!r}: write "
            f"them with a point and without separators of thousands."
        )
    days = as_days(text)
    if days.null_count() > text.null_count():
        return text
    if (known.str.len_chars() > len("2026-11-15")).any():
        note(f"of column {column.name!r} the day is used, not the time of day")
    return days


def _is_number_but_for_commas(known: pl.Series) -> bool:
    mended = known.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return mended.cast(pl.Float64, strict=False).null_count() == 0
