"""How a table of text is written: its separator, names, notations and types, found out once."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from condrisk.app._errors import TableError
from condrisk.app._table_options import TableOptions
from condrisk.app.tables._csv import as_text, check_names, read_batches, table_errors
from condrisk.app.tables._encoding import HEAD_BYTES, marked_encoding, survey
from condrisk.app.tables._notation import (
    COMMA,
    PERCENT,
    POINT,
    Notation,
    check_date_format,
    plain_text,
)
from condrisk.app.tables._quotes import check_quotes
from condrisk.app.tables._types import ColumnFacts, typed

if TYPE_CHECKING:
    from condrisk.persistence import Column

SEPARATORS = (",", ";", "\t", "|")
# What pandas calls a first column without a name.
UNNAMED = "Unnamed: 0"
_NUMBER = re.compile(r"[+-]?[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_LINE_END, _LINE_END_OF_TEXT = re.compile(rb"[\r\n]"), re.compile(r"\r\n|\r|\n")
_SEPARATOR_LINE = re.compile(rb"(?:\xef\xbb\xbf)?(sep=[,;\t|])\r?\n", re.IGNORECASE)
_LONGEST_HEADER = 64 << 20
_ENCODINGS = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}


@dataclass(frozen=True)
class Layout:
    """How a table of text is written, and what stands in it.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        What it is called in messages.
    encoding : str
        Judged by all of the file: UTF-8, what a mark at its beginning says, else Windows-1252 or
        Latin-1.
    mixed : bool
        Whether some lines are UTF-8 and others are not. These are then not read as if they were.
    separator : str
        What stands between cells: what the first line has most of.
    names : tuple of str
        The columns.
    may_have_commas : bool
        Whether any cell can be a number with a comma.
    options : TableOptions
        What the user says of numbers and dates.
    expected : mapping of str to Column
        The columns of a model that will read the table: they settle what the table leaves open.
    """

    path: Path
    name: str
    encoding: str
    mixed: bool
    separator: str
    names: tuple[str, ...]
    may_have_commas: bool
    options: TableOptions = field(default_factory=TableOptions)
    expected: Mapping[str, Column] = field(default_factory=dict)

    @cached_property
    def facts(self) -> dict[str, ColumnFacts]:
        """What the cells of each column are, from one pass over the file in little memory."""
        facts = {name: ColumnFacts(self.options.date_formats) for name in self.names}
        with table_errors(self.name), pa.OSFile(str(self.path)) as file:
            for batch in read_batches(file, self, lambda row: "skip", threads=True):
                text, _ = as_text(pa.Table.from_batches([batch]))
                for name, cells in zip(self.names, text.columns, strict=True):
                    facts[name].add(pl.Series(name, cells))
        return facts

    @property
    def may_need_facts(self) -> bool:
        """Whether text can need more than a look at each cell, for columns that are expected."""
        return (
            self.may_have_commas
            or self.options != TableOptions()
            or not all(Notation.of(column).is_plain for column in self.expected.values())
        )

    @cached_property
    def _file_decimal(self) -> str | None:
        """The decimal sign of all numbers that show theirs; None if they differ or none does."""
        found = {
            sign
            for column in self.facts.values()
            if column.mostly_numbers
            for sign in column.decimals
        }
        return found.pop() if len(found) == 1 else None

    @cached_property
    def decimal(self) -> str:
        """The sign before decimals, for numbers that are added to the table."""
        if not self.may_have_commas:
            return POINT
        return self._file_decimal or self.options.decimal or POINT

    @cached_property
    def notations(self) -> dict[str, Notation]:
        """How the cells of each column are written."""
        return {name: self._notation(name) for name in self.names}

    @cached_property
    def types(self) -> dict[str, Any]:
        """The type that all cells of each column have; text where there is none."""
        return {name: found.dtype(self.notations[name]) for name, found in self.facts.items()}

    def _notation(self, name: str) -> Notation:
        found, column = self.facts[name], self.expected.get(name)
        known = None if column is None else Notation.of(column)
        if found.named_format is not None:
            return Notation(dates=found.named_format)
        if known is not None and known.dates:
            return known
        if found.formats and found.dated == found.cells:
            return Notation() if len(found.formats) > 1 else Notation(dates=found.formats[0])
        if column is not None and column.kind != "number":
            return Notation()
        if not found.mostly_numbers and (known is None or known.is_plain):
            words = "/".join(sorted(found.words)) if found.booleans == found.cells else ""
            return Notation(words=words)
        return self._number_notation(found, known)

    def _number_notation(self, found: ColumnFacts, known: Notation | None) -> Notation:
        shown = next(iter(found.decimals)) if len(found.decimals) == 1 else None
        decimal = shown or (self._open_decimal(found, known) if found.either else POINT)
        thousands = set(found.thousands)
        if self.options.decimal == decimal:
            thousands.add(COMMA if decimal == POINT else POINT)
        if known is not None and known.decimal == decimal:
            thousands.update(known.thousands)
        unit = (found.unit() or "") if known is None else known.unit
        marked = unit == PERCENT and PERCENT in found.units
        return Notation(unit, decimal, "".join(sorted(thousands)), marked=marked)

    def _open_decimal(self, found: ColumnFacts, known: Notation | None) -> str:
        """Return the decimal sign where no number of a column shows it."""
        if self.options.decimal is not None:
            return self.options.decimal
        if known is not None and known.written:
            return known.decimal
        if self._file_decimal is not None:
            return self._file_decimal
        if known is not None:
            return known.decimal
        # Semicolons stand between cells where commas stand before decimals; so 1.234 is unclear.
        return COMMA if POINT in found.either and self.separator == ";" else POINT

    def plain(self, cells: pl.Series) -> pl.Series:
        """Return numbers as they are written with a decimal point, and dates in ISO 8601."""
        return plain_text(cells, self.notations[cells.name])

    def typed(self, cells: pl.Series) -> pl.Series:
        """Return some cells of a column in the type that all of its cells have."""
        dtype, notation = self.types[cells.name], self.notations[cells.name]
        if dtype == pl.String and cells.name in self.expected:
            cells = self.plain(cells)  # some cells are bad, which must not hide the others
        return typed(cells, dtype, notation)

    # -- what is told -----------------------------------------------------------------------------

    def encoding_note(self) -> Iterator[str]:
        """Yield what had to be guessed of the encoding."""
        if self.encoding in _ENCODINGS:
            yield f"{self.name} is not UTF-8; it is read as {_ENCODINGS[self.encoding]}"

    def notation_notes(self, used: Callable[[str], bool] = lambda name: True) -> Iterator[str]:
        """Yield how cells are read that can be written in several ways."""
        commas = {}
        for name in filter(used, self.names):
            found, notation = self.facts[name], self.notations[name]
            if found.mostly_numbers and found.other and not self.expected:
                yield (
                    f"column {name!r} is text: {found.quantities:,} of its {found.cells:,} cells "
                    f"are numbers, but not {found.other!r}"
                )
            elif notation.dates and not self.expected:
                yield f"column {name!r} holds dates written as {notation.dates}"
            elif notation.is_plain or not found.mostly_numbers:
                continue
            elif notation.unit == PERCENT and PERCENT in found.units:
                yield f"column {name!r} is in percent: 12% is read as 0.12"
            elif notation.unit and notation.unit in found.units:
                unit = notation.unit
                yield f"column {name!r} is in {unit}: {found.example!r} is read as a number"
            elif notation.decimal == COMMA and (COMMA in found.decimals or POINT in found.either):
                commas[name] = found.decimals.get(COMMA) or found.either[POINT]
            elif notation.thousands and found.written:
                yield f"column {name!r} has thousands in groups, such as {found.example!r}"
        if commas:
            name = next(iter(commas))
            yield f"numbers have decimal commas, such as {commas[name]!r} in column {name!r}"

    def refuse_unclear(self, used: Callable[[str], bool]) -> None:
        """Refuse a table with a column that will be used and may be read in two ways."""
        for name, found in self.facts.items():
            if found.cells and used(name):
                reason = self._unclear_dates(name) or self._unclear_numbers(name)
                if reason is not None:
                    raise TableError(f"column {name!r} of {self.name} has {reason}.")

    def _unclear_dates(self, name: str) -> str | None:
        found = self.facts[name]
        formats = found.formats or []
        if self.notations[name].dates or len(formats) < 2 or found.dated < found.cells:
            return None
        shown = " or ".join(f"date_format={form!r}" for form in formats[:2])
        return (
            f"dates such as {found.first_date!r}, in which the day or the month may come first: "
            f"say {shown}"
        )

    def _unclear_numbers(self, name: str) -> str | None:
        found, notation = self.facts[name], self.notations[name]
        if found.quantities < found.cells or notation.dates:
            return None
        if len(found.decimals) > 1:
            point, comma = found.decimals[POINT], found.decimals[COMMA]
            return f"numbers such as {point!r} and others such as {comma!r}: write all in one way"
        if found.unit() == PERCENT and found.bare:
            return f"numbers in percent, such as {found.example!r}, and others without the sign"
        example = found.misfit(notation)
        if example is None:
            return None
        return (
            f"numbers such as {example!r}, which may be thousands or have decimals: say "
            f"decimal='.' or decimal=','"
        )


# -- the first line -------------------------------------------------------------------------------


def read_layout(
    path: Path, name: str, options: TableOptions, expected: Mapping[str, Column]
) -> Layout:
    """Find out how a table is written: the encoding from all of it, the rest as it is needed."""
    for date_format in options.date_formats:
        check_date_format(date_format)
    head = _head(path, name)
    # What some programs write for Excel, which would take the place of the names.
    if (told := _SEPARATOR_LINE.match(head)) is not None:
        raise TableError(
            f"{name} begins with the line {told[1].decode()!r}, which is for Excel alone: delete "
            f"it, so that the first line names the columns."
        )
    encoding, mixed, commas = marked_encoding(head), False, True
    first = _first_line(head.decode(encoding, errors="replace"), name)
    separator = max(SEPARATORS, key=lambda mark: _count_outside_quotes(first, mark))
    if encoding == "utf-8":
        encoding, mixed, commas = survey(path, separator)
        first = _first_line(head.decode(encoding, errors="replace"), name)
    check_quotes(path, name, separator, encoding)
    if mixed and "\ufffd" in first:
        raise TableError(
            f"the first line of {name} holds bytes that are not UTF-8, but other lines are UTF-8: "
            f"write the whole file as UTF-8."
        )
    try:
        names = tuple(map(_name, next(csv.reader([first], delimiter=separator))))
    except csv.Error as error:
        raise TableError(f"the first line of {name} cannot be read: {error}.") from None
    if len(names) > 1 and not names[0] and UNNAMED not in names:
        names = (UNNAMED, *names[1:])
    check_names(names, name)
    if all(map(_NUMBER.fullmatch, names)) and any("." in text for text in names):
        raise TableError(f"{name} has numbers in its first line, which must name the columns.")
    layout = Layout(path, name, encoding, mixed, separator, names, commas, options)
    return replace(layout, expected={k: v for k, v in expected.items() if k in names})


def _head(path: Path, name: str) -> bytes:
    """Return the beginning of a file, with the whole of its first line."""
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
        while not _LINE_END.search(head):
            more = file.read(len(head))
            if not more:
                break
            if len(head) > _LONGEST_HEADER:
                raise TableError(
                    f"the first line of {name} is longer than {_LONGEST_HEADER >> 20} MiB: it must "
                    f"name the columns."
                )
            head += more
    return head


def _first_line(head: str, name: str) -> str:
    text = head.lstrip("\ufeff")
    if not text.strip():
        raise TableError(f"{name} is empty.")
    # Not splitlines, for which a line also ends at marks that may stand in a name.
    first = _LINE_END_OF_TEXT.split(text, maxsplit=1)[0]
    if not first.strip():
        raise TableError(f"{name} begins with an empty line; its first line must name the columns.")
    if "\x00" in first:
        raise TableError(f"{name} is not text: its first line has zero bytes in it.")
    if first.count('"') % 2:
        raise TableError(f"{name} has a quotation mark in its first line that is not closed.")
    return first


def _name(cell: str) -> str:
    """Return a name without the blanks around it, but with marks that only look like blanks."""
    return cell.strip(" \t\xa0")


def _count_outside_quotes(line: str, mark: str) -> int:
    return sum(part.count(mark) for part in line.split('"')[::2])
