"""One page that shows how risky a model's answers are, and what asking at a price would do.

`build_report` measures a model on rows with known targets, `report_from_arrays` takes losses and
risks from anywhere, `report_from_manifest` draws what a model file says of itself; `render` makes
one HTML file of any of them, `render_panel` a page without a report. `compare_models` compares two
models on the same rows, and `render_comparison` makes a page of that. `measure_router` and
`render_router` do for routers what the first do for models.
"""

from condrisk.app.report._build import build_report
from condrisk.app.report._compare import Comparison, compare_models, render_comparison
from condrisk.app.report._manifest import report_from_manifest
from condrisk.app.report._render import Panel, render, render_panel
from condrisk.app.report._report import Report, report_from_arrays
from condrisk.app.report._router_page import measure_router, render_router

__all__ = [
    "Comparison",
    "Panel",
    "Report",
    "build_report",
    "compare_models",
    "measure_router",
    "render",
    "render_comparison",
    "render_panel",
    "render_router",
    "report_from_arrays",
    "report_from_manifest",
]
