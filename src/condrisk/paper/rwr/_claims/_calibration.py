"""Whether a better calibrated risk means a lower deferral loss, and the figure that shows one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from condrisk.paper._page import (
    Part,
    grade,
    markdown_table,
    number,
    section,
    spearman,
    verdict_sentence,
)
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._paper import COSTS, MODELS, SETS
from condrisk.paper.rwr._results import Results


def calibration_helps(runs: Sequence[Run]) -> str:
    body = []
    for run in runs:
        tables = [_correlations(run.results, quantity) for quantity in ("risk_l1", "risk_l2")]
        names = [name for name in SETS if name in tables[0] or name in tables[1]]
        if not names:
            continue
        header = [f"{m}, {measure}" for measure in ("absolute", "squared") for m in MODELS]
        rows = [
            [name, *(number(table.get(name, {}).get(m), 2) for table in tables for m in MODELS)]
            for name in names
        ]
        body += [f"On the {run.label}:", markdown_table(["set", *header], rows)]
        for measure, table in zip(("absolute", "squared"), tables, strict=True):
            values = [value for found in table.values() for value in found.values()]
            if values:
                positive = sum(value > 0 for value in values)
                body.append(
                    f"By {measure} error the claim **{grade(positive / len(values))}** on "
                    f"the {run.label}: the correlation is positive in {positive} of {len(values)} "
                    f"cases, {np.mean(values):.2f} on average."
                )
    return section(
        "A better calibrated risk means a lower deferral loss",
        "“[B]etter calibration leads to improved RwR performance”; “lower calibrator errors "
        "generally correspond to lower RwR costs” (with Table 4, for energy). Spearman's rank "
        "correlation, over the four calibrators of a predictor, of the error of the risk with the "
        "deferral loss; the mean over the costs at which not all four losses are equal.",
        *body,
    )


def _correlations(results: Results, quantity: str) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for name in results.paper_sets:
        for model in MODELS:
            methods = [f"{model}+{calibrator}" for calibrator in MODELS]
            error = [results.mean(quantity, name, method) for method in methods]
            values = []
            for cost in COSTS:
                loss = [results.mean("loss", name, method, cost) for method in methods]
                value = spearman(error, loss)
                values += [] if value is None else [value]
            if values:
                table.setdefault(name, {})[model] = float(np.mean(values))
    return table


def figure_claim(runs: Sequence[Run]) -> str:
    rows, sentences = [], []
    for run in runs:
        if run.figure is None:
            continue
        correlation, r2 = profile_figures(run.figure["rows"])
        pooled = run.results.r2("energy", "MLP+RF")
        rows.append([run.label, *(number(value, 2) for value in (correlation, r2, pooled))])
        parts = [
            Part("√risk and |error| correlate by more than 0.7", correlation > 0.7),
            Part("the risk explains more than half of the variance of the losses", r2 > 0.5),
        ]
        if pooled is not None:
            parts.append(Part("it does so over all folds", pooled > 0.5))
        sentences.append(verdict_sentence(f"the {run.label}", parts))
    if not rows:
        return ""
    header = ["run", "correlation of √risk with \\|error\\|", "R² of the risk", "R², all folds"]
    return section(
        "The figure: a forest that knows where the MLP errs",
        "“[T]he calibrator performs exceptionally well, accurately reflecting the MLP prediction "
        "errors” (with the figure: MLP+RF on one fold of energy).",
        markdown_table(header, rows),
        *sentences,
    )


def profile_figures(rows: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Return the correlation of √risk with |error|, and the R² of the risk.

    Examples
    --------
    >>> from condrisk.paper.rwr._claims._calibration import profile_figures
    >>> rows = {"y": [1.0, 2.0, 3.0], "prediction": [1.0, 3.0, 1.0], "risk": [0.0, 1.0, 4.0]}
    >>> profile_figures(rows)
    (1.0, 1.0)
    """
    y, prediction, risk = (np.asarray(rows[key]) for key in ("y", "prediction", "risk"))
    error, size = np.abs(y - prediction), np.sqrt(np.maximum(risk, 0.0))
    if np.ptp(error) == 0 or np.ptp(size) == 0:  # nothing to tell apart, or nothing told apart
        return 0.0, 0.0
    r2 = 1.0 - np.mean((risk - error**2) ** 2) / np.var(error**2)
    return float(np.corrcoef(size, error)[0, 1]), float(r2)
