"""What the study leaves beside its records: tables, figures and a page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from condrisk.reproduce._records import Record, write_whole
from condrisk.reproduce._report import write_figures, write_once, write_tables
from condrisk.reproduce.active._figures import draw_areas, draw_curves
from condrisk.reproduce.active._page import active_page
from condrisk.reproduce.active._tables import all_tables

FIGURES = {"curves": draw_curves, "areas": draw_areas}


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
    records = list(records)

    def write(folder: Path) -> list[Path]:
        write_whole(folder / "README.md", active_page(records))
        return [folder / "README.md", *write_figures(FIGURES, records, folder)]

    tables = folder / "tables"
    write_once(tables, ["active", records], lambda where: write_tables(all_tables(records), where))
    return write_once(folder, ["active", records], write)
