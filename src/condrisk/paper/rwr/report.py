"""What the study leaves beside its records: tables, figures and the page of claims."""

from __future__ import annotations

from condrisk.paper._report import CLAIMS_CLOSING, Report
from condrisk.paper.rwr._claims import claims_page
from condrisk.paper.rwr._figure import draw_calibration_against_deferral, draw_profile
from condrisk.paper.rwr._plug_in._page import plug_in_page
from condrisk.paper.rwr._tables import all_tables

# By whose folds the records are of.
REPORTS = {
    folds: Report(
        name=folds,
        pages={"claims.md": page},
        figures={
            "profile": draw_profile,
            "calibration-against-deferral": draw_calibration_against_deferral,
        },
        tables=all_tables,
        closing=CLAIMS_CLOSING,
    )
    for folds, page in {
        "paper": lambda records: claims_page(records, []),
        "embedded": lambda records: claims_page([], records),
    }.items()
}
PLUG_IN_REPORT = Report(
    name="plug-in",
    pages={"plug-in.md": plug_in_page},
    figures={},
    tables=all_tables,
    closing=(
        "{n_files} files in {folder}: tables as .md, .tex and .png, and plug-in.md, which says "
        "whether plug-in risks beat regressions of the losses."
    ),
)
