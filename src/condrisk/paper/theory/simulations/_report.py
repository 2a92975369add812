"""What the study of the theory leaves beside its records: tables, figures and two pages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from condrisk.paper._records import Record
from condrisk.paper._report import write_pages
from condrisk.paper.theory.simulations._figures import draw_excess, draw_planning, draw_separable
from condrisk.paper.theory.simulations._model_figures import (
    draw_coverage,
    draw_median,
    draw_plug_in,
    draw_rejection,
)
from condrisk.paper.theory.simulations._page import practitioner_page
from condrisk.paper.theory.simulations._simulations_page import simulations_page
from condrisk.paper.theory.simulations._tables import all_tables

FIGURES = {
    "excess": draw_excess,
    "plug-in": draw_plug_in,
    "separable": draw_separable,
    "rejection": draw_rejection,
    "median": draw_median,
    "coverage": draw_coverage,
    "planning": draw_planning,
}
PAGES = {"README.md": practitioner_page, "simulations.md": simulations_page}


def write_report(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write the two pages with their figures, and tables as Markdown, LaTeX and pictures.

    Nothing is written, or drawn, if the files are there already for these very records.

    Parameters
    ----------
    records : iterable of dict
        What the study found.
    folder : Path
        Where to put the files; made if it is not there. Tables go into its folder ``tables``.

    Returns
    -------
    list of Path
        The pages and figures, the latter only where matplotlib is installed.
    """
    return write_pages(
        "theory", list(records), folder, pages=PAGES, figures=FIGURES, tables=all_tables
    )
