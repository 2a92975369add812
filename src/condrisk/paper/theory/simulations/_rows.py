"""Rows of tables: words on the left, figures on the right."""

from __future__ import annotations

from collections.abc import Iterable

from condrisk.paper._table import Cell, Group, Row


def header(first: str, *others: str) -> Row:
    """Return the heads of columns, the first of them on the left."""
    return (Cell(first, align="left"), *(Cell(text) for text in others))


def row(first: str, *others: str) -> Row:
    """Return a row, its first cell on the left."""
    return (Cell(first, align="left"), *(Cell(text) for text in others))


def filled(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Return the groups that have rows."""
    return tuple(group for group in groups if group.rows)
