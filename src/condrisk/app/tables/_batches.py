"""Tables read in batches of a fixed number of rows, so that any number of them fits in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from condrisk.app._errors import TableError
from condrisk.app._paths import table_format
from condrisk.app.tables._cells import canonical
from condrisk.app.tables._csv import (
    Layout,
    as_text,
    check_names,
    first_line,
    read_batches,
    read_layout,
    table_errors,
)
from condrisk.persistence import Column, Schema

BATCH_ROWS = 65_536
# Of wide tables a batch has fewer rows: so many cells at most, but never fewer rows than this.
_CELLS, _FEWEST = 1 << 22, 1024
_BUFFER = 1 << 16
# So many lines in a row that do not fit the header, and it is not a table.
_MOST_MALFORMED = 100_000


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, one after the other.

    Attributes
    ----------
    number : int
        Which batch it is, from 0.
    table : pyarrow.Table
        The rows. Columns of CSV are text, and null where nothing stands.
    rows : ndarray of int
        The number of each row in the file, from 1, the header and empty lines not counted.
    bad : dict of int to str
        By position in the table, rows that cannot be used, and why: bytes that are not text.
    malformed : tuple of (int, str)
        Lines of CSV that are no rows of the table: the number of each, and what is wrong.
    layout : Layout or None
        How the file is written, if it is CSV.
    """

    number: int
    table: pa.Table
    rows: NDArray[np.int64]
    bad: dict[int, str] = field(default_factory=dict)
    malformed: tuple[tuple[int, str], ...] = ()
    layout: Layout | None = None

    def values(self, names: Sequence[str]) -> pa.Table:
        """Return some columns for a model to read: numbers of CSV with decimal points.

        Parameters
        ----------
        names : sequence of str
            The columns.

        Returns
        -------
        pyarrow.Table
            The same rows.
        """
        table = self.table.select(list(names))
        if self.layout is None or self.layout.decimal == ".":
            return table
        frame = to_polars(table, str(self.layout.path))
        return pl.DataFrame([self.layout.with_points(cells) for cells in frame]).to_arrow()


def iter_batches(
    path: str | os.PathLike[str], *, batch_rows: int | None = BATCH_ROWS
) -> Iterator[pl.DataFrame]:
    """Read a table in batches: CSV, Parquet or Arrow.

    Parameters
    ----------
    path : path
        The file; its content tells the format.
    batch_rows : int or None, default=65536
        How many rows a batch has; the last one has what is left. None: as many, or fewer where
        the table is wide.

    Yields
    ------
    polars.DataFrame
        At least one, without rows if the table has none. A column of CSV has the type that all of
        its cells in the file have, as `read_table` gives it.

    Raises
    ------
    TableError
        Where the file, or a row of it, cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import polars as pl
    >>> from condrisk.app.tables import iter_batches
    >>> path = Path(mkdtemp()) / "rows.parquet"
    >>> pl.DataFrame({"a": range(5)}).write_parquet(path)
    >>> [frame["a"].to_list() for frame in iter_batches(path, batch_rows=2)]
    [[0, 1], [2, 3], [4]]
    """
    with TableSource(path, batch_rows=batch_rows) as source:
        for batch in source:
            yield read_frame(batch, str(path))


def read_frame(batch: Batch, name: str) -> pl.DataFrame:
    """Return the rows of a batch in the types of the file; a row that is none is an error."""
    wrong = [*batch.malformed, *((batch.rows[at], why) for at, why in batch.bad.items())]
    if wrong:
        row, reason = min(wrong)
        raise TableError(f"{name} could not be read: in row {row:,}, {reason}")
    frame = to_polars(batch.table, name)
    if batch.layout is None:
        return frame
    return pl.DataFrame([batch.layout.typed(cells) for cells in frame])


def to_polars(table: pa.Table, name: str) -> pl.DataFrame:
    """Return a table of Arrow as one of polars; `name` stands for it in messages."""
    try:
        frame = pl.from_arrow(table)
    except (pl.exceptions.PolarsError, pa.ArrowException, ValueError, TypeError) as error:
        raise TableError(f"{name} has a column that cannot be used: {first_line(error)}") from None
    assert isinstance(frame, pl.DataFrame)
    return frame


class TableSource:
    """A file of rows, to be read once in batches of a fixed number of rows.

    Parameters
    ----------
    path : path
        The file; its content tells the format.
    batch_rows : int or None
        How many rows a batch has. None: fewer than usual where the table is wide.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns.
    n_rows : int or None
        How many rows there are; None where only reading tells.
    layout : Layout or None
        How the file is written, if it is CSV: encoding, separator, decimal sign, types.
    batch_rows : int
        How many rows a batch has.
    notes : list of str
        What had to be guessed.
    """

    def __init__(self, path: str | os.PathLike[str], *, batch_rows: int | None) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise ValueError(f"batch_rows must be at least 1; got {batch_rows}.")
        self.path = Path(path)
        kind = table_format(self.path)
        self.layout: Layout | None = None
        self.n_rows: int | None = None
        self.notes: list[str] = []
        # Lines of CSV that do not fit: those met and not reported yet, and how many were reported.
        self._malformed: list[tuple[int, str]] = []
        self._n_reported = 0
        self._file = pa.OSFile(str(self.path))
        self._size = self._file.size()
        opener: Callable[[], Iterator[pa.RecordBatch]] = getattr(self, f"_open_{kind}")
        self.schema: pa.Schema
        with table_errors(self.path):
            self._read = opener()
        check_names(self.schema.names, str(self.path))
        width = max(1, len(self.schema.names))
        usual = max(_FEWEST, min(BATCH_ROWS, _CELLS // width))
        self.batch_rows = usual if batch_rows is None else batch_rows

    def __enter__(self) -> TableSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def read_share(self) -> float:
        """The share of the file that was read so far, where `n_rows` is not known."""
        return 1.0 if self._file.closed or not self._size else self._file.tell() / self._size

    def __iter__(self) -> Iterator[Batch]:
        start = number = 0
        with table_errors(self.path):
            for table in regroup(self._read, self.batch_rows, schema=self.schema):
                yield self._batch(number, start, table)
                number, start = number + 1, start + table.num_rows
            if self._malformed:  # after the last row
                yield self._batch(number, start, self.schema.empty_table(), at_end=True)

    def _batch(self, number: int, start: int, table: pa.Table, *, at_end: bool = False) -> Batch:
        """Give rows their numbers in the file, which malformed lines have too."""
        stop = start + table.num_rows
        # The k-th malformed line, of number r, has r - 1 - k rows of the table before it.
        before = [row - 1 - k for k, (row, _) in enumerate(self._malformed, self._n_reported)]
        here = [at for at in before if at < stop or at_end]
        reported, self._malformed = self._malformed[: len(here)], self._malformed[len(here) :]
        positions = np.arange(start, stop)
        shift = self._n_reported + np.searchsorted(here, positions, side="right")
        self._n_reported += len(here)
        table, bad = as_text(table) if self.layout is not None else (table, {})
        return Batch(number, table, positions + 1 + shift, bad, tuple(reported), self.layout)

    def typed(self, rows: pa.Table, schema: Schema) -> pa.Table:
        """Return text from CSV in the types of the file, the same for every batch of it.

        Parameters
        ----------
        rows : pyarrow.Table
            Rows of CSV.
        schema : Schema
            What a model reads. A column of the model that only rejected rows keep from being of
            one type gets the type of its kind.

        Returns
        -------
        pyarrow.Table
            The same rows.
        """
        assert self.layout is not None
        kinds = {column.name: column for column in schema.needed}
        frame = to_polars(rows, str(self.path))
        columns = [_typed(cells, self.layout, kinds.get(cells.name)) for cells in frame]
        return pl.DataFrame(columns).to_arrow()

    # -- the formats --------------------------------------------------------------------------

    def _open_parquet(self) -> Iterator[pa.RecordBatch]:
        # Without a buffer a whole column of a group of rows is read at once, however long.
        file = parquet.ParquetFile(self._file, buffer_size=_BUFFER, pre_buffer=False)
        self.schema, self.n_rows = file.schema_arrow, file.metadata.num_rows
        return self._read_parquet(file)

    def _read_parquet(self, file: parquet.ParquetFile) -> Iterator[pa.RecordBatch]:
        yield from file.iter_batches(batch_size=self.batch_rows)

    def _open_arrow(self) -> Iterator[pa.RecordBatch]:
        reader = pa.ipc.open_file(pa.memory_map(str(self.path)))
        self.schema = reader.schema
        return _checked(reader.get_batch(k) for k in range(reader.num_record_batches))

    def _open_stream(self) -> Iterator[pa.RecordBatch]:
        reader = pa.ipc.open_stream(self._file)
        self.schema = reader.schema
        return _checked(reader)

    def _open_csv(self) -> Iterator[pa.RecordBatch]:
        self.layout = read_layout(self.path)
        self.notes.extend(self.layout.notes())
        self.schema = pa.schema([(name, pa.string()) for name in self.layout.names])
        return read_batches(self._file, self.layout, self._keep_malformed)

    def _keep_malformed(self, row: Any) -> str:
        reason = (
            f"there are {row.actual_columns} cells where the header has {row.expected_columns}: "
            f"{row.text!r}."
        )
        self._malformed.append((row.number - 1, reason))  # the header is a line
        return "skip" if len(self._malformed) <= _MOST_MALFORMED else "error"


def _typed(cells: pl.Series, layout: Layout, column: Column | None) -> pl.Series:
    dtype = layout.types[cells.name]
    if column is not None and column.kind in ("category", "text"):
        return cells
    if column is not None and (column.kind == "boolean" or dtype == pl.String):
        return canonical(layout.with_points(cells), column).values
    return cells if dtype == pl.String else layout.typed(cells)


def regroup(
    batches: Iterable[pa.RecordBatch], size: int, *, schema: pa.Schema
) -> Iterator[pa.Table]:
    """Yield the same rows in tables of `size` rows, the last of what is left, at least one."""
    waiting: list[pa.RecordBatch] = []
    n_waiting, none_yet = 0, True
    for batch in batches:
        while batch.num_rows:
            part = batch.slice(0, size - n_waiting)
            batch = batch.slice(part.num_rows)
            waiting.append(part)
            n_waiting += part.num_rows
            if n_waiting == size:
                yield pa.Table.from_batches(waiting).combine_chunks()
                waiting, n_waiting, none_yet = [], 0, False
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()
    elif none_yet:
        yield schema.empty_table()


def _checked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Refuse batches whose offsets point outside, which would be read without a look."""
    for batch in batches:
        batch.validate(full=True)
        yield batch
