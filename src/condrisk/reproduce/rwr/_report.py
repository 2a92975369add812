"""What a study leaves beside its records: tables, figures and the page of claims, as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from importlib.util import find_spec
from json import dumps
from pathlib import Path

from condrisk.reproduce._records import Record, write_whole
from condrisk.reproduce._render import to_latex, to_markdown, to_png
from condrisk.reproduce.rwr._figure import draw_calibration_against_deferral, draw_profile
from condrisk.reproduce.rwr._tables import Table, all_tables
from condrisk.reproduce.rwr.claims import claims_page

_FIGURES: dict[str, Callable[..., object]] = {
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
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / ".of-records"
    mark = sha256(dumps([folds, records]).encode()).hexdigest()
    if marker.exists():
        known, *names = marker.read_text(encoding="utf-8").split("\n")
        if known == mark and all((folder / name).exists() for name in names):
            return [folder / name for name in names]
    written = _write_tables(all_tables(records), folder)
    pages = (records, []) if folds == "paper" else ([], records)
    write_whole(folder / "claims.md", claims_page(*pages))
    written += [folder / "claims.md", *_draw_figures(records, folder)]
    write_whole(marker, "\n".join([mark, *(path.name for path in written)]))
    return written


def _write_tables(tables: list[Table], folder: Path) -> list[Path]:
    written = []
    for table in tables:
        for suffix, text in ((".md", to_markdown(table)), (".tex", to_latex(table))):
            path = folder / f"{table.name}{suffix}"
            write_whole(path, text)
            written.append(path)
        if find_spec("matplotlib"):
            path = folder / f"{table.name}.png"
            to_png(table, path)
            written.append(path)
    return written


def _draw_figures(records: list[Record], folder: Path) -> list[Path]:
    if not find_spec("matplotlib"):
        return []
    from condrisk.plots._common import import_pyplot, save_figure

    written = []
    for name, draw in _FIGURES.items():
        figure = draw(records)
        if figure is not None:
            path = folder / f"{name}.png"
            save_figure(figure, path)  # type: ignore[arg-type]
            import_pyplot().close(figure)
            written.append(path)
    return written
