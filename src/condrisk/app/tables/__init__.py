"""Tables from outside: read, described, checked row by row, written."""

from condrisk.app._errors import TableError
from condrisk.app._table_options import TableOptions
from condrisk.app.tables._batches import Batch, TableSource, iter_batches, to_polars
from condrisk.app.tables._cell_reader import cell_reader
from condrisk.app.tables._cells import clean_text
from condrisk.app.tables._columns import left_out, table_schema
from condrisk.app.tables._moments import read_moments
from condrisk.app.tables._notation import Notation
from condrisk.app.tables._read import read_noted, read_table
from condrisk.app.tables._schema import Checked, check_rows
from condrisk.app.tables._writer import TableWriter

__all__ = [
    "Batch",
    "Checked",
    "Notation",
    "TableError",
    "TableOptions",
    "TableSource",
    "TableWriter",
    "cell_reader",
    "check_rows",
    "clean_text",
    "iter_batches",
    "left_out",
    "read_moments",
    "read_noted",
    "read_table",
    "table_schema",
    "to_polars",
]
