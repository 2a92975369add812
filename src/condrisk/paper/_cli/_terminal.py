"""A table on the terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from condrisk.paper._table import Cell, Table


def to_terminal(table: Table) -> RichTable:
    """Return the table for a console of rich. Its words are words, whatever brackets they have.

    Examples
    --------
    >>> from condrisk.paper._cli._terminal import to_terminal
    >>> from condrisk.paper._table import Cell, Group, Table
    >>> table = Table("t", "Title", "", (Cell("a"),), (Group("g", ((Cell("1"),),)),))
    >>> to_terminal(table).row_count
    2
    """
    shown = RichTable(
        title=Text(table.title, style="bold"),
        caption=Text(table.caption, style="dim"),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,  # the lines of the box, which are blank, are gap enough
        show_edge=False,
    )
    for cell in table.header:
        shown.add_column(Text(cell.text), justify=cell.align, no_wrap=True)
    for group in table.groups:
        blanks = [""] * (len(table.header) - 1)
        shown.add_row(Text(group.label, style="bold italic"), *blanks)
        for row in group.rows:
            shown.add_row(*(Text(cell.text, style=_style(cell)) for cell in row))
        shown.add_section()
    return shown


def _style(cell: Cell) -> str:
    style = "bold" if cell.bold else ""
    return style if cell.background is None else f"{style} black on #{cell.background}"
