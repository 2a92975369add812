"""Pages of docs/risk_control beside the first: this batch, every group, every segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrisk.paper._page import markdown_table
from tools.batch_page import batch_page
from tools.groups_page import groups_page
from tools.guarantee_parts import joined, load, made_by


def pages() -> dict[str, str]:
    """Return the text of every page by its name."""
    made = {
        "batch.md": batch_page(load("batch_control.json")),
        "groups.md": groups_page(load("subgroups.json")),
        "segments.md": segments_page(load("multicalibration.json")),
    }
    return {name: text for name, text in made.items() if text}


# -- every segment ---------------------------------------------------------------------------------


def segments_page(record: dict[str, Any] | None) -> str:
    """Return the page of calibration in segments."""
    if record is None:
        return ""
    head = [
        "set",
        "risk",
        "error, σ",
        "floor",
        "relative",
        "squared error",
        "− g",
        "AURC",
        "deferral loss",
        "monitoring error",
    ]
    rows, below, halved, worse = [], 0, 0, 0
    help_defer, help_monitor = [], []
    for line in record["sets"]:
        means = {
            name: {figure: float(np.mean(values)) for figure, values in own.items()}
            for name, own in line["methods"].items()
        }
        g = means["g"]
        for name, own in means.items():
            # Divisions share rows: the mean of their standard errors, and not less.
            rows.append(
                [
                    line["set"],
                    name,
                    f"{own['sigma']:.2f}",
                    f"{np.mean(line['floor']):.2f}" if name == "found" else "",
                    f"{own['relative']:.1%}",
                    f"{own['squared']:.4g}",
                    "–"
                    if name == "g"
                    else f"{own['difference']:+.2g} ± {own['difference_se']:.2g}",
                    f"{own['aurc']:.4g}",
                    f"{own['deferral']:.4g}",
                    f"{own['monitoring']:.1%}",
                ]
            )
        best = means["found"]
        below += best["sigma"] < 3
        halved += best["relative"] <= g["relative"] / 2
        worse += best["difference"] > 2 * best["difference_se"]
        help_defer.append(best["deferral"] / g["deferral"] - 1)
        help_monitor.append(best["monitoring"] / g["monitoring"] - 1)
    n_sets = len(record["sets"])
    trial = "; ".join(
        f"{line['set']} {line['trial'][0]:g} and {line['trial'][1]:g}" for line in record["sets"]
    )
    reached = [
        f"below 3 σ on {below} of {n_sets} sets",
        f"relative error halved on {halved} of {n_sets}",
        f"squared error significantly worse on {worse} of {n_sets}",
    ]
    missed = "" if below == halved == n_sets and not worse else " **The aims are not all reached.**"
    return joined(
        [
            "# Right in every segment",
            "`condrisk.metrics.multicalibration_error(loss, risk, segments)` measures whether the "
            "risk is right in every segment of the rows; `condrisk.risk.MulticalibratedRisk` "
            "corrects a risk on held-out rows, within segments given or found.",
            f"## Verdict\n\n- Aims for the correction in segments found: below 3 σ, the relative "
            f"error halved, the squared error not significantly worse. Reached: "
            f"{', '.join(reached)}.{missed}\n"
            f"- Deferral: the loss at a cost of the mean loss changes by "
            f"{', '.join(f'{x:+.1%}' for x in help_defer)} "
            f"({', '.join(line['set'] for line in record['sets'])}).\n"
            f"- Monitoring: the error of the estimated mean loss of a segment as a batch changes "
            f"by {', '.join(f'{x:+.0%}' for x in help_monitor)}.",
            "## Three sets\n\n"
            f"The absolute-error risk of a forest, {record['config']['repetitions']} random "
            f"divisions: 40 % of the rows fit forest and g, 30 % correct g, 30 % are judged. "
            f"*Error, σ*: the largest calibration error over thirds of every column, in standard "
            f"deviations of that of a right risk. *Floor*: what a right risk would show on "
            f"average with such noise and segments (the signs of the residuals of “found” drawn "
            f"anew). *Monitoring error*: of the mean loss of such thirds as batches, relative to "
            f"the mean loss. *constant*: the mean loss of the 30 %.\n\n"
            + markdown_table(head, rows, n_text=2),
            f"Figures of MCGrad 0.1.5 on other divisions of these sets (error in σ of our g, and "
            f"of a constant that MCGrad has corrected): {trial}. They are not paired with those "
            f"above. Its metric is ours, given the same segments.",
            "## What it assumes, and what breaks it\n\n"
            "- **Held-out rows that neither predictor nor g has seen.** Losses of cross-fitted "
            "predictors are too high for the one that is kept: corrected by those, g gets worse.\n"
            "- **Rows like those to come.**\n"
            "- **Enough of them**: a correction from few rows has an error of its own that is as "
            "large as what it corrects. What is not clear is left as it is.\n"
            "- σ grows with the number of rows judged: compare estimates on the same rows.",
            made_by(record, "python -m benchmarks.multicalibration"),
        ]
    )
