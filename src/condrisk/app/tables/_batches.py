"""Tables read in batches of a fixed number of rows, so that any number of them fits in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from condrisk.app._errors import TableError
from condrisk.app._table_options import TableOptions
from condrisk.app.tables._cells import canonical
from condrisk.app.tables._csv import (
    as_text,
    check_names,
    first_line,
    read_batches,
    table_errors,
)
from condrisk.app.tables._layout import Layout, read_layout
from condrisk.app.tables._local import local_table
from condrisk.app.tables._notation import Notation
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
        """Return some columns for a model to read: numbers and dates of CSV in plain text.

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
        if self.layout is None or not self.layout.may_need_facts:
            return table
        frame = to_polars(table, self.layout.name)
        return pl.DataFrame([self.layout.plain(cells) for cells in frame]).to_arrow()


def iter_batches(
    path: str | os.PathLike[str],
    *,
    batch_rows: int | None = BATCH_ROWS,
    options: TableOptions = TableOptions(),  # noqa: B008
    schema: Schema | None = None,
) -> Iterator[pl.DataFrame]:
    """Read a table in batches, from wherever `read_table` reads one.

    Parameters
    ----------
    path : path
        The file, "-" for standard input, or the URL of a database.
    batch_rows : int or None, default=65536
        How many rows a batch has; the last one has what is left. None: as many, or fewer where
        the table is wide.
    options : TableOptions, optional
        How to read it, as far as it does not tell.
    schema : Schema, optional
        The columns of a model that will read it: they settle what the table leaves open.

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
    with TableSource(path, batch_rows=batch_rows, options=options, schema=schema) as source:
        for batch in source:
            yield read_frame(batch, source.name)


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
    """A table, to be read once in batches of a fixed number of rows.

    Parameters
    ----------
    path : path
        The file, whose content tells the format, "-" for standard input, or the URL of a database.
    batch_rows : int or None
        How many rows a batch has. None: fewer than usual where the table is wide.
    options : TableOptions, optional
        How to read it, as far as it does not tell.
    schema : Schema, optional
        The columns of a model that will read it: they settle what the table leaves open.

    Attributes
    ----------
    name : str
        What the table is called in messages.
    schema : pyarrow.Schema
        The columns.
    n_rows : int or None
        How many rows there are; None where only reading tells.
    layout : Layout or None
        How the table is written, if it is text: encoding, separator, notations, types.
    batch_rows : int
        How many rows a batch has.
    notes : list of str
        What had to be guessed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        batch_rows: int | None,
        options: TableOptions = TableOptions(),  # noqa: B008
        schema: Schema | None = None,
    ) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise ValueError(f"batch_rows must be at least 1; got {batch_rows}.")
        self.local = local_table(path, options)
        self.name, self.path = self.local.name, self.local.path
        self.layout: Layout | None = None
        self.n_rows: int | None = None
        self.notes: list[str] = list(self.local.notes)
        # Lines of CSV that do not fit: those met and not reported yet, and how many were reported.
        self._malformed: list[tuple[int, str]] = []
        self._n_reported = 0
        self._options = options
        self._expected = {} if schema is None else {c.name: c for c in schema.needed}
        try:
            self._open()
        except BaseException:
            self.local.close()
            raise
        width = max(1, len(self.schema.names))
        usual = max(_FEWEST, min(BATCH_ROWS, _CELLS // width))
        self.batch_rows = usual if batch_rows is None else batch_rows

    def _open(self) -> None:
        self._file = pa.OSFile(str(self.path))
        self._size = self._file.size()
        opener: Callable[[], Iterator[pa.RecordBatch]] = getattr(self, f"_open_{self.local.kind}")
        self.schema: pa.Schema
        with table_errors(self.name):
            self._read = opener()
        check_names(self.schema.names, self.name)

    def __enter__(self) -> TableSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.local.close()

    @property
    def read_share(self) -> float:
        """The share of the file that was read so far, where `n_rows` is not known."""
        return 1.0 if self._file.closed or not self._size else self._file.tell() / self._size

    @property
    def notations(self) -> dict[str, Notation]:
        """How the cells of each column of text are written; empty for Parquet and Arrow."""
        return {} if self.layout is None else self.layout.notations

    def __iter__(self) -> Iterator[Batch]:
        start = number = 0
        with table_errors(self.name):
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
        frame = to_polars(rows, self.name)
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
        self.layout = read_layout(self.path, self.name, self._options, self._expected)
        self.notes.extend(self.layout.encoding_note())
        if self._expected and self.layout.may_need_facts:
            self.notes.extend(self.layout.notation_notes())
        self.schema = pa.schema([(name, pa.string()) for name in self.layout.names])
        return read_batches(self._file, self.layout, self._keep_malformed)

    def _keep_malformed(self, row: Any) -> str:
        number = row.number - 1  # the header is a line
        reason = self.local.broken.get(number) or (
            f"the header has {row.expected_columns} cells, this row {row.actual_columns}: "
            f"{row.text!r}."
        )
        self._malformed.append((number, reason))
        return "skip" if len(self._malformed) <= _MOST_MALFORMED else "error"


def _typed(cells: pl.Series, layout: Layout, column: Column | None) -> pl.Series:
    dtype = layout.types[cells.name]
    if column is not None and column.kind in ("category", "text"):
        return cells
    if column is not None and (column.kind == "boolean" or dtype == pl.String):
        return canonical(layout.plain(cells), column).values
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
