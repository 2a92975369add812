"""What is raised where a table or a model file of the user's is wrong."""

from __future__ import annotations


class TableError(ValueError):
    """Something is wrong with a table; the message is one sentence that says what and where."""


class SchemaError(TableError):
    """A table cannot be what a model was fitted on, whichever of its rows are taken."""


class ModelFileError(ValueError):
    """A model file cannot be used; the message is one sentence that says why."""
