"""A table as Markdown, as LaTeX and as a picture."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from condrisk._drawing import import_pyplot, save_figure
from condrisk.paper._table import Cell, Group, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#])")
_LATEX_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",  # at the start of a row it would be an option of the line break before
    "]": "{]}",
    "*": "{*}",  # likewise
    "Δ": r"$\Delta$",
    "∞": r"$\infty$",
    "²": r"\textsuperscript{2}",
}
_SIGNED_NUMBER = re.compile(r"[+-](\d+(\.\d+)?|∞)")

# Sizes of the picture, in points.
_FONT, _LINE, _GAP, _MARGIN = 8.0, 12.0, 6.0, 14.0


def to_markdown(table: Table) -> str:
    r"""Return the table as Markdown, under a heading and above its caption.

    Examples
    --------
    >>> from condrisk.paper._render import to_markdown
    >>> from condrisk.paper._table import Cell, Group, Table
    >>> rows = ((Cell("a|b", align="left"), Cell("1.0", bold=True)),)
    >>> head = (Cell("Method", align="left"), Cell("loss\nours"))
    >>> print(to_markdown(Table("t", "Title", "Caption.", head, (Group("g", rows),))))
    ### Title
    <BLANKLINE>
    | Method | loss ours |
    | :-- | --: |
    | **g** |  |
    | a\|b | **1.0** |
    <BLANKLINE>
    Caption.
    <BLANKLINE>
    """
    lines = [f"### {table.title}", "", _markdown_row([_markdown(cell) for cell in table.header])]
    lines.append(_markdown_row([":--" if c.align == "left" else "--:" for c in table.header]))
    for group in table.groups:
        blanks = [""] * (len(table.header) - 1)
        lines.append(_markdown_row([_markdown(Cell(group.label, bold=True)), *blanks]))
        lines += [_markdown_row([_markdown(cell) for cell in row]) for row in group.rows]
    return "\n".join([*lines, "", escape_markdown(table.caption), ""])


def to_latex(table: Table) -> str:
    r"""Return the table as LaTeX, with the packages that it needs in a comment at the top.

    Examples
    --------
    >>> from condrisk.paper._render import to_latex
    >>> from condrisk.paper._table import Cell, Group, Table
    >>> rows = ((Cell("R&D", align="left"), Cell("-1.0", background="5A8AC6")),)
    >>> head = (Cell("Method", align="left"), Cell("loss"))
    >>> text = to_latex(Table("t", "Title", "Caption.", head, (Group("g", rows),)))
    >>> print(text.splitlines()[-4])
    R\&D & \cellcolor[HTML]{5A8AC6}$-1.0$ \\
    """
    columns = "".join(cell.align[0] for cell in table.header)
    header = " & ".join(_latex_header(cell) for cell in table.header) + r" \\"
    lines = [
        r"% Needs \usepackage{booktabs}, \usepackage{longtable} and \usepackage[table]{xcolor}.",
        r"\begingroup\footnotesize",
        r"\setlength{\tabcolsep}{3pt}\setlength{\LTcapwidth}{\linewidth}",
        rf"\begin{{longtable}}{{{columns}}}",
        rf"\caption{{{escape_latex(f'{table.title}. {table.caption}')}}}\\",
        *(r"\toprule", header, r"\midrule", r"\endfirsthead"),
        *(r"\toprule", header, r"\midrule", r"\endhead"),  # on later pages, without the caption
        r"\bottomrule",
        r"\endlastfoot",
    ]
    for position, group in enumerate(table.groups):
        lines += [r"\midrule"] if position else []
        label = rf"\textbf{{{escape_latex(group.label)}}}"
        lines.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{{label}}} \\*")
        lines += [" & ".join(_latex(cell) for cell in row) + r" \\" for row in group.rows]
    return "\n".join([*lines, r"\end{longtable}", r"\endgroup", "", ""])


def to_png(table: Table, path: str | os.PathLike[str]) -> None:
    """Draw the table; a long one in several columns of groups, so that it fits a page.

    Parameters
    ----------
    table : Table
        The table.
    path : str or path-like
        Where to. The end of the name tells the format; .pdf and .svg are possible too.
    """
    save_figure(draw_table(table), path)


def escape_markdown(text: str) -> str:
    """Return the text so that Markdown shows it as it is, in one line."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(text.split()))


def escape_latex(text: str) -> str:
    """Return the text so that LaTeX shows it as it is."""
    return "".join(_LATEX_SPECIAL.get(character, character) for character in text)


# -- parts of lines ------------------------------------------------------------------------------


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    return f"**{text}**" if cell.bold and text else text


def _latex_header(cell: Cell) -> str:
    lines = r"\\".join(escape_latex(line) for line in cell.text.split("\n"))
    return rf"\shortstack[{cell.align[0]}]{{{lines}}}"


def _latex(cell: Cell) -> str:
    text = escape_latex(cell.text)
    if _SIGNED_NUMBER.fullmatch(cell.text):
        text = f"${cell.text}$".replace("∞", r"\infty")
        text = rf"\boldmath{text}" if cell.bold else text  # a formula is not bold by itself
    text = rf"\textbf{{{text}}}" if cell.bold else text
    return text if cell.background is None else rf"\cellcolor[HTML]{{{cell.background}}}{text}"


# -- the picture ---------------------------------------------------------------------------------


def draw_table(table: Table) -> Figure:
    """Return the table as a matplotlib figure."""
    import_pyplot()  # to say how to get it
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    widths = _column_widths(table)
    panel_width = sum(widths) + _GAP * len(widths)
    panels = _panels(table.groups, panel_width)
    n_header = max(cell.text.count("\n") + 1 for cell in table.header)
    n_lines = max(sum(len(group.rows) + 1.3 for group in panel) for panel in panels) + n_header + 1
    width = max(len(panels) * (panel_width + 2 * _MARGIN), _text_width(table.title, bold=True))
    caption = textwrap.wrap(table.caption, int(width / (0.55 * _FONT)))
    height = (n_lines + 2 + len(caption)) * _LINE + 2 * _MARGIN
    figure = Figure(figsize=(width / 72, height / 72), dpi=150, facecolor="white")
    FigureCanvasAgg(figure)  # without a canvas of its own, every question of size draws it all
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    ax.set_axis_off()
    _write(ax, _MARGIN, _MARGIN + 0.5 * _LINE, Cell(table.title, bold=True, align="left"))
    for position, panel in enumerate(panels):
        left = position * (panel_width + 2 * _MARGIN) + _MARGIN
        _draw_panel(ax, left, _MARGIN + 2 * _LINE, table, panel, widths)
    for number, line in enumerate(caption):
        bottom = height - _MARGIN - (len(caption) - number - 0.5) * _LINE
        _write(ax, _MARGIN, bottom, Cell(line, align="left"), color="#505050")
    return figure


def _draw_panel(
    ax: Axes, left: float, top: float, table: Table, groups: Sequence[Group], widths: list[float]
) -> None:
    right = left + sum(widths) + _GAP * len(widths)
    n_header = max(cell.text.count("\n") + 1 for cell in table.header)
    for line in range(n_header):
        parts = [cell.text.split("\n") for cell in table.header]
        cells = [
            Cell(("\n" * (n_header - len(part)) + "\n".join(part)).split("\n")[line], align=c.align)
            for part, c in zip(parts, table.header, strict=True)
        ]
        _draw_row(ax, left, top + (line + 0.5) * _LINE, cells, widths)
    y = top + n_header * _LINE + 0.2 * _LINE
    ax.plot([left, right], [top - 1, top - 1], color="black", linewidth=1.0)
    for group in groups:
        ax.plot([left, right], [y, y], color="black", linewidth=0.5)
        y += 0.3 * _LINE
        _write(ax, left, y + 0.5 * _LINE, Cell(group.label, bold=True, align="left"))
        for row in group.rows:
            y += _LINE
            _draw_row(ax, left, y + 0.5 * _LINE, row, widths)
        y += _LINE
    ax.plot([left, right], [y + 2, y + 2], color="black", linewidth=1.0)


def _draw_row(
    ax: Axes, left: float, middle: float, cells: Sequence[Cell], widths: list[float]
) -> None:
    from matplotlib.patches import Rectangle

    for cell, width in zip(cells, widths, strict=True):
        if cell.background is not None:
            corner = (left + _GAP / 2, middle - _LINE / 2)
            colour = f"#{cell.background}"
            ax.add_patch(Rectangle(corner, width + _GAP, _LINE, facecolor=colour, linewidth=0))
        _write(ax, left if cell.align == "left" else left + _GAP + width, middle, cell)
        left += width + _GAP


def _write(ax: Axes, x: float, y: float, cell: Cell, color: str = "black") -> None:
    ax.text(
        x,
        y,
        cell.text,
        color=color,
        fontsize=_FONT,
        fontweight="bold" if cell.bold else "normal",
        ha=cell.align,
        va="center_baseline",
        parse_math=False,  # a dollar in somebody's name is a dollar
    )


def _column_widths(table: Table) -> list[float]:
    columns = list(zip(table.header, *table.rows, strict=True))
    return [
        max(_text_width(line, bold=cell.bold) for cell in column for line in cell.text.split("\n"))
        for column in columns
    ]


def _text_width(text: str, *, bold: bool = False) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font: Any = FontProperties(size=_FONT, weight="bold" if bold else "normal")
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]


def _panels(groups: Sequence[Group], width: float) -> list[list[Group]]:
    """Return the groups in as few columns as keep the picture from being a strip."""
    heights = [(len(group.rows) + 1.3) * _LINE for group in groups]
    n_panels = 1
    while sum(heights) / n_panels > 1.2 * n_panels * width and n_panels < len(groups):
        n_panels += 1
    limit = sum(heights) / n_panels
    panels: list[list[Group]] = [[]]
    filled = 0.0
    for group, height in zip(groups, heights, strict=True):
        if panels[-1] and len(panels) < n_panels and filled + height / 2 > limit * len(panels):
            panels.append([])
        panels[-1].append(group)
        filled += height
    return panels
