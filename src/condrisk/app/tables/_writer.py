"""Tables written batch by batch, whole or not at all."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import polars as pl
import pyarrow as pa
from pyarrow import parquet

from condrisk._extras import require
from condrisk.app._errors import TableError
from condrisk.app._paths import written_format
from condrisk.app.tables._batches import to_polars

# So many rows make a group in Parquet: few groups, and little to hold.
_GROUP_ROWS = 262_144


class TableWriter:
    """A file of rows: CSV, TSV, Parquet, Arrow, JSON lines or a workbook, by its ending.

    CSV, TSV and JSON lines are compressed where .gz or .zst follows.

    Rows are written as they come, into a draft. The file itself is there only after the ``with``
    block has ended without an error, and then it is complete.

    Parameters
    ----------
    path : path
        Where to write; an older file is replaced at the end.
    draft : path or None, default=None
        Where to write until then, on the same file system. None: beside it.
    separator : str, default=","
        What to put between the cells of CSV.
    decimal : {".", ","}, default="."
        What to put before the decimals of numbers in CSV.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import polars as pl
    >>> from condrisk.app.tables import TableWriter
    >>> path = Path(mkdtemp()) / "rows.csv"
    >>> with TableWriter(path) as writer:
    ...     writer.write(pl.DataFrame({"a": [1, 2]}))
    ...     writer.write(pl.DataFrame({"a": [3]}))
    ...     path.exists()
    False
    >>> path.read_text().split()
    ['a', '1', '2', '3']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        draft: str | os.PathLike[str] | None = None,
        separator: str = ",",
        decimal: str = ".",
    ) -> None:
        self.path = Path(path)
        self.format, self._compression = written_format(self.path)
        if self.format == "xlsx":
            require("Writing a workbook", "openpyxl", extra="excel")
        beside = self.path.with_name(f".{self.path.name}.{token_hex(4)}.tmp")
        self._draft = beside if draft is None else Path(draft)
        self._separator, self._decimal = separator, decimal
        self._file: Any = None
        self._stream: Any = None  # what is written into: the file, or what compresses into it
        self._sink: _Sink | None = None
        self._schema: pa.Schema | None = None

    def __enter__(self) -> TableWriter:
        try:
            self._file = open(self._draft, "wb")
        except OSError as error:
            raise TableError(f"{self.path} cannot be written: {error.strerror}.") from None
        self._stream = self._file
        if self._compression is not None:
            self._stream = pa.CompressedOutputStream(self._file, self._compression)
        return self

    def write(self, table: pl.DataFrame | pa.Table) -> None:
        """Add rows.

        Parameters
        ----------
        table : polars.DataFrame or pyarrow.Table
            The rows, with the same columns each time.
        """
        rows: pa.Table = table.to_arrow() if isinstance(table, pl.DataFrame) else table
        if self.format == "arrow":
            rows = _without_dictionaries(rows)
        if self._sink is None or self._schema is None:
            self._schema = rows.schema
            self._sink = self._open(rows.schema)
        elif rows.schema != self._schema:
            rows = _fitted(rows, self._schema, self.path)
        self._sink.write(rows)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._drop()

    def _finish(self) -> None:
        if self._sink is None:
            raise ValueError(f"nothing was written to {self.path}, not even its columns.")
        self._sink.close()
        self._sink = None
        if self._stream is not self._file:
            self._stream.close()  # and with it the file
            self._file = open(self._draft, "ab")  # noqa: SIM115
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._draft, self.path)

    def _drop(self) -> None:
        """Let go of what is open, and remove the draft: also where the disk takes no more of it."""
        for drop in (
            None if self._sink is None else self._sink.drop,
            None if self._stream is self._file else self._stream.close,
            self._file.close,
        ):
            with suppress(OSError, ValueError, pa.ArrowException):
                if drop is not None:
                    drop()
        self._draft.unlink(missing_ok=True)

    def _open(self, schema: pa.Schema) -> _Sink:
        name = str(self.path)
        if self.format in ("csv", "tsv"):
            separator = "\t" if self.format == "tsv" else self._separator
            return _CsvSink(self._stream, name, separator, self._decimal)
        if self.format == "jsonl":
            return _JsonSink(self._stream, name)
        if self.format == "xlsx":
            return _SheetSink(self._file, name)
        if self.format == "parquet":
            return _ParquetSink(self._file, schema)
        return _ArrowSink(self._file, schema)


def _fitted(rows: pa.Table, schema: pa.Schema, path: Path) -> pa.Table:
    try:
        return rows.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        raise TableError(
            f"rows for {path} must have the columns {schema.names} of the first ones, and their "
            f"types; got {rows.schema.names}."
        ) from None


class _Sink(Protocol):
    def write(self, rows: pa.Table) -> None: ...

    def close(self) -> None:
        """Write what is left."""

    def drop(self) -> None:
        """Let go: nobody will see it."""


class _CsvSink:
    """Text, with the names on the first line."""

    def __init__(self, file: Any, name: str, separator: str, decimal: str) -> None:
        self.file, self.name = file, name
        self.separator, self.decimal = separator, decimal
        self.header = True

    def write(self, rows: pa.Table) -> None:
        frame = _flat(rows, self.name)
        text = io.BytesIO()
        frame.write_csv(
            text,
            include_header=self.header,
            separator=self.separator,
            decimal_comma=self.decimal == ",",
        )
        self.file.write(text.getbuffer())
        self.header = False

    def close(self) -> None:
        return None

    def drop(self) -> None:
        return None


class _JsonSink:
    """An object a line."""

    def __init__(self, file: Any, name: str) -> None:
        self.file, self.name = file, name

    def write(self, rows: pa.Table) -> None:
        text = io.BytesIO()
        to_polars(rows, self.name).write_ndjson(text)
        self.file.write(text.getbuffer())

    def close(self) -> None:
        return None

    def drop(self) -> None:
        return None


class _SheetSink:
    """A workbook of one sheet, with the names in the first row."""

    def __init__(self, file: Any, name: str) -> None:
        from condrisk.app.tables._excel import SheetWriter

        self.file, self.name = file, name
        self.sheet = SheetWriter(name)
        self.header = True

    def write(self, rows: pa.Table) -> None:
        frame = _flat(rows, self.name)
        zoned = [c.name for c in frame if getattr(c.dtype, "time_zone", None)]
        frame = frame.with_columns(pl.col(zoned).dt.to_string("iso:strict"))
        if self.header:
            self.sheet.write([frame.columns])
        self.header = False
        self.sheet.write(frame.iter_rows())

    def close(self) -> None:
        self.sheet.save(self.file)

    def drop(self) -> None:
        self.sheet.save(io.BytesIO())  # or its temporary file stays


def _flat(rows: pa.Table, name: str) -> pl.DataFrame:
    """Return rows for a format whose cells hold one value each."""
    frame = to_polars(rows, name)
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise TableError(
            f"column {nested[0]!r} holds lists or structures, which {name} cannot: write Parquet, "
            f"Arrow or JSON lines instead."
        )
    return frame


class _ParquetSink:
    """Groups of rows, each compressed by itself."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        # Numbers hardly repeat: a dictionary of them is made in vain.
        words = [f.name for f in schema if not pa.types.is_floating(f.type)]
        self.writer = parquet.ParquetWriter(file, schema, use_dictionary=words)
        self.waiting: list[pa.Table] = []
        self.schema = schema

    def write(self, rows: pa.Table) -> None:
        self.waiting.append(rows)
        if sum(part.num_rows for part in self.waiting) >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        rows = pa.concat_tables(self.waiting)
        self.waiting = []
        whole = rows.num_rows // _GROUP_ROWS * _GROUP_ROWS
        if whole:
            self.writer.write_table(rows.slice(0, whole), row_group_size=_GROUP_ROWS)
        if whole < rows.num_rows:
            self.waiting.append(rows.slice(whole))

    def close(self) -> None:
        if self.waiting:
            self._flush()
        if self.waiting:
            self.writer.write_table(pa.concat_tables(self.waiting))
        self.writer.close()

    def drop(self) -> None:
        self.writer.close()


class _ArrowSink:
    """Batches as they lie in memory."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        self.writer = pa.ipc.new_file(file, schema)

    def write(self, rows: pa.Table) -> None:
        self.writer.write_table(rows)

    def close(self) -> None:
        self.writer.close()

    drop = close


def _without_dictionaries(rows: pa.Table) -> pa.Table:
    """Return plain columns: a file of Arrow takes one dictionary, a batch has its own."""
    for at, part in enumerate(rows.schema):
        if pa.types.is_dictionary(part.type):
            plain = part.with_type(part.type.value_type)
            rows = rows.set_column(at, plain, rows.column(at).cast(plain.type))
    return rows
