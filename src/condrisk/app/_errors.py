"""What is raised where a table of the user's is wrong."""

from __future__ import annotations


class TableError(ValueError):
    """Something is wrong with a table; the message is one sentence that says what and where."""
