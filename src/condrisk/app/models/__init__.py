"""Models of tables: fitted by one call, kept in files that are not code."""

from condrisk.app._errors import ModelFileError
from condrisk.app.models._files import load_model, save_model
from condrisk.app.models._fit import fit_table
from condrisk.app.models._manifest import read_manifest
from condrisk.app.models._predictors import PREDICTORS
from condrisk.app.models._table_model import TableModel

__all__ = [
    "PREDICTORS",
    "ModelFileError",
    "TableModel",
    "fit_table",
    "load_model",
    "read_manifest",
    "save_model",
]
