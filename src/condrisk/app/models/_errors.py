"""What is raised where a model file cannot be used."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file cannot be used; the message is one sentence that says why."""
