"""What the study on CIFAR-10 leaves beside its records: tables, figures and the page of claims."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from condrisk._files import write_whole
from condrisk.paper._records import Record
from condrisk.paper._report import write_figures, write_once, write_tables
from condrisk.paper.cifar10._figure import draw_error_against_deferral, draw_temperature
from condrisk.paper.cifar10._tables import all_tables
from condrisk.paper.cifar10.claims import claims_page

FIGURES = {
    "error-against-deferral": draw_error_against_deferral,
    "temperature-scaling": draw_temperature,
}


def write_report(records: Iterable[Record], folder: Path) -> list[Path]:
    """Write tables as Markdown, LaTeX and pictures, figures, and the page of claims.

    Nothing is written, or drawn, if the files are there already for these very records.

    Parameters
    ----------
    records : iterable of dict
        What the study found.
    folder : Path
        Where to put the files; made if it is not there.


    Returns
    -------
    list of Path
        The files, pictures only where matplotlib is installed.
    """
    records = list(records)

    def write(folder: Path) -> list[Path]:
        written = write_tables(all_tables(records), folder)
        write_whole(folder / "claims.md", claims_page(records))
        return [*written, folder / "claims.md", *write_figures(FIGURES, records, folder)]

    return write_once(folder, ["cifar10", records], write)
