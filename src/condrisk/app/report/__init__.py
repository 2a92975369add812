"""One page that shows how risky a model's answers are, and what asking at a price would do.

`build_report` measures a model on rows with known targets, `report_from_arrays` takes losses and
risks from anywhere, `report_from_manifest` draws what a model file says of itself; `render` makes
one HTML file of any of them, `render_panel` a page without a report.
"""

from condrisk.app.report._build import build_report
from condrisk.app.report._manifest import report_from_manifest
from condrisk.app.report._render import Panel, render, render_panel
from condrisk.app.report._report import Report, report_from_arrays

__all__ = [
    "Panel",
    "Report",
    "build_report",
    "render",
    "render_panel",
    "report_from_arrays",
    "report_from_manifest",
]
