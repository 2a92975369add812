"""What a study leaves beside its records: tables and figures as files, written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from condrisk._files import write_whole
from condrisk.paper._render import to_latex, to_markdown, to_png
from condrisk.paper._table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[..., "Figure | None"]


def write_once(folder: Path, source: Any, write: Callable[[Path], list[Path]]) -> list[Path]:
    """Call `write` unless its files are there already for this very source.

    Parameters
    ----------
    folder : Path
        Where to put the files; made if it is not there.
    source : object
        What they are made from, as JSON can write it.
    write : callable
        Takes the folder, writes the files and returns them.

    Returns
    -------
    list of Path
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / ".of-records"
    mark = sha256(dumps(source).encode()).hexdigest()
    if marker.exists():
        known, *names = marker.read_text(encoding="utf-8").split("\n")
        if known == mark and all((folder / name).exists() for name in names):
            return [folder / name for name in names]
    written = write(folder)
    write_whole(marker, "\n".join([mark, *(path.name for path in written)]))
    return written


def write_tables(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write tables as Markdown, LaTeX and, where matplotlib is installed, pictures."""
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


def write_figures(figures: Mapping[str, Draw], records: list[Any], folder: Path) -> list[Path]:
    """Draw figures, where matplotlib is installed and the records have something for them."""
    if not find_spec("matplotlib"):
        return []
    from condrisk._drawing import save_figure

    written = []
    for name, draw in figures.items():
        figure = draw(records)
        if figure is not None:
            path = folder / f"{name}.png"
            save_figure(figure, path)
            written.append(path)
    return written


def write_pages(
    name: str,
    records: list[Any],
    folder: Path,
    *,
    pages: Mapping[str, Callable[[list[Any]], str]],
    figures: Mapping[str, Draw],
    tables: Callable[[list[Any]], Iterable[Table]],
) -> list[Path]:
    """Write pages with their figures, and the tables into the folder ``tables``.

    Nothing is written, or drawn, if the files are there already for these very records.

    Parameters
    ----------
    name : str
        The study.
    records : list of dict
        What it found.
    folder : Path
        Where to put the files; made if it is not there.
    pages : mapping of str to callable
        What makes each page of the records, by its file's name.
    figures : mapping of str to callable
        What draws each figure of them, by its name.
    tables : callable
        What makes the tables of them.

    Returns
    -------
    list of Path
        The pages, then the figures, the latter only where matplotlib is installed.
    """

    def write(folder: Path) -> list[Path]:
        for page, make in pages.items():
            write_whole(folder / page, make(records))
        return [*(folder / page for page in pages), *write_figures(figures, records, folder)]

    write_once(folder / "tables", [name, records], lambda to: write_tables(tables(records), to))
    return write_once(folder, [name, records], write)
