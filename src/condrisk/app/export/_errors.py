"""What is raised where a model cannot be exported."""

from __future__ import annotations


class ExportError(ValueError):
    """A model, or a part of it, cannot be exported; the message is one sentence that says why."""
