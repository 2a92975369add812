"""Write the pages of the site that come from code: the command line, and tables of files.

python -m tools.site_pages            # rewrite them
python -m tools.site_pages --check    # exit with 1 if one is not what the code gives
"""

from __future__ import annotations

import sys
from pathlib import Path

from condrisk._files import write_whole
from tools import cli_pages, files_pages, hostile_pages

DOCS = Path(__file__).resolve().parents[1] / "docs"


def pages() -> dict[Path, str]:
    """Return the text of every page by its path."""
    return {
        DOCS / "cli.md": cli_pages.text(),
        DOCS / "hostile.md": hostile_pages.text(),
        DOCS / "how-to" / "files.md": files_pages.text(),
    }


def main(arguments: list[str]) -> int:
    """Rewrite the pages, or check them."""
    texts = pages()
    if "--check" in arguments:
        return int(any(path.read_text("utf-8") != text for path, text in texts.items()))
    for path, text in texts.items():
        write_whole(path, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
