"""The pages of docs/theory, from the records under results/theory."""

from __future__ import annotations

from pathlib import Path

from condrisk.paper import read_records
from condrisk.paper._records import Record
from condrisk.paper.theory.simulations.report import REPORT

RESULTS = Path(__file__).resolve().parents[1] / "results" / "theory"


def load() -> list[Record]:
    """Return the records."""
    return read_records(RESULTS / "records.jsonl")


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    records = load()
    return {name: page(records) for name, page in REPORT.pages.items()}


def draw(folder: Path) -> None:
    """Draw the figures of the pages."""
    REPORT.draw(load(), folder)
