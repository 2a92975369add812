"""Models of tables: fitted by one call, or made of any fitted model or model file."""

from condrisk.app.models._encode import encode_rows
from condrisk.app.models._fit import fit_table
from condrisk.app.models._frames import as_frame
from condrisk.app.models._predictors import PREDICTORS
from condrisk.app.models._table_model import TableModel, open_model

__all__ = ["PREDICTORS", "TableModel", "as_frame", "encode_rows", "fit_table", "open_model"]
