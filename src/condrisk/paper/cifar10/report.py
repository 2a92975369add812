"""What the study on CIFAR-10 leaves beside its records: tables, figures and the page of claims."""

from __future__ import annotations

from condrisk.paper._report import CLAIMS_CLOSING, Report
from condrisk.paper.cifar10._claims import claims_page
from condrisk.paper.cifar10._figure import draw_error_against_deferral, draw_temperature
from condrisk.paper.cifar10._tables import all_tables

REPORT = Report(
    name="cifar10",
    pages={"claims.md": claims_page},
    figures={
        "error-against-deferral": draw_error_against_deferral,
        "temperature-scaling": draw_temperature,
    },
    tables=all_tables,
    closing=CLAIMS_CLOSING,
)
