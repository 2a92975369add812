"""Whole tables, by their content rather than by what their names end in."""

from __future__ import annotations

import os
from collections.abc import Callable

import polars as pl

from condrisk.app._errors import TableError
from condrisk.app._table_options import TableOptions
from condrisk.app.tables._batches import BATCH_ROWS, TableSource, read_frame, to_polars
from condrisk.app.tables._csv import table_errors
from condrisk.app.tables._notation import Notation
from condrisk.persistence import Schema

# A table that is read at once may have this many bytes as numbers of eight bytes.
MOST_BYTES = 8 << 30
MOST_FILE_BYTES = 8 << 30


def read_table(
    path: str | os.PathLike[str],
    *,
    options: TableOptions = TableOptions(),  # noqa: B008
    schema: Schema | None = None,
    note: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    r"""Read a whole table: CSV, Parquet, Arrow, JSON, a workbook, or a query of a database.

    Parameters
    ----------
    path : path
        The file, whose content tells the format, "-" for standard input, or the URL of a database.
        A file may be compressed with gzip or zstd.
    options : TableOptions, optional
        How to read it, as far as it does not tell.
    schema : Schema, optional
        The columns of a model that will read it: they settle what the table leaves open.
    note : callable, optional
        Gets a sentence about each thing that had to be guessed.

    Returns
    -------
    polars.DataFrame
        Columns of text have the type that all of their cells have: whole numbers, numbers, true or
        false, dates, moments (in UTC where they have an offset), else text without spaces around
        it. Cells such as "NA" are null.

    Raises
    ------
    TableError
        Where it cannot be read, or in two ways.

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
    return read_noted(path, options=options, schema=schema, note=note)[0]


def read_noted(
    path: str | os.PathLike[str],
    *,
    options: TableOptions = TableOptions(),  # noqa: B008
    schema: Schema | None = None,
    used: Callable[[str], bool] = lambda name: True,
    note: Callable[[str], None] | None = None,
) -> tuple[pl.DataFrame, dict[str, Notation]]:
    """Read a whole table, as `read_table`, and return how its cells were written besides.

    Parameters
    ----------
    path, options, schema, note
        As `read_table` takes them.
    used : callable, optional
        Tells by its name whether a column will be used; others may be unclear.

    Returns
    -------
    frame : polars.DataFrame
        The table.
    notations : dict of str to Notation
        For `condrisk.app.models.fit_table`; empty for Parquet and Arrow.
    """
    with TableSource(path, batch_rows=BATCH_ROWS, options=options, schema=schema) as source:
        if source.path.stat().st_size > MOST_FILE_BYTES:
            raise TableError(
                f"{source.name} is too large to be read at once: take a sample of its rows."
            )
        frame = _read_arrow(source) if source.layout is None else _read_text(source, used, note)
        if not frame.height:
            raise TableError(f"{source.name} has no rows.")
        return frame, source.notations


def _read_text(
    source: TableSource, used: Callable[[str], bool], note: Callable[[str], None] | None
) -> pl.DataFrame:
    layout = source.layout
    assert layout is not None
    note = note or (lambda what: None)
    layout.refuse_unclear(used)
    for what in source.notes:
        note(what)
    if not layout.expected:
        for what in layout.notation_notes(used):
            note(what)
    for name, found in layout.facts.items():
        if found.long and layout.types[name].is_numeric() and used(name):
            note(f"column {name!r} has numbers of more than 18 digits; they are rounded")
    return pl.concat([read_frame(batch, source.name) for batch in source])


def _read_arrow(source: TableSource) -> pl.DataFrame:
    import pyarrow as pa

    if source.n_rows is not None:
        check_size(source.n_rows, len(source.schema.names), source.name)
    with table_errors(source.name):
        tables = [batch.table for batch in source]
        return to_polars(pa.concat_tables(tables), source.name)


def check_size(n_rows: int, n_columns: int, name: str) -> None:
    """Refuse to read at once what claims more rows than can be held."""
    if n_rows * n_columns * 8 > MOST_BYTES:
        raise TableError(
            f"{name} has {n_rows:,} rows of {n_columns} columns, too many to be read at once: "
            f"take a sample of its rows."
        )
