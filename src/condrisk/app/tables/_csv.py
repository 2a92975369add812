"""CSV, read batch by batch as columns of bytes, and then as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv as arrow_csv

from condrisk.app._errors import TableError

if TYPE_CHECKING:
    from condrisk.app.tables._layout import Layout

# How much of a file is parsed at a time: no row can be longer. Of a table with a long header it is
# more: its rows are long as well.
BLOCK_BYTES = 1 << 22
_NOT_UTF8 = (
    "column {!r} holds bytes that are not UTF-8, but other rows are: the file mixes encodings."
)


def check_names(names: Sequence[str], name: str) -> None:
    """Refuse a header with a name twice, or with none."""
    twice = [text for text, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(repr(text) for text in twice[:5])
        raise TableError(f"{name} has several columns of the name {shown}: name each differently.")
    if "" in names:
        raise TableError(
            f"{name} has a column without a name, number {names.index('') + 1} of {len(names)} in "
            f"its first line: name it, or delete it."
        )


def read_batches(
    file: Any, layout: Layout, on_malformed: Callable[[Any], str], *, threads: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows as columns of bytes: a cell that is not text must not end it all.

    With threads, lines that do not fit the header have no numbers.
    """
    names = list(layout.names)
    header_bytes = sum(len(name.encode()) + 3 for name in names)
    try:
        yield from arrow_csv.open_csv(
            file,
            arrow_csv.ReadOptions(
                use_threads=threads,
                block_size=max(BLOCK_BYTES, 8 * header_bytes),
                column_names=names,
                skip_rows=1,
                encoding="utf8" if layout.encoding == "utf-8" else layout.encoding,
            ),
            arrow_csv.ParseOptions(
                delimiter=layout.separator,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
                invalid_row_handler=on_malformed,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.binary()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if "Could not skip initial" not in str(error):  # else there is nothing but a header
            raise


def as_text(table: pa.Table) -> tuple[pa.Table, dict[int, str]]:
    """Return bytes as text, and the rows where they are not UTF-8."""
    bad: dict[int, str] = {}
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(column.cast(pa.string()))
        except pa.ArrowInvalid:
            columns.append(_decoded(column, name, bad))
    return pa.table(columns, names=table.column_names), bad


def _decoded(column: pa.ChunkedArray, name: str, bad: dict[int, str]) -> pa.Array:
    cells = []
    for at, cell in enumerate(column.to_pylist()):
        text = (cell or b"").decode(errors="replace")
        if text.encode() != (cell or b""):
            bad.setdefault(at, _NOT_UTF8.format(name))
        cells.append(None if cell is None else text)
    return pa.array(cells, pa.string())


@contextmanager
def table_errors(name: str) -> Iterator[None]:
    """Turn what Arrow says about a broken file into one sentence about the file."""
    try:
        yield
    except TableError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise TableError(f"{name} could not be read: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, not too long, as the end of a sentence."""
    text = (str(error) or type(error).__name__).splitlines()[0].removeprefix("CSV parse error: ")
    return text[:200].rstrip(".") + "."
