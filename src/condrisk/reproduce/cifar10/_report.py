"""What the study on CIFAR-10 leaves beside its records: tables, figures and the page of claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from condrisk.reproduce._records import Record, write_whole
from condrisk.reproduce.cifar10._figure import draw_error_against_deferral, draw_temperature
from condrisk.reproduce.cifar10._tables import all_tables
from condrisk.reproduce.cifar10.claims import claims_page
from condrisk.reproduce.rwr._report import _write_tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIGURES: dict[str, Callable[[Iterable[Record]], Figure | None]] = {
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
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / ".of-records"
    mark = sha256(dumps(["cifar10", records]).encode()).hexdigest()
    if marker.exists():
        known, *names = marker.read_text(encoding="utf-8").split("\n")
        if known == mark and all((folder / name).exists() for name in names):
            return [folder / name for name in names]
    written = _write_tables(all_tables(records), folder)
    write_whole(folder / "claims.md", claims_page(records))
    written += [folder / "claims.md", *_draw_figures(records, folder)]
    write_whole(marker, "\n".join([mark, *(path.name for path in written)]))
    return written


def _draw_figures(records: list[Record], folder: Path) -> list[Path]:
    if not find_spec("matplotlib"):
        return []
    from condrisk.plots._common import save_figure

    written = []
    for name, draw in _FIGURES.items():
        figure = draw(records)
        if figure is not None:
            path = folder / f"{name}.png"
            save_figure(figure, path)
            written.append(path)
    return written
