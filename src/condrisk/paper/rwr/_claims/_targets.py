"""What the distribution of the targets explains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from condrisk.datasets import load_uci
from condrisk.paper._page import HALF, Part, markdown_table, number, section, verdict_sentence
from condrisk.paper.rwr._claims._common import Run
from condrisk.paper.rwr._claims._roles import EXCEPTIONS
from condrisk.paper.rwr._paper import MODELS, PAIRS, SETS
from condrisk.paper.rwr._results import Results

# What the paper says of solar.
CLAIMED_SHARE = 0.83
# Where, the paper says, all models yield similar estimations.
ALIKE = ("wine", "solar", "forest")


class Target(NamedTuple):
    """The share of the most frequent value of a target, and its variance."""

    share: float
    variance: float


@cache
def target_of(name: str) -> Target:
    """Return what the embedded rows, which are those of the paper, say of a target.

    Examples
    --------
    >>> from condrisk.paper.rwr._claims._targets import target_of
    >>> target_of("solar")
    Target(share=0.829, variance=0.698)
    """
    y = load_uci(name).target
    counts = np.unique(y, return_counts=True)[1]
    return Target(float(counts.max() / len(y)), float(y.var()))


def one_value(runs: Sequence[Run]) -> str:
    found = {run.label: _explained(run.results) for run in runs}
    found = {label: sets for label, sets in found.items() if set(EXCEPTIONS) <= sets.keys()}
    if not found:
        return ""
    names = [name for name in SETS if any(name in sets for sets in found.values())]
    header = ["set", "most frequent value"]
    header += [f"{label}: R² of {model}" for label in found for model in MODELS]
    rows = []
    for name in names:
        figures = [v for sets in found.values() for v in sets.get(name, [None] * len(MODELS))]
        share = f"{target_of(name).share:.1%}"
        rows.append([name, share, *(number(value, 2) for value in figures)])
    return section(
        "One value of the target, and LR",
        "On Solar and Forest “LR demonstrates strong performance due to their target "
        "distributions, with a single target value dominating the data – especially in the case "
        "of Solar, where 83% of targets correspond to just one value” (with Table 3). Share of "
        "the rows with the most frequent target, and the share of the target's variance that "
        "each predictor explains; negative: worse than the mean of the target.",
        markdown_table(header, rows),
        *(_one_value_verdict(label, sets) for label, sets in found.items()),
    )


def _explained(results: Results) -> dict[str, list[float]]:
    """Return R² of each predictor on new rows, for each set that has all four."""
    found = {}
    for name in results.paper_sets:
        losses = [results.mean("predictor_loss", name, model) for model in MODELS]
        known = [loss for loss in losses if loss is not None]
        if len(known) == len(MODELS):
            found[name] = [1 - loss / target_of(name).variance for loss in known]
    return found


def _one_value_verdict(label: str, sets: dict[str, list[float]]) -> str:
    share = target_of("solar").share
    text = f"{CLAIMED_SHARE:.0%} of solar's targets are one value ({share:.1%})"
    parts = [Part(text, round(share, 2) == CLAIMED_SHARE)]
    for name in EXCEPTIONS:
        share = target_of(name).share
        parts.append(Part(f"one value has most rows of {name} ({share:.0%})", share > HALF))
        r2 = dict(zip(MODELS, sets[name], strict=True))
        best = max(r2, key=lambda model: r2[model])
        parts.append(Part(f"LR explains most on {name} (best: {best})", best == "LR"))
        text = f"LR explains any of the variance of {name} ({r2['LR']:.2f})"
        parts.append(Part(text, r2["LR"] > 0))
    most = max(value for name in EXCEPTIONS for value in sets[name])
    least = f"No predictor explains more than {most:.0%} of the variance of these two."
    return f"{verdict_sentence(f'the {label}', parts)} {least}"


# -- where all models are alike -------------------------------------------------------------------


class Scale(NamedTuple):
    """How alike the models of a set are, and how large their losses."""

    spread: float
    loss: float
    error: float
    loss_in_variance: float
    error_in_loss: float


def similar_models(runs: Sequence[Run]) -> str:
    found = {run.label: _scales(run.results) for run in runs}
    found = {label: sets for label, sets in found.items() if set(ALIKE) < sets.keys()}
    if not found:
        return ""
    header = ["run", "set", "worst / best predictor loss", "predictor loss", "calibrator error"]
    header += ["predictor loss / variance of y", "calibrator error / predictor loss"]
    header += ["variance of y"]
    rows = [
        [label, name, *(number(v, 2) for v in (*scale, target_of(name).variance))]
        for label, sets in found.items()
        for name, scale in sets.items()
    ]
    return section(
        "Small losses where all models are alike",
        "“In cases where all models yield similar estimations (e.g., Wine, Solar, and Forest), the "
        "predictor loss and calibrator loss are relatively small in scale compared to those for "
        "other datasets” (with Table 3). Means over the four predictors and the sixteen pairs. "
        "The targets are not scaled: a loss is in squared units of its own target, and those of "
        "these sets vary least.",
        markdown_table(header, rows, n_text=2),
        *(_similar_verdict(label, sets) for label, sets in found.items()),
    )


def _scales(results: Results) -> dict[str, Scale]:
    scales = {}
    for name in results.paper_sets:
        losses = [results.mean("predictor_loss", name, model) for model in MODELS]
        errors = [results.mean("risk_l1", name, pair) for pair in PAIRS]
        z = [loss for loss in losses if loss is not None]
        e = [error for error in errors if error is not None]
        if len(z) == len(MODELS) and len(e) == len(PAIRS):
            loss, error = float(np.mean(z)), float(np.mean(e))
            in_variance = loss / target_of(name).variance
            scales[name] = Scale(max(z) / min(z), loss, error, in_variance, error / loss)
    return scales


def _similar_verdict(label: str, sets: dict[str, Scale]) -> str:
    figures_of = (
        "worst over best predictor loss",
        "predictor loss",
        "calibrator error",
        "predictor loss relative to the variance of y",
        "calibrator error relative to the predictor loss",
    )
    others = [name for name in sets if name not in ALIKE]
    parts = []
    for figure, values in zip(figures_of, zip(*sets.values(), strict=True), strict=True):
        of = dict(zip(sets, values, strict=True))
        less = max(of[name] for name in ALIKE) < min(of[name] for name in others)
        parts.append(Part(f"{figure} less than on any other set", less))
    return verdict_sentence(f"the {label}", parts)
