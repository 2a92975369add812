"""Tables from files, by their content rather than by what their names end in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl

from condrisk.app._errors import TableError
from condrisk.app._paths import Format, table_format
from condrisk.app.tables._batches import BATCH_ROWS, TableSource, read_frame
from condrisk.app.tables._csv import check_names

# A table that is read at once may have this many bytes as numbers of eight bytes.
MOST_BYTES = 8 << 30
MOST_FILE_BYTES = 8 << 30


def read_table(
    path: str | os.PathLike[str], *, note: Callable[[str], None] | None = None
) -> pl.DataFrame:
    r"""Read a whole table: CSV, Parquet or Arrow.

    Parameters
    ----------
    path : path
        The file; its content tells the format.
    note : callable, optional
        Gets a sentence about each thing that had to be guessed.

    Returns
    -------
    polars.DataFrame
        Columns of CSV have the type that all of their cells have: whole numbers, numbers, true or
        false, dates, moments (in UTC where they have an offset), else text without spaces around
        it. Cells such as "NA" are null.

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
    note = note or (lambda what: None)
    frame = _read_csv(path, note) if kind == "csv" else _read_arrow(path, kind)
    if not frame.height:
        raise TableError(f"{path} has no rows.")
    return frame


def _read_csv(path: Path, note: Callable[[str], None]) -> pl.DataFrame:
    with TableSource(path, batch_rows=BATCH_ROWS) as source:
        layout = source.layout
        assert layout is not None
        for what in source.notes:
            note(what)
        layout.refuse_unclear()
        for name, found in layout.facts.items():
            if found.long and layout.types[name].is_numeric():
                note(f"column {name!r} has numbers of more than 18 digits; they are rounded")
        return pl.concat([read_frame(batch, str(path)) for batch in source])


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
