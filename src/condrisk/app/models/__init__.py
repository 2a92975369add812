"""Models of tables: fitted by one call, or made of any fitted model or model file."""

from condrisk.app.models._cluster import fit_parquet
from condrisk.app.models._cost_matrix import read_cost_matrix
from condrisk.app.models._encode import plain_values
from condrisk.app.models._fit import fit_table
from condrisk.app.models._fit_router import fit_router
from condrisk.app.models._router_table import RouterTable, check_wish, open_router, read_losses
from condrisk.app.models._table_model import TableModel, open_model

__all__ = [
    "RouterTable",
    "TableModel",
    "check_wish",
    "fit_parquet",
    "fit_router",
    "fit_table",
    "open_model",
    "open_router",
    "plain_values",
    "read_cost_matrix",
    "read_losses",
]
