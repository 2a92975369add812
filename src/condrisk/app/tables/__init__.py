"""Tables from outside: read, described, checked row by row, written."""

from typing import TYPE_CHECKING

from condrisk._later import import_later
from condrisk.app.tables._columns import left_out
from condrisk.app.tables._errors import SchemaError, TableError
from condrisk.app.tables._read import read_table, table_format
from condrisk.app.tables._schema import Checked, Column, Schema

if TYPE_CHECKING:
    from condrisk.app.tables._batches import iter_batches
    from condrisk.app.tables._writer import TableWriter

__getattr__ = import_later(
    __name__,
    {
        "TableWriter": "condrisk.app.tables._writer",
        "iter_batches": "condrisk.app.tables._batches",
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
