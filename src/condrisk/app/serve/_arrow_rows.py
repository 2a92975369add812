"""Rows that come as an Arrow IPC stream from people we do not know."""

from __future__ import annotations

import struct
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc

from condrisk.app.serve._refusal import RefusedError

ARROW = "application/vnd.apache.arrow.stream"

# Where the fields lie in Arrow's flatbuffers (format/Message.fbs): a field's id, times two, plus
# the four bytes that every table of offsets begins with.
_HEADER = 4 + 2 * 2
_DICTIONARY_DATA = 4 + 2 * 1
_COMPRESSION = 4 + 2 * 3

# What pyarrow and polars raise for broken bytes, broken text and names that occur twice.
_UNREADABLE = (
    pa.ArrowException,
    pl.exceptions.PolarsError,
    struct.error,
    OSError,
    ValueError,
    TypeError,
    KeyError,
)
_KNOWN = (
    pa.types.is_null,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def read_arrow(body: bytes, most_rows: int) -> pl.DataFrame:
    """Return the table in a body, checked to be what it claims.

    Compressed buffers are refused before they are unpacked: a few bytes of them can claim any
    amount of memory. Columns of kinds that no model takes are refused too.

    Parameters
    ----------
    body : bytes
        An Arrow IPC stream.
    most_rows : int
        The most rows.

    Returns
    -------
    pl.DataFrame
        The table.

    Raises
    ------
    RefusedError
        With status 400 if it is no such stream, 415 if it is packed, 422 if it has too many rows
        or columns of no use.
    """
    try:
        _check_messages(body)
        with pa.ipc.open_stream(body) as reader:
            _check_types(reader.schema)
            table = _read_batches(reader, most_rows)
        table.validate(full=True)
        return pl.DataFrame(pl.from_arrow(table))
    except _UNREADABLE as error:
        what = " ".join(str(error).split())[:200]
        raise RefusedError(400, f"The body is not a readable Arrow IPC stream: {what}") from None


def _read_batches(reader: Any, most_rows: int) -> pa.Table:
    batches, rows = [], 0
    for batch in reader:
        rows += batch.num_rows
        if rows > most_rows:
            raise RefusedError(422, f"There are more than {most_rows} rows; send fewer at a time.")
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _check_types(schema: pa.Schema) -> None:
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if not any(known(kind) for known in _KNOWN):
            raise RefusedError(
                422,
                f"Column {field.name!r} is of type {kind}; send numbers, text, booleans or dates.",
            )


def _check_messages(body: bytes) -> None:
    """Refuse packed messages; everything else is left to Arrow's own reader."""
    for message in pa.ipc.MessageReader.open_stream(body):
        if message.type == "record batch":
            packed = _is_packed(message.metadata.to_pybytes())
        elif message.type == "dictionary":
            packed = _is_packed(message.metadata.to_pybytes(), dictionary=True)
        else:
            packed = False
        if packed:
            raise RefusedError(415, "The Arrow stream is compressed; send it uncompressed.")


def _is_packed(metadata: bytes, *, dictionary: bool = False) -> bool:
    (root,) = struct.unpack_from("<I", metadata)
    batch = _follow(metadata, root, _HEADER)
    if dictionary and batch is not None:
        batch = _follow(metadata, batch, _DICTIONARY_DATA)
    return batch is None or _follow(metadata, batch, _COMPRESSION) is not None


def _follow(metadata: bytes, table: int, field: int) -> int | None:
    """Return where a field's own table lies, or None if the field is not there."""
    (back,) = struct.unpack_from("<i", metadata, table)
    offsets = table - back
    if offsets < 0:
        raise ValueError("an offset points outside of the message")
    (size,) = struct.unpack_from("<H", metadata, offsets)
    if field >= size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, offsets + field)
    if offset == 0:
        return None
    (ahead,) = struct.unpack_from("<I", metadata, table + offset)
    return table + offset + ahead
