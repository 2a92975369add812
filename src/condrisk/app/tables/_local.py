"""Rows from anywhere as one file here: unpacked, taken from a workbook, JSON, a database, a pipe.

What is no table of text, Parquet or Arrow by itself is written as CSV into a temporary file, which
is then read as every other: types, notations and limits are the same for all of them.
"""

from __future__ import annotations

import hashlib
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any

import pyarrow as pa

from condrisk._extras import require
from condrisk.app._errors import TableError
from condrisk.app._paths import (
    COMPRESSED,
    STANDARD,
    Format,
    check_source,
    is_pipe,
    is_url,
    source_name,
    table_format,
)
from condrisk.app._table_options import TableOptions
from condrisk.app.tables._csv import table_errors
from condrisk.app.tables._rows import write_rows

# A table of numbers shrinks to a tenth or so. What shrinks more than this much, and is large, is
# made to fill a disk.
_MOST_RATIO, _LARGE = 300, 1 << 28
_CHUNK = 1 << 20
# A pipe that nobody has opened to write into is waited for so long.
WRITER_SECONDS = 10
# A file is told from another by its size, its date, and blocks of it spread from end to end.
_BLOCKS, _BLOCK_BYTES = 16, 1 << 16


@dataclass
class LocalTable:
    """A table as a file here.

    Attributes
    ----------
    path : Path
        The file: CSV, Parquet or Arrow.
    name : str
        What the table is called in messages.
    kind : Format
        "csv", "parquet", "arrow" or "stream".
    origin : Path or None
        The user's file; None for what was piped in or came from a database.
    broken : dict of int to str
        Rows that could not be read, by their numbers from 1, with the reasons.
    notes : list of str
        What had to be decided.
    """

    path: Path
    name: str
    kind: Format
    origin: Path | None
    broken: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    folder: Path | None = None

    def close(self) -> None:
        """Remove what was made."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def fingerprint(self) -> str:
        """Return what tells the rows from others."""
        digest = hashlib.sha256()
        path = self.path if self.origin is None else self.origin
        status = path.stat()
        # What was piped in is new at each call, and may be the same.
        date = 0 if self.origin is None else status.st_mtime_ns
        digest.update(f"{status.st_size} {date}".encode())
        with open(path, "rb") as file:
            for k in range(_BLOCKS):
                file.seek(max(0, status.st_size - _BLOCK_BYTES) * k // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK_BYTES))
        return digest.hexdigest()


def local_table(source: str | os.PathLike[str], options: TableOptions) -> LocalTable:
    """Return a table as a file here, to be closed when it is read.

    Parameters
    ----------
    source : path
        A file, "-" for standard input, or the URL of a database.
    options : TableOptions
        The sheet, or the query.

    Returns
    -------
    LocalTable
        The file.
    """
    given = source if is_url(source) else Path(source)
    assert isinstance(given, str | Path)
    check_source(given, options)
    name = source_name(given)
    if isinstance(given, Path) and not is_pipe(given):
        kind = table_format(given)
        if kind in ("csv", "parquet", "arrow", "stream"):
            return LocalTable(given, name, kind, given)
    folder = Path(mkdtemp(prefix="condrisk-"))
    try:
        return _made(given, name, options, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _made(given: str | Path, name: str, options: TableOptions, folder: Path) -> LocalTable:
    if isinstance(given, str):
        return _as_csv(None, name, folder, lambda: _query(given, options))
    origin: Path | None = given
    path = given
    if is_pipe(given):
        origin, path = None, folder / "input"
        with open(path, "wb") as file:
            _copy_pipe(given, name, file)
    kind = table_format(path, name)
    if kind in COMPRESSED.values():
        path = _unpacked(path, name, kind, folder / "unpacked")
        inner = name.removesuffix(Path(name).suffix) if Path(name).suffix in COMPRESSED else name
        kind = table_format(path, inner)
        if kind in COMPRESSED.values():
            raise TableError(f"{name} is compressed twice: unpack it first.")
    if options.sheet is not None and kind != "xlsx":
        raise TableError(f"sheet={options.sheet!r} is for workbooks, and {name} is none.")
    if kind in ("csv", "parquet", "arrow", "stream"):
        return LocalTable(path, name, kind, origin, folder=folder)
    return _as_csv(origin, name, folder, lambda: _READERS[kind](path, name, options))


def _copy_pipe(given: Path, name: str, to: IO[bytes]) -> None:
    """Copy what comes out of standard input or of a pipe, if anybody writes into it."""
    if str(given) == STANDARD:
        shutil.copyfileobj(sys.stdin.buffer, to, _CHUNK)
        return
    # To open a pipe in the usual way waits until somebody opens it to write, which may be never.
    number = os.open(given, os.O_RDONLY | os.O_NONBLOCK)
    with open(number, "rb", buffering=0) as pipe:
        ready = select.poll()
        ready.register(number, select.POLLIN)
        if not ready.poll(1000 * WRITER_SECONDS):
            with suppress(BlockingIOError):  # somebody has opened it, and takes longer
                first = os.read(number, _CHUNK)
                if not first:
                    raise TableError(f"{name} is a pipe into which nobody writes.")
                to.write(first)
        os.set_blocking(number, True)
        shutil.copyfileobj(pipe, to, _CHUNK)


def _as_csv(origin: Path | None, name: str, folder: Path, read: Callable[[], Any]) -> LocalTable:
    table = LocalTable(folder / "rows.csv", name, "csv", origin, folder=folder)
    with table_errors(name):
        names, rows = read()
        with open(table.path, "w", encoding="utf-8", newline="") as file:
            table.broken = write_rows(file, names, rows)
    return table


def _unpacked(path: Path, name: str, kind: str, to: Path) -> Path:
    """Unpack a file, unless it was made to fill the disk."""
    most = min(
        max(_MOST_RATIO * path.stat().st_size, _LARGE), shutil.disk_usage(to.parent).free // 2
    )
    with table_errors(name), open(to, "wb") as file, pa.OSFile(str(path)) as packed:
        stream: IO[bytes] = pa.CompressedInputStream(packed, kind)
        size = 0
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise TableError(
                    f"{name} unpacks to more than {most / 2**20:,.0f} MiB, too much for a table of "
                    f"its size: unpack it first."
                )
            file.write(chunk)
    return to


# -- formats --------------------------------------------------------------------------------------


def _lines(path: Path, name: str, options: TableOptions) -> tuple[list[str], Iterable[Any]]:
    from condrisk.app.tables._json import json_lines

    return json_lines(path, name)


def _array(path: Path, name: str, options: TableOptions) -> tuple[list[str], Iterable[Any]]:
    from condrisk.app.tables._json import json_array

    return json_array(path, name)


def _workbook(path: Path, name: str, options: TableOptions) -> tuple[list[str], Iterable[Any]]:
    require(f"Reading {name}", "openpyxl", extra="excel")
    from condrisk.app.tables._excel import sheet_rows

    return sheet_rows(path, name, options.sheet)


def _query(url: str, options: TableOptions) -> tuple[list[str], Iterable[Any]]:
    require("Reading from a database", "sqlalchemy", extra="sql")
    from condrisk.app.tables._database import query_rows

    assert options.query is not None
    return query_rows(url, options.query)


_READERS: dict[str, Callable[..., tuple[list[str], Iterable[Any]]]] = {
    "jsonl": _lines,
    "json": _array,
    "xlsx": _workbook,
}
