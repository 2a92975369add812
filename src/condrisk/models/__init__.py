"""Models of tables: fitted by one call, kept in files that are not code."""

from condrisk.models._errors import ModelFileError
from condrisk.models._files import load_model, read_manifest, save_model
from condrisk.models._fit import fit_table
from condrisk.models._predictors import PREDICTORS
from condrisk.models._table_model import TableModel

__all__ = [
    "PREDICTORS",
    "ModelFileError",
    "TableModel",
    "fit_table",
    "load_model",
    "read_manifest",
    "save_model",
]
