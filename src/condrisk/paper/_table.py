"""A table, before it is known where it will be shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table; a line break in it is one in the header."""

    text: str = ""
    bold: bool = False
    background: str | None = None  # six hexadecimal digits
    align: Literal["left", "right"] = "right"


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows that belong together, under a label of their own."""

    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """A table, before it is known where it will be shown.

    Attributes
    ----------
    name : str
        Short name, fit for a file.
    title, caption : str
        What it shows, and how to read it.
    header : tuple of Cell
        One for each column, whose alignment is that of the column.
    groups : tuple of Group
        The rows.
    """

    name: str
    title: str
    caption: str
    header: Row
    groups: tuple[Group, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, without the labels of their groups."""
        return tuple(row for group in self.groups for row in group.rows)


def row(first: str, *others: str) -> Row:
    """Return a row, or a header: words on the left, figures on the right."""
    return (Cell(first, align="left"), *(Cell(text) for text in others))


def filled(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Return the groups that have rows."""
    return tuple(group for group in groups if group.rows)
