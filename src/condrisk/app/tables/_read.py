"""Tables from files, by their content rather than by what their names end in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import polars as pl

from condrisk.app.tables._csv import check_names, read_csv
from condrisk.app.tables._errors import TableError

Format = Literal["csv", "parquet", "arrow", "stream"]

# A table that is read at once may have this many bytes as numbers of eight bytes.
MOST_BYTES = 8 << 30
MOST_FILE_BYTES = 8 << 30
_ENDINGS = {
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
    claimed = _ENDINGS.get(path.suffix.lower())
    if claimed:
        raise TableError(f"{path} is named as {claimed} but does not begin as such a file does.")
    return "csv"


def read_table(
    path: str | os.PathLike[str], *, tell: Callable[[str], None] | None = None
) -> pl.DataFrame:
    r"""Read a whole table: CSV, Parquet or Arrow.

    Parameters
    ----------
    path : path
        The file; its content tells the format.
    tell : callable, optional
        Gets a sentence about each thing that had to be guessed.

    Returns
    -------
    polars.DataFrame
        Columns of CSV have the type of what stands in them.

    Raises
    ------
    TableError
        Where it cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from condrisk.app.tables import read_table
    >>> path = Path(mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age;post code\n31;0815\n;4711\n")
    >>> read_table(path).rows()
    [(31, '0815'), (None, '4711')]
    """
    path = Path(path)
    kind = table_format(path)
    if path.stat().st_size > MOST_FILE_BYTES:
        raise TableError(f"{path} is too large to be read at once: take a sample of its rows.")
    frame = read_csv(path, tell=tell) if kind == "csv" else _read_arrow(path, kind)
    if not frame.height:
        raise TableError(f"{path} has no rows.")
    return frame


def _read_arrow(path: Path, kind: Format) -> pl.DataFrame:
    import pyarrow as pa

    unreadable = (pa.ArrowException, pl.exceptions.PolarsError)
    try:
        table = _open_arrow(path, kind)
        frame = pl.from_arrow(table)
    except TableError:
        raise
    except (OSError, ValueError, MemoryError, *unreadable) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")
        raise TableError(f"{path} could not be read as {kind}: {reason}.") from None
    assert isinstance(frame, pl.DataFrame)
    return frame


def _open_arrow(path: Path, kind: Format) -> object:
    import pyarrow as pa
    from pyarrow import parquet

    if kind == "parquet":
        with parquet.ParquetFile(path) as file:
            check_names(file.schema_arrow.names, str(path))
            check_size(file.metadata.num_rows, len(file.schema_arrow.names), path)
            return file.read()
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_file(source) if kind == "arrow" else pa.ipc.open_stream(source)
        check_names(reader.schema.names, str(path))
        table = reader.read_all()
        table.validate(full=True)
        return table


def check_size(n_rows: int, n_columns: int, path: Path) -> None:
    """Refuse to read at once what claims more rows than can be held."""
    if n_rows * n_columns * 8 > MOST_BYTES:
        raise TableError(
            f"{path} has {n_rows:,} rows of {n_columns} columns, too many to be read at once: "
            f"take a sample of its rows."
        )
