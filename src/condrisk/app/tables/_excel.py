"""Sheets of workbooks, read and written row by row."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from openpyxl import Workbook, load_workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.utils.exceptions import InvalidFileException

from condrisk.app._errors import TableError
from condrisk.app._names import nearest

# A sheet has no more rows than this, the header among them.
MOST_ROWS = 1_048_576
_MOST_BYTES = 4 << 30
_ERRORS = frozenset({"#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!"})
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def sheet_rows(path: Path, name: str, sheet: str | None) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the names in the first row of a sheet that has any cells, and the rows below it."""
    with zipfile.ZipFile(path) as archive:
        if sum(part.file_size for part in archive.infolist()) > _MOST_BYTES:
            raise TableError(f"{name} unpacks to more than {_MOST_BYTES >> 30} GiB.")
    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (InvalidFileException, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise TableError(f"{name} is no workbook that can be read: {error}.") from None
    chosen = _chosen(book, name, sheet)
    rows = _filled(chosen)
    head = next(rows, None)
    if head is None:
        raise TableError(f"the sheet {chosen.title!r} of {name} is empty.")
    first = next(k for k, cell in enumerate(head) if cell is not None)
    last = max(k for k, cell in enumerate(head) if cell is not None) + 1
    names = ["" if cell is None else str(cell) for cell in head[first:last]]
    if first and all(cell is not None for cell in head[first:last]):
        # A column without a name before the others is one of the table if it has cells.
        rows, has_cells = _looked_ahead(rows, first)
        if has_cells and first == 1:
            first, names = 0, ["", *names]
    return names, (_cells(row, first, len(names)) for row in rows)


def _looked_ahead(rows: Iterator[Sequence[Any]], first: int) -> tuple[Iterator[Any], bool]:
    row = next(rows, None)
    if row is None:
        return iter(()), False
    return (each for part in ([row], rows) for each in part), row[first - 1] is not None


def _chosen(book: Any, name: str, sheet: str | None) -> Any:
    titles = [each.title for each in book.worksheets]
    if sheet is not None:
        if sheet in titles:
            return book[sheet]
        if sheet.isdecimal() and 1 <= int(sheet) <= len(titles):
            return book.worksheets[int(sheet) - 1]
        raise TableError(
            f"sheet={sheet!r} is not in {name}{nearest(sheet, titles)}: it has "
            f"{', '.join(map(repr, titles))}."
        )
    filled = [each for each in book.worksheets if next(_filled(each), None) is not None]
    if len(filled) > 1:
        shown = ", ".join(repr(each.title) for each in filled)
        raise TableError(
            f"{name} has several sheets, {shown}: say which, such as sheet={filled[0].title!r}."
        )
    return filled[0] if filled else book.worksheets[0]


def _filled(sheet: Any) -> Iterator[Sequence[Any]]:
    """Yield the rows that have any cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about formats and validations of cells
        for row in sheet.iter_rows(values_only=True):
            if any(cell is not None and cell != "" for cell in row):
                yield [None if isinstance(cell, str) and cell in _ERRORS else cell for cell in row]


def _cells(row: Sequence[Any], first: int, width: int) -> list[Any]:
    cells = list(row[first : first + width])
    cells = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells]
    return cells + [None] * (width - len(cells))


class SheetWriter:
    """A workbook of one sheet, written row by row."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.book = Workbook(write_only=True)
        self.sheet = self.book.create_sheet("rows")
        self.n_rows = 0

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows."""
        for row in rows:
            self.n_rows += 1
            if self.n_rows > MOST_ROWS:
                raise TableError(
                    f"{self.name} can have no more than {MOST_ROWS:,} rows: write CSV or Parquet."
                )
            self.sheet.append([self._cell(value) for value in row])

    def _cell(self, value: Any) -> Any:
        if isinstance(value, float) and value != value:
            return None
        if not isinstance(value, str):
            return value
        cell = WriteOnlyCell(self.sheet, value=_CONTROL.sub("\ufffd", value))
        cell.data_type = "s"  # text is text, though it begins as a formula does
        return cell

    def save(self, file: Any) -> None:
        """Write the workbook."""
        # By way of memory: an archive that cannot be written would complain when it is forgotten.
        packed = io.BytesIO()
        self.book.save(packed)
        file.write(packed.getbuffer())
