"""What a study leaves beside its records: pages, tables and figures as files, written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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

Records = list[dict[str, Any]]
Draw = Callable[..., "Figure | None"]
CLAIMS_CLOSING = (
    "{n_files} files in {folder}: tables as .md, .tex and .png, figures, and claims.md, which "
    "holds the paper's claims against them."
)


@dataclass(frozen=True)
class Report:
    """What is made of the records of a study.

    Attributes
    ----------
    name : str
        The study.
    pages : mapping of str to callable
        What makes each page of the records, by its file's name.
    figures : mapping of str to callable
        What draws each figure of them, by its name.
    tables : callable
        What makes the tables of them.
    closing : str
        The last sentence of the command, in which ``{folder}`` is that of the report and
        ``{n_files}`` the number of files in it.
    tables_folder : str, default=""
        Where in the folder of the report the tables are.
    """

    name: str
    pages: Mapping[str, Callable[[Records], str]]
    figures: Mapping[str, Draw]
    tables: Callable[[Records], list[Table]]
    closing: str
    tables_folder: str = ""

    def write(self, records: Records, folder: Path) -> list[Path]:
        """Write pages, tables and figures; return the files.

        Nothing is written, or drawn, if the files are there already for these very records.
        Tables are written as Markdown and LaTeX and, where matplotlib is installed, as pictures.
        """
        folder.mkdir(parents=True, exist_ok=True)
        marker = folder / ".of-records"
        mark = sha256(dumps([self.name, records]).encode()).hexdigest()
        if marker.exists():
            known, *names = marker.read_text(encoding="utf-8").split("\n")
            if known == mark and all((folder / name).exists() for name in names):
                return [folder / name for name in names]
        written = write_tables(self.tables(records), folder / self.tables_folder)
        for page, make in self.pages.items():
            write_whole(folder / page, make(records))
            written.append(folder / page)
        written += self.draw(records, folder)
        names = [path.relative_to(folder).as_posix() for path in written]
        write_whole(marker, "\n".join([mark, *names]))
        return written

    def draw(self, records: Records, folder: Path) -> list[Path]:
        """Draw figures, where matplotlib is installed and the records have something for them."""
        if not find_spec("matplotlib"):
            return []
        from condrisk._drawing import save_figure

        written = []
        for name, draw in self.figures.items():
            figure = draw(records)
            if figure is not None:
                path = folder / f"{name}.png"
                save_figure(figure, path)
                written.append(path)
        return written


def write_tables(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write tables as Markdown, LaTeX and, where matplotlib is installed, pictures."""
    folder.mkdir(parents=True, exist_ok=True)
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
