"""The paper's experiments: run into records, then set beside its own numbers."""

from condrisk.paper._records import CorruptRecordError, read_records

__all__ = ["CorruptRecordError", "read_records"]
