"""Files that are there, and are what they should be: told before anything heavy is imported."""

from __future__ import annotations

import os
import re
import stat
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Literal

from condrisk._files import open_model_file
from condrisk.app._errors import TableError
from condrisk.app._table_options import TableOptions

Format = Literal["csv", "parquet", "arrow", "stream", "json", "jsonl", "xlsx", "gzip", "zstd"]
WrittenFormat = Literal["csv", "tsv", "parquet", "arrow", "jsonl", "xlsx"]
Compression = Literal["gzip", "zstd"]

# In place of a file: standard input, or output.
STANDARD = "-"
ENDINGS: dict[str, WrittenFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
}
COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
# What is compressed by itself, and cannot be written from front to end.
_NOT_COMPRESSED = ("parquet", "arrow", "xlsx")
_MARKS: dict[bytes, Format] = {
    b"\x1f\x8b": "gzip",
    b"(\xb5/\xfd": "zstd",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "stream",
    b"PK\x03\x04": "xlsx",
}
_REFUSED = {
    b"\xd0\xcf\x11\xe0": "is an old workbook: save it as .xlsx or CSV",
    b"BZh": "is compressed with bzip2: unpack it first",
    b"\x80\x04": "is a pickle, which is code and not a table: it is never opened",
    b"\x80\x05": "is a pickle, which is code and not a table: it is never opened",
}
_JSON_LINES, _JSON_ARRAY = re.compile(rb'\s*\{\s*["}]'), re.compile(rb"\s*\[\s*\{")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+]*://")
# Addresses of files elsewhere, which no database has.
_ELSEWHERE = re.compile(r"(https?|ftps?|sftp|s3|gs|gcs|az|abfss?|hdfs|file)://", re.IGNORECASE)
_PASSWORD = re.compile(r"(://[^:/@]*):[^@/]*@")


def is_url(source: object) -> bool:
    """Tell whether a source is a database rather than a file."""
    return isinstance(source, str) and _URL.match(source) is not None


def source_name(source: str | os.PathLike[str]) -> str:
    """Return what a source is called in messages: never with a password in it."""
    text = str(source)
    if text == STANDARD:
        return "standard input"
    return _PASSWORD.sub(r"\1:***@", text) if is_url(text) else text


def is_pipe(source: object) -> bool:
    """Tell whether a source gives its rows only once, as they come: standard input, or a pipe."""
    if str(source) == STANDARD:
        return True
    if is_url(source):
        return False
    try:
        return stat.S_ISFIFO(Path(str(source)).stat().st_mode)
    except (OSError, ValueError):
        return False


def table_format(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """Tell what kind of table a file is, by its first bytes.

    Parameters
    ----------
    path : path
        The file.
    name : str or None, default=None
        What it is called in messages, and by its ending; the path if not given.

    Returns
    -------
    str
        "csv", "parquet", "arrow", "stream" (Arrow without a footer), "json" (one array), "jsonl",
        "xlsx", or how it is compressed: "gzip" or "zstd".
    """
    path = Path(path)
    name = str(path) if name is None else name
    head = _head(path, name)
    for mark, reason in _REFUSED.items():
        if head.startswith(mark):
            raise TableError(f"{name} {reason}.")
    found = next((kind for mark, kind in _MARKS.items() if head.startswith(mark)), None)
    if found == "xlsx" and not _is_workbook(path):
        raise TableError(f"{name} is a zip archive: unpack it first.")
    if found is not None:
        return found
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _JSON_LINES.match(text):
        return "jsonl"
    if _JSON_ARRAY.match(text):
        return "json"
    claimed = ENDINGS.get(Path(name).suffix.lower(), "csv")
    if claimed not in ("csv", "tsv"):
        raise TableError(f"{name} is named as {claimed} but does not begin as such a file does.")
    return "csv"


def _head(path: Path, name: str) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise TableError(f"{name} is a device; a table is a file or a pipe.")
        with open(path, "rb") as file:
            head = file.read(256)
    except TableError:  # which is a ValueError as well
        raise
    except FileNotFoundError:
        raise TableError(f"{name} does not exist.") from None
    except IsADirectoryError:
        raise TableError(f"{name} is a folder; a table is one file.") from None
    except OSError as error:
        raise TableError(f"{name} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # a zero byte in the name
        raise TableError(f"{name!r} is not the name of a file: {error}.") from None
    if not head:
        raise TableError(f"{name} is empty.")
    return head


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def written_format(path: Path) -> tuple[WrittenFormat, Compression | None]:
    """Tell by its ending in which format a table is to be written, and how it is compressed."""
    compression = COMPRESSED.get(path.suffix.lower())
    found = ENDINGS.get((path.with_suffix("") if compression else path).suffix.lower())
    if found is None:
        raise TableError(
            f"{path} must end in one of {', '.join(ENDINGS)}: it tells the format; .csv, .tsv and "
            f".jsonl may be followed by {' or '.join(COMPRESSED)}."
        )
    if compression and found in _NOT_COMPRESSED:
        raise TableError(f"{path} cannot be written: {found} is compressed already.")
    return found, compression


def check_inputs(
    model: Path | None,
    *tables: str | Path | None,
    options: TableOptions = TableOptions(),  # noqa: B008
) -> None:
    """Refuse a path where no model, or no table, can be; nothing is looked for where it is None."""
    if model is not None:
        open_model_file(model).close()
    for table in tables:
        if table is not None:
            check_source(table, options)


def check_source(source: str | Path, options: TableOptions) -> None:
    """Refuse a source where no table can be, or that the options are not for."""
    name = source_name(source)
    if is_url(source):
        if _ELSEWHERE.match(str(source)):
            raise TableError(
                f"{name} is the address of a file that is not here: download it first, or pipe it "
                f"into this command with - for the table."
            )
        if options.query is None:
            raise TableError(
                f"{name} is a database: give the rows that are meant, such as "
                f"query='SELECT * FROM sales'."
            )
        if options.sheet is not None:
            raise TableError(f"sheet={options.sheet!r} is for workbooks, and {name} is a database.")
        return
    if options.query is not None:
        raise TableError(
            f"query={options.query!r} is for a database, whose URL stands in place of the file, "
            f"such as sqlite:///sales.db; got {name}."
        )
    if str(source) == STANDARD:
        if sys.stdin is not None and sys.stdin.isatty():
            raise TableError("nothing is piped into standard input.")
        return
    if is_pipe(source):  # what is looked at would be gone
        return
    kind = table_format(source)
    if options.sheet is not None and kind not in ("xlsx", "gzip", "zstd"):
        raise TableError(f"sheet={options.sheet!r} is for workbooks, and {name} is none.")


# -- outputs --------------------------------------------------------------------------------------


def check_output(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that is there already, before any work is done."""
    try:
        _check_output(path, overwrite=overwrite)
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"output {str(path)!r} cannot be written: {reason}.") from None


def _check_output(path: Path, *, overwrite: bool) -> None:
    _look_at(path)
    if path.is_dir():
        raise TableError(f"output {path} is a folder; it must be the name of a file.")
    _check_parent(path)
    if (path.exists() or path.is_symlink()) and not overwrite:
        raise TableError(there_already(path))


def check_output_folder(folder: Path, *made: str, overwrite: bool) -> None:
    """Refuse a folder that cannot be made, or that has an earlier output in it."""
    try:
        _look_at(folder)
        if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
            raise TableError(f"output {folder} is a file; it must be the name of a folder.")
        nearest = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            raise TableError(f"output {folder} is in a folder that cannot be written to.")
        found = [folder / name for name in made if (folder / name).exists()]
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise TableError(f"output {str(folder)!r} cannot be written: {reason}.") from None
    if found and not overwrite:
        raise TableError(there_already(found[0]))


def _look_at(path: Path) -> None:
    """Raise `OSError` where nothing of that name can be: since 3.14 `exists` says no instead."""
    with suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


def check_new_folder(folder: Path) -> None:
    """Refuse a folder that is there already, or cannot be made."""
    check_output_folder(folder, overwrite=False)
    if folder.exists() or folder.is_symlink():
        raise TableError(f"{folder} is there already: choose another name for the folder.")


def there_already(path: Path) -> str:
    """Say that an output is there, and what to do."""
    return f"{path} is there already: choose another name, or replace it with overwrite=True."


def _check_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise TableError(f"output {path} is in a folder that does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise TableError(f"output {path} is in a folder that cannot be written to.")
