"""The paper's experiments: run into records, then set beside its own numbers."""

from condrisk.reproduce._records import CorruptRecordError, read_records
from condrisk.reproduce.rwr._methods import PaperSplit, register_method, unregister_method
from condrisk.reproduce.rwr._run import RwRConfig, run_rwr

__all__ = [
    "CorruptRecordError",
    "PaperSplit",
    "RwRConfig",
    "read_records",
    "register_method",
    "run_rwr",
    "unregister_method",
]
