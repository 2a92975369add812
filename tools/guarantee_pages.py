"""Pages of docs/risk_control beside the first: this batch, every group, every segment."""

from __future__ import annotations

from tools.batch_page import batch_page
from tools.groups_page import groups_page
from tools.guarantee_parts import load
from tools.segments_page import segments_page


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    made = {
        "batch.md": batch_page(load("batch_control.json")),
        "groups.md": groups_page(load("subgroups.json")),
        "segments.md": segments_page(load("multicalibration.json")),
    }
    return {name: text for name, text in made.items() if text}
