"""Tables from outside: read, described, checked row by row, written."""

from typing import TYPE_CHECKING

from condrisk._later import import_later
from condrisk.tables._columns import left_out
from condrisk.tables._errors import SchemaError, TableError
from condrisk.tables._read import read_table, table_format
from condrisk.tables._schema import Checked, Column, Schema

if TYPE_CHECKING:
    from condrisk.tables._batches import iter_batches
    from condrisk.tables._writer import TableWriter

__getattr__ = import_later(
    __name__,
    {
        "TableWriter": "condrisk.tables._writer",
        "iter_batches": "condrisk.tables._batches",
    },
)

__all__ = [
    "Checked",
    "Column",
    "Schema",
    "SchemaError",
    "TableError",
    "TableWriter",
    "iter_batches",
    "left_out",
    "read_table",
    "table_format",
]


def __dir__() -> list[str]:
    return __all__
