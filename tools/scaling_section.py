"""The section of docs/operations on fitting, from results/scaling.json, and its picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from condrisk.paper._page import markdown_table

# What was aimed at before the first run, in multiples of cross_val_predict and a refit.
AIMS = {"RegressionRisk": 2.0, "PlugInRisk": 3.0, "AutoRisk": 3.0}
UNIT, LINES = "cross_val_predict and refit", "the same, and boosting on the losses"
# Of g on new rows: with its truth, and with that part of it which a predictor cannot change.
CORRELATIONS = {
    "correlation": "with the true risk",
    "correlation with the variance": "with the variance of the noise",
}
# Of memory beside that of the unit, in multiples of X; of the size of a model file in MB; of
# predict_risk in predictions; of how far a budget may be exceeded.
MEMORY, MEGABYTES, PREDICTIONS, OVERTIME = 2.0, 100.0, 3.0, 1.2


def scaling_text(record: dict[str, Any]) -> str:
    """Return what fitting takes, as rows grow."""
    parts = ["## Fitting, from a thousand rows to a million", _verdict(record)]
    parts += [_ratios_text(name, cells) for name, cells in record["ratios"].items()]
    parts += [_budgets_text(record["budgets"])] if "budgets" in record else []
    parts += [_sizes_text(record["sizes"])] if "sizes" in record else []
    return "\n\n".join([*parts, _method_text(record["machine"])])


def _missed(record: dict[str, Any]) -> list[str]:
    """Return which aims are not reached, each in a few words."""
    found = []
    for setting, cells in record["ratios"].items():
        for name, cell in cells.items():
            where = f"{name}, {setting}"
            if "1,000,000" in setting and cell["ratio"] > AIMS.get(name, 1e9):
                found.append(f"{where}: {cell['ratio']:.1f} times the unit")
            if "1,000,000" in setting and cell["memory in X"] > MEMORY:
                found.append(f"{where}: {cell['memory in X']:.1f} X of memory")
            for kind, what in CORRELATIONS.items():
                lines = cells[LINES].get(kind, -1.0)
                if name in AIMS and "1,000,000" in setting and cell.get(kind, 1.0) < lines:
                    found.append(f"{where}: correlation {what} {cell[kind]:.3f}, not {lines:.3f}")
            if "100,000" in setting and cell.get("megabytes on disk", 0) > MEGABYTES:
                found.append(f"{where}: {cell['megabytes on disk']:.0f} MB")
            if cell.get("predict_risk in predictions", 0) > PREDICTIONS:
                found.append(f"{where}: {cell['predict_risk in predictions']:.1f} predictions")
    for cell in record.get("budgets", []):
        if cell["seconds"] > OVERTIME * cell["budget"]:
            where = f"{cell['estimator']}, {cell['rows']:,} rows, {cell['budget']:.0f} s"
            found.append(f"{where}: took {cell['seconds']:.0f} s")
    return found


def _verdict(record: dict[str, Any]) -> str:
    missed = _missed(record)
    aims = (
        "Aims, written down before the runs: at a million rows `RegressionRisk` at most 2 times, "
        "`PlugInRisk` and `AutoRisk` at most 3 times the cross-fitting and refitting of the "
        "predictor that any user pays, with memory of at most 2 X beside it, and g at least as "
        "close to the truth as boosting on the losses; at 100,000 rows at most 100 MB on disk; "
        "`predict_risk` at most 3 times the predictions of predictor and second model; budgets of "
        "10, 60 and 300 s kept within a fifth."
    )
    if not missed:
        return f"All aims are reached. {aims}"
    return f"{aims} Missed: {'; '.join(missed)}."


def _ratios_text(setting: str, cells: dict[str, dict[str, Any]]) -> str:
    rows = [
        [
            name if name in (UNIT, LINES) else f"`{name}`",
            f"{cell['seconds']:.0f}",
            f"{cell['ratio']:.2f}",
            f"{cell['ratio of processor time']:.2f}",
            f"{cell['memory in X']:.1f}",
            *(f"{cell[kind]:.3f}" if kind in cell else "–" for kind in CORRELATIONS),
            f"{cell['megabytes on disk']:.1f}" if "megabytes on disk" in cell else "–",
            _number(cell.get("predict_risk in predictions")),
        ]
        for name, cell in cells.items()
    ]
    task, n = setting.split(", ")
    header = [
        "",
        "seconds",
        "ratio",
        "of processor time",
        "memory in X",
        "correlation",
        "with noise",
        "MB",
        "risk",
    ]
    return f"### {task.capitalize()}, {n} of 20 columns\n\n{markdown_table(header, rows)}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _budgets_text(cells: list[dict[str, Any]]) -> str:
    rows = [
        [
            "built" if cell["estimator"].endswith("built") else "given",
            f"{cell['rows']:,}",
            f"{cell['budget']:.0f}",
            f"{cell['seconds']:.1f}",
            f"{cell['load']:.0f}",
            f"{cell['correlation']:.3f}",
            ", ".join(part.removeprefix("predictor, ") for part in cell["left out"]) or "–",
        ]
        for cell in cells
    ]
    header = ["predictor", "rows", "budget", "seconds", "load", "correlation", "left out"]
    return (
        "### `AutoRisk(time_budget=…)`\n\nSeconds after the cross-fitting of a predictor that is "
        "given, and of everything where it is built; load is that of the two cores at the end, so "
        "that much above 2 is a machine with other work.\n\n" + markdown_table(header, rows)
    )


def _sizes_text(cells: list[dict[str, Any]]) -> str:
    rows = {d: max(c["rows"] for c in cells if c["columns"] == d) for d in (10, 100, 1000)}
    reach = ", ".join(f"{n:,} rows of {d:,} columns" for d, n in rows.items())
    return (
        "### Rows and columns\n\n![Processor time and memory of boosting, LossRegressor and "
        f"DistributionRegressor, up to {reach}](fitting.png)\n\nMeasured up to {reach}. The same "
        "losses for all; the dashed line is one fit of `HistGradientBoostingRegressor`, the dotted "
        "one the memory of X itself."
    )


def _method_text(machine: str) -> str:
    return (
        "“ratio” and “of processor time” are multiples of the first row; correlation is that of g "
        "with the true risk on new rows, “with noise” that with the variance of the noise alone, "
        "“risk” what `predict_risk` takes in predictions of predictor and second model. Each "
        f"measurement has a process of its own, on {machine}. Again with "
        "`python -m benchmarks.scaling`."
    )


def draw_scaling(record: dict[str, Any], path: Path) -> None:
    """Draw seconds and memory by rows, a column of panels for each number of columns."""
    import matplotlib.pyplot as plt

    columns = sorted({cell["columns"] for cell in record["sizes"]})
    figure, axes = plt.subplots(2, len(columns), figsize=(10, 5.6), sharex=True, sharey="row")
    styles = {"boosting": "--", "LossRegressor": "-", "DistributionRegressor": "-"}
    for place, d in enumerate(columns):
        for name, style in styles.items():
            cells = [c for c in record["sizes"] if c["learner"] == name and c["columns"] == d]
            rows = [cell["rows"] for cell in cells]
            color = "0.4" if name == "boosting" else None
            # Of the processor: a machine with other work takes longer, not more.
            seconds = [cell["processor"] for cell in cells]
            megabytes = [max(cell["bytes"] / 1e6, 1.0) for cell in cells]
            axes[0, place].loglog(rows, seconds, style, color=color, marker=".", label=name)
            axes[1, place].loglog(rows, megabytes, style, color=color, marker=".")
        rows = sorted({c["rows"] for c in record["sizes"] if c["columns"] == d})
        axes[1, place].loglog(rows, [8e-6 * n * d for n in rows], ":", color="0.6", label="X")
        axes[0, place].set_title(f"{d:,} columns")
        axes[1, place].set_xlabel("rows")
    axes[0, 0].set_ylabel("seconds of processor")
    axes[1, 0].set_ylabel("memory beside X, MB")
    lines = [*axes[0, 0].lines, axes[1, 0].lines[-1]]
    labels = [str(line.get_label()) for line in lines]
    figure.legend(lines, labels, frameon=False, ncols=4, loc="upper center")
    for panel in axes.flat:
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(path, dpi=130)
    plt.close(figure)
