"""The figures in docs/how-to/classification.md, from results/class_defaults.json."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from benchmarks.class_defaults import (
    CALIBRATIONS,
    DRAWS,
    N_JUDGE,
    N_SPLITS,
    OF_SKLEARN,
    Study,
)

from condrisk.paper._page import markdown_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "classification.md"
BEGIN, END = "<!-- begin class_defaults -->", "<!-- end class_defaults -->"
OF_FOREST = [f"PlugInRisk, forest, {calibration}" for calibration in CALIBRATIONS]


def pages() -> dict[str, str]:
    """Return the text of the page by its name, with the figures written anew."""
    text = PAGE.read_text(encoding="utf-8")
    part = f"{BEGIN}\n{section(Study())}\n{END}"
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return {PAGE.name: pattern.sub(lambda _: part, text)}


def draw(folder: Path) -> None:
    """Draw nothing: the tables say it."""


def section(study: Study) -> str:
    """Return verdict, tables and method."""
    return "\n\n".join([verdict(study), table(study), world_table(study), method(study)])


def verdict(study: Study) -> str:
    """Return what to take, in sentences."""
    wide, row = "RegressionRisk, x+response", "RegressionRisk, x"
    none, scaled = "PlugInRisk, None", "PlugInRisk, temperature"
    forest = "PlugInRisk, forest, temperature"
    low, high = (f"{bound:+.0%}" for bound in beside_logistic(study))
    return "\n".join(
        [
            "- `RegressionRisk` sees the classifier's probabilities beside the row, its default: "
            f"AURC {study.aurc(wide, row):.2f} of that from the row alone ({counts(study)}). In "
            f"the median their bias is {signed(float(np.median(study.biases(wide))))} and "
            f"{signed(float(np.median(study.biases(row))))}.",
            f"- `PlugInRisk` scales them by a temperature, its default: off by {off(study, scaled)}"
            f" in the mean over sets and predictors, {off(study, none)} without. The order of the "
            f"rows is the same or nearly so (AURC {study.aurc(scaled):.2f} of that without).",
            f"- A forest as `probability=`: off by {off(study, forest)} with the default, "
            f"{off(study, OF_FOREST[0])} as it is, {off(study, OF_FOREST[2])} with "
            f'`"sigmoid"`, {off(study, OF_FOREST[3])} with `"isotonic"`. No calibration mends all '
            f"of it: what the forest gets wrong and f does not looks like an error of f, {low} to "
            f"{high} for a logistic f in the second table.",
            "- `HybridRisk`, which has seen losses, is off by "
            f"{off(study, 'HybridRisk, forest')} with the same forest, at an AURC of "
            f"{study.aurc('HybridRisk, forest'):.2f} against {study.aurc(forest):.2f}. Take it "
            "where there is a second model, or where the mean has to be right.",
        ]
    )


def counts(study: Study) -> str:
    """Return where the response helps, and what the tests say of it."""
    wide, row = "RegressionRisk, x+response", "RegressionRisk, x"
    found = study.compare(wide, row)
    lower = sum(
        np.mean(study.by_split(wide, cell)) < np.mean(study.by_split(row, cell))
        for cell in study.cells
    )
    return (
        f"lower on {lower} of {found.n} sets and predictors; significantly better on "
        f"{len(found.better)}, worse on {len(found.worse)}"
    )


def beside_logistic(study: Study) -> tuple[float, float]:
    """Return the least and the greatest bias of a calibrated forest beside a logistic f."""
    found = [study.in_world(name, n, "logistic")[0] for name in OF_FOREST[1:] for n in DRAWS]
    return min(found), max(found)


def off(study: Study, method: str) -> str:
    """Return the mean over sets and predictors of the size of the bias."""
    return f"{np.abs(study.biases(method)).mean():.0%}"


def signed(value: float) -> str:
    """Return a percentage with its sign, and zero without."""
    return f"{value:+.0%}" if f"{value:.0%}" not in ("0%", "-0%") else "0%"


def table(study: Study) -> str:
    """Return the figures on real sets."""
    rows = []
    for name in ordered(study):
        bias = study.biases(name)
        rows.append(
            [
                shown(name),
                f"{study.aurc(name):.2f}",
                signed(float(np.median(bias))),
                f"{np.abs(bias).mean():.0%}",
                f"{signed(bias.min())} to {signed(bias.max())}",
            ]
        )
    head = ["estimate", "AURC", "bias, median", "its size, mean", "from … to"]
    return markdown_table(head, rows)


def ordered(study: Study) -> list[str]:
    """Return the methods, scikit-learn's temperature after ours."""
    names = [name for name in study.rows[0]["AURC"] if name != OF_SKLEARN]
    names.insert(names.index(OF_FOREST[1]) + 1, OF_SKLEARN)
    return names


def shown(name: str) -> str:
    """Return the name of a method as its parameters."""
    kind, *given = name.split(", ")
    if kind == "RegressionRisk":
        return f'`RegressionRisk(f, features="{given[0]}")`'
    params = ["probability=forest"] if "forest" in given else []
    if name == OF_SKLEARN:
        return f"`{kind}(f, {params[0]})`, with scikit-learn's temperature"
    if kind == "PlugInRisk":
        value = given[-1] if given[-1] == "None" else f'"{given[-1]}"'
        params.append(f"calibration={value}")
    return f"`{kind}({', '.join(['f', *params])})`"


def world_table(study: Study) -> str:
    """Return the bias with probabilities of a forest where g is known."""
    columns = [(n, predictor) for n in DRAWS for predictor in ("logistic", "forest")]
    rows = []
    for name in (name for name in ordered(study) if "forest" in name):
        cells = [study.in_world(name, *key) for key in columns]
        rows.append([shown(name), *(f"{signed(bias)} ± {error:.0%}" for bias, error in cells)])
    head = ["bias where g is known", *(f"f {predictor}, n = {n:,}" for n, predictor in columns)]
    return markdown_table(head, rows)


def method(study: Study) -> str:
    """Return what was measured."""
    names = list(dict.fromkeys(name for name, _ in study.cells))
    predictors = list(dict.fromkeys(name for _, name in study.cells))
    draws = " and ".join(f"{draws} (n = {n:,})" for n, draws in DRAWS.items())
    return (
        f"Zero-one loss. First table: {', '.join(names)}; f is {', '.join(predictors)}; "
        f"{N_SPLITS} splits with a quarter of the rows to test on; all methods judge the same f. "
        "AURC is relative to 1 − max p of f, pooled over splits, geometric mean over sets and "
        "predictors. Bias: mean risk over mean loss of the test rows, minus one, of each set and "
        "predictor. The counts above are t-tests over splits with Nadeau and Bengio's correction, "
        "Holm's over cells, at 5 %; with so few splits they find large differences only. Second "
        f"table: three normal clouds, {draws} draws, {N_JUDGE:,} rows to judge on, ± a standard "
        "error. What stands for a probability of zero was chosen among five values on the first "
        "split of four of these sets and two draws of the clouds, test rows included, so that the "
        "forests' figures flatter it. `python -m benchmarks.class_defaults`."
    )
