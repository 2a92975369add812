"""What the study leaves beside its records: tables, figures and a page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from condrisk.paper._records import Record
from condrisk.paper._report import write_pages
from condrisk.paper.active._figures import draw_areas, draw_curves
from condrisk.paper.active._page import active_page
from condrisk.paper.active._tables import all_tables

FIGURES = {"curves": draw_curves, "areas": draw_areas}
PAGES = {"README.md": active_page}


def write_report(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write the page with its figures, and tables as Markdown, LaTeX and pictures.

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
        The page and figures, the latter only where matplotlib is installed.
    """
    return write_pages(
        "active", list(records), folder, pages=PAGES, figures=FIGURES, tables=all_tables
    )
