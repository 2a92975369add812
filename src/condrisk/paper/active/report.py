"""What the study leaves beside its records: tables, figures and a page."""

from __future__ import annotations

from condrisk.paper._report import Report
from condrisk.paper.active._figures import draw_areas, draw_curves
from condrisk.paper.active._page import active_page
from condrisk.paper.active._tables import all_tables

REPORT = Report(
    name="active",
    pages={"README.md": active_page},
    figures={"curves": draw_curves, "areas": draw_areas},
    tables=all_tables,
    tables_folder="tables",
    closing="What it means: {folder}/README.md; tables as .md, .tex and .png in {folder}/tables.",
)
