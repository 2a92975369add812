"""The page of docs/active, from the records under results/active."""

from __future__ import annotations

from pathlib import Path

from condrisk.paper import read_records
from condrisk.paper._records import Record
from condrisk.paper.active._page import active_page
from condrisk.paper.active.report import REPORT

RESULTS = Path(__file__).resolve().parents[1] / "results" / "active"


def load() -> list[Record]:
    """Return the records."""
    return read_records(RESULTS / "records.jsonl")


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    first = read_records(RESULTS / "first-run.jsonl")
    return {"README.md": active_page(load(), first=first)}


def draw(folder: Path) -> None:
    """Draw the figures that the page refers to."""
    REPORT.draw(load(), folder)
