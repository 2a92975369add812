"""What the study leaves beside its records: tables, figures and the page of claims."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from condrisk._files import write_whole
from condrisk.paper._records import Record
from condrisk.paper._report import write_figures, write_once, write_tables
from condrisk.paper.rwr._figure import draw_calibration_against_deferral, draw_profile
from condrisk.paper.rwr._tables import all_tables
from condrisk.paper.rwr.claims import claims_page

FIGURES = {
    "profile": draw_profile,
    "calibration-against-deferral": draw_calibration_against_deferral,
}


def write_report(records: Iterable[Record], folder: Path, *, folds: str) -> list[Path]:
    """Write tables as Markdown, LaTeX and pictures, figures, and the page of claims.

    Nothing is written, or drawn, if the files are there already for these very records.

    Parameters
    ----------
    records : iterable of dict
        What the study found.
    folder : Path
        Where to put the files; made if it is not there.
    folds : {"embedded", "paper"}
        Whose folds they are of.

    Returns
    -------
    list of Path
        The files, pictures only where matplotlib is installed.
    """
    records = list(records)

    def write(folder: Path) -> list[Path]:
        written = write_tables(all_tables(records), folder)
        pages = (records, []) if folds == "paper" else ([], records)
        write_whole(folder / "claims.md", claims_page(*pages))
        return [*written, folder / "claims.md", *write_figures(FIGURES, records, folder)]

    return write_once(folder, [folds, records], write)
