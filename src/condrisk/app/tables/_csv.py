"""CSV as people have it: encoding, separator, decimal sign and types, found out once per file."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
from pyarrow import csv as arrow_csv

from condrisk.app._errors import TableError
from condrisk.app.tables._types import COMMA, POINT, ColumnFacts, decimal_sign, typed, with_points

SEPARATORS = (",", ";", "\t", "|")
# How much of a file is parsed at a time: no row can be longer.
_BLOCK = 1 << 22
# How much is looked at for the encoding at a time; the first line must end within.
_HEAD = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Where a cell with a decimal comma could begin: it is quoted if commas are between the cells.
_QUOTED_COMMA = re.compile(rb'"\s*[+-]?[0-9]*,[0-9]')
_ANY_COMMA = re.compile(rb'(?:^|[\s;|"])[+-]?[0-9]*,[0-9]')
_OVERLAP = 64
_NOT_UTF8 = (
    "column {!r} holds bytes that are not UTF-8, but other rows are: the file mixes encodings."
)


@dataclass(frozen=True)
class Layout:
    """How a CSV file is written, and what stands in it.

    Attributes
    ----------
    path : Path
        The file.
    encoding : str
        Judged by all of the file: UTF-8, else what a mark at its beginning says, else Latin-1.
    mixed : bool
        Whether some lines are UTF-8 and others are not. These are then not read as if they were.
    separator : str
        What stands between cells: what the first line has most of.
    names : tuple of str
        The columns.
    may_have_commas : bool
        Whether any cell can be a number with a comma.
    """

    path: Path
    encoding: str
    mixed: bool
    separator: str
    names: tuple[str, ...]
    may_have_commas: bool

    @cached_property
    def facts(self) -> dict[str, ColumnFacts]:
        """What the cells of each column are, from one pass over the file in little memory."""
        facts = {name: ColumnFacts() for name in self.names}
        with table_errors(self.path), pa.OSFile(str(self.path)) as file:
            for batch in read_batches(file, self, lambda row: "skip", threads=True):
                text, _ = as_text(pa.Table.from_batches([batch]))
                for name, cells in zip(self.names, text.columns, strict=True):
                    facts[name].add(pl.Series(name, cells))
        return facts

    @cached_property
    def decimal(self) -> str:
        """The sign before decimals."""
        return decimal_sign(self.facts) if self.may_have_commas else POINT

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type that all cells of each column have; text where there is none."""
        return {name: found.dtype(self.decimal) for name, found in self.facts.items()}

    def notes(self) -> Iterator[str]:
        """Yield what had to be guessed."""
        if self.encoding == "latin-1":
            yield f"{self.path} is not UTF-8; it is read as Latin-1"
        if self.decimal == COMMA:
            name, found = next((n, f) for n, f in self.facts.items() if f.clear_comma)
            yield f"numbers have decimal commas, such as {found.comma!r} in column {name!r}"

    def with_points(self, cells: pl.Series) -> pl.Series:
        """Return numbers as they are written with a decimal point; text stays."""
        if self.decimal == POINT or not self.facts[cells.name].mostly_numbers:
            return cells
        return with_points(cells)

    def typed(self, cells: pl.Series) -> pl.Series:
        """Return some cells of a column in the type that all of its cells have."""
        dtype = self.types[cells.name]
        return typed(self.with_points(cells) if dtype == pl.String else cells, dtype, self.decimal)

    def refuse_unclear(self) -> None:
        """Refuse a file with a column of numbers that may be read in two ways."""
        for name, found in self.facts.items():
            example = found.unclear(self.decimal)
            if example is not None:
                also = "a decimal comma" if self.decimal == COMMA else "a decimal point"
                raise TableError(
                    f"column {name!r} of {self.path} has numbers such as {example!r}, which may be "
                    f"thousands or have decimals: write all numbers of the file with {also} and "
                    f"without separators of thousands."
                )


def read_layout(path: Path) -> Layout:
    """Find out how a CSV file is written: the encoding from all of it, the rest as it is needed."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    encoding = next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")
    mixed = False
    first = _first_line(head.decode(encoding, errors="replace"), str(path))
    separator = max(SEPARATORS, key=lambda mark: _count_outside_quotes(first, mark))
    commas = True
    if encoding == "utf-8":
        encoding, mixed, commas = _survey(path, separator)
        first = _first_line(head.decode(encoding, errors="replace"), str(path))
    if mixed and "\ufffd" in first:
        raise TableError(
            f"the first line of {path} holds bytes that are not UTF-8, but other lines are UTF-8: "
            f"write the whole file as UTF-8."
        )
    names = tuple(cell.strip() for cell in next(csv.reader([first], delimiter=separator)))
    check_names(names, str(path))
    return Layout(path, encoding, mixed, separator, names, commas)


def _first_line(head: str, name: str) -> str:
    text = head.lstrip("\ufeff")
    if not text.strip():
        raise TableError(f"{name} is empty.")
    first = text.splitlines()[0]
    if not first.strip():
        raise TableError(f"{name} begins with an empty line; its first line must name the columns.")
    if "\x00" in first:
        raise TableError(f"{name} is not text: its first line has zero bytes in it.")
    if first.count('"') % 2:
        raise TableError(f"{name} has a quotation mark in its first line that is not closed.")
    return first


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


def _count_outside_quotes(line: str, mark: str) -> int:
    return sum(part.count(mark) for part in line.split('"')[::2])


# -- all bytes of a file, once --------------------------------------------------------------------


def _survey(path: Path, separator: str) -> tuple[str, bool, bool]:
    """Return the encoding, whether it is mixed with another, and whether commas may be decimals."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    pattern, mark = (_QUOTED_COMMA, b'"') if separator == "," else (_ANY_COMMA, b",")
    valid, commas, before = True, False, b""
    with open(path, "rb") as file:
        while block := file.read(_HEAD):
            if valid:
                valid = _decodes(decoder, block)
            if not commas and mark in block:
                commas = pattern.search(before + block) is not None
            before = block[-_OVERLAP:]
    if valid and _decodes(decoder, b"", final=True):
        return "utf-8", False, commas
    mixed = _has_utf8_lines(path)
    return "utf-8" if mixed else "latin-1", mixed, commas


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


def _has_utf8_lines(path: Path) -> bool:
    """Tell whether any line of a file that is not UTF-8 can only be UTF-8."""
    with open(path, "rb") as file:
        while lines := file.readlines(_HEAD):
            for line in lines:
                if not line.isascii() and _is_utf8(line):
                    return True
    return False


def _is_utf8(line: bytes) -> bool:
    return _decodes(codecs.getincrementaldecoder("utf-8")(), line, final=True)


# -- cells ----------------------------------------------------------------------------------------


def read_batches(
    file: Any, layout: Layout, on_malformed: Callable[[Any], str], *, threads: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows as columns of bytes: a cell that is not text must not end it all.

    With threads, lines that do not fit the header have no numbers.
    """
    names = list(layout.names)
    try:
        yield from arrow_csv.open_csv(
            file,
            arrow_csv.ReadOptions(
                use_threads=threads,
                block_size=_BLOCK,
                column_names=names,
                skip_rows=1,
                encoding="utf8" if layout.encoding == "utf-8" else layout.encoding,
            ),
            arrow_csv.ParseOptions(
                delimiter=layout.separator,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
                invalid_row_handler=on_malformed,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.binary()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if "Could not skip initial" not in str(error):  # else there is nothing but a header
            raise


def as_text(table: pa.Table) -> tuple[pa.Table, dict[int, str]]:
    """Return bytes as text, and the rows where they are not UTF-8."""
    bad: dict[int, str] = {}
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(column.cast(pa.string()))
        except pa.ArrowInvalid:
            columns.append(_decoded(column, name, bad))
    return pa.table(columns, names=table.column_names), bad


def _decoded(column: pa.ChunkedArray, name: str, bad: dict[int, str]) -> pa.Array:
    cells = []
    for at, cell in enumerate(column.to_pylist()):
        text = (cell or b"").decode(errors="replace")
        if text.encode() != (cell or b""):
            bad.setdefault(at, _NOT_UTF8.format(name))
        cells.append(None if cell is None else text)
    return pa.array(cells, pa.string())


@contextmanager
def table_errors(path: Path) -> Iterator[None]:
    """Turn what Arrow says about a broken file into one sentence about the file."""
    try:
        yield
    except TableError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise TableError(f"{path} could not be read: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, not too long, as the end of a sentence."""
    text = (str(error) or type(error).__name__).splitlines()[0].removeprefix("CSV parse error: ")
    return text[:200].rstrip(".") + "."
