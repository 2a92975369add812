"""Draw the four displays for the README.

    python tools/make_readme_figure.py [--output FILE]

A linear model predicts the heating load of buildings; its risk is estimated with the default
settings on 60 % of the rows, and the displays show it on the other 40 %. Needs matplotlib, and
Pillow, which comes with it. The picture is the same on every run with the same versions of the
libraries.
"""

import argparse
import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from condrisk import RegressionRisk
from condrisk.datasets import load_uci
from condrisk.plots import (
    CostCurveDisplay,
    RiskCalibrationDisplay,
    RiskCoverageDisplay,
    RiskProfileDisplay,
)

OUTPUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "displays.png"
TITLES = {
    RiskProfileDisplay: "Where is the model wrong, and by how much?",
    RiskCoverageDisplay: "Does the risk rank the rows?",
    RiskCalibrationDisplay: "Is the risk right on average?",
    CostCurveDisplay: "What does deferring save?",
}


def draw() -> plt.Figure:
    """Fit on one part of the data, draw every display on the other."""
    energy = load_uci("energy")
    X_train, X_test, y_train, y_test = train_test_split(
        energy.data, energy.target, test_size=0.4, random_state=0
    )
    risk = RegressionRisk(LinearRegression(), random_state=0).fit(X_train, y_train)
    figure, axes = plt.subplots(2, 2, figsize=(12, 8.4), dpi=100, layout="constrained")
    for ax, (display, title) in zip(axes.flat, TITLES.items(), strict=True):
        display.from_estimator(risk, X_test, y_test, name="Linear model", ax=ax)
        ax.set_title(title, loc="left", fontweight="bold")
    return figure


def save_small(figure: plt.Figure, path: Path) -> None:
    """Write a PNG of 64 colours, a third the size of one of all colours."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    Image.open(picture).convert("RGB").quantize(64).save(path, format="PNG", optimize=True)


def main() -> None:
    """Draw and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    save_small(draw(), parser.parse_args().output)


if __name__ == "__main__":
    main()
