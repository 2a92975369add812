"""The figures of the quickstart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from condrisk._drawing import save_figure
from condrisk.app.cli._job import Result
from condrisk.plots import (
    CostCurveDisplay,
    RiskCalibrationDisplay,
    RiskCoverageDisplay,
    RiskProfileDisplay,
)


def draw(result: Result, folder: Path) -> list[Path]:
    """Draw every figure that the task allows and return where they are."""
    import matplotlib.pyplot as plt

    figures: dict[str, Any] = {
        "risk_coverage.png": _overlay(RiskCoverageDisplay, result),
        "risk_calibration.png": _overlay(RiskCalibrationDisplay, result),
        "cost_curve.png": _overlay(CostCurveDisplay, result),
    }
    if result.table.task == "regression" and result.loss == "squared_error":
        estimate = result.estimates[0]
        prediction = estimate.model.predict(result.X_test)
        profile = RiskProfileDisplay.from_predictions(result.y_test, prediction, estimate.risk)
        figures["risk_profile.png"] = profile.figure_
    for name, figure in figures.items():
        save_figure(figure, folder / name)
        plt.close(figure)
    return [folder / name for name in figures]


def _overlay(display: Any, result: Result) -> Any:
    """Draw each estimate into the same axes."""
    ax = None
    for estimate in result.estimates:
        shown = display.from_predictions(estimate.loss, estimate.risk, name=estimate.name, ax=ax)
        ax = shown.ax_
    return shown.figure_
