"""The figures of the quickstart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from condrisk._drawing import save_figure
from condrisk.app.cli._job import Result
from condrisk.app.tables import check_rows
from condrisk.plots import (
    CostCurveDisplay,
    RiskCalibrationDisplay,
    RiskCoverageDisplay,
    RiskProfileDisplay,
)


def draw(result: Result, folder: Path) -> list[Path]:
    """Draw every figure that the task allows and return where they are."""
    import matplotlib.pyplot as plt

    displays: dict[str, Any] = {
        "risk_coverage.png": RiskCoverageDisplay,
        "risk_calibration.png": RiskCalibrationDisplay,
        "cost_curve.png": CostCurveDisplay,
    }
    figures = {
        name: display.from_predictions(result.loss, result.risk, name=result.name).figure_
        for name, display in displays.items()
    }
    manifest = result.model.manifest
    if manifest["task"] == "regression" and manifest["loss"] == "squared_error":
        figures["risk_profile.png"] = _profile(result)
    for name, figure in figures.items():
        save_figure(figure, folder / name)
        plt.close(figure)
    return [folder / name for name in figures]


def _profile(result: Result) -> Any:
    good = check_rows(result.model.schema, result.test).good
    prediction = result.model.decide(good).prediction
    y = result.model.targets(result.test[result.data.target])
    return RiskProfileDisplay.from_predictions(y, prediction, result.risk).figure_
