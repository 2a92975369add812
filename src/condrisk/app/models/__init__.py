"""Models of tables: fitted by one call, or made of any fitted model or model file."""

from condrisk.app.models._fit import fit_table
from condrisk.app.models._table_model import TableModel, open_model

__all__ = ["TableModel", "fit_table", "open_model"]
