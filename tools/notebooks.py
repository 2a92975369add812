"""Write the tutorial and three guides as notebooks: ``python -m tools.notebooks``.

Each is made from its page: text becomes text, Python becomes cells, commands become ``%%bash``
cells with what the page shows below them, and a block with a title writes that file. A block that
the page says is not run stays text.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = DOCS / "notebooks"
PAGES = ("tutorial.md", "how-to/regression.md", "how-to/classification.md", "how-to/budget.md")

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+?) -->\s*)?"
    r"^(?P<space> *)```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<code>.*?)^(?P=space)```$",
    re.DOTALL | re.MULTILINE,
)
_BOX = re.compile(
    r'^(?:!!!|\?\?\?\+?) \w+(?: "(?P<title>[^"]+)")?\n(?P<text>(?:(?: {4}[^\n]*)?\n)*)', re.M
)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s]+)(?=\))")


def notebook(page: str) -> dict[str, Any]:
    """Return the notebook of a page."""
    text = _FRONT.sub("", (DOCS / page).read_text(encoding="utf-8"))
    origin = f"Made from [this page]({posixpath.relpath(page, NOTEBOOKS.name)}); "
    needs = 'it needs `pip install "condrisk[app]"`.'
    cells = [_markdown(f"*{origin}{needs}*"), *_cells(_BOX.sub(_without_box, text), page)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def notebooks() -> dict[Path, str]:
    """Return what each notebook's file holds."""
    return {
        NOTEBOOKS / f"{Path(page).stem}.ipynb": (
            json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"
        )
        for page in PAGES
    }


def _without_box(box: re.Match[str]) -> str:
    """Return a box of the site as plain text: its title, and what it holds."""
    title = f"**{box['title']}**\n\n" if box["title"] else ""
    return f"{title}{dedent(box['text']).strip()}\n\n"


def _cells(text: str, page: str) -> Iterator[dict[str, Any]]:
    kept, end = "", 0
    for block in _FENCE.finditer(text):
        kept += text[end : block.start()]
        end = block.end()
        cell = None if block["reason"] else _code_cell(block)
        if cell is None:
            kept += block[0]
            continue
        yield from _text_cell(kept, page)
        kept = ""
        yield cell
    yield from _text_cell(kept + text[end:], page)


def _text_cell(text: str, page: str) -> Iterator[dict[str, Any]]:
    text = _COMMENT.sub("", text).strip()
    if text:
        folder = posixpath.dirname(page)
        yield _markdown(
            LINK.sub(
                lambda link: posixpath.relpath(posixpath.join(folder, link[1]), "notebooks"), text
            )
        )


def _code_cell(block: re.Match[str]) -> dict[str, Any] | None:
    """Return a block as a cell; None if it is only shown."""
    code, language = dedent(block["code"]), block["language"]
    title = re.search('title="([^"]+)"', block["options"])
    if title:
        return _code(f"%%writefile {title[1]}\n{code}")
    if language == "python":
        return _code(code)
    if language != "console":
        return None
    typed, shown, goes_on = [], [], False
    for line in code.splitlines():
        if goes_on or line.startswith("$ "):
            typed.append(line if goes_on else line[2:])
            goes_on = line.endswith("\\")
        else:
            shown.append(line)
    return _code("%%bash\n" + "\n".join(typed), "\n".join(shown))


def _code(source: str, shown: str = "") -> dict[str, Any]:
    outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(shown + "\n")}]
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs if shown else [],
        "source": _lines(source.strip()),
    }


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Write all of them."""
    NOTEBOOKS.mkdir(exist_ok=True)
    for path, text in notebooks().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
