"""Tables from outside: read, described, checked row by row, written."""

from condrisk.app._errors import SchemaError, TableError
from condrisk.app._paths import table_format
from condrisk.app.tables._batches import Batch, TableSource, iter_batches, to_polars
from condrisk.app.tables._cell_reader import cell_reader
from condrisk.app.tables._cells import Cells, canonical, clean_text
from condrisk.app.tables._columns import MAX_NUMBER, left_out, table_column, table_schema
from condrisk.app.tables._csv import Layout
from condrisk.app.tables._moments import read_moments
from condrisk.app.tables._read import read_table
from condrisk.app.tables._schema import Checked, check_rows
from condrisk.app.tables._writer import TableWriter

__all__ = [
    "MAX_NUMBER",
    "Batch",
    "Cells",
    "Checked",
    "Layout",
    "SchemaError",
    "TableError",
    "TableSource",
    "TableWriter",
    "canonical",
    "cell_reader",
    "check_rows",
    "clean_text",
    "iter_batches",
    "left_out",
    "read_moments",
    "read_table",
    "table_column",
    "table_format",
    "table_schema",
    "to_polars",
]
