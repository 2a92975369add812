"""The second page of docs/checks, from results/hard_worlds.json and results/decisions.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from condrisk.paper._page import markdown_table

RESULTS = Path(__file__).resolve().parents[1] / "results"
OURS, FOREST = "AutoRisk", "forest"
# Half of the bias that was found before; set before the first run.
LIMITS = {
    "t₃ noise": 0.08,
    "lognormal noise": 0.125,
    "200 columns": 0.08,
    "1:250, cost 50:1": 0.06,
}


def worlds_page() -> str:
    """Return the text of the page."""
    hard, decisions = (
        json.loads((RESULTS / name).read_text(encoding="utf-8"))
        for name in ("hard_worlds.json", "decisions.json")
    )
    parts = ["# Hard tables, and decisions", "", hard_text(hard), decisions_text(decisions), ""]
    return "\n".join(parts)


# -- hard worlds ----------------------------------------------------------------------------------


def hard_text(record: dict[str, Any]) -> str:
    """Return bias and error of g where it is hard to estimate."""
    cells = {(r["world"], r["predictor"], r["method"]): r for r in record["summary"]}
    methods = list(dict.fromkeys(r["method"] for r in record["summary"]))
    rows = [
        [world, predictor, *(_cell(cells[world, predictor, method]) for method in methods)]
        for world, predictor in dict.fromkeys((world, name) for world, name, _ in cells)
    ]
    draws = ", ".join(
        f"{world}: {n}"
        for world, n in dict.fromkeys((r["world"], r["draws"]) for r in record["summary"])
    )
    return "\n".join(
        [
            "## Small coded tables, heavy tails, many columns, rare classes",
            "",
            _hard_verdict(record),
            "",
            markdown_table(["world", "predictor", *methods], rows),
            "",
            "Bias of g in the mean over draws, ± its standard error; in brackets the squared error "
            "of g against the true risk, in units of the best constant's. “mean” is the mean of "
            "the out-of-fold losses, and its bias is that of the rows themselves: under heavy "
            "tails most draws lack the largest losses, and predictors of the folds have seen fewer "
            "rows than the one that is kept. “forest” is a random forest on these losses, five "
            f"rows a leaf. Draws: {draws}. {_burst_sentence(record)}",
            "",
            "Method: `benchmarks/hard_worlds.py` has the worlds, in which g is known. Again with "
            "`python -m benchmarks.hard_worlds`.",
            "",
        ]
    )


def _cell(r: dict[str, Any]) -> str:
    return f"{100 * r['bias']:+.0f} ± {100 * r['bias_se']:.0f} % ({r['error']:.2f})"


def _burst_sentence(record: dict[str, Any]) -> str:
    """Return what happens where a mean over draws says little."""
    world, predictor, method = "1:250, cost 50:1", "boosting", "PlugInRisk"
    ratios = [
        r["figures"][method][0]
        for r in record["records"]
        if (r["world"], r["predictor"]) == (world, predictor)
    ]
    burst = sum(ratio > 3 for ratio in ratios)
    return (
        f"`{method}` with {predictor}, {world}: in {burst} of {len(ratios)} draws a temperature "
        f"makes the rare class look frequent, which `fit` warns of; the median is "
        f"{100 * (np.median(ratios) - 1):+.0f} %."
    )


def _hard_verdict(record: dict[str, Any]) -> str:
    ours = [r for r in record["summary"] if r["method"] == OURS]
    limited = [r for r in ours if r["world"] in LIMITS]
    kept = [r for r in limited if abs(r["bias"]) <= LIMITS[r["world"]]]
    missed = ", ".join(
        f"{r['world']} with {r['predictor']} {100 * r['bias']:+.1f} %"
        for r in limited
        if r not in kept
    )
    ratios = [
        r["figures"][OURS][1] / r["figures"][FOREST][1]
        for r in record["records"]
        if r["world"] == "coded factors, 150 rows"
    ]
    better = sum(
        r["error"] < other["error"]
        for r in ours
        for other in record["summary"]
        if (other["world"], other["predictor"], other["method"])
        == (r["world"], r["predictor"], FOREST)
    )
    return (
        f"The error of `{OURS}(f)` is below the forest's in {better} of {len(ours)} cases; on "
        f"coded factors it is {np.exp(np.log(ratios).mean()):.2f} of the forest's, "
        f"{max(ratios):.2f} in the worst of {len(ratios)} draws. Its bias is within half of what "
        f"was found before in {len(kept)} of {len(limited)} cases"
        + (f" (not: {missed}). " if missed else ". ")
        + _built_sentence(record)
    )


def _built_sentence(record: dict[str, Any]) -> str:
    """Return what a forest on the row gives `AutoRisk()` on few rows."""
    mean, worst = [], []
    for name in ("AutoRisk, no forest on the row", OURS):
        errors = [r["figures"][name][1] / r["figures"][FOREST][1] for r in record["built"]]
        mean.append(f"{np.exp(np.log(errors).mean()):.2f}")
        worst.append(f"{max(errors):.2f}")
    return (
        f"`{OURS}()`, which builds its predictor, has {mean[1]} of the error of a forest on the "
        f"held-out losses of that predictor ({worst[1]} in the worst of {len(record['built'])} "
        f"draws of the coded factors); without the forest on the row that it tries on up to 300 "
        f"rows, {mean[0]} ({worst[0]}). {_sets_sentence(record)}"
    )


def _sets_sentence(record: dict[str, Any]) -> str:
    """Return how the same forest does beside `AutoRisk()` on real sets."""
    by_set: dict[str, list[list[float]]] = {}
    for row in record["sets"]:
        ours, theirs = row["figures"][OURS], row["figures"][FOREST]
        ratios = np.divide(ours["deferral"], theirs["deferral"])
        cells = [ours["squared"] / theirs["squared"], float(np.exp(np.log(ratios).mean()))]
        by_set.setdefault(row["set"], []).append(cells)
    squared, deferral = np.exp([np.log(rows).mean(axis=0) for rows in by_set.values()]).T
    worst = list(by_set)[int(deferral.argmax())]
    n_splits = len(record["sets"]) // len(by_set)
    return (
        f"On {len(by_set)} real sets ({n_splits} splits) it has "
        f"{np.exp(np.log(squared).mean()):.2f} of the squared error of such a forest and "
        f"{np.exp(np.log(deferral).mean()):.2f} of its deferral loss ({deferral.min():.2f} to "
        f"{deferral.max():.2f}, the most on {worst})."
    )


# -- decisions ------------------------------------------------------------------------------------


def decisions_text(record: dict[str, Any]) -> str:
    """Return what predictions of least expected loss save."""
    parts = ["## Predictions of least expected loss", "", _decisions_verdict(record), ""]
    for world, draws in record["worlds"].items():
        names = [name for name in draws[0] if " of " not in name]
        rows = [
            [name, f"{np.mean(values):.3f}", f"{np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"]
            for name in names
            for values in [[draw[name] for draw in draws]]
        ]
        parts += [markdown_table([world, "true risk", "standard error"], rows), ""]
    n_draws = len(next(iter(record["worlds"].values())))
    parts += [
        f"Means over {n_draws} draws of {record['rows']:,} rows. “least” decides by the true "
        "distribution, “stack” is the most probable label or the mean of the same models.",
        "",
        "Method: `benchmarks/decisions.py`. Again with `python -m benchmarks.decisions`.",
    ]
    return "\n".join(parts)


def _decisions_verdict(record: dict[str, Any]) -> str:
    sentences = []
    for world, draws in record["worlds"].items():
        mean = {name: float(np.mean([draw[name] for draw in draws])) for name in draws[0]}
        off, plug_in = (
            100 * (mean[name] / mean["AutoRisk()"] - 1)
            for name in ("g of AutoRisk()", "plug-in of AutoRisk()")
        )
        sentences.append(
            f"Under {world}, what `AutoRisk()` predicts has a true risk of "
            f"{mean['AutoRisk()']:.3f}, the same models without the loss {mean['stack']:.3f}, the "
            f"best possible {mean['least']:.3f}; its g is {off:+.1f} % off, the plug-in risk of "
            f"the distribution that it was chosen by {plug_in:+.1f} %."
        )
    return " ".join(sentences)
