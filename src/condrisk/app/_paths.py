"""Files that are there, and are what they should be: told before anything heavy is imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from condrisk._files import open_model_file
from condrisk.app._errors import TableError

Format = Literal["csv", "parquet", "arrow", "stream"]
WrittenFormat = Literal["csv", "parquet", "arrow"]

_ENDINGS: dict[str, WrittenFormat] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_REFUSED = {
    b"\x1f\x8b": "is compressed with gzip: unpack it first",
    b"PK\x03\x04": "is a zip archive, perhaps a workbook: save the table as CSV or Parquet",
    b"\xd0\xcf\x11\xe0": "is an old workbook: save the table as CSV or Parquet",
    b"(\xb5/\xfd": "is compressed with zstd: unpack it first",
    b"BZh": "is compressed with bzip2: unpack it first",
    b"\x80\x04": "is a pickle, which is code and not a table: it is never opened",
    b"\x80\x05": "is a pickle, which is code and not a table: it is never opened",
}


def table_format(path: str | os.PathLike[str]) -> Format:
    """Tell what kind of table a file is, by its first bytes.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    {"csv", "parquet", "arrow", "stream"}
        "stream" is Arrow without a footer.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except FileNotFoundError:
        raise TableError(f"{path} does not exist.") from None
    except IsADirectoryError:
        raise TableError(f"{path} is a folder; a table is one file.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}.") from None
    if not head:
        raise TableError(f"{path} is empty.")
    for mark, reason in _REFUSED.items():
        if head.startswith(mark):
            raise TableError(f"{path} {reason}.")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith(b"\xff\xff\xff\xff"):
        return "stream"
    claimed = _ENDINGS.get(path.suffix.lower(), "csv")
    if claimed != "csv":
        raise TableError(f"{path} is named as {claimed} but does not begin as such a file does.")
    return "csv"


def written_format(path: Path) -> WrittenFormat:
    """Tell by its ending in which format a table is to be written."""
    found = _ENDINGS.get(path.suffix.lower())
    if found is None:
        raise TableError(f"{path} must end in one of {', '.join(_ENDINGS)}: it tells the format.")
    return found


def check_inputs(model: Path | None, *tables: Path | None) -> None:
    """Refuse a path where no model, or no table, can be; nothing is looked for where it is None."""
    if model is not None:
        open_model_file(model).close()
    for table in tables:
        if table is not None:
            table_format(table)
